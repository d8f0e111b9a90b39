/* N-gram models: counting, Kneser-Ney smoothing, and back-off models as a forward trie.
 *
 * Node x is a context; its pairs (x, word) stand at pair_ptr[x] .. pair_ptr[x + 1], words rising. Node 0 is the empty
 * context, which holds every word. node_parent[x] is the longest stored suffix of x, pair_next the node that a pair
 * leads to. -1 in a stream is a word outside the vocabulary, 0 the boundary of sentences.
 */
#include "core.h"

typedef struct {
    i64 n_nodes;
    i64 n_pairs;
    const i64 *pair_ptr; /* [n_nodes + 1] */
    const i32 *pair_word; /* [n_pairs] */
    f64 *pair_logp; /* [n_pairs] */
    const i32 *pair_next; /* [n_pairs] */
    const i32 *node_parent; /* [n_nodes] */
    f64 *node_bow; /* [n_nodes] */
} Backoff;

i64 ngram_positions_by_word(i64 n, const i32 stream[n], i64 n_words, i64 ends[n_words + 1], i32 out[n]);
void ngram_extend_grams(i64 length, const i32 stream[length], i64 n_left, i32 by_word[n_left], i64 n, const i32 grams[length],
                        i64 n_grams, i64 ends[n_grams + 1], i32 ordered[n_left], i32 longer[length], i32 prefix[n_left],
                        i32 word[n_left], i32 suffix[n_left], i32 count[n_left], i64 left[2]);

i32 ngram_step(const Backoff *m, i32 node, i32 word, f64 logp[1]);
void ngram_step_many(const Backoff *m, i64 n, const i32 nodes[n], const i32 words[n], f64 out_logp[n], i32 out_node[n]);
void ngram_score_stream(const Backoff *m, i64 n, const i32 stream[n], i32 start, f64 out[n]);
void ngram_distribution(const Backoff *m, i32 node, i64 depth, i64 path[depth], f64 shift[depth], i64 n_words,
                        const f64 root_p[n_words], f64 out[n_words]);
/* The node that each pair spells, -1 where it is none; 0 where the arrays are no trie: nodes in order, each after the node
 * whose pair it continues, words inside the vocabulary, which is the root's. */
u8 ngram_nodes_of_pairs(i64 n_words, i64 n_nodes, i64 n_pairs, const i64 node_pair[n_nodes], const i64 pair_ptr[n_nodes + 1],
                        const i32 pair_word[n_pairs], i32 pair_node_of[n_pairs]);
/* Whether stored arrays are such a trie with its links: words rise, every number leads to a node or pair, suffixes are
 * shorter than what they end. */
u8 ngram_is_linked(i64 n_words, i64 n_nodes, i64 n_pairs, const i64 node_pair[n_nodes], const i64 pair_ptr[n_nodes + 1],
                   const i32 pair_word[n_pairs], const i32 pair_node_of[n_pairs], const i32 node_parent[n_nodes],
                   const i32 node_depth[n_nodes], const i32 pair_next[n_pairs]);
void ngram_link(i64 n_nodes, i64 n_pairs, const i64 pair_ptr[n_nodes + 1], const i32 pair_word[n_pairs],
                const i32 pair_node_of[n_pairs], i64 start_pair, i32 node_parent[n_nodes], i32 node_depth[n_nodes],
                i32 pair_next[n_pairs]);
void ngram_fill_missing(const Backoff *m);
void ngram_find_grams(i64 n_rows, i64 width, const i32 grams[n_rows * width], i64 n_words, i64 n_nodes, i64 n_pairs,
                      const i64 pair_ptr[n_nodes + 1], const i32 pair_word[n_pairs], const i32 pair_node_of[n_pairs],
                      i64 out[n_rows]);
void ngram_spell(i64 n, const i32 nodes[n], i64 n_nodes, const i64 node_pair[n_nodes], const i64 pair_ptr[n_nodes + 1],
                 i64 n_pairs, const i32 pair_word[n_pairs], i64 depth, i32 out[n * depth]);
void ngram_renormalise(const Backoff *m);
/* Divides every distribution by its sum, sum p[x,w] + bow(x) (1 - sum p(w | x')), from short contexts to long. */
void ngram_divide_by_sums(const Backoff *m);
/* The numbers of a model as a file holds them: probabilities in single precision, and back-off weights, to 2^-34, with
 * which every distribution sums to 1 again. exact gets the contexts whose probabilities are to 2^-34 too: the root, and
 * those that leave next to nothing to back off to. 0 where a distribution of the model does not sum to 1 within 1e-9. */
u8 ngram_round_stored(const Backoff *m, i64 n_nodes, f64 node_bow[n_nodes], u8 exact[n_nodes], i64 n_pairs,
                      f64 pair_logp[n_pairs]);
f64 ngram_stationary_step(const Backoff *m, const i32 pair_node_of[m->n_pairs], i64 n_words, const f64 pi[n_words],
                          f64 out[n_words]);
void ngram_relative_entropy_scores(const Backoff *m, i64 n_words, const f64 pi[n_words], const i64 node_pair[m->n_nodes],
                                   const i32 pair_node_of[m->n_pairs], f64 log_h[m->n_nodes], f64 lower[m->n_pairs],
                                   f64 out[m->n_pairs]);
void ngram_recent_shares(i64 n, const i32 stream[n], i64 size, i32 ring[size], i64 n_words, i32 counts[n_words], f64 shares[n]);
