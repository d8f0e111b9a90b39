#include "kenlm.h"

#include "backoff.h"
#include "kenlm_inline.h"

i64 sizeof_HashedKeys(void) { return sizeof(HashedKeys); }
i64 sizeof_Asked(void) { return sizeof(Asked); }
i64 sizeof_Walk(void) { return sizeof(Walk); }

/* The filter has 256 slices by the lowest byte of a key, each of n_filter / 256 words of 64 bits (a power of two). */
static inline u64 filter_bit(const HashedKeys *t, u64 key) {
    u64 size = (u64)(t->n_filter / 256) * 64;
    return (key & 255) * size + (key >> 8 & (size - 1));
}

static inline i64 first_slot(const HashedKeys *t, u64 key) {
    return (i64)((key * 0x9E3779B97F4A7C15ull) >> 32 & (u64)(t->n_slots - 1));
}

/* Put all keys into the slots (a power of two of them, -1 before) and the filter (zeros before). */
void kenlm_index(const HashedKeys *t) {
    for (i64 row = 0; row < t->n; row++) {
        u64 bit = filter_bit(t, t->keys[row]);
        t->filter[bit >> 6] |= 1ull << (bit & 63);
        i64 k = first_slot(t, t->keys[row]);
        while (t->slots[k] >= 0) k = (k + 1) & (t->n_slots - 1);
        t->slots[k] = (i32)row;
    }
}

/* The row of a key, or -1. */
static i32 row_of(const HashedKeys *t, u64 key) {
    i64 k = first_slot(t, key);
    while (t->slots[k] >= 0 && t->keys[t->slots[k]] != key) k = (k + 1) & (t->n_slots - 1);
    return t->slots[k];
}

/* End of the parts from `from` on that have the same lowest byte. */
static inline i64 run_end(const u64 *parts, i64 from, i64 end) {
    i64 k = from + 1;
    while (k < end && !((parts[k] ^ parts[from]) & 255)) k++;
    return k;
}

/* Tries all pairs of left parts i .. i2 and right parts j .. j2; returns how many are new, or -1 for one that is not. */
static i64 try_pairs(const HashedKeys *t, const u64 *left, i64 i, i64 i2, const u64 *right, i64 j, i64 j2, i32 *context,
                     i32 *suffix) {
    i64 n_found = 0;
    for (i64 p = i; p < i2; p++)
        for (i64 q = j; q < j2; q++) {
            u64 key = left[p] ^ right[q], bit = filter_bit(t, key);
            if (!(t->filter[bit >> 6] >> (bit & 63) & 1)) continue;
            i32 row = row_of(t, key);
            if (row < 0) continue;
            if (context[row] >= 0) return -1;
            context[row] = (i32)p;
            suffix[row] = (i32)q;
            n_found++;
        }
    return n_found;
}

/* For each key the left and the right part it is made of, (w_1 + 1) B and key(w_2 .. w_n) A; -1 before. Parts are sorted by
 * their lowest byte within a group, so that pairs ask a small part of the filter at a time. Returns the number of keys
 * found, or -1 if one is made in two ways. */
i64 kenlm_join(const HashedKeys *t, i64 n_groups, const i64 *left_ptr, i64 n_left, const u64 *left, const i64 *right_ptr,
               i64 n_right, const u64 *right, i64 n, i32 *context, i32 *suffix) {
    (void)n_left, (void)n_right, (void)n;
    i64 n_found = 0;
    for (i64 g = 0; g < n_groups; g++)
        for (i64 i = left_ptr[g], i2; i < left_ptr[g + 1]; i = i2) {
            i2 = run_end(left, i, left_ptr[g + 1]);
            for (i64 j = right_ptr[g], j2; j < right_ptr[g + 1]; j = j2) {
                j2 = run_end(right, j, right_ptr[g + 1]);
                i64 n_new = try_pairs(t, left, i, i2, right, j, j2, context, suffix);
                if (n_new < 0) return -1;
                n_found += n_new;
            }
        }
    return n_found;
}

static const f64 LOG10 = 2.302585092994046;
enum { IMPOSSIBLE = -99, FEW_PAIRS = 32, AT_ONCE = 64 };

void kenlm_index_words(const Asked *a, i64 n, const char *words) {
    i64 at = 0;
    i32 id = 0, *last = 0;
    for (u64 key; (key = next_word(n, (const u8 *)words, &at)) != 0;) {
        i64 slot = slot_of(a, key);
        while (a->ids[slot] != -1) slot = (slot + 1) & (a->n_slots - 1);
        a->keys[slot] = key;
        last = a->ids + slot;
        *last = id++;
    }
    if (last) *last = START_WORD;
}

/* find_pair for one look-up alone, whose time goes into waiting for memory: both ways to go on are fetched ahead. */
static i64 find_alone(const Backoff *m, i64 node, i32 word) {
    if (node == 0) return word;
    __builtin_prefetch(m->node_parent + node);
    __builtin_prefetch(m->node_bow + node);
    i64 low = m->pair_ptr[node], n = m->pair_ptr[node + 1] - low;
    if (n == 0) return -1;
    while (n > FEW_PAIRS) {
        i64 half = n >> 1, quarter = (n - half) >> 1;
        __builtin_prefetch(m->pair_word + low + quarter);
        __builtin_prefetch(m->pair_word + low + half + quarter);
        low = m->pair_word[low + half] <= word ? low + half : low;
        n -= half;
    }
    while (n > 1) {
        i64 half = n >> 1;
        low = m->pair_word[low + half] <= word ? low + half : low;
        n -= half;
    }
    return m->pair_word[low] == word ? low : -1;
}

/* The log10 probability of a word after walk, which goes on. */
static f64 go_on(const Backoff *m, const Asked *a, i32 word, Walk *walk) {
    i32 node = walk->node;
    walk->oov = word == -1 || word == a->unknown;
    walk->length = 1;
    if (word == START_WORD) {
        walk->node = a->start;
        return IMPOSSIBLE;
    }
    f64 total = 0.0;
    if (walk->oov && a->unknown < 0) {
        for (; node != 0; node = m->node_parent[node]) total += m->node_bow[node];
        walk->node = 0;
        return a->missing + total / LOG10;
    }
    if (walk->oov) word = a->unknown;
    i64 pair;
    while ((pair = find_alone(m, node, word)) < 0) {
        total += m->node_bow[node];
        node = m->node_parent[node];
    }
    walk->length = a->node_depth[node] + 1;
    walk->node = m->pair_next[pair];
    return (total + m->pair_logp[pair]) / LOG10;
}

f64 kenlm_step(const Backoff *m, const Asked *a, const Walk *before, i64 n, const char *word, Walk *after) {
    i64 at = 0;
    Walk walk = *before;
    if (walk.node < 0 || walk.node >= a->n_nodes) return NAN;
    f64 logp = go_on(m, a, id_of(a, next_word(n, (const u8 *)word, &at)), &walk);
    *after = walk;
    return logp;
}

/* Words from at on, as many as there is room for; their places in memory are all asked for before one is read. */
static i64 some_words(const Backoff *m, const Asked *a, i64 n, const u8 *text, i64 *at, i32 *words) {
    u64 keys[AT_ONCE];
    i64 k = 0;
    while (k < AT_ONCE && (keys[k] = next_word(n, text, at)) != 0) {
        __builtin_prefetch(a->ids + slot_of(a, keys[k]));
        __builtin_prefetch(a->keys + slot_of(a, keys[k++]));
    }
    for (i64 j = 0; j < k; j++) {
        words[j] = id_of(a, keys[j]);
        i32 at_root = words[j] < 0 ? 0 : words[j];
        __builtin_prefetch(m->pair_logp + at_root);
        __builtin_prefetch(m->pair_next + at_root);
    }
    return k;
}

i64 kenlm_full_scores(const Backoff *m, const Asked *a, i64 n, const char *text, u8 bos, u8 eos, i64 most, f64 *logp,
                      i32 *length, u8 *oov) {
    Walk walk = {bos ? a->start : 0, 0, 0};
    i32 words[AT_ONCE + 1];
    i64 done = 0, at = 0;
    for (u8 more = 1; more;) {
        i64 k = some_words(m, a, n, (const u8 *)text, &at, words);
        more = k == AT_ONCE;
        if (!more && eos) words[k++] = 0;
        for (i64 j = 0; j < k && done < most; j++, done++) {
            logp[done] = go_on(m, a, words[j], &walk);
            length[done] = walk.length;
            oov[done] = (u8)walk.oov;
        }
    }
    return done;
}

f64 kenlm_score(const Backoff *m, const Asked *a, i64 n, const char *text) {
    Walk walk = {a->start, 0, 0};
    i32 words[AT_ONCE + 1];
    i64 at = 0;
    f64 total = 0.0;
    for (u8 more = 1; more;) {
        i64 k = some_words(m, a, n, (const u8 *)text, &at, words);
        more = k == AT_ONCE;
        if (!more) words[k++] = 0;
        for (i64 j = 0; j < k; j++) total += go_on(m, a, words[j], &walk);
    }
    return total;
}
