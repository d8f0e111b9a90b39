/* Decoder of asymmetric numeral systems (Duda 2013, "rANS") with tables: many integers in model files of format 1.
 *
 * A number is a token, below 16 the number itself, else its bit length and the three bits after the leading one; the
 * other bits follow as they are. How likely a token is depends on the bit length of the number before: 16
 * tables of shares of 2^12. Four parts of the numbers are coded side by side, so that a processor reads them at once;
 * their states come first, then words of 32 bits that all of them draw from, little end first.
 */
#include "core.h"

/* Whether the bytes are a code of n numbers by these shares. */
u8 ans_unpack(i64 size, const u8 code[size], const u16 shares[16 * 240], i64 n, u32 values[n]);
