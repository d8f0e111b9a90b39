/* The forward pass of the input method, which the best path and the k best both begin with. */
#ifndef EPIGRAM_IME_SEARCH_H
#define EPIGRAM_IME_SEARCH_H

#include "backoff.h"
#include "ime.h"

/* Words that may stand in a reading of n characters. Those of the lexicon that start at i are the ranges low .. high of the
 * edges ptr[i] .. ptr[i + 1], which rise with their end and with their words. Of special edges of class 0, and of class
 * `merged`, the forward pass keeps the best that ends at each position. */
typedef struct {
    i64 n;
    const i32 *chars; /* [n] */
    const i64 *ptr; /* [n + 1] */
    const i32 *end, *low, *high;
    const i64 *special_ptr; /* [n + 1] */
    const i32 *special_end;
    const f64 *special_logp;
    const u16 *special_class;
    i32 merged;
} Lattice;

/* The node that a reading begins at, and bonuses of words: those of corrections, and that of words which the text before has. */
typedef struct {
    i32 start;
    const f32 *of_word; /* [n_words] */
    const u8 *recent; /* a bit per word; NULL: none */
    f32 of_recent;
} Context;

static inline f64 bonus_of(Context b, i32 word) {
    f32 own = b.of_word[word];
    return b.recent && (b.recent[word >> 3] >> (word & 7) & 1) ? own + b.of_recent : own;
}

/* A node: bits of the kana that its words begin with, what ime.h says of it, and its first pair. */
typedef struct {
    u64 kana;
    f32 bow;
    f32 gain;
    i32 parent;
    i32 first;
} Node;

static inline u64 kana_bit(i32 c) { return (u64)1 << (c & 63); }

/* A context at a position: its best score, and the state and word it came by. */
typedef struct {
    f64 score;
    i32 node;
    i32 source;
    i32 word;
    i32 position;
} State;

/* A word that ends at some position and the node it leads to; hits of one position are a list, the last one first. */
typedef struct {
    f64 score;
    i32 next;
    i32 node;
    i32 source;
    i32 word;
} Hit;

/* The best state of those that back off to the same node of depth 1. */
typedef struct {
    f64 score;
    i32 node;
    i32 state;
} Group;

/* The best special edge of a merged class that ends at a position. */
typedef struct {
    f64 score;
    i32 source;
    i32 word;
} Special;

/* The states of position i stand at ptr[i] .. ptr[i + 1]; root_score[i * n_classes + c] is the best score at i after backing
 * off to a class that a word of class c follows, NaN where no word of class c begins at i. The arrays are kept from one
 * reading to the next; all zero is an empty workspace. */
typedef struct {
    const Trigram *m;
    const Lattice *l;
    const Node *nodes;
    const f32 *class_most;
    Context context;
    u8 gain; /* 0: nothing is left out */
    State *states;
    i64 n_states;
    i64 state_room;
    i64 *ptr;
    f64 *root_score;
    Hit *hits;
    i64 n_hits;
    i64 hit_room;
    i32 *head; /* [n + 1], first hit of each position */
    i64 *arrived; /* [n + 1], number of hits of each position */
    Special *special; /* [2 * (n + 1)] */
    Group *groups;
    i64 n_groups;
    i64 group_room;
    i32 *state_group; /* group of each state of this position, -1: none */
    f64 *class_score; /* [n_classes], best score of this position after backing off to a class */
    i32 *class_state; /* [n_classes], the state it comes from */
    i32 *classes; /* [n_classes], those that a state backs off to */
    i64 n_present;
    i32 *root_state; /* [n_classes], where root_score comes from */
    i64 state_group_room;
    i32 *table; /* open addressing by node: state or group, -1 in holes */
    i64 table_room;
    i64 mask;
    i64 n_room;
    i64 class_room;
} Search;

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
u8 search_forward(Search *s, const Trigram *m, const Backwards *b, const Lattice *l, Context context, u8 with_gain);
void search_release(Search *s);

/* Words of the best relaxed path that ends in </s>, last first; returns how many, -1 where there is no memory. scores: its
 * relaxed score, and its own. Where both are the same no path is better: the relaxed score bounds them all. */
i64 search_best(Search *s, const Trigram *m, const Backwards *b, const Lattice *l, Context context, i32 *out, f64 *scores);

/* Room of the k best, kept from one reading to the next; all zero is empty. */
typedef struct Agenda Agenda;
Agenda *search_agenda(Search *s);
void search_release_agenda(Agenda *a);

/* The distinct surfaces of the k best paths, best first, none worse than the best by more than `margin`: words of the r-th at
 * out_ptr[r] .. out_ptr[r + 1]. Returns how many there are, -1 where there is no memory. */
i64 search_k_best(Agenda *a, const Trigram *m, const Lattice *l, const Backwards *b, Context context, const u64 *special_hash,
                  const u64 *special_pow, i64 k, f64 margin, i64 *out_ptr, i32 *out_words, f64 *out_score);

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

/* Resizes an array to so many bytes; 0 where there is no memory. */
static inline u8 grow(void **items, size_t size) {
    void *grown = realloc(*items, size);
    if (grown != NULL) *items = grown;
    return grown != NULL;
}

#endif
