/* The text before the caret: its words by the best segmentation, with a beam. */
#include "ime_search.h"

/* Words of a text, the character that each begins with, and the node behind the last. Words of the lexicon stand in `order` by
 * the hash of their surface; a character that is in no word costs `stray`. Returns how many, -1 where there is no memory. */
i64 ime_before_segment(const Trigram *m, i64 n_words, const i64 surface_ptr[n_words + 1], i64 n_surface,
                       const u8 surface[n_surface], const i64 order[n_words], const u64 hashes[n_words], i64 n_bytes,
                       const u8 text[n_bytes], i32 start, f64 stray, i64 longest, i32 out_word[n_bytes],
                       i32 out_begin[n_bytes], i32 out_node[1]);
