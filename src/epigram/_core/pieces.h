/* Texts to streams of the word ids of a language model: normalisation, segmentation and look-up (filter/streams.py).
 *
 * Every line of a text is a sentence; the id 0 ends it, -1 is an unknown word. Words stand between blanks, or are the pieces
 * of a sentencepiece model. Its normalisation is a double array of units: label in bits 0 to 7 and 31, a leaf in bit 8,
 * an offset in bits 10 to 30, times 256 with bit 9. Its pieces are in a trie of our own: unit x is (base, parent, piece),
 * and byte b leads to unit base ^ b if the parent of that is x.
 */
#include "kenlm.h"

typedef struct {
    i64 n_pages; /* fold_of[256 pages[c >> 8] + (c & 255)] is the form of character c, 0 for c itself */
    i64 n_fold_of;
    i64 n_folds;
    i64 n_fold_bytes;
    const i32 *pages; /* [n_pages] */
    const i32 *fold_of; /* [n_fold_of] */
    const i64 *fold_ptr; /* [n_folds + 1] */
    const u8 *fold_bytes; /* [n_fold_bytes] */
    i64 n_map; /* units of the normalisation, 0 for none. plain: no form begins with an ASCII character before another */
    i64 n_forms; /* bytes of the texts that they lead to, each ended by a zero */
    const u32 *map; /* [n_map] */
    const u8 *forms; /* [n_forms] */
    const u8 *plain; /* [128] */
    i64 n_units;
    i64 n_pieces; /* 0 for words between blanks. words and byte_words are their ids in the model */
    const i32 *units; /* [4 * n_units] */
    const f32 *scores; /* [n_pieces] */
    const u8 *kinds; /* [n_pieces] */
    const i32 *words; /* [n_pieces] */
    const i32 *byte_words; /* [256] */
    f64 bonus; /* score of a byte of a piece that the user defined */
    f32 unknown_score;
    u8 is_bpe;
    u8 has_bytes; /* unknown characters are pieces of single bytes */
    u8 has_user;
    u8 trims; /* blanks at both ends and repeated ones are left out */
    u8 adds_blank; /* before the text, or behind it */
    u8 blank_is_last;
    u8 escapes; /* a blank is U+2581 */
    u8 cuts_words; /* no piece has a blank but at its start */
} Pieces;

/* Put sorted pieces into a trie of zeros; 0 where it is too small. */
u8 pieces_index(i64 n_bytes, const u8 bytes[n_bytes], i64 n, const i64 ptr[n + 1], const i32 ids[n], i64 n_units,
                i32 units[4 * n_units]);
/* Streams of texts; counts are unknown words of each. Returns the number of texts that fitted, -1 without memory. */
i64 pieces_stream(const Pieces *p, const Asked *asked, i64 n_bytes, const u8 bytes[n_bytes], i64 n_texts,
                  const i64 text_ptr[n_texts + 1], i64 room, i32 stream[room], i64 stream_ptr[n_texts + 1],
                  i64 unknown[n_texts]);
