#include "distance.h"

/* row[j] is the distance of a[:i] and b[:j], for one i after the other. */
i64 distance_levenshtein(i64 n, const i32 *a, i64 m, const i32 *b, i64 *row) {
    while (n > 0 && m > 0 && a[n - 1] == b[m - 1]) n--, m--;
    for (; n > 0 && m > 0 && *a == *b; n--, m--) a++, b++;
    for (i64 j = 0; j <= m; j++) row[j] = j;
    for (i64 i = 1; i <= n; i++) {
        i64 diagonal = row[0];
        row[0] = i;
        for (i64 j = 1; j <= m; j++) {
            i64 changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller_i(changed, smaller_i(diagonal, row[j - 1]) + 1);
        }
    }
    return row[m];
}
