/* N-grams of KenLM's probing files, which keep only hashes of them: key(w_1 .. w_n) = key(w_2 .. w_n) A ^ (w_1 + 1) B.
 *
 * Both parts of an n-gram, its context w_1 .. w_(n-1) and its suffix w_2 .. w_n, are n-grams of the order below, and
 * share w_2 .. w_(n-1), their group. So contexts (left) and suffixes (right) of a group are put together in all ways,
 * and those whose key is in the table are the n-grams of the file.
 */
#include "core.h"

typedef struct {
    i64 n;
    i64 n_slots;
    i64 n_filter;
    const u64 *keys; /* [n] */
    i32 *slots; /* [n_slots] */
    u64 *filter; /* [n_filter] */
} HashedKeys;

void kenlm_index(const HashedKeys *table);
i64 kenlm_join(const HashedKeys *table, i64 n_groups, const i64 left_ptr[n_groups + 1], i64 n_left, const u64 left[n_left],
               const i64 right_ptr[n_groups + 1], i64 n_right, const u64 right[n_right], i64 n, i32 context[n], i32 suffix[n]);
