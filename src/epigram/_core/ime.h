/* The input method: words that may stand in a reading, the most probable path through them, and the k best surfaces.
 *
 * Word 0 is the boundary of sentences; the words of one reading are one range of numbers. Special edges are words outside
 * the lexicon: unknown ones and the user's. In a path, words below -1 are special edge -2 - word.
 */
#include "core.h"

/* Readings of a lexicon, sorted: those that begin alike are neighbours, the shortest first. Words of reading r are
 * reading_word[r] .. reading_word[r + 1]. A row of starts is for a hiragana: the first reading that is not below it, then
 * not below it and each hiragana, and what follows the last, behind it. */
typedef struct {
    i64 n_readings;
    i64 n_chars;
    const i64 *char_ptr; /* [n_readings + 1] */
    const i32 *chars; /* [n_chars] */
    const i32 *reading_word; /* [n_readings + 1] */
    const i32 *starts; /* [87 * 88] */
} Readings;

/* A word trigram model as in ngram.h, in single precision, over classes of words. The first n_classes nodes are contexts of
 * which only the class is known; they store no words. Backing off ends there: word w after class c has
 * class_logp[c, class of w] + pair_logp[w], where pair w is word w. Class 0 stands for any word. */
typedef struct {
    i64 n_nodes;
    i64 n_pairs;
    i64 n_words;
    i64 n_classes;
    const i64 *pair_ptr; /* [n_nodes + 1] */
    const i32 *pair_word; /* [n_pairs] */
    const f32 *pair_logp; /* [n_pairs] */
    const i32 *pair_next; /* [n_pairs] */
    const i32 *node_parent; /* [n_nodes] */
    const f32 *node_bow; /* [n_nodes] */
    const u16 *word_class; /* [n_words] */
    const f32 *class_logp; /* [n_classes * n_classes] */
} Trigram;

/* What the search needs besides: nodes as it reads them (ime_pack_nodes); the most of class_logp for each class; the last word
 * of each node and the node of the words before it; characters of each word's reading; its surface, as bytes. */
typedef struct {
    i64 n_nodes;
    i64 n_words;
    i64 n_bytes;
    i64 n_classes;
    const u64 *nodes; /* [3 * n_nodes + 3] */
    const f32 *class_most; /* [n_classes] */
    const i32 *node_word; /* [n_nodes] */
    const i32 *node_prefix; /* [n_nodes] */
    const i32 *word_length; /* [n_words] */
    const i64 *surface_ptr; /* [n_words + 1] */
    const u8 *surface; /* [n_bytes] */
} Backwards;

/* Whether each of the byte strings is UTF-8. */
u8 ime_are_texts(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 raw[n_bytes]);
void ime_surface_hashes(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 raw[n_bytes], u64 out_hash[n], u64 out_pow[n]);
void ime_classify(i64 n, const i32 chars[n], i32 kind[n], i32 kana[n]);
void ime_index_readings(i64 n_readings, i64 n_chars, const i64 char_ptr[n_readings + 1], const i32 chars[n_chars],
                        i32 starts[87 * 88]);
void ime_find_edges(const Readings *r, i64 n, const i32 chars[n], i64 longest, i64 ptr[n + 1], i32 end[n * longest],
                    i32 low[n * longest], i32 high[n * longest]);
void ime_find_unknown(i64 n, const i32 kind[n], const i32 kana[n], i64 longest, i64 n_rows,
                      const f64 hiragana[n_rows * n_rows], const f64 katakana[n_rows * n_rows], const f64 class_logp[6],
                      const f64 char_logp[5], i64 ptr[n + 1], i32 out_end[2 * n * longest], i32 out_form[2 * n * longest],
                      f64 out_logp[2 * n * longest]);

u8 ime_fits(const Trigram *m, i64 n_nodes, const i64 node_pair[n_nodes]);
/* The node whose pair each node continues, -1 for the first n_classes; both arrays rise. */
void ime_prefixes(i64 n_nodes, i64 n_classes, const i64 pair_ptr[n_nodes + 1], const i64 node_pair[n_nodes],
                  i32 out[n_nodes]);
i32 ime_step(const Trigram *m, i32 node, i32 word, f64 logp[1]);
void ime_score_words(const Trigram *m, i32 start, i64 n, const i32 words[n], f64 out[n]);
void ime_gains(const Trigram *m, i64 n_nodes, const i32 node_depth[n_nodes], f32 out[n_nodes]);

void ime_pack_nodes(const Trigram *m, const Readings *r, i64 n_nodes, const f32 gain[n_nodes], u64 out[3 * n_nodes + 3]);

/* Units of text, and how often two of them stood near each other: those of unit a with units above it are others[ptr[a]] ..
 * others[ptr[a + 1]], which rise, and counts. degrees[a] is the number of pairs that a is in, total the sum of degrees. Pairs that
 * stood near each other at most `dropped` times are not stored. */
typedef struct {
    i64 n_units;
    i64 n_pairs;
    i64 window;
    f64 total;
    f64 doubt;
    f64 dropped;
    const i64 *ptr; /* [n_units + 1] */
    const i32 *others; /* [n_pairs] */
    const u16 *counts; /* [n_pairs] */
    const f64 *degrees; /* [n_units] */
} WordPairs;

/* log((count + doubt) / (chance + doubt)), chance = degree * degree / total, summed over the pairs of different units of each
 * list that are at most window apart. A pair that is not stored counts as often as chance has it, at most `dropped` times. The
 * units before stand before every list, and pairs among themselves do not count. */
void ime_pair_scores(const WordPairs *p, i64 n_before, const i32 before[n_before], i64 n, const i64 ptr[n + 1], i64 n_all,
                     const i32 units[n_all], f64 out[n]);
