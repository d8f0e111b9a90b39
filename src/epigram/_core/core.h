/* What all inner loops share: short names of number types, and a few one-liners.
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

/* Index of wanted in the rising values[low .. high], or -1. Halves without branches: what is wanted is not to be guessed. */
static inline i64 search_rising(const i32 *values, i64 low, i64 high, i32 wanted) {
    i64 n = high - low;
    if (n <= 0) return -1;
    while (n > 1) {
        i64 half = n >> 1;
        low = values[low + half] <= wanted ? low + half : low;
        n -= half;
    }
    return values[low] == wanted ? low : -1;
}

#endif
