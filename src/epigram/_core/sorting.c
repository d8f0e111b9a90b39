#include "sorting.h"

enum { WIDE = 11, NARROW = 8, FEW = 24, MANY = 4096, IN_CACHE = 1 << 18 };

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS u8 is_before(i64 width, const u64 *x, const u64 *y) {
    for (i64 j = 0; j < width; j++)
        if (x[j] != y[j]) return x[j] < y[j];
    return 0;
}

ALWAYS void copy(i64 width, u64 *to, const u64 *from) {
    for (i64 j = 0; j < width; j++) to[j] = from[j];
}

ALWAYS void insert(i64 width, i64 n, u64 *records) {
    u64 moved[64];
    for (i64 k = 1; k < n; k++) {
        i64 at = k;
        if (!is_before(width, records + k * width, records + (k - 1) * width)) continue;
        copy(width, moved, records + k * width);
        for (; at && is_before(width, moved, records + (at - 1) * width); at--)
            copy(width, records + at * width, records + (at - 1) * width);
        copy(width, records + at * width, moved);
    }
}

/* Where the records of each digit begin; whether one digit has them all. */
static u8 starts_of(i64 n, i64 n_buckets, i64 *counts) {
    i64 sum = 0;
    for (i64 b = 0; b < n_buckets; b++) {
        i64 own = counts[b];
        if (own == n) return 1;
        counts[b] = sum;
        sum += own;
    }
    return 0;
}

ALWAYS void distribute(i64 width, i64 n, i64 at, i64 size, const u64 *from, u64 *to, i64 *starts) {
    for (i64 k = 0; k < n; k++) copy(width, to + width * starts[get_bits(from + k * width, at, size)]++, from + k * width);
}

/* By the bits first .. end from the last digit to the first; returns the array that holds the result. */
ALWAYS u64 *sort_in_cache(i64 width, i64 n, i64 first, i64 end, u64 *from, u64 *to) {
    i64 counts[1 << WIDE], digit = n < MANY ? NARROW : WIDE;
    for (; end > first; end -= digit) {
        i64 at = larger_i(end - digit, first), size = end - at;
        memset(counts, 0, ((size_t)1 << size) * sizeof *counts);
        for (i64 k = 0; k < n; k++) counts[get_bits(from + k * width, at, size)]++;
        if (starts_of(n, (i64)1 << size, counts)) continue;
        distribute(width, n, at, size, from, to, counts);
        u64 *swap = from;
        from = to, to = swap;
    }
    return from;
}

/* Parts that are larger than the cache are distributed by their first digit; the result stands in `wanted`, one of the two. */
ALWAYS void sort_part(i64 width, i64 n, i64 first, i64 end, u64 *from, u64 *to, u64 *wanted,
                      void (*deeper)(i64, i64, i64, i64, u64 *, u64 *, u64 *)) {
    u64 *found = from;
    i64 size = smaller_i(WIDE, end - first);
    if (n <= FEW && width <= 64) {
        insert(width, n, from);
    } else if (n * width * 8 <= IN_CACHE || end - first <= 2 * WIDE) {
        found = sort_in_cache(width, n, first, end, from, to);
    } else {
        i64 ends[1 << WIDE] = {0}, begin = 0, one;
        for (i64 k = 0; k < n; k++) ends[get_bits(from + k * width, first, size)]++;
        one = starts_of(n, (i64)1 << size, ends);
        if (one) {
            deeper(width, n, first + size, end, from, to, wanted);
            return;
        }
        distribute(width, n, first, size, from, to, ends);
        for (i64 b = 0; b < (i64)1 << size; begin = ends[b++])
            if (ends[b] > begin)
                deeper(width, ends[b] - begin, first + size, end, to + begin * width, from + begin * width,
                       wanted == from ? from + begin * width : to + begin * width);
        return;
    }
    if (found != wanted) memcpy(wanted, found, (size_t)(n * width) * sizeof *found);
}

static void sort_any(i64 width, i64 n, i64 first, i64 end, u64 *from, u64 *to, u64 *wanted) {
    sort_part(width, n, first, end, from, to, wanted, sort_any);
}

static void sort_two(i64 width, i64 n, i64 first, i64 end, u64 *from, u64 *to, u64 *wanted) {
    (void)width;
    sort_part(2, n, first, end, from, to, wanted, sort_two);
}

static void sort_three(i64 width, i64 n, i64 first, i64 end, u64 *from, u64 *to, u64 *wanted) {
    (void)width;
    sort_part(3, n, first, end, from, to, wanted, sort_three);
}

void sorting_sort(i64 width, i64 n, i64 n_bits, u64 *records, u64 *scratch) {
    (width == 2 ? sort_two : width == 3 ? sort_three : sort_any)(width, n, 0, n_bits, records, scratch, records);
}

static inline u8 comes_before(i64 width, const u64 *heads, const i64 *at, i32 a, i32 b) {
    return is_before(width, heads + at[a] * width, heads + at[b] * width);
}

/* Moves the run at the top of a heap down to its place. */
static inline void sink(i64 width, const u64 *heads, const i64 *at, i64 n, i32 *heap, i64 k) {
    i32 run = heap[k];
    for (i64 child; (child = 2 * k + 1) < n; k = child) {
        if (child + 1 < n && comes_before(width, heads, at, heap[child + 1], heap[child])) child++;
        if (!comes_before(width, heads, at, heap[child], run)) break;
        heap[k] = heap[child];
    }
    heap[k] = run;
}

i64 sorting_merge(i64 width, i64 n_heads, const u64 *heads, i64 n_runs, i64 *at, const i64 *ends, const u8 *open, i64 room,
                  u64 *out) {
    (void)n_heads;
    i64 n = 0, written = 0;
    i32 *heap = malloc((size_t)n_runs * sizeof *heap);
    if (!heap) return -1;
    for (i64 k = 0; k < n_runs; k++)
        if (at[k] < ends[k]) heap[n++] = (i32)k;
    for (i64 k = n / 2; k-- > 0;) sink(width, heads, at, n, heap, k);
    while (n && written < room) {
        i32 run = heap[0];
        memcpy(out + written++ * width, heads + at[run] * width, (size_t)width * sizeof *out);
        if (++at[run] == ends[run]) {
            if (open[run]) break;
            heap[0] = heap[--n];
        }
        if (n) sink(width, heads, at, n, heap, 0);
    }
    free(heap);
    return written;
}
