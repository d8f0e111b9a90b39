/* Edit distance: insertions, deletions and substitutions that turn one sequence of numbers into another. */
#include "core.h"

i64 distance_levenshtein(i64 n, const i32 a[n], i64 m, const i32 b[m], i64 row[m + 1]);
