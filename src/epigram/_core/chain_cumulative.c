#include "chain_cumulative.h"
#include "chain_step.h"

i64 sizeof_Dual(void) { return sizeof(Dual); }

typedef struct {
    f64 x, w;
    i64 code; /* of the layout: label, and entries to the row's end << 16 */
    i64 nothing;
} Entry;

/* The u of a row's last step. */
static inline f64 *due(const Dual *d, i64 r) { return d->heads + r * (1 + d->n_words); }

/* Which labels of a row are part of the model, from label j on. */
static inline u64 free_bits(const Dual *d, i64 r, i64 j) { return ((const u64 *)(due(d, r) + 1))[j / 64] >> (j % 64); }

static inline f64 soft_one(f64 x, f64 u) { return x - larger(smaller(x, u), -u); }

/* The row of each occurrence, and the bits of the free weights. Returns 0 unless in every token the occurrences with
 * dense rows come first and all have a row. */
i64 chain_cumulative_prepare(const Chains *a, const Layout *l, Dual *d) {
    for (i64 s = 0; s < a->n_sentences; s++) {
        const i32 *rows = a->rows + a->rows_ptr[s];
        for (i64 t = a->sentence_ptr[s]; t < a->sentence_ptr[s + 1]; t++) {
            int sparse = 0;
            for (i64 k = a->attribute_ptr[t]; k < a->attribute_ptr[t + 1]; k++) {
                i64 p = rows[a->local[k]];
                if (p < 0 || (sparse && p < l->dense_end)) return 0;
                sparse = p >= l->dense_end;
                d->occurrences[k] = (i32)(sparse ? d->n_dense + p - l->dense_end : p / l->width);
            }
        }
    }
    for (i64 k = 0; k < PREFETCHED; k++) d->occurrences[d->n_occurrences + k] = 0;
    for (i64 r = 0; r < d->n_dense; r++) {
        u64 *bits = (u64 *)(due(d, r) + 1);
        for (i64 i = 0; i < d->n_words; i++) bits[i] = 0;
        for (i64 j = 0; j < l->width; j++) bits[j / 64] |= (u64)(l->free[r * l->width + j] != 0) << (j % 64);
    }
    return 1;
}

/* x = w - q of all weights. A row owes no more than the largest penalty that one of its weights has received. */
static void load(const Layout *l, const f64 *w, const f64 *q, const Dual *d) {
    i64 feature = 0;
    for (i64 r = 0; r < d->n_dense; r++) {
        f64 most = 0.0;
        for (i64 m = r * l->width; m < (r + 1) * l->width; m++) {
            d->x[m] = 0.0;
            if (!l->free[m]) continue;
            d->x[m] = w[feature] - q[feature];
            most = larger(most, fabs(q[feature++]));
        }
        *due(d, r) = most;
    }
    Entry *entry = (Entry *)d->entries;
    for (i64 m = l->dense_end; m < l->state_end; m++, feature++) {
        *entry++ = (Entry){w[feature] - q[feature], w[feature], l->codes[m], 0};
    }
    for (i64 i = 0; i < d->n_edges; i++) {
        i64 is_free = l->free[l->state_end + i];
        d->edge_x[i] = is_free ? w[feature] - q[feature] : 0.0;
        d->edge_w[i] = is_free ? w[feature] : 0.0;
        feature += is_free;
    }
}

/* w, and q = w - x. */
static void store(const Layout *l, const Dual *d, f64 *w, f64 *q) {
    i64 feature = 0;
    for (i64 m = 0; m < l->dense_end; m++) {
        if (!l->free[m]) continue;
        w[feature] = soft_one(d->x[m], *due(d, m / l->width));
        q[feature] = w[feature] - d->x[m];
        feature++;
    }
    const Entry *entry = (const Entry *)d->entries;
    for (i64 m = l->dense_end; m < l->state_end; m++, feature++, entry++) {
        w[feature] = entry->w;
        q[feature] = entry->w - entry->x;
    }
    for (i64 i = 0; i < d->n_edges; i++) {
        if (!l->free[l->state_end + i]) continue;
        w[feature] = d->edge_w[i];
        q[feature] = d->edge_w[i] - d->edge_x[i];
        feature++;
    }
}

/* Ask for the weights of an occurrence that comes soon; of a dense row, the n * LANES from j on. */
BLOCK_FUNCTION void fetch(int n, const Dual *d, i64 occurrence, i64 j) {
    if (occurrence < d->n_dense) {
        const f64 *row = d->x + occurrence * d->width + j;
        EVERY(line, n * LANES / 8) __builtin_prefetch(row + 8 * line, 1);
        __builtin_prefetch(due(d, occurrence), 1);
    } else {
        __builtin_prefetch(d->entries + 4 * (occurrence - d->n_dense), 1);
    }
}

/* Scores of the n * LANES labels from j on by the dense rows of occurrences k to end; returns the first sparse one. */
BLOCK_FUNCTION i64 dual_block(int n, const Chains *a, const Dual *dual, i64 k, i64 end, i64 j, f64 *out) {
    const Dual d = *dual;
    const f64 *values = a->values;
    i64 stride = a->value_stride;
    lanes sum[MOST_LANES];
    EVERY(v, n) sum[v] = (lanes){0};
    for (; k < end && d.occurrences[k] < d.n_dense; k++) {
        fetch(n, &d, d.occurrences[k + PREFETCHED], j);
        const lanes *row = (const lanes *)(d.x + d.occurrences[k] * d.width + j);
        lanes u = (lanes){0} + *due(&d, d.occurrences[k]);
        f64 value = values[k * stride];
        EVERY(v, n) sum[v] += value * soft(row[v], u);
    }
    EVERY(v, n) ((lanes *)(out + j))[v] = sum[v];
    return k;
}

/* Label scores of one token. */
static void score_token(const Chains *a, const Dual *d, i64 t, f64 *restrict out) {
    i64 first = a->attribute_ptr[t], end = a->attribute_ptr[t + 1], k = first, j = 0;
    for (; j + BLOCK <= d->width; j += BLOCK) k = dual_block(BLOCK / LANES, a, d, first, end, j, out);
    if (d->width - j == 8) k = dual_block(8 / LANES, a, d, first, end, j, out);
    if (d->width - j == 16) k = dual_block(16 / LANES, a, d, first, end, j, out);
    if (d->width - j == 24) k = dual_block(24 / LANES, a, d, first, end, j, out);
    const f64 *restrict values = a->values, *restrict entries = d->entries;
    for (; k < end; k++) {
        fetch(8 / LANES, d, d->occurrences[k + PREFETCHED], 0);
        const Entry *entry = (const Entry *)entries + (d->occurrences[k] - d->n_dense);
        f64 value = values[k * a->value_stride];
        for (i64 left = entry->code >> 16; left > 0; left--, entry++) out[entry->code & 0xFFFF] += value * entry->w;
    }
}

/* x -= eta g on the n * LANES labels from j on of the dense rows of occurrences k to end, which are read at u from now
 * on; returns the first sparse one. */
BLOCK_FUNCTION i64 descend_block(int n, const Chains *a, const Dual *dual, i64 k, i64 end, i64 j, const f64 *gradient,
                                 f64 eta, f64 u) {
    const Dual d = *dual;
    const f64 *values = a->values;
    i64 stride = a->value_stride;
    lanes g[MOST_LANES];
    masks bit[MOST_LANES];
    EVERY(v, n) g[v] = eta * ((const lanes *)(gradient + j))[v];
    EVERY(v, n) {
        for (int i = 0; i < LANES; i++) bit[v][i] = (i64)1 << (v * LANES + i);
    }
    for (; k < end && d.occurrences[k] < d.n_dense; k++) {
        i64 r = d.occurrences[k];
        lanes *row = (lanes *)(d.x + r * d.width + j);
        masks bits = (masks){0} + (i64)free_bits(&d, r, j);
        f64 value = values[k * stride];
        EVERY(v, n) row[v] -= (lanes)((masks)(value * g[v]) & ((bits & bit[v]) != 0));
        *due(&d, r) = u;
    }
    return k;
}

/* A step on all weights of one token, whose score gradient is given. */
static void descend_token(const Chains *a, const Dual *d, i64 t, const f64 *restrict gradient, f64 eta, f64 u) {
    i64 first = a->attribute_ptr[t], end = a->attribute_ptr[t + 1], k = first, j = 0;
    for (; j + BLOCK <= d->width; j += BLOCK) k = descend_block(BLOCK / LANES, a, d, first, end, j, gradient, eta, u);
    if (d->width - j == 8) k = descend_block(8 / LANES, a, d, first, end, j, gradient, eta, u);
    if (d->width - j == 16) k = descend_block(16 / LANES, a, d, first, end, j, gradient, eta, u);
    if (d->width - j == 24) k = descend_block(24 / LANES, a, d, first, end, j, gradient, eta, u);
    for (; k < end; k++) {
        Entry *entry = (Entry *)d->entries + (d->occurrences[k] - d->n_dense);
        f64 step = eta * a->values[k * a->value_stride];
        for (i64 left = entry->code >> 16; left > 0; left--, entry++) {
            entry->x -= step * gradient[entry->code & 0xFFFF];
            entry->w = soft_one(entry->x, u);
        }
    }
}

/* Whether a sentence of step k has pairs of labels: where there are many, they are what a step costs. */
static u8 has_pairs(const Chains *a, const Pass *plan, i64 k) {
    if (a->n_types) return 1;
    for (i64 at = k * plan->batch; at < step_end(plan, k); at++) {
        i64 s = plan->order[at];
        if (a->sentence_ptr[s + 1] - a->sentence_ptr[s] > 1) return 1;
    }
    return 0;
}

/* The weights of transitions and edges at penalty u. */
static void read_edges(const Dual *d, f64 u) {
    for (i64 i = 0; i < d->n_edges; i++) d->edge_w[i] = soft_one(d->edge_x[i], u);
}

/* Step k: the gradients of all its sentences at the weights before it, then x -= eta g. Weights of edges are `late` after
 * steps without pairs. */
static f64 step_once(const Chains *a, const Layout *l, const Pass *plan, i64 k, const Dual *d, Scratch x, u8 *late) {
    f64 loss = 0.0, eta = plan->rates[k], u = plan->penalties[k + 1];
    i64 begin = k * plan->batch, end = step_end(plan, k);
    u8 pairs = l->has_transitions && has_pairs(a, plan, k);
    if (pairs) {
        if (*late) read_edges(d, plan->penalties[k]);
        exp_transitions(l, d->edge_w, &x);
        for (i64 i = 0; i < d->n_edges; i++) d->edge_g[i] = 0.0;
    }
    x.scores = d->gradients;
    for (i64 at = begin; at < end; at++) {
        i64 s = plan->order[at], first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
        for (i64 t = 0; t < n; t++) score_token(a, d, first + t, x.scores + t * l->width);
        loss += scored_loss(a, l, s, plan->labels, plan->weights[s], d->edge_w, &x, d->edge_g);
        x.scores += n * l->width;
    }
    x.scores = d->gradients;
    for (i64 at = begin; at < end; at++) {
        i64 s = plan->order[at], first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
        for (i64 t = 0; t < n; t++) descend_token(a, d, first + t, x.scores + t * l->width, eta, u);
        x.scores += n * l->width;
    }
    *late = !pairs;
    if (!pairs) return loss;
    for (i64 i = 0; i < d->n_edges; i++) {
        d->edge_x[i] -= eta * d->edge_g[i] * l->free[l->state_end + i];
        d->edge_w[i] = soft_one(d->edge_x[i], u);
    }
    return loss;
}

/* One pass over the weights that are part of the model, w, and the penalties q they have received; returns the losses
 * met. */
f64 chain_cumulative_run(const Chains *a, const Layout *l, const Pass *plan, i64 n_features, f64 *w, f64 *q, Dual *d,
                         Scratch *x) {
    (void)n_features;
    f64 loss = 0.0;
    u8 late = 0;
    load(l, w, q, d);
    for (i64 k = 0; k < plan->n_steps; k++) loss += step_once(a, l, plan, k, d, *x, &late);
    if (late) read_edges(d, plan->penalties[plan->n_steps]);
    store(l, d, w, q);
    return loss;
}
