/* Minimum sample risk: errors of the chosen candidates as a function of one weight, exactly.
 *
 * Along one weight the score of a candidate is a straight line, so the candidate chosen from a list is that on the upper
 * envelope of its lines, and the errors change only where two lines of the envelope cross. Scores are taken relative to
 * W^R, whose line is 0 and whose extra errors are 0. Where scores are equal, up to rounding, the candidate with
 * the most errors counts.
 */
#include "rerank.h"

static const f64 TIE = 1e-9; /* scores and places that are nearer than this are equal */
static const f64 WIDTH = 1e-6; /* narrower intervals are left out: rounding could miss them */

typedef struct {
    f64 height; /* the score is height + rise * move */
    f64 rise;
    f64 errors;
} Line;

i64 sizeof_Risk(void) { return sizeof(Risk); }

/* Extra errors of the candidate that a list chooses: of the best scored the one with the most. */
static f64 chosen_extra(i64 first, i64 last, const f64 *margins, const f64 *extra) {
    f64 best = 0.0, errors = 0.0;
    for (i64 p = first; p < last; p++) best = larger(best, -margins[p]);
    for (i64 p = first; p < last; p++)
        if (-margins[p] >= best - TIE) errors = larger(errors, extra[p]);
    return errors;
}

/* Extra errors of the chosen candidates of all lists. */
f64 rerank_sample_risk(i64 n_lists, const i64 *list_pair, i64 n_pairs, const f64 *margins, const f64 *extra) {
    (void)n_pairs;
    f64 total = 0.0;
    for (i64 i = 0; i < n_lists; i++) total += chosen_extra(list_pair[i], list_pair[i + 1], margins, extra);
    return total;
}

/* The line of a pair. */
static inline Line line_of(const Risk *m, i64 p) { return (Line){-m->margins[p], -m->slope[p], m->extra[p]}; }

/* Where on the envelope, right of line `now`, the next line begins; infinity where there is none. */
static f64 next_line(const Risk *m, i64 first, i64 last, Line now, Line *next) {
    const Line reference = {0.0, 0.0, 0.0};
    f64 nearest = INFINITY;
    for (i64 p = first - 1; p < last; p++) {
        Line line = p < first ? reference : line_of(m, p);
        if (line.rise <= now.rise) continue;
        f64 crossing = (now.height - line.height) / (line.rise - now.rise);
        u8 better = crossing < nearest;
        if (fabs(crossing - nearest) <= TIE)
            better = line.rise > next->rise || (line.rise == next->rise && line.errors > next->errors);
        if (better) {
            nearest = crossing;
            *next = line;
        }
    }
    return nearest;
}

/* Walks the upper envelope of one list's lines from left to right. Each change of the chosen candidate is an event:
 * where it is, and by how much the errors change; events are added at n. Returns how many there are then. */
static i64 envelope(const Risk *m, i64 first, i64 last, i64 n, f64 *at_left) {
    Line now = {0.0, 0.0, 0.0}, next = now;
    for (i64 p = first; p < last; p++) {
        Line line = line_of(m, p);
        u8 better = line.rise < now.rise || (line.rise == now.rise && line.height > now.height + TIE);
        if (line.rise == now.rise && fabs(line.height - now.height) <= TIE) better = line.errors > now.errors;
        if (better) now = line;
    }
    *at_left += now.errors;
    for (;;) {
        next = (Line){0.0, 0.0, 0.0};
        f64 crossing = next_line(m, first, last, now, &next);
        if (crossing == INFINITY) return n;
        m->place[n] = crossing;
        m->change[n++] = next.errors - now.errors;
        now = next;
    }
}

static inline void swap_events(const Risk *m, i64 a, i64 b) {
    f64 place = m->place[a], change = m->change[a];
    m->place[a] = m->place[b];
    m->change[a] = m->change[b];
    m->place[b] = place;
    m->change[b] = change;
}

/* Restores a max-heap of n events below i. */
static void sift_event(const Risk *m, i64 i, i64 n) {
    while (2 * i + 1 < n) {
        i64 child = 2 * i + 1;
        if (child + 1 < n && m->place[child + 1] > m->place[child]) child++;
        if (m->place[i] >= m->place[child]) return;
        swap_events(m, i, child);
        i = child;
    }
}

/* Heap sort of the first n events by place. */
static void sort_events(const Risk *m, i64 n) {
    for (i64 start = n / 2 - 1; start >= 0; start--) sift_event(m, start, n);
    for (i64 end = n - 1; end > 0; end--) {
        swap_events(m, 0, end);
        sift_event(m, 0, end);
    }
}

/* The interval of least errors, of equals the one nearest to 0: its ends. Returns its errors. One that is too narrow is none. */
static f64 best_interval(const Risk *m, i64 n, f64 errors, f64 *ends) {
    f64 best_errors = INFINITY, best_distance = INFINITY, low = -INFINITY;
    ends[0] = ends[1] = 0.0;
    for (i64 j = 0; j <= n; j++) {
        f64 high = j < n ? m->place[j] : INFINITY;
        if (high - low > WIDTH) {
            f64 distance = larger(larger(low, -high), 0.0);
            if (errors < best_errors || (errors == best_errors && distance < best_distance)) {
                best_errors = errors;
                best_distance = distance;
                ends[0] = low;
                ends[1] = high;
            }
        }
        if (j < n) {
            errors += m->change[j];
            low = high;
        }
    }
    return best_errors;
}

/* How the errors depend on weight k: ends of the best interval of its move. Returns the errors saved there. */
f64 rerank_line_search(const Risk *m, i64 k, i64 now, f64 *ends) {
    i64 n_touched = 0, n = 0;
    for (i64 s = m->feature_slot[k]; s < m->feature_slot[k + 1]; s++) {
        for (i64 e = m->slot_ptr[s]; e < m->slot_ptr[s + 1]; e++) {
            i32 p = m->slot_pair[e], i = m->pair_list[p];
            m->slope[p] = m->slot_value[s];
            if (m->stamp[i] != now) {
                m->stamp[i] = now;
                m->touched[n_touched++] = i;
            }
        }
    }
    f64 at_left = 0.0, here = 0.0;
    for (i64 t = 0; t < n_touched; t++) {
        i64 first = m->list_pair[m->touched[t]], last = m->list_pair[m->touched[t] + 1];
        here += chosen_extra(first, last, m->margins, m->extra);
        n = envelope(m, first, last, n, &at_left);
        for (i64 p = first; p < last; p++) m->slope[p] = 0.0;
    }
    sort_events(m, n);
    return here - best_interval(m, n, at_left, ends);
}

/* Errors that each feature saves alone, with its best weight. */
void rerank_effectiveness(const Risk *m, i64 n_weights, f64 *out) {
    f64 ends[2];
    for (i64 k = 0; k < n_weights; k++) out[k] = rerank_line_search(m, k, k, ends);
}

/* Line search for each feature of order; moves those that save at least `least` errors. Returns how many. */
i64 rerank_risk_pass(const Risk *m, i64 n, const i64 *order, i64 done, f64 reach, f64 least, f64 risk, i32 *out_feature,
                     f64 *out_delta, f64 *out_risk) {
    i64 moved = 0;
    for (i64 j = 0; j < n; j++) {
        i64 k = order[j];
        f64 ends[2], saved = rerank_line_search(m, k, done + j, ends);
        if (saved < least) continue;
        f64 inside = smaller(0.5 * (ends[1] - ends[0]), reach);
        f64 delta = ends[0] >= 0.0 ? ends[0] + inside : ends[1] - inside;
        for (i64 s = m->feature_slot[k]; s < m->feature_slot[k + 1]; s++)
            for (i64 e = m->slot_ptr[s]; e < m->slot_ptr[s + 1]; e++) m->margins[m->slot_pair[e]] += delta * m->slot_value[s];
        risk -= saved;
        out_feature[moved] = (i32)k;
        out_delta[moved] = delta;
        out_risk[moved++] = risk;
    }
    return moved;
}
