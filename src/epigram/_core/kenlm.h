/* N-grams of KenLM's probing files, which keep only hashes of them: key(w_1 .. w_n) = key(w_2 .. w_n) A ^ (w_1 + 1) B.
 *
 * Both parts of an n-gram, its context w_1 .. w_(n-1) and its suffix w_2 .. w_n, are n-grams of the order below, and
 * share w_2 .. w_(n-1), their group. So contexts (left) and suffixes (right) of a group are put together in all ways,
 * and those whose key is in the table are the n-grams of the file.
 */
#include "ngram.h"

typedef struct {
    i64 n;
    i64 n_slots;
    i64 n_filter;
    const u64 *keys; /* [n] */
    i32 *slots; /* [n_slots] */
    u64 *filter; /* [n_filter] */
} HashedKeys;

void kenlm_index(const HashedKeys *table);
i64 kenlm_join(const HashedKeys *table, i64 n_groups, const i64 left_ptr[n_groups + 1], i64 n_left, const u64 left[n_left],
               const i64 right_ptr[n_groups + 1], i64 n_right, const u64 right[n_right], i64 n, i32 context[n], i32 suffix[n]);

/* How KenLM's classes ask: text is bytes, words between ASCII blanks, scores are log10. Words are found by hash alone. */
typedef struct {
    i64 n_nodes;
    const i32 *node_depth; /* [n_nodes] */
    i64 n_slots; /* a power of two, more than there are words */
    u64 *keys; /* [n_slots] */
    i32 *ids; /* [n_slots] */
    i32 start; /* the node of <s> */
    i32 unknown; /* the word <unk>, -1 where the model has none */
    f64 missing; /* log10 probability of an unknown word where the model has no <unk> */
} Asked;

/* Where a walk stands, and what is known of its last word: the n-gram found, and whether the word is unknown. */
typedef struct {
    i32 node;
    i32 length;
    i32 oov;
} Walk;

/* Give the words of a text the ids from 0 on, and <s>, which ends it, the id -2; ids are -1 before. */
void kenlm_index_words(const Asked *asked, i64 n, const char words[n]);
/* One word after a walk; after is where it leads. NaN where the walk is of another model. */
f64 kenlm_step(const Backoff *m, const Asked *asked, const Walk *before, i64 n, const char word[n], Walk *after);
/* A sentence with its start and its end. Few arguments: with short sentences, passing them takes most of the time. */
f64 kenlm_score(const Backoff *m, const Asked *asked, i64 n, const char text[n]);
/* Each word and the end; returns how many there are. */
i64 kenlm_full_scores(const Backoff *m, const Asked *asked, i64 n, const char text[n], u8 bos, u8 eos, i64 most, f64 logp[most],
                      i32 length[most], u8 oov[most]);
