/* Strings to attribute ids: fingerprints, templates, the attribute table.
 *
 * The fingerprint of a string with bytes b_1..b_n is mix(H) where H = sum_i (b_i + 1) B^(n-i) mod 2^64, so that
 * H(xy) = H(x) B^|y| + H(y): the key of an expanded template costs a few multiplications and no string is built.
 * A power is B^|y|.
 */
#include "core.h"

/* A corpus: ids[c * n_tokens + t] is the distinct string of token t in column c. */
typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_columns;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const i32 *ids; /* [n_columns * n_tokens] */
} Corpus;

/* Lines of a template. Line l has the cells line_ptr[l]..line_ptr[l + 1]; literal c + l stands before cell c and the last
 * one after all cells. A cell has an offset, less than `reach`, and a view: a column with functions applied to it, of
 * which string i of the column has the values value_ptr[base + i]..value_ptr[base + i + 1]. A view j places outside the
 * sentence has row reach + j (right, from 0) or reach - j (left) of outside arrays, if view_marks says that it has a
 * value there. The views of a token and its neighbours are in a window, one row of `stride` tokens a view; cell_site is
 * where a cell of the window's first token is. */
typedef struct {
    i64 n_lines;
    i64 n_cells;
    i64 n_views;
    i64 n_rows;
    i64 n_values;
    i64 reach;
    i64 stride;
    const i64 *line_ptr; /* [n_lines + 1] */
    const i64 *cell_offset; /* [n_cells] */
    const i64 *cell_view; /* [n_cells] */
    const i64 *cell_site; /* [n_cells] */
    const i64 *view_column; /* [n_views] */
    const i64 *view_base; /* [n_views] */
    const i64 *view_marks; /* [n_views] */
    const i64 *value_ptr; /* [n_rows] */
    const u64 *value_hash; /* [n_values] */
    const u64 *value_power; /* [n_values] */
    const u64 *literal_hash; /* [n_cells + n_lines] */
    const u64 *literal_power; /* [n_cells + n_lines] */
    const u64 *outside_hash; /* [2 * reach] */
    const u64 *outside_power; /* [2 * reach] */
} TemplateLines;

void encoding_hash_strings(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 content[n_bytes], u64 hashes[n],
                           u64 powers[n]);
void encoding_mix_all(i64 n, u64 hashes[n]);
i64 encoding_hash_substrings(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 content[n_bytes], i64 longest, i64 most,
                             u64 hashes[most], u64 powers[most], i64 value_ptr[n + 1]);
i64 encoding_hash_affixes(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 content[n_bytes], i64 length, u8 at_end,
                          u64 hashes[n], u64 powers[n], i64 value_ptr[n + 1]);

i64 encoding_expand_keys(const Corpus *corpus, const TemplateLines *lines, u8 skip_first, i64 first_sentence, i64 room,
                         u64 keys[room], i64 n_window, u64 window[4 * n_window], i64 n_tokens,
                         i64 out_ptr[n_tokens + 1], i64 done[1]);
void encoding_locate_keys(const Corpus *corpus, const TemplateLines *lines, i64 n, const i64 tokens[n],
                          const i64 ranks[n], const i64 begins[n], const i64 ends[n], i64 out_lines[n],
                          i64 combinations[n]);

void encoding_fill_slots(i64 n, const u64 fingerprints[n], i64 n_slots, u64 slots[2 * n_slots]);
i64 encoding_intern_keys(i64 n_keys, const u64 keys[n_keys], i64 begin, i64 first_origin, i64 n_slots,
                         u64 slots[2 * n_slots], i64 room, u64 fingerprints[room], i64 counts[room], i64 origins[room],
                         i64 n_attributes[1], i32 ids[n_keys]);
void encoding_look_up_keys(i64 n_keys, const u64 keys[n_keys], i64 n_slots, const u64 slots[2 * n_slots],
                           i32 ids[n_keys]);
i64 encoding_drop_unknown(i64 n_tokens, const i64 ptr[n_tokens + 1], i64 n_ids, i32 ids[n_ids],
                          i64 new_ptr[n_tokens + 1]);
