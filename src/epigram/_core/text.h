/* Text to numbers: tokens between ASCII blanks, as in KenLM, one sentence a line. */
#include "core.h"

void text_count_tokens(i64 n, const u8 raw[n], i64 counts[2]);
i64 text_factorise(i64 n, const u8 raw[n], i64 n_tokens, i64 n_lines, i32 ids[n_tokens], i64 sentence_ptr[n_lines + 1],
                   i64 word_start[n_tokens], i32 word_length[n_tokens]);
