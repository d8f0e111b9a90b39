#include "cqdb.h"

static inline u32 turn(u32 x, int k) { return x << k | x >> (32 - k); }

/* The 12 bytes from p on, or what is left of them before `end`, as three numbers, least byte first. */
static void three_words(const u8 *p, const u8 *end, u32 words[3]) {
    words[0] = words[1] = words[2] = 0;
    for (i64 k = 0; k < 12 && p + k < end; k++) words[k / 4] |= (u32)p[k] << 8 * (k % 4);
}

/* Mixes three numbers reversibly, between blocks of a key. */
static void mix_words(u32 s[3]) {
    static const int turns[6] = {4, 6, 8, 16, 19, 4};
    for (int k = 0; k < 6; k++) {
        u32 *x = &s[k % 3], *y = &s[(k + 1) % 3], *z = &s[(k + 2) % 3];
        *x = (*x - *z) ^ turn(*z, turns[k]);
        *z += *y;
    }
}

/* Makes the last of three numbers depend on every bit of all of them. */
static void finish_words(u32 s[3]) {
    static const int turns[7] = {14, 11, 25, 16, 4, 14, 24};
    for (int k = 0; k < 7; k++) {
        u32 *x = &s[(k + 2) % 3], y = s[(k + 1) % 3];
        *x = (*x ^ y) - turn(y, turns[k]);
    }
}

static u32 hash_key(const u8 *key, i64 length) {
    u32 start = 0xdeadbeef + (u32)length, s[3] = {start, start, start}, words[3];
    const u8 *end = key + length;
    for (; end - key > 12; key += 12) {
        three_words(key, end, words);
        for (int k = 0; k < 3; k++) s[k] += words[k];
        mix_words(s);
    }
    if (key == end) return s[2];
    three_words(key, end, words);
    for (int k = 0; k < 3; k++) s[k] += words[k];
    finish_words(s);
    return s[2];
}

/* The hash of each key; key i is the bytes ptr[i] to ptr[i + 1], its closing zero among them. */
void cqdb_hash_keys(i64 n, const i64 *ptr, i64 n_bytes, const u8 *keys, u32 *hashes) {
    (void)n_bytes;
    for (i64 i = 0; i < n; i++) hashes[i] = hash_key(keys + ptr[i], ptr[i + 1] - ptr[i]);
}

/* Give every key a bucket of its table; `buckets` comes as zeros, and table t has those from table_ptr[t] on. */
void cqdb_fill_buckets(i64 n, const u32 *hashes, const u32 *records, const i64 *table_ptr, i64 n_buckets, u32 *buckets) {
    (void)n_buckets;
    for (i64 i = 0; i < n; i++) {
        i64 table = hashes[i] & 255, first = table_ptr[table], size = table_ptr[table + 1] - first;
        i64 k = (hashes[i] >> 8) % size;
        while (buckets[2 * (first + k) + 1]) k = (k + 1) % size;
        buckets[2 * (first + k)] = hashes[i];
        buckets[2 * (first + k) + 1] = records[i];
    }
}
