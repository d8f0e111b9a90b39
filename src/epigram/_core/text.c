#include "text.h"

#include "hashing.h"

/* Tokens and lines that are not blank. */
void text_count_tokens(i64 n, const u8 *raw, i64 *counts) {
    i64 n_tokens = 0, n_lines = 0;
    u8 inside = 0, filled = 0;
    for (i64 at = 0; at < n; at++) {
        if (raw[at] == '\n') {
            n_lines += filled;
            inside = filled = 0;
        } else if (is_blank(raw[at])) {
            inside = 0;
        } else if (!inside) {
            inside = filled = 1;
            n_tokens++;
        }
    }
    counts[0] = n_tokens;
    counts[1] = n_lines + filled;
}

/* Distinct words so far: bytes, hashes, and an open-addressing table that grows. */
typedef struct {
    const u8 *raw;
    i64 *start;
    i32 *length;
    u64 *hash;
    i32 *slots;
    i64 n_slots, n_words;
} Words;

static void enter(Words *w, i32 k) {
    i64 slot = (i64)(w->hash[k] & (u64)(w->n_slots - 1));
    while (w->slots[slot] >= 0) slot = (slot + 1) & (w->n_slots - 1);
    w->slots[slot] = k;
}

static u8 grow(Words *w) {
    free(w->slots);
    w->n_slots *= 4;
    w->slots = malloc((size_t)w->n_slots * sizeof *w->slots);
    if (!w->slots) return 0;
    memset(w->slots, -1, (size_t)w->n_slots * sizeof *w->slots);
    for (i32 k = 0; k < w->n_words; k++) enter(w, k);
    return 1;
}

/* The number of the word raw[start:end], a new one if it was not met; -1 without memory. */
static i32 number_of(Words *w, i64 start, i64 end, u64 h) {
    i32 length = (i32)(end - start);
    for (i64 slot = (i64)(h & (u64)(w->n_slots - 1)); w->slots[slot] >= 0; slot = (slot + 1) & (w->n_slots - 1)) {
        i32 k = w->slots[slot];
        if (w->hash[k] == h && w->length[k] == length && !memcmp(w->raw + w->start[k], w->raw + start, (size_t)length))
            return k;
    }
    i32 k = (i32)w->n_words++;
    w->start[k] = start;
    w->length[k] = length;
    w->hash[k] = h;
    if (2 * w->n_words > w->n_slots) {
        if (!grow(w)) return -1;
    } else {
        enter(w, k);
    }
    return k;
}

static i64 number_tokens(Words *w, i64 n, i32 *ids, i64 *sentence_ptr) {
    i64 n_tokens = 0, n_lines = 0, at = 0;
    u8 open = 0;
    sentence_ptr[0] = 0;
    while (at < n) {
        if (w->raw[at] == '\n' && open) {
            sentence_ptr[++n_lines] = n_tokens;
            open = 0;
        }
        if (is_blank(w->raw[at])) {
            at++;
            continue;
        }
        i64 start = at;
        u64 h = HASH_START;
        for (; at < n && !is_blank(w->raw[at]); at++) h = hash_byte(h, w->raw[at]);
        i32 k = number_of(w, start, at, hash_end(h));
        if (k < 0) return -1;
        ids[n_tokens++] = k;
        open = 1;
    }
    if (open) sentence_ptr[n_lines + 1] = n_tokens;
    return w->n_words;
}

/* Number the distinct tokens by first occurrence, by one pass. ids gets the number of each token, sentence_ptr where
 * each line that is not blank starts in it, word_start and word_length the bytes of each distinct token.
 * Returns how many there are, or -1 where memory ran out. */
i64 text_factorise(i64 n, const u8 *raw, i64 n_tokens, i64 n_lines, i32 *ids, i64 *sentence_ptr, i64 *word_start,
                   i32 *word_length) {
    (void)n_lines;
    Words w = {raw, word_start, word_length, malloc((size_t)n_tokens * sizeof(u64) + 1), NULL, 1 << 10, 0};
    i64 found = w.hash && grow(&w) ? number_tokens(&w, n, ids, sentence_ptr) : -1;
    free(w.hash);
    free(w.slots);
    return found;
}
