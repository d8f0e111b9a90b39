/* What all inner loops share: short names of number types, and nothing else.
 *
 * A header of this folder is a contract that native.py reads: it lists the functions that Python may call, one
 * prototype each, and the structures they take. `const f64 w[n + 1]` is an array of at least n + 1 float64 numbers
 * that is not written; lengths may use the integer arguments of the same function (or fields of the same structure).
 * native.py checks type, contiguity and length of every array against it before it calls.
 */
#ifndef EPIGRAM_CORE_H
#define EPIGRAM_CORE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef int32_t i32;
typedef int16_t i16;
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef double f64;
typedef float f32;

static inline f64 larger(f64 a, f64 b) { return a > b ? a : b; }
static inline f64 smaller(f64 a, f64 b) { return a < b ? a : b; }
static inline i64 larger_i(i64 a, i64 b) { return a > b ? a : b; }
static inline i64 smaller_i(i64 a, i64 b) { return a < b ? a : b; }

#endif
