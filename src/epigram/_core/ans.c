#include "ans.h"

enum { TOKENS = 240, CONTEXTS = 16, BITS = 12, LANES = 4, WORD = 4 };
enum { PLAIN = 16, FIRST_LENGTH = 5, LED = 3 };
#define ONE (1u << BITS)
#define LOW (1ull << 31) /* a state is at least this: below, it takes in a word */

typedef struct {
    u32 base;        /* the number without its other bits */
    u8 rest, length; /* of these bits; of the number, as the next one's context */
} Token;

static inline i64 length_of(u32 v) { return v ? 32 - __builtin_clz(v) : 0; }

static inline i64 context_of(u32 v) { return smaller_i(length_of(v), CONTEXTS - 1); }

static Token token_at(i64 t) {
    if (t < PLAIN) return (Token){(u32)t, 0, (u8)context_of((u32)t)};
    i64 length = FIRST_LENGTH + ((t - PLAIN) >> LED), rest = length - 1 - LED;
    u32 base = (u32)((1 << LED) | ((t - PLAIN) & ((1 << LED) - 1))) << rest;
    return (Token){base, (u8)rest, (u8)context_of(base)};
}

/* The part of the numbers that a lane codes begins here. */
static inline i64 lane_start(i64 n, i64 lane) { return n * lane / LANES; }

static inline u32 load(const u8 *from) { return from[0] | from[1] << 8 | from[2] << 16 | (u32)from[3] << 24; }

typedef struct {
    i64 at, n;
    const u8 *words;
} Reader;

/* A state that is low takes in the next word; behind the last one stands that one again, and before the first the states. */
static inline u64 refill(Reader *r, u64 x) {
    u32 word = load(r->words + WORD * smaller_i(r->at, r->n - 1));
    u8 low = x < LOW;
    r->at += low;
    return low ? x << 32 | word : x;
}

/* For each of the 2^12 places of a context: the token there, its share less 1, and how far into its part the place is. */
static u8 fill_slots(const u16 *shares, u32 *slots) {
    u32 at = 0;
    for (u32 t = 0; t < TOKENS; t++) {
        u32 share = shares[t];
        if (share > ONE - at) return 0;
        for (u32 k = 0; k < share; k++) slots[at++] = t | (share - 1) << 8 | k << 20;
    }
    if (at && at < ONE) return 0;
    for (u32 k = 0; at < ONE; k++) slots[at++] = (ONE - 1) << 8 | k << 20; /* a context that never occurs */
    return 1;
}

static inline u32 take(Reader *r, const u32 *slots, const Token *tokens, u64 *x, u32 *context) {
    u32 slot = slots[*context << BITS | (*x & (ONE - 1))];
    Token t = tokens[slot & 255];
    u64 state = refill(r, (*x >> BITS) * ((slot >> 8 & (ONE - 1)) + 1) + (slot >> 20));
    u32 v = t.base | (u32)(state & ((1ull << t.rest) - 1));
    *x = refill(r, state >> t.rest);
    *context = t.length;
    return v;
}

static u8 read_lanes(Reader *r, const u32 *slots, u64 x[LANES], i64 n, u32 *values) {
    Token tokens[256] = {{0}};
    u32 context[LANES] = {0};
    for (i64 t = 0; t < TOKENS; t++) tokens[t] = token_at(t);
    i64 all = n / LANES;
    u32 *out[LANES];
    for (i64 lane = 0; lane < LANES; lane++) out[lane] = values + lane_start(n, lane);
    for (i64 k = 0; k < all; k++)
        for (i64 lane = 0; lane < LANES; lane++) out[lane][k] = take(r, slots, tokens, x + lane, context + lane);
    for (i64 lane = 0; lane < LANES; lane++)
        if (lane_start(n, lane) + all < lane_start(n, lane + 1))
            out[lane][all] = take(r, slots, tokens, x + lane, context + lane);
    u8 whole = r->at == r->n;
    for (i64 lane = 0; lane < LANES; lane++) whole &= x[lane] == LOW;
    return whole;
}

u8 ans_unpack(i64 size, const u8 *code, const u16 *shares, i64 n, u32 *values) {
    u64 x[LANES];
    i64 n_words = size / WORD - 2 * LANES;
    if (n_words < 0 || size % WORD) return 0;
    for (i64 lane = 0; lane < LANES; lane++) x[lane] = load(code + 8 * lane) | (u64)load(code + 8 * lane + 4) << 32;
    u32 *slots = malloc(CONTEXTS * ONE * sizeof *slots);
    if (!slots) return 0;
    u8 fine = 1;
    for (i64 c = 0; c < CONTEXTS; c++) fine &= fill_slots(shares + c * TOKENS, slots + c * ONE);
    Reader r = {0, n_words, code + 2 * LANES * WORD};
    fine = fine && read_lanes(&r, slots, x, n, values);
    free(slots);
    return fine;
}
