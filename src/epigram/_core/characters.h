/* Text to the cells that a tokenizer's features read, a row for each character that is not blank.
 *
 * Characters come as code points: `lower` in lower case with digits as 0, `kinds` as classes (A for capitals, a for small
 * letters, ...), `blank` as 0 or 1. `raw` receives both as UTF-8 after eleven constants, and the cells are byte slices of
 * it. A word is a run of characters without blanks. Columns: 0 the character; 1 its class; 2 "_" at the beginning of a
 * word, else "."; 3 the word's characters before this one, 4 from this one on; 5 the word before, 6 the word after;
 * 7 the class of the first character of the word after; 8 the number of characters left in the word, at most 4;
 * 9 the last character of the word before; 10 the classes before this character, 11 from it on, within the word; 12 the
 * word before the one before. "<" and ">" stand for words outside the sequence, "-" for no characters.
 */
#ifndef EPIGRAM_CHARACTERS_H
#define EPIGRAM_CHARACTERS_H
#include "core.h"

/* Sequence s is begins[s]..ends[s] of the text (sequences may overlap) and has the rows ptr[s]..ptr[s + 1]: as many as it
 * has characters that are not blank. `lower_at` and `kind_at` receive where each character begins in raw. n_bytes must be
 * at least 8 n + 11. Returns the number of bytes used, or -1 where ptr does not fit the text. */
i64 characters_find_cells(i64 n, const u32 lower[n], const u32 kinds[n], const u8 blank[n], i64 n_sequences,
                          const i64 begins[n_sequences], const i64 ends[n_sequences], const i64 ptr[n_sequences + 1],
                          i64 n_bytes, u8 raw[n_bytes], i64 lower_at[n + 1], i64 kind_at[n + 1], i64 n_rows,
                          i64 cell_starts[13 * n_rows], i64 cell_ends[13 * n_rows]);

#endif
