#include "document.h"

static const f64 LEAST = 1e-300; /* A word that was seen has no count of 0, however long ago that was. */

void document_classes(i64 n, const i64 *first, const i64 *last, i64 n_ids, const i32 *ids, i64 n_words, const i32 *class_of,
                      i64 n_classes, const f64 *share, i64 n_horizons, const f64 *decay, f64 prior, f64 *counts, f64 *phi) {
    (void)n_ids, (void)n_words;
    for (i64 s = 0; s < n; s++) {
        memset(counts, 0, (size_t)(n_classes * n_horizons) * sizeof *counts);
        f64 *own = phi + s * n_classes * n_horizons;
        for (i64 k = 0; k < n_horizons; k++) {
            f64 weight = 1.0, total = 0.0;
            for (i64 t = last[s] - 1; t >= first[s]; t--, weight = larger(weight * decay[k], LEAST)) {
                if (ids[t] < 0) continue;
                counts[class_of[ids[t]] * n_horizons + k] += weight;
                total += weight;
            }
            for (i64 c = 0; c < n_classes; c++) {
                f64 N = counts[c * n_horizons + k];
                own[c * n_horizons + k] =
                    share[c] > 0.0 ? log((N + prior * share[c]) / ((total + prior) * share[c])) : 0.0;
            }
        }
    }
}

/* Decayed counts of the words before a sentence; returns how many there are. Those listed before are zeroed first. */
static i64 count_words(i64 first, i64 last, const i32 *ids, i64 n_horizons, const f64 *decay, i64 n_seen, f64 *counts,
                       i32 *seen) {
    for (i64 j = 0; j < n_seen; j++) memset(counts + seen[j] * n_horizons, 0, (size_t)n_horizons * sizeof *counts);
    n_seen = 0;
    for (i64 k = 0; k < n_horizons; k++) {
        f64 weight = 1.0;
        for (i64 t = last - 1; t >= first; t--, weight = larger(weight * decay[k], LEAST)) {
            i64 word = ids[t];
            if (word < 0) continue;
            if (k == 0 && counts[word * n_horizons] == 0.0) seen[n_seen++] = (i32)word;
            counts[word * n_horizons + k] += weight;
        }
    }
    return n_seen;
}

i64 document_words(i64 n_rows, const i32 *row_sentence, const i32 *row_class, i64 n, const i64 *first, const i64 *last,
                   i64 n_ids, const i32 *ids, i64 n_words, const i32 *class_of, const i32 *rank, const f64 *share,
                   i64 n_horizons, const f64 *decay, f64 prior, f64 *counts, i32 *seen, i64 *row_ptr, i64 n_room, i32 *choice,
                   f64 *phi) {
    (void)n, (void)n_ids, (void)n_words;
    i64 n_seen = 0, e = 0, present = -1;
    for (i64 j = 0; j < n_rows; j++) {
        i64 s = row_sentence[j];
        if (s != present) n_seen = count_words(first[s], last[s], ids, n_horizons, decay, n_seen, counts, seen);
        present = s;
        row_ptr[j] = e;
        for (i64 i = 0; i < n_seen; i++) {
            i64 word = seen[i];
            if (class_of[word] != row_class[j]) continue;
            if (n_room > 0) {
                choice[e] = rank[word];
                for (i64 k = 0; k < n_horizons; k++)
                    phi[e * n_horizons + k] = log1p(counts[word * n_horizons + k] / (prior * share[word]));
            }
            e++;
        }
    }
    row_ptr[n_rows] = e;
    count_words(0, 0, ids, n_horizons, decay, n_seen, counts, seen);
    return e;
}
