/* Many integers in few bytes that are quick to read: asymmetric numeral systems (Duda 2013, "rANS").
 *
 * A number is a token, below 16 the number itself, else its bit length and the three bits after the leading one; the
 * other bits follow as they are. How likely a token is depends on the bit length of the number before: 16
 * tables of shares of 2^12. Four parts of the numbers are coded side by side, so that a processor reads them at once;
 * their states come first, then words of 32 bits that all of them draw from, little end first.
 */
#include "core.h"

/* How often each token stands after each context. */
void ans_count(i64 n, const u32 values[n], i64 counts[16 * 240]);
/* Bytes written (a code takes at most 8 n + 64), or -1 where room is short; shares of a context that occurs add up to 2^12. */
i64 ans_pack(i64 n, const u32 values[n], const u16 shares[16 * 240], i64 room, u8 out[room]);
/* Whether the bytes are a code of n numbers by these shares. */
u8 ans_unpack(i64 size, const u8 code[size], const u16 shares[16 * 240], i64 n, u32 values[n]);
