#include "ngram.h"

#include "backoff.h"

i64 sizeof_Backoff(void) { return sizeof(Backoff); }

/* Target positions (all but the first and the unseen) sorted by word, stable; returns how many. */
i64 ngram_positions_by_word(i64 n, const i32 *stream, i64 n_words, i64 *ends, i32 *out) {
    memset(ends, 0, (size_t)(n_words + 1) * sizeof *ends);
    for (i64 i = 1; i < n; i++)
        if (stream[i] >= 0) ends[stream[i] + 1]++;
    for (i64 u = 0; u < n_words; u++) ends[u + 1] += ends[u];
    for (i64 i = 1; i < n; i++)
        if (stream[i] >= 0) out[ends[stream[i]]++] = (i32)i;
    return n_words > 0 ? ends[n_words - 1] : 0;
}

/* Whether the (n-1)-gram before position i can be extended: it exists and no sentence ends inside the n-gram. */
static inline u8 extends(const i32 *stream, const i32 *grams, i64 n, i64 i) {
    return grams[i - 1] >= 0 && (n == 2 || stream[i - 1] != 0);
}

/* From the (n-1)-grams ending at each position to the n-grams, numbered by (prefix, last word).
 * grams[i] numbers the (n-1)-gram that ends at i (-1: none), longer[i] gets the n-gram; the rest describes each n-gram:
 * its first n-1 words, last word, last n-1 words, occurrences. by_word keeps only positions that still have an
 * n-gram. left: the number of n-grams and of positions left. */
void ngram_extend_grams(i64 length, const i32 *stream, i64 n_left, i32 *by_word, i64 n, const i32 *grams, i64 n_grams,
                        i64 *ends, i32 *ordered, i32 *longer, i32 *prefix, i32 *word, i32 *suffix, i32 *count, i64 *left) {
    memset(ends, 0, (size_t)(n_grams + 1) * sizeof *ends);
    for (i64 i = 0; i < length; i++) {
        longer[i] = -1;
        if (i > 0 && stream[i] >= 0 && extends(stream, grams, n, i)) ends[grams[i - 1] + 1]++;
    }
    for (i64 h = 0; h < n_grams; h++) ends[h + 1] += ends[h];
    i64 kept = 0;
    for (i64 k = 0; k < n_left; k++) {
        i32 i = by_word[k];
        if (!extends(stream, grams, n, i)) continue;
        ordered[ends[grams[i - 1]]++] = i;
        by_word[kept++] = i;
    }
    i64 g = -1, at = 0;
    for (i64 h = 0; h < n_grams; h++) {
        i32 last = -1;
        for (; at < ends[h]; at++) {
            i32 i = ordered[at], u = stream[i];
            if (u != last) {
                g++;
                last = u;
                prefix[g] = (i32)h;
                word[g] = u;
                suffix[g] = grams[i];
                count[g] = 0;
            }
            count[g]++;
            longer[i] = (i32)g;
        }
    }
    left[0] = g + 1;
    left[1] = kept;
}

/* One word: its log-probability after node, and the node it leads to. p(w | x) = p[x,w] where the pair is stored, else
 * bow(x) p(w | x'), x' the longest stored suffix of x. */
i32 ngram_step(const Backoff *m, i32 node, i32 word, f64 *logp) {
    *logp = 0.0;
    while (1) {
        i64 pair = find_pair(node, word, m->pair_ptr, m->pair_word);
        if (pair >= 0) {
            *logp += m->pair_logp[pair];
            return m->pair_next[pair];
        }
        *logp += m->node_bow[node];
        node = m->node_parent[node];
    }
}

/* The same for many (node, word); the word -1 gives NaN and the root. */
void ngram_step_many(const Backoff *m, i64 n, const i32 *nodes, const i32 *words, f64 *out_logp, i32 *out_node) {
    for (i64 k = 0; k < n; k++) {
        out_logp[k] = NAN;
        out_node[k] = words[k] < 0 ? 0 : ngram_step(m, nodes[k], words[k], out_logp + k);
    }
}

enum { N_RUNS = 16 };

typedef struct {
    i64 at, end;
    i64 pair;   /* that of the word, -1 where it is not known yet */
    i64 low, n; /* the pairs of the node; n is -1 where they are not known yet */
    i32 node;
    f64 backed_off;
} Run;

/* One step of a run; what the next step reads is asked for ahead. */
static inline void look_up(const Backoff *m, const i32 *stream, Run *run, f64 *out) {
    i32 word = stream[run->at], node = run->node;
    if (run->pair >= 0) {
        out[run->at++] = run->backed_off + m->pair_logp[run->pair];
        run->node = m->pair_next[run->pair];
        run->backed_off = 0.0;
        run->pair = run->n = -1;
        __builtin_prefetch(m->pair_ptr + run->node);
    } else if (word < 0) {
        out[run->at++] = NAN;
        run->node = 0;
        run->backed_off = 0.0;
        run->n = -1;
    } else if (run->n < 0 && node != 0) {
        run->low = m->pair_ptr[node];
        run->n = m->pair_ptr[node + 1] - run->low;
        for (i64 k = 1; k < 4; k++) __builtin_prefetch(m->pair_word + run->low + k * run->n / 4);
        __builtin_prefetch(m->node_parent + node);
        __builtin_prefetch(m->node_bow + node);
    } else {
        run->pair = node == 0 ? word : search_rising(m->pair_word, run->low, run->low + run->n, word);
        if (run->pair >= 0) {
            __builtin_prefetch(m->pair_logp + run->pair);
            __builtin_prefetch(m->pair_next + run->pair);
        } else {
            run->backed_off += m->node_bow[node];
            run->node = m->node_parent[node];
            run->n = -1;
            __builtin_prefetch(m->pair_ptr + run->node);
        }
    }
}

/* Log-probability of each position of a stream from start; -1 gives NaN and cuts the context. Time goes into waiting
 * for memory, so runs of sentences advance in turn, a step of one look-up each: their waits overlap. A run begins after a
 * boundary, where the state is start again. */
void ngram_score_stream(const Backoff *m, i64 n, const i32 *stream, i32 start, f64 *out) {
    Run runs[N_RUNS];
    i64 cut = 0;
    for (i64 k = 0; k < N_RUNS; k++) {
        i64 first = cut;
        cut = larger_i(cut, n * (k + 1) / N_RUNS);
        while (0 < cut && cut < n && stream[cut - 1] != 0) cut++;
        runs[k] = (Run){first, cut, -1, 0, -1, start, 0.0};
    }
    for (u8 open = 1; open;) {
        open = 0;
        for (i64 k = 0; k < N_RUNS; k++) {
            if (runs[k].at >= runs[k].end) continue;
            open = 1;
            look_up(m, stream, runs + k, out);
        }
    }
}

/* p(. | node) over the whole vocabulary: the root's row, overwritten from short to long suffixes. */
void ngram_distribution(const Backoff *m, i32 node, i64 depth, i64 *path, f64 *shift, i64 n_words, const f64 *root_p,
                        f64 *out) {
    i64 n = 0;
    f64 total = 0.0;
    for (i32 x = node; x != 0 && n < depth; x = m->node_parent[x]) {
        path[n] = x;
        shift[n++] = total;
        total += m->node_bow[x];
    }
    f64 scale = exp(total);
    for (i64 u = 0; u < n_words; u++) out[u] = scale * root_p[u];
    for (i64 j = n - 1; j >= 0; j--)
        for (i64 k = m->pair_ptr[path[j]]; k < m->pair_ptr[path[j] + 1]; k++)
            out[m->pair_word[k]] = exp(m->pair_logp[k] + shift[j]);
}

/* Nodes in order, each after the node whose pair it continues, words inside the vocabulary, which is the root's. */
static u8 is_trie(i64 n_words, i64 n_nodes, i64 n_pairs, const i64 *node_pair, const i64 *pair_ptr, const i32 *pair_word) {
    if (n_nodes < 1 || pair_ptr[0] != 0 || pair_ptr[1] != n_words || pair_ptr[n_nodes] != n_pairs) return 0;
    u8 fine = 1;
    for (i64 x = 0; x < n_nodes; x++) fine &= pair_ptr[x] <= pair_ptr[x + 1];
    for (i64 x = 1; x < n_nodes; x++) fine &= node_pair[x] > (x > 1 ? node_pair[x - 1] : -1) && node_pair[x] < pair_ptr[x];
    if (!fine) return 0; /* from here on all numbers lead somewhere */
    for (i64 pair = 0; pair < n_pairs; pair++) fine &= pair_word[pair] >= 0 && pair_word[pair] < n_words;
    for (i64 word = 0; word < n_words; word++) fine &= pair_word[word] == word;
    return fine;
}

u8 ngram_nodes_of_pairs(i64 n_words, i64 n_nodes, i64 n_pairs, const i64 *node_pair, const i64 *pair_ptr,
                        const i32 *pair_word, i32 *pair_node_of) {
    if (!is_trie(n_words, n_nodes, n_pairs, node_pair, pair_ptr, pair_word)) return 0;
    for (i64 pair = 0; pair < n_pairs; pair++) pair_node_of[pair] = -1;
    for (i64 x = 1; x < n_nodes; x++) pair_node_of[node_pair[x]] = (i32)x;
    return 1;
}

u8 ngram_is_linked(i64 n_words, i64 n_nodes, i64 n_pairs, const i64 *node_pair, const i64 *pair_ptr, const i32 *pair_word,
                   const i32 *pair_node_of, const i32 *node_parent, const i32 *node_depth, const i32 *pair_next) {
    if (!is_trie(n_words, n_nodes, n_pairs, node_pair, pair_ptr, pair_word)) return 0;
    u8 fine = node_parent[0] == -1 && node_depth[0] == 0;
    i64 next = 1; /* the node that the next pair to spell one must spell; it comes after the node of that pair */
    for (i64 x = 0; x < n_nodes && fine; x++) {
        i64 depth = node_depth[x];
        if (x > 0) fine &= node_parent[x] >= 0 && node_parent[x] < x && node_depth[node_parent[x]] < depth;
        for (i64 pair = pair_ptr[x]; pair < pair_ptr[x + 1] && fine; pair++) {
            u8 spells = next < n_nodes && node_pair[next] == pair;
            fine &= pair_node_of[pair] == (spells ? next : -1) && pair_next[pair] >= 0 && pair_next[pair] < n_nodes;
            fine &= pair == pair_ptr[x] || pair_word[pair - 1] < pair_word[pair];
            if (spells) fine &= node_depth[next++] == depth + 1;
        }
    }
    return fine;
}

/* Suffix links of nodes and transitions of pairs, in one pass from short contexts to long ones. pair_node_of is the
 * node that a pair spells (-1 where it is none), rising with the pair. The boundary leads to the start node. */
void ngram_link(i64 n_nodes, i64 n_pairs, const i64 *pair_ptr, const i32 *pair_word, const i32 *pair_node_of,
                i64 start_pair, i32 *node_parent, i32 *node_depth, i32 *pair_next) {
    (void)n_pairs;
    i32 start = pair_node_of[start_pair] >= 0 ? pair_node_of[start_pair] : 0;
    node_parent[0] = -1;
    node_depth[0] = 0;
    for (i64 x = 0; x < n_nodes; x++) {
        for (i64 pair = pair_ptr[x]; pair < pair_ptr[x + 1]; pair++) {
            i32 word = pair_word[pair], suffix = 0, own = pair_node_of[pair];
            for (i32 y = node_parent[x]; y >= 0; y = node_parent[y]) {
                i64 shorter = find_pair(y, word, pair_ptr, pair_word);
                if (shorter >= 0) {
                    suffix = pair_next[shorter];
                    break;
                }
            }
            if (own >= 0) {
                node_parent[own] = suffix;
                node_depth[own] = node_depth[x] + 1;
            }
            pair_next[pair] = word == 0 ? start : own >= 0 ? own : suffix;
        }
    }
}

/* Pairs that stand only because a longer context needs them (NaN) get their backed-off value. */
void ngram_fill_missing(const Backoff *m) {
    for (i64 x = 1; x < m->n_nodes; x++) {
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
            if (!isnan(m->pair_logp[pair])) continue;
            f64 logp;
            ngram_step(m, m->node_parent[x], m->pair_word[pair], &logp);
            m->pair_logp[pair] = m->node_bow[x] + logp;
        }
    }
}

enum { AT_ONCE = 32 };

/* Pair that spells the first n_words words of each row, -1 where there is none. Time goes into waiting for memory, so some
 * rows descend together; a row that begins as the one before has its pair. */
void ngram_find_grams(i64 n_rows, i64 width, const i32 *grams, i64 n_words, i64 n_nodes, i64 n_pairs, const i64 *pair_ptr,
                      const i32 *pair_word, const i32 *pair_node_of, i64 *out) {
    (void)n_nodes;
    (void)n_pairs;
    i64 rows[AT_ONCE], nodes[AT_ONCE], pairs[AT_ONCE];
    for (i64 first = 0; first < n_rows;) {
        i64 n = 0, k = first;
        for (; k < n_rows && n < AT_ONCE; k++)
            if (k == first || memcmp(grams + k * width, grams + (k - 1) * width, (size_t)n_words * sizeof *grams)) {
                rows[n] = k;
                pairs[n] = -1;
                nodes[n++] = 0;
            }
        for (i64 j = 0; j < n_words; j++) {
            for (i64 r = 0; r < n; r++)
                if (nodes[r] >= 0) __builtin_prefetch(pair_word + pair_ptr[nodes[r]]);
            for (i64 r = 0; r < n; r++) {
                if (nodes[r] < 0) continue;
                pairs[r] = find_pair(nodes[r], grams[rows[r] * width + j], pair_ptr, pair_word);
                if (pairs[r] >= 0) __builtin_prefetch(pair_node_of + pairs[r]);
            }
            for (i64 r = 0; r < n; r++) {
                if (nodes[r] < 0) continue;
                nodes[r] = pairs[r] < 0 ? -1 : j + 1 < n_words ? pair_node_of[pairs[r]] : 0;
                if (nodes[r] < 0) pairs[r] = -1;
                else __builtin_prefetch(pair_ptr + nodes[r]);
            }
        }
        for (i64 r = 0; r < n; r++)
            for (i64 same = rows[r]; same < (r + 1 < n ? rows[r + 1] : k); same++) out[same] = pairs[r];
        first = k;
    }
}

/* The context words of nodes of one depth, oldest first. */
void ngram_spell(i64 n, const i32 *nodes, i64 n_nodes, const i64 *node_pair, const i64 *pair_ptr, i64 n_pairs,
                 const i32 *pair_word, i64 depth, i32 *out) {
    (void)n_pairs;
    for (i64 k = 0; k < n; k++) {
        i64 x = nodes[k];
        for (i64 j = depth - 1; j >= 0; j--) {
            i64 pair = node_pair[x];
            out[k * depth + j] = pair_word[pair];
            x = node_of_pair(n_nodes, pair_ptr, pair);
        }
    }
}

/* What the pairs of x leave over: 1 - sum p[x,w], and 1 - sum p(w | x'); lower gets the latter's logarithms. */
static void left_over(const Backoff *m, i64 x, f64 *lower, f64 *rest, f64 *lower_rest) {
    *rest = *lower_rest = 1.0;
    for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
        f64 logp;
        ngram_step(m, m->node_parent[x], m->pair_word[pair], &logp);
        *rest -= exp(m->pair_logp[pair]);
        *lower_rest -= exp(logp);
        if (lower) lower[pair] = logp;
    }
}

/* bow(x) = (1 - sum p[x,w]) / (1 - sum p(w | x')) over stored pairs, from short contexts to long. */
void ngram_renormalise(const Backoff *m) {
    const f64 least = 1e-12; /* all words stored: nothing is ever backed off to, and rounding must not make an infinity */
    for (i64 x = 1; x < m->n_nodes; x++) {
        f64 rest, lower_rest;
        left_over(m, x, NULL, &rest, &lower_rest);
        m->node_bow[x] = lower_rest > least ? log(larger(rest, least) / lower_rest) : 0.0;
    }
}

void ngram_divide_by_sums(const Backoff *m) {
    for (i64 x = 0; x < m->n_nodes; x++) {
        f64 sum = 0.0, lower_rest = x > 0, logp;
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
            sum += exp(m->pair_logp[pair]);
            if (x == 0) continue;
            ngram_step(m, m->node_parent[x], m->pair_word[pair], &logp);
            lower_rest -= exp(logp);
        }
        sum += exp(m->node_bow[x]) * larger(lower_rest, 0.0);
        if (!(sum > 0.0)) continue;
        f64 log_sum = log(sum);
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) m->pair_logp[pair] -= log_sum;
        m->node_bow[x] -= log_sum;
    }
}

u8 ngram_round_stored(const Backoff *m, i64 n_nodes, f64 *node_bow, u8 *exact, i64 n_pairs, f64 *pair_logp) {
    (void)n_pairs;
    const f64 most_off = 1e-9;
    for (i64 x = 0; x < n_nodes; x++) {
        i64 first = m->pair_ptr[x], end = m->pair_ptr[x + 1];
        f64 rest = 1.0, lower_rest = x > 0, old_rest = 1.0, old_lower_rest = x > 0;
        for (i64 pair = first; pair < end; pair++) {
            pair_logp[pair] = on_grid(m->pair_logp[pair]);
            rest -= exp((f32)pair_logp[pair]);
            old_rest -= exp(m->pair_logp[pair]);
            if (x == 0) continue;
            f64 bow = 0.0, old_bow = 0.0;
            i64 y = m->node_parent[x], shorter;
            while ((shorter = find_pair(y, m->pair_word[pair], m->pair_ptr, m->pair_word)) < 0) {
                bow += node_bow[y];
                old_bow += m->node_bow[y];
                y = m->node_parent[y];
            }
            lower_rest -= exp(bow + pair_logp[shorter]);
            old_lower_rest -= exp(old_bow + m->pair_logp[shorter]);
        }
        if (!(fabs(old_rest - exp(m->node_bow[x]) * old_lower_rest) < most_off)) return 0;
        exact[x] = smaller(rest, lower_rest) < ROOM;
        if (exact[x]) rest = 1.0;
        for (i64 pair = first; pair < end; pair++)
            if (exact[x])
                rest -= exp(pair_logp[pair]);
            else
                pair_logp[pair] = (f32)pair_logp[pair];
        node_bow[x] = on_grid(rest > LEAST_LEFT && lower_rest > LEAST_LEFT * LEAST_LEFT ? log(rest / lower_rest) : m->node_bow[x]);
    }
    return 1;
}

/* One step of the Markov chain of the 2-grams: out[w] = sum_v pi[v] p(w | v); id 0 is the boundary. */
f64 ngram_stationary_step(const Backoff *m, const i32 *pair_node_of, i64 n_words, const f64 *pi, f64 *out) {
    f64 base = 0.0, moved = 0.0;
    for (i64 u = 0; u < n_words; u++) out[u] = 0.0;
    for (i64 v = 0; v < n_words; v++) {
        i32 x = pair_node_of[v];
        if (x < 0) {
            base += pi[v];
            continue;
        }
        f64 bow = exp(m->node_bow[x]);
        base += pi[v] * bow;
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
            i32 u = m->pair_word[pair];
            out[u] += pi[v] * (exp(m->pair_logp[pair]) - bow * exp(m->pair_logp[u]));
        }
    }
    for (i64 u = 0; u < n_words; u++) {
        out[u] = larger(out[u] + base * exp(m->pair_logp[u]), 0.0);
        moved += fabs(out[u] - pi[u]);
    }
    return moved;
}

/* Stolcke 1998: the relative entropy each pair costs if it goes, or a pair that it holds up, if more. */
void ngram_relative_entropy_scores(const Backoff *m, i64 n_words, const f64 *pi, const i64 *node_pair,
                                   const i32 *pair_node_of, f64 *log_h, f64 *lower, f64 *out) {
    (void)n_words;
    log_h[0] = 0.0;
    for (i64 x = 0; x < m->n_nodes; x++)
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++)
            if (pair_node_of[pair] >= 0)
                log_h[pair_node_of[pair]] = x > 0 ? log_h[x] + m->pair_logp[pair] : log(pi[pair]);
    for (i64 pair = 0; pair < m->pair_ptr[1]; pair++) out[pair] = INFINITY;
    for (i64 x = 1; x < m->n_nodes; x++) {
        f64 rest, lower_rest;
        left_over(m, x, lower, &rest, &lower_rest);
        rest = larger(rest, 0.0);
        lower_rest = larger(lower_rest, 0.0);
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++) {
            f64 p = exp(m->pair_logp[pair]);
            f64 bow = log((rest + p) / (lower_rest + exp(lower[pair])));
            f64 cost = p * (m->pair_logp[pair] - lower[pair] - bow);
            if (rest > 0.0) cost -= rest * (bow - m->node_bow[x]);
            out[pair] = exp(log_h[x]) * larger(cost, 0.0);
        }
    }
    for (i64 x = m->n_nodes - 1; x > 0; x--)
        for (i64 pair = m->pair_ptr[x]; pair < m->pair_ptr[x + 1]; pair++)
            out[node_pair[x]] = larger(out[node_pair[x]], out[pair]);
}

/* Share of each id among the last words before it (as many as the ring holds); NaN where there are none yet. Ends of
 * sentences (0) and words outside the vocabulary (-1) are not remembered. */
void ngram_recent_shares(i64 n, const i32 *stream, i64 size, i32 *ring, i64 n_words, i32 *counts, f64 *shares) {
    (void)n_words;
    i64 held = 0, at = 0;
    for (i64 i = 0; i < n; i++) {
        i32 word = stream[i];
        shares[i] = held == 0 ? NAN : word > 0 ? (f64)counts[word] / (f64)held : 0.0;
        if (word <= 0) continue;
        if (held == size)
            counts[ring[at]]--;
        else
            held++;
        ring[at] = word;
        counts[word]++;
        at = (at + 1) % size;
    }
}
