/* Bytes to 64-bit numbers (FNV-1a, then one shift), and what separates tokens. */
#ifndef EPIGRAM_HASHING_H
#define EPIGRAM_HASHING_H

#include "core.h"

static const u64 HASH_START = 14695981039346656037ull;

static inline u64 hash_byte(u64 h, u8 byte) { return (h ^ byte) * 1099511628211ull; }
static inline u64 hash_end(u64 h) { return h ^ (h >> 29); }
static inline u8 is_blank(u8 byte) { return byte == 32 || (byte >= 9 && byte <= 13) || byte == 0; }

#endif
