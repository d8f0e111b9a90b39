#include "exchange.h"

i64 sizeof_Classes(void) { return sizeof(Classes); }

/* A word w of class a taken out of it: S[c] and P[c] count its successors and predecessors in class c, itself left
 * out; in_s and in_p list the classes where they are not 0; own is N(w, w), n the count of w. */
typedef struct {
    i64 a, own, n, n_s, n_p;
    i64 *S, *P, *in_s, *in_p;
} Word;

/* x log x, from the table where it reaches. */
static inline f64 f(const Classes *m, i64 x) { return x < m->n_table ? m->table[x] : (f64)x * log((f64)x); }

/* Fill M, F and their transposes from the bigrams of words. */
void exchange_count_classes(const Classes *m) {
    i64 k = m->n_classes;
    memset(m->M, 0, (size_t)(k * k) * sizeof *m->M);
    for (i64 v = 0; v < m->n_words; v++) {
        i64 *row = m->M + m->word_class[v] * k;
        for (i64 i = m->succ_ptr[v]; i < m->succ_ptr[v + 1]; i++) row[m->word_class[m->succ_word[i]]] += m->succ_count[i];
    }
    for (i64 a = 0; a < k; a++) {
        for (i64 b = 0; b < k; b++) {
            m->MT[b * k + a] = m->M[a * k + b];
            m->FT[b * k + a] = m->F[a * k + b] = f(m, m->M[a * k + b]);
        }
    }
}

/* Sums of counts by class over the neighbours of w other than itself, and N(w, w); returns how many classes. */
static i64 neighbours(i64 w, const i32 *word_class, const i64 *ptr, const i32 *word, const i64 *count, i64 *sums,
                      i64 *listed, i64 *own) {
    i64 n = 0;
    for (i64 k = ptr[w]; k < ptr[w + 1]; k++) {
        if (word[k] == w) {
            *own = count[k];
            continue;
        }
        i64 c = word_class[word[k]];
        if (sums[c] == 0) listed[n++] = c;
        sums[c] += count[k];
    }
    return n;
}

static Word taken_out(const Classes *m, i64 w, i64 *sums) {
    i64 k = m->n_classes;
    Word x = {m->word_class[w], 0, m->word_count[w], 0, 0, sums, sums + k, sums + 2 * k, sums + 3 * k};
    x.n_s = neighbours(w, m->word_class, m->succ_ptr, m->succ_word, m->succ_count, x.S, x.in_s, &x.own);
    x.n_p = neighbours(w, m->word_class, m->pred_ptr, m->pred_word, m->pred_count, x.P, x.in_p, &x.own);
    return x;
}

static void clear(const Word *x) {
    for (i64 k = 0; k < x->n_s; k++) x->S[x->in_s[k]] = 0;
    for (i64 k = 0; k < x->n_p; k++) x->P[x->in_p[k]] = 0;
}

/* sum over c not in {a, b} of f(M[b, c] + sums[c]) - f(M[b, c]), from rows b of M and F. */
static inline f64 side(const Classes *m, i64 a, i64 b, const i64 *sums, const i64 *listed, i64 n, const i64 *row,
                       const f64 *f_row) {
    f64 total = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 c = listed[k];
        total += f(m, row[c] + sums[c]) - f_row[c];
    }
    if (sums[a] > 0) total -= f(m, row[a] + sums[a]) - f_row[a];
    if (sums[b] > 0) total -= f(m, row[b] + sums[b]) - f_row[b];
    return total;
}

/* What w adds to the objective in class b != a. */
static f64 worth(const Classes *m, const Word *x, i64 b) {
    i64 k = m->n_classes, a = x->a;
    const i64 *M = m->M, *S = x->S, *P = x->P;
    f64 total = side(m, a, b, S, x->in_s, x->n_s, M + b * k, m->F + b * k);
    total += side(m, a, b, P, x->in_p, x->n_p, m->MT + b * k, m->FT + b * k);
    i64 before = M[b * k + a] - P[b];
    total += f(m, before + S[a]) - f(m, before);
    before = M[a * k + b] - S[b];
    total += f(m, before + P[a]) - f(m, before);
    total += f(m, M[b * k + b] + S[b] + P[b] + x->own) - m->F[b * k + b];
    return total - 2 * (f(m, m->size[b] + x->n) - f(m, m->size[b]));
}

/* What w adds to the objective in its own class a. */
static f64 worth_now(const Classes *m, const Word *x) {
    i64 k = m->n_classes, a = x->a, from = a * k;
    f64 total = 0.0;
    for (i64 i = 0; i < x->n_s; i++) {
        i64 c = x->in_s[i];
        if (c != a) total += m->F[from + c] - f(m, m->M[from + c] - x->S[c]);
    }
    for (i64 i = 0; i < x->n_p; i++) {
        i64 c = x->in_p[i];
        if (c != a) total += m->FT[from + c] - f(m, m->MT[from + c] - x->P[c]);
    }
    total += m->F[from + a] - f(m, m->M[from + a] - x->S[a] - x->P[a] - x->own);
    return total - 2 * (f(m, m->size[a]) - f(m, m->size[a] - x->n));
}

/* Where a gain begins that is more than rounding. */
static inline f64 just_above(f64 now) { return now + 1e-9 * (1.0 + fabs(now)); }

/* Keep the classes of the n_kept largest worths, the first of equals first; n are kept so far. */
static inline void note(i64 b, f64 value, i64 n, i64 n_kept, i32 *kept, f64 *worths) {
    i64 at = smaller_i(n, n_kept);
    if (at == n_kept && value <= worths[at - 1]) return;
    if (at == n_kept) at--;
    for (; at > 0 && value > worths[at - 1]; at--) {
        worths[at] = worths[at - 1];
        kept[at] = kept[at - 1];
    }
    worths[at] = value;
    kept[at] = (i32)b;
}

/* The best class for each of some words, all else as it is; the class it has where no move gains. With everywhere, and
 * for a word that was alone in its class until now and so has no candidates (they are 0), all classes but 0 are tried and
 * the most promising are noted in candidates; else only those. sums must be 0. */
void exchange_best_moves(const Classes *m, i64 n, const i32 *words, u8 everywhere, i64 n_kept, i32 *candidates, i64 n_classes,
                         i64 *sums, f64 *worths, i32 *best) {
    for (i64 i = 0; i < n; i++) {
        i64 a = m->word_class[words[i]];
        best[i] = (i32)a;
        if (m->members[a] == 1) continue;
        Word x = taken_out(m, words[i], sums);
        f64 now = worth_now(m, &x), top = just_above(now);
        i32 *kept = candidates + words[i] * n_kept;
        u8 all = everywhere || kept[0] == 0;
        for (i64 j = 0; j < (all ? n_classes - 1 : n_kept); j++) {
            i64 b = all ? j + 1 : kept[j];
            f64 value = b == a ? now : worth(m, &x, b);
            if (all) note(b, value, j, n_kept, kept, worths);
            if (b == a || value <= top) continue;
            top = value;
            best[i] = (i32)b;
        }
        clear(&x);
    }
}

/* M[x, y] has changed: so do its transpose and f. */
static inline void refresh(const Classes *m, i64 x, i64 y) {
    i64 k = m->n_classes;
    m->MT[y * k + x] = m->M[x * k + y];
    m->FT[y * k + x] = m->F[x * k + y] = f(m, m->M[x * k + y]);
}

static void move(const Classes *m, const Word *x, i64 w, i64 b) {
    i64 k = m->n_classes, a = x->a;
    m->word_class[w] = (i32)b;
    m->size[a] -= x->n;
    m->size[b] += x->n;
    m->members[a]--;
    m->members[b]++;
    for (i64 i = 0; i < x->n_s; i++) {
        i64 c = x->in_s[i];
        m->M[a * k + c] -= x->S[c];
        m->M[b * k + c] += x->S[c];
    }
    for (i64 i = 0; i < x->n_p; i++) {
        i64 c = x->in_p[i];
        m->M[c * k + a] -= x->P[c];
        m->M[c * k + b] += x->P[c];
    }
    m->M[a * k + a] -= x->own;
    m->M[b * k + b] += x->own;
    const i64 changed[2] = {a, b};
    for (i64 j = 0; j < 2; j++) {
        for (i64 i = 0; i < x->n_s; i++) refresh(m, changed[j], x->in_s[i]);
        for (i64 i = 0; i < x->n_p; i++) refresh(m, x->in_p[i], changed[j]);
        refresh(m, changed[j], a);
        refresh(m, changed[j], b);
    }
}

/* Move the words whose move still gains, one after the other; returns the number of moves. sums must be 0. */
i64 exchange_make_moves(const Classes *m, i64 n, const i32 *words, const i32 *best, i64 n_classes, i64 *sums, f64 *gained) {
    (void)n_classes;
    i64 moved = 0;
    *gained = 0.0;
    for (i64 i = 0; i < n; i++) {
        i64 a = m->word_class[words[i]];
        if (a == best[i] || m->members[a] == 1) continue;
        Word x = taken_out(m, words[i], sums);
        f64 now = worth_now(m, &x), then = worth(m, &x, best[i]);
        if (then > just_above(now)) {
            moved++;
            *gained += then - now;
            move(m, &x, words[i], best[i]);
        }
        clear(&x);
    }
    return moved;
}
