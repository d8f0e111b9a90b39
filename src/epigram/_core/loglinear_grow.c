/* The context tree grows level by level: the positions of a context are split by their next older symbol. */
#include "loglinear.h"

i64 sizeof_Tree(void) { return sizeof(Tree); }
i64 sizeof_Sums(void) { return sizeof(Sums); }
i64 sizeof_Positions(void) { return sizeof(Positions); }
i64 sizeof_Level(void) { return sizeof(Level); }
i64 sizeof_Sorting(void) { return sizeof(Sorting); }

/* The first position whose root, target or context lies outside of what there is, or -1. */
i64 loglinear_first_misfit(const Positions *at, i64 n_roots, i64 n_targets) {
    for (i64 i = 0; i < at->n; i++) {
        u8 known = at->root[i] >= 0 && at->root[i] < n_roots && at->target[i] >= 0 && at->target[i] < n_targets;
        if (!known || at->length[i] < 0 || at->length[i] > at->end[i] || at->end[i] > at->n_history) return i;
    }
    return -1;
}

static void insertion_sort(const Sorting *s, i64 n) {
    i32 *keys = s->keys, *values = s->values;
    for (i64 i = 1; i < n; i++) {
        i32 key = keys[i], value = values[i];
        i64 j = i;
        for (; j > 0 && keys[j - 1] > key; j--) {
            keys[j] = keys[j - 1];
            values[j] = values[j - 1];
        }
        keys[j] = key;
        values[j] = value;
    }
}

static void counting_sort(const Sorting *s, i64 n) {
    memset(s->bins, 0, (size_t)s->n_bins * sizeof *s->bins);
    memcpy(s->spare_keys, s->keys, (size_t)n * sizeof *s->keys);
    memcpy(s->spare_values, s->values, (size_t)n * sizeof *s->values);
    for (i64 i = 0; i < n; i++) s->bins[s->keys[i]]++;
    i64 total = 0;
    for (i64 k = 0; k < s->n_bins; k++) {
        i64 here = s->bins[k];
        s->bins[k] = total;
        total += here;
    }
    for (i64 i = 0; i < n; i++) {
        i64 to = s->bins[s->spare_keys[i]]++;
        s->keys[to] = s->spare_keys[i];
        s->values[to] = s->spare_values[i];
    }
}

static void merge_sort(const Sorting *s, i64 n) {
    i32 *keys = s->keys, *values = s->values, *to_keys = s->spare_keys, *to_values = s->spare_values;
    for (i64 width = 1; width < n; width *= 2) {
        for (i64 start = 0; start < n; start += 2 * width) {
            i64 middle = smaller_i(start + width, n), end = smaller_i(start + 2 * width, n);
            i64 i = start, j = middle;
            for (i64 k = start; k < end; k++) {
                i64 from = i < middle && (j >= end || keys[i] <= keys[j]) ? i++ : j++;
                to_keys[k] = keys[from];
                to_values[k] = values[from];
            }
        }
        memcpy(keys, to_keys, (size_t)n * sizeof *keys);
        memcpy(values, to_values, (size_t)n * sizeof *values);
    }
}

/* Sorts the first n keys with their values and keeps ties in order. */
static void stable_sort(const Sorting *s, i64 n) {
    if (n <= 24) insertion_sort(s, n);
    else if (2 * n >= s->n_bins) counting_sort(s, n);
    else merge_sort(s, n);
}

/* Level 0: the slots are the positions sorted by (root, target), with one pair for each distinct couple. Returns the
 * number of pairs. */
i64 loglinear_plant(const Positions *at, i64 n_targets, i64 *first, const Sorting *sorting, const Level *out) {
    i64 n = at->n, n_roots = out->n_contexts, n_pairs = 0;
    i32 *by_target = sorting->values;
    i64 *free = out->pair_ptr;
    memset(first, 0, (size_t)(n_targets + 1) * sizeof *first);
    for (i64 i = 0; i < n; i++) first[at->target[i] + 1]++;
    for (i64 u = 0; u < n_targets; u++) first[u + 1] += first[u];
    for (i64 i = 0; i < n; i++) by_target[first[at->target[i]]++] = (i32)i;
    memset(out->slot_ptr, 0, (size_t)(n_roots + 1) * sizeof *out->slot_ptr);
    for (i64 i = 0; i < n; i++) out->slot_ptr[at->root[i] + 1]++;
    for (i64 r = 0; r < n_roots; r++) out->slot_ptr[r + 1] += out->slot_ptr[r];
    memcpy(free, out->slot_ptr, (size_t)n_roots * sizeof *free);
    for (i64 k = 0; k < n; k++) out->slots[free[at->root[by_target[k]]]++] = by_target[k];
    for (i64 r = 0; r < n_roots; r++) {
        out->parent[r] = out->symbol[r] = -1;
        out->depth[r] = 0;
        out->pair_ptr[r] = n_pairs;
        i32 last = -1;
        for (i64 j = out->slot_ptr[r]; j < out->slot_ptr[r + 1]; j++) {
            i32 u = at->target[out->slots[j]];
            if (u != last) {
                out->word[n_pairs] = last = u;
                out->pair_parent[n_pairs] = -1;
                out->count[n_pairs++] = 0;
            }
            out->count[n_pairs - 1]++;
            out->pair_of_slot[j] = (i32)(n_pairs - 1);
        }
    }
    out->pair_ptr[n_roots] = n_pairs;
    return n_pairs;
}

/* How many symbols all positions of some slots share, of which d are known. */
static i32 shared_depth(const Positions *at, const i32 *slots, const i32 *chosen, i64 n, i32 d) {
    while (1) {
        i32 i = slots[chosen[0]];
        if (at->length[i] <= d) return d;
        i32 symbol = at->history[at->end[i] - 1 - d];
        for (i64 k = 1; k < n; k++) {
            i = slots[chosen[k]];
            if (at->length[i] <= d || at->history[at->end[i] - 1 - d] != symbol) return d;
        }
        d++;
    }
}

/* The next older symbol of every slot of context c that has one, as keys to sort by; returns their number, or -1 where
 * a symbol is none of those that can be sorted. */
static i64 next_symbols(const Positions *at, const Level *level, i64 c, const Sorting *s) {
    i64 n = 0;
    for (i64 j = level->slot_ptr[c]; j < level->slot_ptr[c + 1]; j++) {
        i32 i = level->slots[j];
        if (at->length[i] <= level->depth[c]) continue;
        i32 symbol = at->history[at->end[i] - 1 - level->depth[c]];
        if (symbol < 0 || symbol >= s->n_bins) return -1;
        s->keys[n] = symbol;
        s->values[n++] = (i32)j;
    }
    return n;
}

/* Splits every context of a level by its next older symbol; sizes gets the contexts and the pairs of the next level. With
 * collapse, a new context goes on to the longest context that all its positions share. Returns -1, or the first context
 * with a symbol that cannot be. */
i64 loglinear_grow(const Positions *at, const Level *level, i64 n_contexts, i64 first_context, i64 first_pair, u8 collapse,
                   const Sorting *sorting, i32 *terminal, const Level *out, i64 *sizes) {
    const i32 *keys = sorting->keys, *values = sorting->values;
    i64 n_new = 0, n_pairs = 0, n_slots = 0;
    for (i64 c = 0; c < n_contexts; c++) {
        i64 n = next_symbols(at, level, c, sorting);
        if (n < 0) return c;
        terminal[c] = (i32)(level->slot_ptr[c + 1] - level->slot_ptr[c] - n);
        stable_sort(sorting, n);
        for (i64 lo = 0, hi; lo < n; lo = hi) {
            for (hi = lo + 1; hi < n && keys[hi] == keys[lo];) hi++;
            i32 d = level->depth[c] + 1, previous = -1;
            out->parent[n_new] = (i32)(first_context + c);
            out->symbol[n_new] = keys[lo];
            out->depth[n_new] = collapse ? shared_depth(at, level->slots, values + lo, hi - lo, d) : d;
            out->slot_ptr[n_new] = n_slots;
            out->pair_ptr[n_new++] = n_pairs;
            for (i64 k = lo; k < hi; k++, n_slots++) {
                i32 j = values[k], q = level->pair_of_slot[j];
                if (q != previous) {
                    out->word[n_pairs] = level->word[q];
                    out->pair_parent[n_pairs] = (i32)(first_pair + q);
                    out->count[n_pairs++] = 0;
                    previous = q;
                }
                out->count[n_pairs - 1]++;
                out->slots[n_slots] = level->slots[j];
                out->pair_of_slot[n_slots] = (i32)(n_pairs - 1);
            }
        }
    }
    out->slot_ptr[n_new] = n_slots;
    out->pair_ptr[n_new] = n_pairs;
    sizes[0] = n_new;
    sizes[1] = n_pairs;
    return -1;
}

/* |T|: pairs that are not alone below a parent of the same count (a path without branches is one). */
i64 loglinear_collapsed_pairs(i64 n, const i32 *pair_parent, const i32 *count) {
    i64 found = 0;
    for (i64 p = 0; p < n; p++) found += pair_parent[p] < 0 || count[p] != count[pair_parent[p]];
    return found;
}
