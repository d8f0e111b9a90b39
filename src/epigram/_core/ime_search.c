/* The relaxed forward pass, and the best path by it.
 *
 * Backing off is allowed even past a stored word. That relaxation never lowers a score: it bounds what any path can reach.
 */
#include "ime_search.h"

static const f64 LARGEST_LOGP = 1e-3; /* rounding aside, no probability is above 1 */

i64 sizeof_Trigram(void) { return sizeof(Trigram); }

/* Do the numbers that the search follows without looking all lead somewhere? The model may come from a damaged file. */
u8 ime_fits(const Trigram *m, i64 n_nodes, const i64 *node_pair) {
    i32 n_words = (i32)m->pair_ptr[1];
    u8 bad = m->pair_ptr[0] != 0 || m->pair_ptr[n_nodes] != m->n_pairs;
    bad |= m->n_classes < 1 || m->n_classes > n_nodes || m->n_words != n_words;
    if (bad) return 0;
    for (i64 w = 0; w < n_words; w++) bad |= m->word_class[w] >= m->n_classes;
    for (i64 x = 0; x < n_nodes; x++) {
        bad |= m->pair_ptr[x] > m->pair_ptr[x + 1];
        bad |= node_pair[x] < -1 || node_pair[x] >= m->n_pairs;
    }
    for (i64 x = 1; x < n_nodes; x++) bad |= m->node_parent[x] < 0 || m->node_parent[x] >= x;
    for (i64 x = 1; x < m->n_classes; x++) bad |= m->pair_ptr[x] != n_words || m->pair_ptr[x + 1] != n_words;
    for (i64 pair = 0; pair < m->n_pairs; pair++) {
        bad |= m->pair_word[pair] < 0 || m->pair_word[pair] >= n_words;
        bad |= m->pair_next[pair] < 0 || m->pair_next[pair] >= n_nodes;
    }
    if (bad) return 0;
    for (i64 x = m->n_classes; x < n_nodes; x++) { /* two words back off to one, and that to a class */
        i32 shorter = m->node_parent[x];
        bad |= shorter >= m->n_classes && m->node_parent[shorter] >= m->n_classes;
    }
    return !bad;
}

void ime_prefixes(i64 n_nodes, i64 n_classes, const i64 *pair_ptr, const i64 *node_pair, i32 *out) {
    i64 owner = 0;
    for (i64 x = 0; x < n_nodes; x++) {
        if (x >= n_classes)
            while (owner + 1 < n_nodes && pair_ptr[owner + 1] <= node_pair[x]) owner++;
        out[x] = x < n_classes ? -1 : (i32)owner;
    }
}

i32 ime_step(const Trigram *m, i32 node, i32 word, f64 *logp) {
    i32 next;
    *logp = step(m, node, word, &next);
    return next;
}

/* Log-probability of each word of a sentence. */
void ime_score_words(const Trigram *m, i32 start, i64 n, const i32 *words, f64 *out) {
    i32 node = start;
    for (i64 k = 0; k < n; k++) out[k] = step(m, node, words[k], &node);
}

/* The most that staying at a node can win over backing off from it, over all that may follow.
 * A node of depth 2 wins log p(u|x) - log p(u|x') at its best word u, after which both stand at the same node. A node of
 * depth 1 wins that against the root, plus what the node it leads to may win over its own parent. */
void ime_gains(const Trigram *m, i64 n_nodes, const i32 *node_depth, f32 *out) {
    for (i32 depth = 2; depth > 0; depth--) {
        for (i64 x = 0; x < n_nodes; x++) {
            if (node_depth[x] != depth) continue;
            f64 best = -INFINITY;
            for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
                i32 lower_next, here = m->pair_next[pair];
                f64 gain = m->pair_logp[pair] - step(m, m->node_parent[x], m->pair_word[pair], &lower_next);
                if (here != lower_next) gain += larger(m->node_bow[here], out[here]);
                best = larger(best, gain);
            }
            out[x] = (f32)best;
        }
    }
}

/* An empty table for up to n nodes, at most half full. */
static u8 clear_table(Search *s, i64 n) {
    i64 size = 16;
    while (size < 2 * n) size *= 2;
    if (!reserve((void **)&s->table, &s->table_room, size, sizeof *s->table)) return 0;
    s->mask = size - 1;
    memset(s->table, 0xff, (size_t)size * sizeof *s->table);
    return 1;
}

static inline i64 table_start(const Search *s, i32 node) {
    return (i64)(((u64)(u32)node * 0x9E3779B97F4A7C15ull) >> 32) & s->mask;
}

/* A special edge to a merged class: only the best that ends at a position can be on the best path to that class. */
static inline u8 merge_special(Search *s, i32 c, i32 end, f64 score, i32 source, i32 word) {
    if (c != 0 && c != s->l->merged) return 0;
    Special *best = s->special + 2 * end + (c != 0);
    if (!(score < best->score)) *best = (Special){score, source, word};
    return 1;
}

static inline void push_hit(Search *s, i32 end, i32 node, f64 score, i32 source, i32 word) {
    s->hits[s->n_hits] = (Hit){score, s->head[end], node, source, word};
    s->head[end] = (i32)s->n_hits++;
    s->arrived[end]++;
}

/* The states of position i from the hits that arrived there. */
static u8 gather_states(Search *s, i64 i) {
    if (i == 0) {
        s->states[0] = (State){0.0, s->context.start, -1, -1, 0};
        s->n_states = 1;
        return 1;
    }
    if (!reserve((void **)&s->hits, &s->hit_room, s->n_hits + 2, sizeof *s->hits)) return 0;
    for (i32 k = 0; k < 2; k++) {
        const Special *best = s->special + 2 * i + k;
        if (best->score > -INFINITY) push_hit(s, (i32)i, k ? s->l->merged : 0, best->score, best->source, best->word);
    }
    if (!clear_table(s, s->arrived[i])) return 0;
    if (!reserve((void **)&s->states, &s->state_room, s->n_states + s->arrived[i], sizeof *s->states)) return 0;
    for (i32 h = s->head[i]; h >= 0; h = s->hits[h].next) {
        const Hit *hit = s->hits + h;
        i64 place = table_start(s, hit->node);
        while (s->table[place] >= 0 && s->states[s->table[place]].node != hit->node) place = (place + 1) & s->mask;
        i32 k = s->table[place];
        if (k < 0) {
            s->table[place] = k = (i32)s->n_states++;
            __builtin_prefetch(s->nodes + hit->node);
        } else if (!(hit->score > s->states[k].score)) {
            continue;
        }
        s->states[k] = (State){hit->score, hit->node, hit->source, hit->word, (i32)i};
    }
    return 1;
}

/* Joins a state that backs off to node with others that do; returns its group. */
static inline i32 join_group(Search *s, i32 node, f64 score, i32 state) {
    i64 place = table_start(s, node);
    while (s->table[place] >= 0 && s->groups[s->table[place]].node != node) place = (place + 1) & s->mask;
    i32 g = s->table[place];
    if (g < 0) {
        s->table[place] = g = (i32)s->n_groups++;
        __builtin_prefetch(s->nodes + node);
    } else if (!(score > s->groups[g].score)) {
        return g;
    }
    s->groups[g] = (Group){score, node, state};
    return g;
}

/* A state that has backed off to a class. */
static inline void join_class(Search *s, i32 c, f64 score, i32 state) {
    if (s->class_state[c] < 0)
        s->classes[s->n_present++] = c;
    else if (!(score > s->class_score[c]))
        return;
    s->class_score[c] = score;
    s->class_state[c] = state;
}

/* Groups of the states from `begin` on, and what is best after backing off to each class. */
static u8 group_states(Search *s, i64 begin) {
    i64 n = s->n_states - begin, n_classes = s->m->n_classes;
    if (!clear_table(s, n) || !reserve((void **)&s->groups, &s->group_room, n, sizeof *s->groups) ||
        !reserve((void **)&s->state_group, &s->state_group_room, n, sizeof *s->state_group))
        return 0;
    for (i64 k = 0; k < s->n_present; k++) s->class_state[s->classes[k]] = -1;
    s->n_groups = s->n_present = 0;
    for (i64 k = begin; k < s->n_states; k++) {
        i32 node = s->states[k].node;
        f64 score = s->states[k].score;
        if (node >= n_classes && s->nodes[node].parent >= n_classes) {
            score += s->nodes[node].bow;
            node = s->nodes[node].parent;
        }
        s->state_group[k - begin] = node < n_classes ? -1 : join_group(s, node, score, (i32)k);
        if (node < n_classes) join_class(s, node, score, (i32)k);
    }
    for (i64 g = 0; g < s->n_groups; g++) {
        Group group = s->groups[g];
        join_class(s, s->nodes[group.node].parent, group.score + s->nodes[group.node].bow, group.state);
    }
    for (i64 k = 1; k < s->n_present; k++) { /* by falling score */
        i32 c = s->classes[k];
        i64 at = k;
        for (; at > 0 && s->class_score[s->classes[at - 1]] < s->class_score[c]; at--) s->classes[at] = s->classes[at - 1];
        s->classes[at] = c;
    }
    return 1;
}

/* The best score of a class after the classes that states of this position back off to; found once a position. */
static inline f64 score_of_class(Search *s, f64 *root_score, i64 c) {
    if (!isnan(root_score[c])) return root_score[c];
    f64 best = -INFINITY, most = s->class_most[c];
    for (i64 k = 0; k < s->n_present; k++) {
        i32 before = s->classes[k];
        if (s->class_score[before] + most <= best) break; /* the classes stand by falling score */
        f64 score = s->class_score[before] + s->m->class_logp[before * s->m->n_classes + c];
        if (score > best) {
            best = score;
            s->root_state[c] = s->class_state[before];
        }
    }
    return root_score[c] = best;
}

/* Every word that starts at i, from a class, and every special edge. */
static void push_from_root(Search *s, i64 i, f64 *root_score) {
    const Lattice *l = s->l;
    const Trigram *m = s->m;
    for (i64 e = l->ptr[i]; e < l->ptr[i + 1]; e++)
        for (i32 word = l->low[e]; word < l->high[e]; word++) {
            i64 c = m->word_class[word];
            f64 score = score_of_class(s, root_score, c) + m->pair_logp[word] + bonus_of(s->context, word);
            push_hit(s, l->end[e], m->pair_next[word], score, s->root_state[c], word);
        }
    for (i64 e = l->special_ptr[i]; e < l->special_ptr[i + 1]; e++) {
        i32 c = l->special_class[e], source;
        f64 score = score_of_class(s, root_score, c) + l->special_logp[e];
        source = s->root_state[c];
        if (!merge_special(s, c, l->special_end[e], score, source, (i32)(-2 - e)))
            push_hit(s, l->special_end[e], c, score, source, (i32)(-2 - e));
    }
}

static inline void push_pair(Search *s, i32 end, i64 pair, f64 score, i32 source) {
    i32 word = s->m->pair_word[pair];
    push_hit(s, end, s->m->pair_next[pair], score + s->m->pair_logp[pair] + bonus_of(s->context, word), source, word);
}

/* The first pair of p .. stop whose word is at least `low`; there is a pair at p. Steps that double, then halves: but for the
 * first edge it is mostly near. */
static inline i64 first_from(const i32 *pair_word, i64 p, i64 stop, i32 low) {
    if (pair_word[p] >= low) return p;
    i64 n = 1;
    while (p + n < stop && pair_word[p + n] < low) {
        p += n;
        n *= 2;
    }
    n = smaller_i(n, stop - p);
    while (n > 1) {
        i64 half = n >> 1;
        p = pair_word[p + half] < low ? p + half : p;
        n -= half;
    }
    return pair_word[p] < low ? p + 1 : p;
}

/* Every stored word of a node that is on an edge of position i; both sides rise with the word. */
static void push_from_node(Search *s, i64 i, i32 node, f64 score, i32 source) {
    const Lattice *l = s->l;
    const i32 *pair_word = s->m->pair_word;
    i64 p = s->nodes[node].first, stop = s->nodes[node + 1].first, e = l->ptr[i], last = l->ptr[i + 1];
    if (stop - p <= 4 * (last - e)) {
        while (p < stop && e < last) {
            if (pair_word[p] < l->low[e])
                p++;
            else if (pair_word[p] >= l->high[e])
                e++;
            else
                push_pair(s, l->end[e], p++, score, source);
        }
        return;
    }
    for (; e < last && p < stop; e++) {
        p = first_from(pair_word, p, stop, l->low[e]);
        while (p < stop && pair_word[p] < l->high[e]) push_pair(s, l->end[e], p++, score, source);
    }
}

/* Room for the words that can follow one context at position i. */
static u8 reserve_hits(Search *s, i64 n_words) {
    return reserve((void **)&s->hits, &s->hit_room, s->n_hits + n_words, sizeof *s->hits);
}

/* All words that follow the states of position i, from `begin` on: from classes, from groups, from the states that
 * have two words of context. A node is passed over where none of its words begins with the kana that stands here. */
static u8 push_words(Search *s, i64 i, i64 begin, f64 *root_score) {
    const Lattice *l = s->l;
    i64 n_words = l->special_ptr[i + 1] - l->special_ptr[i];
    u64 here = kana_bit(l->chars[i]);
    for (i64 e = l->ptr[i]; e < l->ptr[i + 1]; e++) n_words += l->high[e] - l->low[e];
    if (!reserve_hits(s, n_words)) return 0;
    for (i64 g = 0; g < s->n_groups; g++) {
        const Node *node = s->nodes + s->groups[g].node;
        if (node->kana & here) __builtin_prefetch(s->m->pair_word + ((node->first + node[1].first) >> 1));
    }
    push_from_root(s, i, root_score);
    if (l->ptr[i] == l->ptr[i + 1]) return 1;
    for (i64 g = 0; g < s->n_groups; g++) {
        Group group = s->groups[g];
        const Node *node = s->nodes + group.node;
        if (!(node->kana & here) || (s->gain && group.score + node->gain <= s->class_score[node->parent])) continue;
        if (!reserve_hits(s, n_words)) return 0;
        push_from_node(s, i, group.node, group.score, group.state);
    }
    for (i64 k = begin; k < s->n_states; k++) {
        State state = s->states[k];
        const Node *node = s->nodes + state.node;
        if (!(node->kana & here) || state.node < s->m->n_classes || node->parent < s->m->n_classes) continue;
        if (s->gain && state.score + node->gain <= s->groups[s->state_group[k - begin]].score) continue;
        if (!reserve_hits(s, n_words)) return 0;
        push_from_node(s, i, state.node, state.score, (i32)k);
    }
    return 1;
}

static u8 run(Search *s) {
    i64 n = s->l->n, n_classes = s->m->n_classes;
    memset(s->root_score, 0xff, (size_t)((n + 1) * n_classes) * sizeof *s->root_score); /* NaN */
    for (i64 i = 0; i <= n; i++) {
        i64 begin = s->ptr[i] = s->n_states;
        if (!gather_states(s, i)) return 0;
        if (i == n || s->n_states == begin) continue;
        if (!group_states(s, begin) || !push_words(s, i, begin, s->root_score + i * n_classes)) return 0;
    }
    s->ptr[n + 1] = s->n_states;
    return 1;
}

/* Arrays for a reading of n characters; 0 where there is no memory. */
static u8 make_room(Search *s, i64 n, i64 n_classes) {
    if (n <= s->n_room && n_classes <= s->class_room) return 1;
    s->n_room = larger_i(n, s->n_room);
    s->class_room = larger_i(n_classes, s->class_room);
    size_t positions = (size_t)s->n_room + 2, classes = (size_t)s->class_room;
    u8 good = 1;
#define GROW(x, count) good &= grow((void **)&s->x, (count) * sizeof *s->x)
    GROW(ptr, positions), GROW(head, positions), GROW(arrived, positions), GROW(special, 2 * positions);
    GROW(root_score, positions * classes), GROW(class_score, classes), GROW(class_state, classes);
    GROW(classes, classes), GROW(root_state, classes);
#undef GROW
    return good && reserve((void **)&s->states, &s->state_room, 4096, sizeof *s->states) && reserve_hits(s, 4096);
}

u8 search_forward(Search *s, const Trigram *m, const Backwards *b, const Lattice *l, Context context, u8 with_gain) {
    i64 n = l->n;
    s->m = m;
    s->l = l;
    s->context = context;
    s->gain = with_gain;
    s->nodes = (const Node *)b->nodes;
    s->class_most = b->class_most;
    s->n_states = s->n_hits = s->n_present = 0;
    if (!make_room(s, n, m->n_classes)) return 0;
    memset(s->head, 0xff, (size_t)(n + 1) * sizeof *s->head);
    memset(s->arrived, 0, (size_t)(n + 1) * sizeof *s->arrived);
    memset(s->class_state, 0xff, (size_t)m->n_classes * sizeof *s->class_state);
    for (i64 i = 0; i < 2 * (n + 1); i++) s->special[i] = (Special){-INFINITY, -1, -1};
    return run(s);
}

void search_release(Search *s) {
    void *all[] = {s->states, s->hits, s->groups, s->state_group, s->table, s->ptr, s->head, s->arrived,
                   s->special, s->root_score, s->class_score, s->class_state, s->classes, s->root_state};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* Nodes as the search reads them. */
void ime_pack_nodes(const Trigram *m, const Readings *r, i64 n_nodes, const f32 *gain, u64 *out) {
    Node *nodes = (Node *)out;
    u8 *first = calloc((size_t)m->n_words + 1, 1);
    for (i64 k = 0; first && k < r->n_readings; k++)
        for (i64 word = r->reading_word[k]; word < r->reading_word[k + 1]; word++)
            first[word] = (u8)(r->chars[r->char_ptr[k]] & 63);
    for (i64 x = 0; x < n_nodes; x++) {
        u64 kana = first && x ? 0 : ~(u64)0;
        for (i64 pair = m->pair_ptr[x]; first && x && pair < m->pair_ptr[x + 1]; pair++)
            kana |= (u64)1 << first[m->pair_word[pair]];
        nodes[x] = (Node){kana, m->node_bow[x], gain[x], m->node_parent[x], (i32)m->pair_ptr[x]};
    }
    nodes[n_nodes] = (Node){0, 0, 0, 0, (i32)m->pair_ptr[n_nodes]};
    free(first);
}

/* Log-probability of a path, its words from the last to the first. */
static f64 path_score(const Trigram *m, const Lattice *l, Context context, i64 count, const i32 *words) {
    f64 total = 0.0;
    i32 node = context.start;
    for (i64 k = count - 1; k >= 0; k--) {
        if (words[k] >= 0) {
            total += step(m, node, words[k], &node) + bonus_of(context, words[k]);
            continue;
        }
        for (; node >= m->n_classes; node = m->node_parent[node]) total += m->node_bow[node];
        i32 c = l->special_class[-2 - words[k]];
        total += m->class_logp[node * m->n_classes + c] + l->special_logp[-2 - words[k]];
        node = c;
    }
    return total + step(m, node, 0, &node);
}

/* Words of the best relaxed path that ends in </s>, last first; returns how many, -1 where there is no memory. scores: its
 * relaxed score, and its own. Where both are the same no path is better: the relaxed score bounds them all. */
i64 search_best(Search *s, const Trigram *m, const Backwards *b, const Lattice *l, Context context, i32 *out, f64 *scores) {
    if (!search_forward(s, m, b, l, context, 1)) return -1;
    i64 at = -1, count = 0;
    i32 next;
    scores[0] = -INFINITY;
    for (i64 k = s->ptr[l->n]; k < s->ptr[l->n + 1]; k++) {
        if (s->states[k].score + LARGEST_LOGP <= scores[0]) continue;
        f64 score = s->states[k].score + step(m, s->states[k].node, 0, &next);
        if (score > scores[0]) {
            scores[0] = score;
            at = k;
        }
    }
    for (; at >= 0 && s->states[at].word != -1; at = s->states[at].source) out[count++] = s->states[at].word;
    scores[1] = path_score(m, l, context, count, out);
    return count;
}
