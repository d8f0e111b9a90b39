/* The exchange algorithm: what the move of a word to another class is worth, and making it.
 *
 * N(v, w) are the bigram counts of words, rows succ by v and pred by w; M[a, b] those of classes, MT its transpose;
 * f(x) = x log x, table holds it for small x; F and FT hold f(M) and f(MT). size and members are the tokens and the
 * words of each class. The objective is sum f(M) - 2 sum f(size). Class 0 is the boundary's and takes no word.
 */
#include "core.h"

typedef struct {
    i64 n_words;
    i64 n_classes;
    i64 n_bigrams;
    i64 n_table;
    const i64 *succ_ptr; /* [n_words + 1] */
    const i32 *succ_word; /* [n_bigrams] */
    const i64 *succ_count; /* [n_bigrams] */
    const i64 *pred_ptr; /* [n_words + 1] */
    const i32 *pred_word; /* [n_bigrams] */
    const i64 *pred_count; /* [n_bigrams] */
    const i64 *word_count; /* [n_words] */
    i32 *word_class; /* [n_words] */
    i64 *M; /* [n_classes * n_classes] */
    i64 *MT; /* [n_classes * n_classes] */
    f64 *F; /* [n_classes * n_classes] */
    f64 *FT; /* [n_classes * n_classes] */
    i64 *size; /* [n_classes] */
    i64 *members; /* [n_classes] */
    const f64 *table; /* [n_table] */
} Classes;

void exchange_count_classes(const Classes *m);
void exchange_best_moves(const Classes *m, i64 n, const i32 words[n], u8 everywhere, i64 n_kept, i32 candidates[m->n_words * n_kept],
                         i64 n_classes, i64 sums[4 * n_classes], f64 worths[n_kept], i32 best[n]);
i64 exchange_make_moves(const Classes *m, i64 n, const i32 words[n], const i32 best[n], i64 n_classes,
                        i64 sums[4 * n_classes], f64 gained[1]);
