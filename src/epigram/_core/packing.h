/* Running sums within groups, and the decoder of an adaptive binary range coder (Martin 1979; the carries as in LZMA's).
 *
 * The coder stored few integers in model files of format 1. A number is its bit length, chosen given that of the number
 * before, and then its other bits, of which the first MODELLED are learnt for each length. A probability is the mean of
 * two that follow the bits at two speeds.
 */
#include "core.h"

/* Running sums of the steps, begun anew in every group of so many; the sizes add up to n. 0 where one is no i32. */
u8 packing_sum_groups(i64 n_groups, const i64 sizes[n_groups], i64 n, const i64 steps[n], i32 out[n]);
/* Whether the code is as long as such a code is: it ends within 8 bytes of where reading ended. */
i64 packing_unpack(i64 size, const u8 code[size], i64 n, u32 values[n]);
