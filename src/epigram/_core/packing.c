#include "packing.h"

enum { LENGTHS = 33, MODELLED = 4, HALF = 1 << 15, QUICK = 4, SLOW = 7, FORESEEN = 2 };
#define TOP (1u << 24)

typedef struct {
    u16 quick, slow;
} Bit;

typedef struct {
    Bit length[LENGTHS][64];           /* of the length before: a binary tree over lengths */
    Bit lead[LENGTHS][1 << MODELLED];  /* of the length: a binary tree over the first bits after the leading one */
} Model;

static void begin(Model *m) {
    Bit even = {HALF, HALF};
    Bit *all = (Bit *)m;
    for (u64 k = 0; k < sizeof *m / sizeof *all; k++) all[k] = even;
}

/* The probability of a 0, in 1 / 2^16, strictly between 0 and 1. */
static inline u32 of_zero(const Bit *b) { return (((u32)b->quick + b->slow) >> 1) | 1; }

static inline void learn(Bit *b, u32 bit) {
    if (bit) {
        b->quick -= b->quick >> QUICK;
        b->slow -= b->slow >> SLOW;
    } else {
        b->quick += (65535 - b->quick) >> QUICK;
        b->slow += (65535 - b->slow) >> SLOW;
    }
}

typedef struct {
    u32 code, range;
    i64 size, at;
    const u8 *bytes;
} Reader;

static inline u32 take(Reader *r) {
    u32 byte = r->at < r->size ? r->bytes[r->at] : 0;
    r->at++;
    return byte;
}

static inline void refill(Reader *r) {
    while (r->range < TOP) {
        r->range <<= 8;
        r->code = r->code << 8 | take(r);
    }
}

/* learn(b, bit), where ones has all bits set for a 1 and none for a 0. */
static inline u16 nearer(u32 p, u32 ones, int speed) {
    u32 step = (p ^ (65535 & ~ones)) >> speed;
    return (u16)(p + ((step ^ ones) - ones));
}

/* The next bit where it is mostly the same: the processor goes on with its guess. */
static inline u32 read_foreseen(Reader *r, Bit *b) {
    u32 bound = (r->range >> 16) * of_zero(b), bit = r->code >= bound;
    if (bit) {
        r->code -= bound;
        r->range -= bound;
    } else {
        r->range = bound;
    }
    learn(b, bit);
    refill(r);
    return bit;
}

/* The next bit where it may be either: chosen without branches. */
static inline u32 read_bit(Reader *r, Bit *b) {
    u32 bound = (r->range >> 16) * of_zero(b), bit = r->code >= bound, ones = 0u - bit;
    r->code -= bound & ones;
    r->range = bound + ((r->range - 2 * bound) & ones);
    b->quick = nearer(b->quick, ones, QUICK);
    b->slow = nearer(b->slow, ones, SLOW);
    refill(r);
    return bit;
}

static inline u32 read_plain(Reader *r, i64 n) {
    u32 value = 0;
    while (n--) {
        r->range >>= 1;
        u32 bit = r->code >= r->range;
        r->code -= r->range & (0u - bit);
        value = value << 1 | bit;
        refill(r);
    }
    return value;
}

i64 packing_unpack(i64 size, const u8 *code, i64 n, u32 *values) {
    Model m;
    Reader r = {0, 0xFFFFFFFFu, size, 0, code};
    begin(&m);
    for (int k = 0; k < 4; k++) r.code = r.code << 8 | take(&r);
    for (i64 k = 0, before = 0; k < n; k++) {
        Bit *tree = m.length[before];
        i64 at = 1;
        for (i64 j = 5; j > FORESEEN; j--) at = 2 * at + read_foreseen(&r, tree + at);
        for (i64 j = FORESEEN; j >= 0; j--) at = 2 * at + read_bit(&r, tree + at);
        i64 length = at - 64;
        if (length >= LENGTHS || r.at > size + 8) return 0;
        i64 rest = length > 1 ? length - 1 : 0, led = rest < MODELLED ? rest : MODELLED;
        u32 v = length > 0;
        tree = m.lead[length];
        at = 1;
        for (i64 j = 1; j <= led; j++) at = 2 * at + read_bit(&r, tree + at);
        if (led) v = (v << led) | (u32)(at - (1 << led));
        if (rest > led) v = (v << (rest - led)) | read_plain(&r, rest - led);
        values[k] = v;
        before = length;
    }
    return r.at <= size + 8 && size <= r.at + 8;
}

u8 packing_sum_groups(i64 n_groups, const i64 *sizes, i64 n, const i64 *steps, i32 *out) {
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
