/* n-grams of raw text: words (1 to 3) and characters (1 to 6), as fingerprints, in one pass over UTF-8.
 *
 * A text is read as characters: each run of blanks is one blank, one stands before and one behind the text, and invalid
 * bytes are U+FFFD. Characters have a class (unicode_classes.h). A word is a run of letters and digits, in which one
 * apostrophe may stand between two of them; a letter of a script without blanks, and any sign, is a word of its own.
 * H(x_1 .. x_n) = sum_i (x_i + 1) B^(n - i) over numbers x_i. The fingerprint of a character n-gram is mix(H + n S_c),
 * that of a word n-gram mix(H + n S_w) where x_i is the fingerprint of the word as a character n-gram. N-grams of two
 * and more words may begin with the border (1) before the text or end with the one behind it (2). Character n-grams
 * run across words, or with `across` 0 inside of one word and the blanks around it; a blank alone is none.
 */
#ifndef EPIGRAM_GRAMS_H
#define EPIGRAM_GRAMS_H
#include "core.h"

/* Which n-grams, and working memory: `points` for the longest text (its bytes + 2), `keys` and `counts` for the
 * different n-grams of one text, `slots` a power of two larger than twice their number. */
typedef struct {
    i64 words;
    i64 chars_least;
    i64 chars_most;
    i64 across;
    i64 log_counts;
    i64 apart;
    i64 n_points;
    i64 n_keys;
    i64 n_slots;
    u32 *points; /* [n_points] */
    i64 *starts; /* [n_points + 1] */
    u64 *words_at; /* [3 * n_points] */
    u64 *keys; /* [n_keys] */
    i32 *counts; /* [n_keys] */
    u64 *slots; /* [n_slots] */
    i32 *entries; /* [n_slots] */
} Grams;

/* The different n-grams of each text, one after the other; text_ptr in bytes, out_ptr in keys. Returns the number of texts
 * that fitted into `room`. */
i64 grams_list(Grams *grams, i64 n_bytes, const u8 bytes[n_bytes], i64 n_texts, const i64 text_ptr[n_texts + 1],
               i64 room, u64 keys[room], i64 out_ptr[n_texts + 1]);

/* Every occurrence of the n-grams of one text, words first: the bytes where it begins and ends, and its share of the
 * value that grams_encode gives the n-gram; returns how many. */
i64 grams_locate(Grams *grams, i64 n_bytes, const u8 bytes[n_bytes], i64 room, u64 keys[room], i64 begins[room],
                 i64 ends[room], f64 shares[room]);

/* Keys that were met before, moved to the front; `bits` are a Bloom filter of one function. Returns how many. */
i64 grams_met_before(i64 n, u64 keys[n], i64 n_bits, u64 bits[n_bits]);

/* The known n-grams of each text as ids and values: 1 or 1 + log count, divided by the l2 norm over all n-grams of the
 * text, known or not; with `apart`, n-grams of words and of characters have a norm of sqrt(1/2) each. The table is that of encoding.h. Returns the number of texts that fitted. */
i64 grams_encode(Grams *grams, i64 n_bytes, const u8 bytes[n_bytes], i64 n_texts, const i64 text_ptr[n_texts + 1],
                 i64 n_table, const u64 table[2 * n_table], i64 room, i32 ids[room], f32 values[room],
                 i64 out_ptr[n_texts + 1]);

/* A table of 32-bit fingerprints (the high halves of keys), for prediction: slot s holds prints[s] and rows[s], -1 for none.
 * Later keys of an equal print are left out. n_index is a power of two larger than n. */
void grams_index(i64 n, const u32 prints[n], i64 n_index, u32 slots[n_index], i32 rows[n_index]);

/* scores[t, k] = bias[k] + sum over n-grams of text t of value times weight. Row r of the model has the weights
 * row_ptr[r] .. row_ptr[r + 1], each with its column. */
void grams_score(Grams *grams, i64 n_bytes, const u8 bytes[n_bytes], i64 n_texts, const i64 text_ptr[n_texts + 1],
                 i64 n_index, const u32 slots[n_index], const i32 rows[n_index], i64 n_rows,
                 const i64 row_ptr[n_rows + 1], i64 n_weights, const i32 columns[n_weights], const f32 weights[n_weights],
                 i64 n_columns, const f64 bias[n_columns], f64 scores[n_texts * n_columns]);

#endif
