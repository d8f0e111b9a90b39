#include "chain_layout.h"

/* seen[a, y / 64] gets bit y % 64 for every attribute a on a token with label y. */
void chain_layout_mark_pairs(i64 n_tokens, const i64 *attribute_ptr, i64 n, const i32 *attributes, const i32 *labels,
                             i64 n_attributes, i64 n_words, i64 *seen) {
    (void)n, (void)n_attributes;
    for (i64 t = 0; t < n_tokens; t++) {
        if (labels[t] < 0) continue; /* a segment that is none of the answer's */
        i64 word = labels[t] >> 6, bit = (i64)((u64)1 << (labels[t] & 63));
        for (i64 k = attribute_ptr[t]; k < attribute_ptr[t + 1]; k++) seen[attributes[k] * n_words + word] |= bit;
    }
}

/* Number of set bits of each row. */
void chain_layout_count_bits(i64 n_attributes, i64 n_words, const i64 *seen, i64 *out) {
    for (i64 a = 0; a < n_attributes; a++) {
        out[a] = 0;
        for (i64 word = 0; word < n_words; word++) {
            for (u64 bits = (u64)seen[a * n_words + word]; bits; bits &= bits - 1) out[a]++;
        }
    }
}

/* Labels of the sparse rows, and which weights of the dense rows are free. */
void chain_layout_fill_rows(i64 n_attributes, i64 n_words, const i64 *seen, const i32 *row_of, i64 dense_end,
                            i64 state_end, i32 *codes, u8 *free) {
    (void)state_end;
    for (i64 a = 0; a < n_attributes; a++) {
        i64 p = row_of[a], n = 0;
        if (p < 0) continue;
        for (i64 word = 0; word < n_words; word++) {
            for (u64 bits = (u64)seen[a * n_words + word]; bits; bits &= bits - 1) {
                i64 label = 64 * word + __builtin_ctzll(bits);
                if (p < dense_end) {
                    free[p + label] = 1;
                } else {
                    codes[p + n] = (i32)label;
                    free[p + n++] = 1;
                }
            }
        }
        for (i64 m = 0; m < n; m++) codes[p + m] |= (i32)((n - m) << 16);
    }
}

/* keys[k] = attribute * L * width + pair for every occurrence of an attribute on a transition. */
void chain_layout_mark_edges(i64 n_tokens, const i64 *edge_ptr, i64 n, const i32 *edge_attributes, const i64 *before,
                             const i32 *labels, i64 n_labels, i64 width, i64 *keys) {
    (void)n;
    for (i64 t = 0; t < n_tokens; t++) {
        for (i64 k = edge_ptr[t]; k < edge_ptr[t + 1]; k++) {
            keys[k] = edge_attributes[k] * n_labels * width + labels[before[t]] * width + labels[t];
        }
    }
}

/* Reorder the occurrences of each token in place: those with dense rows first. Branches then come in runs. */
void chain_layout_dense_first(i64 n_tokens, const i64 *attribute_ptr, i64 n_attributes, const i32 *row_of,
                              i64 dense_end, i64 n, i32 *attributes, i64 n_values, f64 *values) {
    (void)n_attributes, (void)n;
    for (i64 t = 0; t < n_tokens; t++) {
        i64 left = attribute_ptr[t], right = attribute_ptr[t + 1] - 1;
        while (left < right) {
            if (row_of[attributes[left]] < dense_end) {
                left++;
            } else if (row_of[attributes[right]] >= dense_end) {
                right--;
            } else {
                i32 attribute = attributes[left];
                attributes[left] = attributes[right];
                attributes[right] = attribute;
                if (n_values <= 1) continue;
                f64 value = values[left];
                values[left] = values[right];
                values[right] = value;
            }
        }
    }
}

/* How many weights the distinct rows of each sentence have. */
void chain_layout_measure_sentences(i64 n_sentences, const i64 *rows_ptr, i64 n, const i32 *rows, i64 state_end,
                                    const i32 *codes, i64 width, i64 dense_end, i64 *out) {
    (void)n, (void)state_end;
    for (i64 s = 0; s < n_sentences; s++) {
        out[s] = 0;
        for (i64 m = rows_ptr[s]; m < rows_ptr[s + 1]; m++) out[s] += rows[m] < dense_end ? width : codes[rows[m]] >> 16;
    }
}

/* The distinct rows of each sentence, those that occur more than once first; returns how many in all.
 * `count` and `number` are working memory, one zero per attribute. */
i64 chain_layout_distinct_rows(i64 n_sentences, const i64 *sentence_ptr, i64 n_tokens, const i64 *attribute_ptr, i64 n,
                               const i32 *attributes, i64 n_attributes, const i32 *row_of, i32 *count, i32 *number,
                               i64 *rows_ptr, i32 *n_shared, i32 *rows, i32 *local) {
    (void)n_tokens, (void)n, (void)n_attributes;
    i64 found = 0;
    for (i64 s = 0; s < n_sentences; s++) {
        i64 first = attribute_ptr[sentence_ptr[s]], last = attribute_ptr[sentence_ptr[s + 1]];
        rows_ptr[s] = found;
        for (i64 k = first; k < last; k++) count[attributes[k]]++;
        for (int repeated = 1; repeated >= 0; repeated--) {
            for (i64 k = first; k < last; k++) {
                i32 a = attributes[k];
                if (count[a] <= 0 || (count[a] > 1) != repeated) continue;
                rows[found] = row_of[a];
                number[a] = (i32)(found++ - rows_ptr[s]);
                count[a] = -1;
            }
            if (repeated) n_shared[s] = (i32)(found - rows_ptr[s]);
        }
        for (i64 k = first; k < last; k++) {
            local[k] = number[attributes[k]];
            count[attributes[k]] = 0;
        }
    }
    rows_ptr[n_sentences] = found;
    return found;
}

void chain_layout_spread(i64 n, const i32 *places, const f64 *x, i64 n_weights, f64 *out) {
    (void)n_weights;
    for (i64 k = 0; k < n; k++) out[places[k]] = x[k];
}

void chain_layout_gather(i64 n, const i32 *places, i64 n_weights, const f64 *w, f64 *out) {
    (void)n_weights;
    for (i64 k = 0; k < n; k++) out[k] = w[places[k]];
}

void chain_layout_add_gathered(i64 n, const i32 *places, i64 n_weights, const f64 *w, f64 *out) {
    (void)n_weights;
    for (i64 k = 0; k < n; k++) out[k] += w[places[k]];
}
