/* Exact k-best search: A* from the end of the reading, led by the forward scores.
 *
 * A hypothesis is a suffix of words from a state to the end; its priority is its exact score plus the best (relaxed, so never
 * too low) score of reaching that state. A state popped again with the same surface suffix, or more than k times, cannot
 * give a new one of the k best distinct surfaces and is dropped; nothing else is.
 *
 * States are those of the forward pass; state n_states + i * n_classes + c is "at position i, backed off to a class that a
 * word of class c follows", through which all words pass that no context knows; the last one is the end of the sentence.
 */
#include "ime_search.h"
#include "surface_hash.h"

/* A way into a state: forward score of the state before plus the arc, that state, the word on the arc (-1: none). */
typedef struct {
    f64 key;
    f64 arc;
    i32 state;
    i32 word;
} Way;

/* What is known of a state: its ways, best first (-1: not yet found), how often it was popped, and the last that was. A mark
 * of an earlier reading is none. */
typedef struct {
    i64 first_way;
    i64 reading;
    i32 n_ways;
    i32 position;
    i32 pops;
    i32 popped;
} Mark;

typedef struct {
    f64 score;
    u64 hash;
    u64 pow;
    i32 state;
    i32 parent;
    i32 rank;
    i32 word;
    i32 chain; /* popped before it at the same state */
} Hypothesis;

typedef struct {
    f64 key;
    i32 item;
} Entry;

struct Agenda {
    const Trigram *m;
    const Lattice *l;
    const Backwards *b;
    Context context;
    const u64 *special_hash;
    const u64 *special_pow;
    Search *s;
    i64 n_states;
    i64 n_all;
    i64 *in_ptr; /* [n + 2], edges by their end: in_edge[in_ptr[i]] .. */
    i32 *in_edge; /* [n_edges] */
    i32 *edge_start; /* [n_edges] */
    i64 *special_in_ptr; /* [n + 2] */
    i32 *special_in; /* [n_special] */
    i32 *special_start; /* [n_special] */
    i64 position_room[2];
    i64 edge_room[2];
    i64 special_room[2];
    Mark *marks; /* [n_all] */
    i64 mark_room;
    i64 reading;
    i64 widest; /* no state has more ways */
    Way *ways;
    i64 n_ways;
    i64 way_room;
    Hypothesis *hyps;
    i64 n_hyps;
    i64 hyp_room;
    Entry *heap;
    i64 n_heap;
    i64 heap_room;
};

i64 sizeof_Backwards(void) { return sizeof(Backwards); }

static void heap_push(Agenda *a, f64 key, i32 item) {
    i64 at = a->n_heap++;
    for (i64 up; at > 0 && a->heap[up = (at - 1) >> 1].key < key; at = up) a->heap[at] = a->heap[up];
    a->heap[at] = (Entry){key, item};
}

/* The item of the highest key, taken out. */
static i32 heap_pop(Agenda *a) {
    i32 first = a->heap[0].item;
    i64 n = --a->n_heap, at = 0;
    Entry moved = a->heap[n];
    for (;;) {
        i64 down = 2 * at + 1;
        if (down >= n) break;
        if (down + 1 < n && a->heap[down + 1].key > a->heap[down].key) down++;
        if (a->heap[down].key <= moved.key) break;
        a->heap[at] = a->heap[down];
        at = down;
    }
    a->heap[at] = moved;
    return first;
}

/* Restores the min-heap of n ways below `at`. */
static void sift_way(Way *ways, i64 at, i64 n) {
    Way moved = ways[at];
    for (;;) {
        i64 down = 2 * at + 1;
        if (down >= n) break;
        if (down + 1 < n && ways[down + 1].key < ways[down].key) down++;
        if (ways[down].key >= moved.key) break;
        ways[at] = ways[down];
        at = down;
    }
    ways[at] = moved;
}

/* Heap sort by falling key. */
static void sort_ways(Way *ways, i64 n) {
    for (i64 top = n / 2 - 1; top >= 0; top--) sift_way(ways, top, n);
    for (i64 last = n - 1; last > 0; last--) {
        Way least = ways[0];
        ways[0] = ways[last];
        ways[last] = least;
        sift_way(ways, 0, last);
    }
}

static inline void add_way(Agenda *a, f64 before, f64 arc, i64 state, i32 word) {
    a->ways[a->n_ways++] = (Way){before + arc, arc, (i32)state, word};
}

/* A mark, made when it is first asked for. */
static inline Mark *mark_of(const Agenda *a, i64 state) {
    Mark *mark = a->marks + state;
    if (mark->reading != a->reading) {
        i64 position = state < a->n_states ? a->s->states[state].position : (state - a->n_states) / a->m->n_classes;
        *mark = (Mark){-1, a->reading, 0, (i32)position, 0, -1};
    }
    return mark;
}

/* Into the end of the sentence. */
static void ways_into_end(Agenda *a) {
    i32 next;
    for (i64 x = a->s->ptr[a->l->n]; x < a->n_states; x++)
        add_way(a, a->s->states[x].score, step(a->m, a->s->states[x].node, 0, &next), x, -1);
}

/* Into a class of words at a position: every state there backs off. */
static void ways_into_root(Agenda *a, i32 position, i64 c) {
    i64 n_classes = a->m->n_classes;
    for (i64 x = a->s->ptr[position]; x < a->s->ptr[position + 1]; x++) {
        f64 arc = 0.0;
        i32 node = a->s->states[x].node;
        for (; node >= n_classes; node = a->m->node_parent[node]) arc += a->m->node_bow[node];
        add_way(a, a->s->states[x].score, arc + a->m->class_logp[node * n_classes + c], x, -1);
    }
}

/* A word of class c from the root at a position, if any state reaches it there. */
static void way_from_root(Agenda *a, i32 position, i64 c, f64 logp, i32 word) {
    i64 root = position * a->m->n_classes + c;
    if (a->s->root_score[root] > -INFINITY) add_way(a, a->s->root_score[root], logp, a->n_states + root, word);
}

/* Into a class: words of it that have no node of their own, and special edges, all from the root. */
static void ways_into_class(Agenda *a, i32 position, i32 c) {
    for (i64 j = a->in_ptr[position]; j < a->in_ptr[position + 1]; j++) {
        i32 e = a->in_edge[j], before = a->edge_start[e];
        for (i32 word = a->l->low[e]; word < a->l->high[e]; word++)
            if (a->m->pair_next[word] == c)
                way_from_root(a, before, a->m->word_class[word], a->m->pair_logp[word] + bonus_of(a->context, word), word);
    }
    for (i64 j = a->special_in_ptr[position]; j < a->special_in_ptr[position + 1]; j++) {
        i32 e = a->special_in[j], before = a->special_start[e];
        if (a->l->special_class[e] == c) way_from_root(a, before, c, a->l->special_logp[e], -2 - e);
    }
}

/* Into a context: its last word, from the states that it can follow. */
static void ways_into_context(Agenda *a, i32 node, i32 position) {
    i32 word = a->b->node_word[node], before = position - a->b->word_length[word], prefix = a->b->node_prefix[node];
    u8 deep = a->m->node_parent[node] >= a->m->n_classes;
    if (before < 0) return; /* a damaged file may lead to a context by another word than its last */
    for (i64 x = a->s->ptr[before]; x < a->s->ptr[before + 1]; x++) {
        i32 from = a->s->states[x].node, to;
        if (deep && from != prefix && (from < a->m->n_classes || a->m->node_parent[from] != prefix)) continue;
        f64 arc = step(a->m, from, word, &to);
        if (to == node) add_way(a, a->s->states[x].score, arc + bonus_of(a->context, word), x, word);
    }
}

/* All ways into a state, best first; 0 where there is no memory. */
static u8 find_ways(Agenda *a, i32 state) {
    Mark *mark = mark_of(a, state);
    if (!reserve((void **)&a->ways, &a->way_room, a->n_ways + a->widest, sizeof *a->ways)) return 0;
    mark->first_way = a->n_ways;
    if (state == a->n_all - 1)
        ways_into_end(a);
    else if (state >= a->n_states)
        ways_into_root(a, mark->position, (state - a->n_states) % a->m->n_classes);
    else if (a->s->states[state].node < a->m->n_classes)
        ways_into_class(a, mark->position, a->s->states[state].node);
    else
        ways_into_context(a, a->s->states[state].node, mark->position);
    mark->n_ways = (i32)(a->n_ways - mark->first_way);
    sort_ways(a->ways + mark->first_way, mark->n_ways);
    return 1;
}

/* Whether a popped hypothesis can still give a new surface; if so it is remembered at its state. */
static u8 is_new(Agenda *a, i32 h, i64 k) {
    Mark *mark = mark_of(a, a->hyps[h].state);
    if (mark->pops >= k) return 0;
    for (i32 other = mark->popped; other >= 0; other = a->hyps[other].chain)
        if (a->hyps[other].hash == a->hyps[h].hash) return 0;
    mark->pops++;
    a->hyps[h].chain = mark->popped;
    mark->popped = h;
    return 1;
}

/* The hypothesis that goes on from `parent` by its way of this rank. There is room for it. */
static void extend(Agenda *a, i32 parent, i32 rank) {
    const Hypothesis *from = a->hyps + parent;
    const Mark *mark = mark_of(a, from->state);
    if (rank >= mark->n_ways) return;
    Way way = a->ways[mark->first_way + rank];
    u64 hash = from->hash, pow = from->pow;
    if (way.word != -1) {
        u64 own, length;
        if (way.word >= 0) {
            i64 first = a->b->surface_ptr[way.word], last = a->b->surface_ptr[way.word + 1];
            hash_bytes(a->b->surface + first, last - first, &own, &length);
        } else {
            own = a->special_hash[-2 - way.word];
            length = a->special_pow[-2 - way.word];
        }
        hash = own * pow + hash;
        pow = length * pow;
    }
    a->hyps[a->n_hyps] = (Hypothesis){from->score + way.arc, hash, pow, way.state, parent, rank, way.word, -1};
    heap_push(a, from->score + way.key, (i32)a->n_hyps++);
}

/* Edges (or special edges) by where they end, in their order. */
static void index_by_end(i64 n, const i64 *ptr, const i32 *end, i32 *start, i64 *in_ptr, i32 *in) {
    memset(in_ptr, 0, (size_t)(n + 2) * sizeof *in_ptr);
    for (i64 i = 0; i < n; i++)
        for (i64 e = ptr[i]; e < ptr[i + 1]; e++) {
            start[e] = (i32)i;
            if (end[e] < n) in_ptr[end[e] + 2]++;
        }
    for (i64 i = 2; i < n + 2; i++) in_ptr[i] += in_ptr[i - 1];
    for (i64 e = 0; e < ptr[n]; e++) in[in_ptr[end[e] + 1]++] = (i32)e;
}

/* The most ways that a state can have. */
static i64 most_ways(const Agenda *a) {
    i64 most = a->n_states;
    for (i64 i = 0; i <= a->l->n; i++) {
        i64 here = a->special_in_ptr[i + 1] - a->special_in_ptr[i];
        for (i64 j = a->in_ptr[i]; j < a->in_ptr[i + 1]; j++) here += a->l->high[a->in_edge[j]] - a->l->low[a->in_edge[j]];
        most = larger_i(most, here);
    }
    return most;
}

/* Room for edges by where they end. */
static u8 reserve_index(i64 n, i64 n_edges, i64 **in_ptr, i64 *room, i32 **in, i32 **start, i64 *edge_room) {
    return reserve((void **)in_ptr, room, n + 2, sizeof **in_ptr) && reserve((void **)in, edge_room, n_edges + 1, sizeof **in) &&
           reserve((void **)start, edge_room + 1, n_edges + 1, sizeof **start);
}

/* Forward scores and room; 0 where there is no memory. */
static u8 begin(Agenda *a) {
    const Lattice *l = a->l;
    i64 marked = a->mark_room;
    if (!search_forward(a->s, a->m, a->b, l, a->context, 0)) return 0;
    a->n_states = a->s->ptr[l->n + 1];
    a->n_all = a->n_states + (l->n + 1) * a->m->n_classes + 1;
    a->n_ways = a->n_heap = 0;
    if (!reserve_index(l->n, l->ptr[l->n], &a->in_ptr, a->position_room, &a->in_edge, &a->edge_start, a->edge_room) ||
        !reserve_index(l->n, l->special_ptr[l->n], &a->special_in_ptr, a->position_room + 1, &a->special_in, &a->special_start,
                       a->special_room) ||
        !reserve((void **)&a->marks, &a->mark_room, a->n_all, sizeof *a->marks))
        return 0;
    for (; marked < a->mark_room; marked++) a->marks[marked].reading = 0;
    a->reading++;
    mark_of(a, a->n_all - 1)->position = (i32)l->n;
    index_by_end(l->n, l->ptr, l->end, a->edge_start, a->in_ptr, a->in_edge);
    index_by_end(l->n, l->special_ptr, l->special_end, a->special_start, a->special_in_ptr, a->special_in);
    a->widest = most_ways(a);
    return 1;
}

/* The words of a complete hypothesis, first to last; returns how many. */
static i64 spell(const Agenda *a, i32 h, i32 *out) {
    i64 n = 0;
    for (; h >= 0; h = a->hyps[h].parent)
        if (a->hyps[h].word != -1) out[n++] = a->hyps[h].word;
    return n;
}

/* Room for two more hypotheses, which is what one popped can add. */
static u8 reserve_hypotheses(Agenda *a) {
    return reserve((void **)&a->hyps, &a->hyp_room, larger_i(a->n_hyps + 2, 4096), sizeof *a->hyps) &&
           reserve((void **)&a->heap, &a->heap_room, larger_i(a->n_hyps + 2, 4096), sizeof *a->heap);
}

/* Pops until k surfaces are found; returns how many there are, -1 where there is no memory. */
static i64 search(Agenda *a, i64 k, f64 margin, i64 *out_ptr, i32 *out_words, f64 *out_score) {
    i64 found = 0;
    if (!reserve_hypotheses(a)) return -1;
    a->hyps[0] = (Hypothesis){0.0, 0, 1, (i32)(a->n_all - 1), -1, 0, -1, -1};
    a->n_hyps = 1;
    heap_push(a, 0.0, 0);
    out_ptr[0] = 0;
    while (a->n_heap > 0 && found < k && (!found || a->heap[0].key >= out_score[0] - margin)) {
        i32 h = heap_pop(a);
        if (!reserve_hypotheses(a)) return -1;
        i32 state = a->hyps[h].state;
        u8 keep = is_new(a, h, k);
        if (keep && state == 0) {
            out_score[found] = a->hyps[h].score;
            out_ptr[found + 1] = out_ptr[found] + spell(a, h, out_words + out_ptr[found]);
            found++;
        } else if (keep) {
            if (mark_of(a, state)->first_way < 0 && !find_ways(a, state)) return -1;
            extend(a, h, 0);
        }
        if (a->hyps[h].parent >= 0) extend(a, a->hyps[h].parent, a->hyps[h].rank + 1);
    }
    return found;
}

i64 search_k_best(Agenda *a, const Trigram *m, const Lattice *l, const Backwards *b, Context context, const u64 *special_hash,
                  const u64 *special_pow, i64 k, f64 margin, i64 *out_ptr, i32 *out_words, f64 *out_score) {
    a->m = m;
    a->l = l;
    a->b = b;
    a->context = context;
    a->special_hash = special_hash;
    a->special_pow = special_pow;
    return begin(a) ? search(a, k, margin, out_ptr, out_words, out_score) : -1;
}

Agenda *search_agenda(Search *s) {
    Agenda *a = calloc(1, sizeof *a);
    if (a) a->s = s;
    return a;
}

void search_release_agenda(Agenda *a) {
    if (!a) return;
    void *all[] = {a->in_ptr, a->in_edge, a->edge_start, a->special_in_ptr, a->special_in, a->special_start,
                   a->marks,  a->ways,    a->hyps,       a->heap,           a};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}
