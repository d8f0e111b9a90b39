#include "core.h"

/* Running sums of the steps, from 0 in every group of so many; the sizes add up to n. 0 where one is no i32. */
u8 groups_sum(i64 n_groups, const i64 sizes[n_groups], i64 n, const i64 steps[n], i32 out[n]);
