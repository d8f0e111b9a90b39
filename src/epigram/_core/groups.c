#include "groups.h"

u8 groups_sum(i64 n_groups, const i64 *sizes, i64 n, const i64 *steps, i32 *out) {
    i64 k = 0;
    for (i64 group = 0; group < n_groups; group++) {
        i64 total = 0, end = k + smaller_i(sizes[group], n - k);
        for (; k < end; k++) {
            if (steps[k] < -total || steps[k] > INT32_MAX - total) return 0;
            total += steps[k];
            out[k] = (i32)total;
        }
    }
    return 1;
}
