/* Files to cells: lines of columns, words of lines, and the distinct strings among cells.
 *
 * Row c of starts and ends, each capacity long, says where the cells of column c are, token by token.
 */
#include "core.h"

void columns_find_cells(i64 n, const u8 raw[n], u8 separator, u8 has_ids, i64 n_bytes,
                        const u8 comments[n_bytes], i64 n_comments, const i64 comment_ptr[n_comments + 1], i64 n_columns, i64 capacity,
                        i64 starts[n_columns * capacity], i64 ends[n_columns * capacity], i64 line_ends[capacity],
                        i64 sentence_ptr[capacity + 1], i64 found[4]);
void columns_find_words(i64 n, const u8 raw[n], i64 n_comment, const u8 comment[n_comment], i64 n_columns, i64 capacity,
                        i64 starts[n_columns * capacity], i64 ends[n_columns * capacity], i64 n_lines,
                        i64 sentence_ptr[n_lines + 1], i64 found[3]);
i64 columns_factorise(i64 n, const u8 raw[n], i64 n_cells, const i64 starts[n_cells], const i64 ends[n_cells],
                      i32 ids[n_cells], i64 string_start[n_cells], i32 string_length[n_cells]);
