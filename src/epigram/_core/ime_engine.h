/* From readings to the k best texts of each in one call, and what characters and pairs of words say of texts. */
#include "ime_search.h"
#include "ngram.h"

/* Models of words outside the lexicon, as ime_find_unknown takes them, and the class of those in katakana. */
typedef struct {
    i64 n_rows;
    i64 longest;
    u16 katakana_class;
    const f64 *hiragana; /* [n_rows * n_rows] */
    const f64 *katakana; /* [n_rows * n_rows] */
    const f64 *class_logp; /* [6] */
    const f64 *char_logp; /* [5] */
} UnknownModel;

/* Edges that have texts: those of reading q are ptr[q] .. ptr[q + 1] and rise with their start. */
typedef struct {
    i64 n_inputs;
    i64 n_edges;
    i64 n_bytes;
    const i64 *ptr; /* [n_inputs + 1] */
    const i32 *start; /* [n_edges] */
    const i32 *end; /* [n_edges] */
    const f64 *logp; /* [n_edges] */
    const u16 *word_class; /* [n_edges] */
    const i64 *text_ptr; /* [n_edges + 1] */
    const u8 *text; /* [n_bytes] */
} OwnEdges;

/* Numbers of characters (-1 or none: not in the model) and of units by their text, and the node of the beginning of a sentence.
 * The slots are a hash table: a unit, or -1. */
typedef struct {
    i64 n_points;
    i64 n_units;
    i64 n_bytes;
    i64 n_slots;
    i32 start;
    f64 stray;
    const i32 *char_id; /* [n_points] */
    const i64 *unit_ptr; /* [n_units + 1] */
    const u8 *unit_text; /* [n_bytes] */
    const i32 *slots; /* [n_slots] */
} TextUnits;

/* A model of characters as in ngram.h, its log-probabilities and back-off weights as codes of two books. */
typedef struct {
    i64 n_nodes;
    i64 n_pairs;
    const i32 *pair_ptr; /* [n_nodes + 1] */
    const u16 *pair_word; /* [n_pairs] */
    const u8 *pair_code; /* [n_pairs] */
    const i32 *pair_next; /* [n_pairs] */
    const i32 *node_parent; /* [n_nodes] */
    const u8 *node_code; /* [n_nodes] */
    const f32 *logp; /* [256] */
    const f32 *bow; /* [256] */
} CodedCharacters;

/* The k best texts of each reading, best first, without those that are worse than the best by more than `margin`. Words have
 * the bonus of_word, and of_recent where their bit in `recent` is set (which may be empty). Where pieces are given, one of each
 * character, no word crosses from one piece to another. found[q] gets the number of ways of reading q; way w of all has words
 * ptr[w] .. ptr[w + 1], each with its end in the reading (-1 as a word: not in the lexicon) and the end of its text. Returns
 * the number of ways, -1 where there is no memory, -2 where there is no room for words or text. */
i64 ime_engine_ways(const Readings *r, const Trigram *m, const Backwards *b, const UnknownModel *u, const OwnEdges *own,
                    i32 start, i64 n_words, const f32 of_word[n_words], i64 n_recent, const u8 recent[n_recent], f64 of_recent,
                    i64 k, f64 margin, i64 n_inputs, const i64 char_ptr[n_inputs + 1], i64 n_input_chars,
                    const i32 chars[n_input_chars], i64 n_pieces, const i32 pieces[n_pieces], i64 found[n_inputs],
                    f64 score[k * n_inputs], i64 ptr[k * n_inputs + 1], i64 room, i32 word[room], i32 end[room],
                    i64 text_end[room], i64 text_room, u8 text[text_room]);

/* Returns the memory that reading a file has freed to the system, where the C library can. */
void ime_engine_trim(void);

/* Slots of units by the hash of their text; n_slots is a power of two above n_units. */
void ime_engine_index_units(i64 n_units, const i64 unit_ptr[n_units + 1], i64 n_bytes, const u8 unit_text[n_bytes],
                            i64 n_slots, i32 slots[n_slots]);

/* Units in a text, from left to right the longest that begins at each character; returns how many. */
i64 ime_engine_units_in(i64 n_units, const i64 unit_ptr[n_units + 1], i64 n_bytes, const u8 unit_text[n_bytes], i64 n_slots,
                        const i32 slots[n_slots], i64 longest, i64 n_text, const u8 text[n_text], i32 out[n_text]);

/* log P of the characters of each way with the end, and the worth of its pairs of units, after characters and units that
 * stand before. Word x has the text text_end[x - 1] ..
 * text_end[x]. Returns 0 where there is no memory. */
u8 ime_engine_gains(const Backoff *characters, const WordPairs *pairs, const TextUnits *t, i64 n_before,
                    const i32 before[n_before], i64 n_units_before, const i32 units_before[n_units_before], i64 n_ways,
                    const i64 ptr[n_ways + 1], i64 n_words, const i64 text_end[n_words], i64 n_text, const u8 text[n_text],
                    f64 out_characters[n_ways], f64 out_pairs[n_ways]);
u8 ime_engine_coded_gains(const CodedCharacters *characters, const WordPairs *pairs, const TextUnits *t, i64 n_before,
                    const i32 before[n_before], i64 n_units_before, const i32 units_before[n_units_before], i64 n_ways,
                          const i64 ptr[n_ways + 1], i64 n_words, const i64 text_end[n_words], i64 n_text,
                          const u8 text[n_text], f64 out_characters[n_ways], f64 out_pairs[n_ways]);
