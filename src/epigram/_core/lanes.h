/* Vectors of numbers as compilers of C know them (GCC, Clang): what loops over a row of labels are made of.
 *
 * A row is taken in blocks of up to BLOCK numbers, whose sums stay in registers. Functions of a block take its number of
 * vectors n as a constant, so that each becomes straight code for 8, 16, 24 and 32 numbers; wider rows take several.
 */
#ifndef EPIGRAM_LANES_H
#define EPIGRAM_LANES_H
#include "core.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 8
#elif defined(__AVX__)
#include <immintrin.h>
#define LANES 4
#else
#define LANES 2
#endif
#define BLOCK 32
#define MOST_LANES (BLOCK / LANES)
#define EVERY(v, n) _Pragma("GCC unroll 16") for (int v = 0; v < (n); v++)
#define BLOCK_FUNCTION static inline __attribute__((always_inline))

/* As loads may start anywhere that a number may: numpy's arrays do. */
typedef f64 lanes __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
typedef i64 masks __attribute__((vector_size(LANES * 8)));

/* x - clamp(x, -u, u): each number u nearer to zero, not across it. */
BLOCK_FUNCTION lanes soft(lanes x, lanes u) {
#if defined(__AVX512F__)
    return x - (lanes)_mm512_max_pd(_mm512_min_pd((__m512d)x, (__m512d)u), (__m512d)-u);
#elif defined(__AVX__)
    return x - (lanes)_mm256_max_pd(_mm256_min_pd((__m256d)x, (__m256d)u), (__m256d)-u);
#else
    masks above = x > u, below = x < -u;
    return (lanes)(((masks)(x - u) & above) | ((masks)(x + u) & below));
#endif
}

#endif
