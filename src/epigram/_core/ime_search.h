/* The forward pass of the input method, which the best path and the k best both begin with. */
#ifndef EPIGRAM_IME_SEARCH_H
#define EPIGRAM_IME_SEARCH_H

#include "backoff.h"
#include "ime.h"

/* A context at a position: its best score, and the state and word it came by. */
typedef struct {
    f64 score;
    i32 node;
    i32 source;
    i32 word;
} State;

/* The states of position i stand at ptr[i] .. ptr[i + 1]; root_score[i * n_classes + c] is the best score at i after backing
 * off to a class that a word of class c follows, NaN where no word of class c begins at i. */
typedef struct {
    State *states;
    i64 *ptr;
    f64 *root_score;
} States;

/* Log-probability of a word after a node; the node it leads to, to next. */
static inline f64 step(const Trigram *m, i32 node, i32 word, i32 *next) {
    f64 logp = 0.0;
    for (;;) {
        if (node < m->n_classes) {
            *next = m->pair_next[word];
            return logp + m->class_logp[node * m->n_classes + m->word_class[word]] + m->pair_logp[word];
        }
        i64 pair = find_pair(node, word, m->pair_ptr, m->pair_word);
        if (pair >= 0) {
            *next = m->pair_next[pair];
            return logp + m->pair_logp[pair];
        }
        logp += m->node_bow[node];
        node = m->node_parent[node];
    }
}

/* Best score of every (position, node); 0 where there is no memory. Gains leave out what cannot be on the best path. */
u8 search_forward(const Trigram *m, const Lattice *l, const f32 *bonus, const f32 *gain, States *out);
void free_states(States *s);

/* Room for `need` items of `size` bytes in an array that grows by doubling; 0 where there is no memory. */
static inline u8 reserve(void **items, i64 *room, i64 need, size_t size) {
    if (need <= *room) return 1;
    i64 more = larger_i(2 * *room, need);
    void *grown = realloc(*items, (size_t)more * size);
    if (grown == NULL) return 0;
    *items = grown;
    *room = more;
    return 1;
}

#endif
