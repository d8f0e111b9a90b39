/* What all inner loops share: short names of number types, and a few one-liners.
 *
 * hatch_bindings.py reads the headers of this folder and writes bindings.py: a function for each prototype whose name
 * starts with the name of its header, and a class for each structure that they take. `const f64 w[n + 1]` is an array of
 * n + 1 float64 numbers that is not written; lengths may use the integer arguments of the same function, fields of its
 * structures (`t->n_nodes`), or fields of the same structure. The bindings check type, contiguity and length of every
 * array before they call C; a pointer without a length stops the build.
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

/* e^x for -708 < x < 708 to about 1e-16: 2^k times a polynomial in the rest, all of it vectorisable. */
static inline f64 fast_exp(f64 x) {
    f64 k = floor(x * 1.4426950408889634 + 0.5);
    f64 r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    f64 y = 2.08767569878680989792e-09; /* 1/12!, then 1/11!, ... */
    y = y * r + 2.50521083854417187751e-08;
    y = y * r + 2.75573192239858906526e-07;
    y = y * r + 2.75573192239858906526e-06;
    y = y * r + 2.48015873015873015873e-05;
    y = y * r + 1.98412698412698412698e-04;
    y = y * r + 1.38888888888888888889e-03;
    y = y * r + 8.33333333333333333333e-03;
    y = y * r + 4.16666666666666666667e-02;
    y = y * r + 1.66666666666666666667e-01;
    y = y * r + 0.5;
    y = y * r + 1.0;
    y = y * r + 1.0;
    union {
        f64 number;
        u64 bits;
    } power = {k + (6755399441055744.0 + 1023.0)}; /* 1.5 * 2^52 + k + 1023, whose low bits are k + 1023 */
    power.bits <<= 52;
    return y * power.number;
}

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
