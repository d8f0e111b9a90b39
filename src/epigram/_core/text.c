#include "text.h"

#include "distinct.h"
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

static i64 number_tokens(Distinct *d, i64 n, i32 *ids, i64 *sentence_ptr) {
    i64 n_tokens = 0, n_lines = 0, at = 0;
    u8 open = 0;
    sentence_ptr[0] = 0;
    while (at < n) {
        if (d->raw[at] == '\n' && open) {
            sentence_ptr[++n_lines] = n_tokens;
            open = 0;
        }
        if (is_blank(d->raw[at])) {
            at++;
            continue;
        }
        i64 start = at;
        u64 h = HASH_START;
        for (; at < n && !is_blank(d->raw[at]); at++) h = hash_byte(h, d->raw[at]);
        i32 k = number_of(d, start, at, hash_end(h));
        if (k < 0) return -1;
        ids[n_tokens++] = k;
        open = 1;
    }
    if (open) sentence_ptr[n_lines + 1] = n_tokens;
    return d->n_strings;
}

/* Number the distinct tokens by first occurrence, by one pass. ids gets the number of each token, sentence_ptr where
 * each line that is not blank starts in it, word_start and word_length the bytes of each distinct token.
 * Returns how many there are, or -1 where memory ran out. */
i64 text_factorise(i64 n, const u8 *raw, i64 n_tokens, i64 n_lines, i32 *ids, i64 *sentence_ptr, i64 *word_start,
                   i32 *word_length) {
    (void)n_lines;
    Distinct d;
    i64 found = begin_distinct(&d, raw, n_tokens, word_start, word_length) ? number_tokens(&d, n, ids, sentence_ptr) : -1;
    let_go_distinct(&d);
    return found;
}
