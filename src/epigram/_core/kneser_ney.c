#include "kneser_ney.h"

#include "backoff.h"

i64 sizeof_GramRecords(void) { return sizeof(GramRecords); }
i64 sizeof_OpenGrams(void) { return sizeof(OpenGrams); }

i64 kneser_ney_windows(const GramRecords *layout, i64 n, const i32 *stream, i64 first, i32 low, i32 high, i64 room, u64 *out) {
    i64 last = smaller_i(first + room, n);
    i64 order = layout->order, width = layout->width, bits = layout->bits, made = 0;
    for (i64 i = larger_i(first, 1); i < last; i++) {
        if (stream[i] < low || stream[i] >= high) continue;
        u64 *record = out + made++ * width;
        memset(record, 0, (size_t)width * sizeof *record);
        put_bits(record, 0, bits, (u64)stream[i] + 1);
        for (i64 k = 1; k < order && i - k >= 0; k++) {
            i32 word = stream[i - k];
            if (word < 0) break;
            put_bits(record, k * bits, bits, (u64)word + 1);
            if (word == 0) break;
        }
        record[width - 1] |= 1;
    }
    return made;
}

static inline u64 low_mask(i64 n_bits) { return ((u64)1 << n_bits) - 1; }

i64 kneser_ney_combine(const GramRecords *layout, i64 n, u64 *windows) {
    i64 width = layout->width, n_bits = layout->order * layout->bits, kept = 0;
    for (i64 k = 0; k < n; k++) {
        u64 *now = windows + k * width, *before = windows + (kept - 1) * width;
        if (kept && shared_bits(before, now, n_bits) == n_bits) {
            before[width - 1] += now[width - 1] & low_mask(layout->count_bits);
            continue;
        }
        if (kept < k) memcpy(windows + kept * width, now, (size_t)width * sizeof *now);
        kept++;
    }
    return kept;
}

/* Writes the open n-gram of order n, spelled by the first symbols of the window before. */
static inline void close_gram(const GramRecords *layout, OpenGrams *open, i64 n, i64 width, u64 *record, i64 *unigrams) {
    i64 bits = layout->bits, top = n == layout->order, raw = open->raw[n];
    i64 count = top || open->distinct[n] == 0 ? raw : open->distinct[n];
    open->tally[6 * n + smaller_i(count, 5)]++;
    if (n == 1) {
        unigrams[get_bits(open->before, 0, bits) - 1] = count;
        return;
    }
    memset(record, 0, (size_t)width * sizeof *record);
    for (i64 k = 0; k < n; k++) put_bits(record, k * bits, bits, get_bits(open->before, (n - 1 - k) * bits, bits));
    put_bits(record, n * bits, layout->rank_bits, (u64)open->ranks[n - 1]);
    if (!top) put_bits(record, n * bits + layout->rank_bits, layout->rank_bits, (u64)open->ranks[n]);
    record[width - 1] |= (u64)count | (u64)(raw <= open->thresholds[n]) << layout->count_bits;
    open->raw[n - 1] += raw;
}

void kneser_ney_adjust(const GramRecords *layout, OpenGrams *open, i64 n, const u64 *windows, u8 last, const i64 *widths,
                       const i64 *begins, i64 *found, i64 n_words, i64 *unigrams, i64 n_out, u64 *out) {
    (void)n_words, (void)n_out;
    i64 order = layout->order, width = layout->width, bits = layout->bits, n_bits = order * bits;
    for (i64 k = 0; k <= order; k++) found[k] = 0;
    for (i64 i = 0; i < n + (last != 0); i++) {
        const u64 *now = windows + i * width;
        i64 shared = i == n || !open->any ? 0 : shared_bits(open->before, now, n_bits) / bits;
        if (shared < order) {
            for (i64 k = open->any ? open->depth : 0; k > shared; k--)
                close_gram(layout, open, k, widths[k], out + begins[k] + widths[k] * found[k], unigrams), found[k]++;
            if (i == n) break;
            open->depth = shared;
            for (i64 k = shared + 1; k <= order; k++) {
                u64 symbol = get_bits(now, (k - 1) * bits, bits);
                if (symbol == 0) break;
                open->ranks[k] = k == 1 ? (i64)symbol - 1 : open->next[k]++;
                open->raw[k] = open->distinct[k] = 0;
                open->distinct[k - 1]++;
                open->depth = k;
            }
            memcpy(open->before, now, (size_t)width * sizeof *now);
            open->any = 1;
        }
        open->raw[open->depth] += (i64)(now[width - 1] & low_mask(layout->count_bits));
    }
}

i64 kneser_ney_contexts(const GramRecords *layout, i64 n, u64 *grams, u8 last, i64 shorter_width, i64 n_shorter, const u64 *shorter,
                        u8 no_more, i64 *at, const f64 *discounts, i32 *word, u32 *suffix, u32 *rank, f64 *own, i64 *context, i32 *size,
                        f64 *gamma, i64 *found) {
    i64 order = layout->order, width = layout->width, bits = layout->bits, n_bits = (order - 1) * bits, kept = 0, begin = 0;
    i64 rank_bits = layout->rank_bits, after = order * bits;
    found[1] = 0;
    while (begin < n) {
        const u64 *first = grams + begin * width;
        i64 end = begin + 1;
        while (end < n && shared_bits(first, grams + end * width, n_bits) == n_bits) end++;
        if (end == n && !last) break;
        i64 which = order == 1 ? 0 : (i64)get_bits(first, 0, bits) - 1;
        if (order > 2) {
            while (at[0] < n_shorter && shared_bits(first, shorter + at[0] * shorter_width, n_bits) < n_bits) {
                /* a context all of whose n-grams are pruned may be pruned itself, and is not among the shorter ones */
                i64 differ = shared_bits(first, shorter + at[0] * shorter_width, n_bits);
                if (get_bits(first, differ, 1) == 0) break;
                at[0]++;
            }
            if (at[0] == n_shorter && !no_more) break;
            which = at[0];
        }
        f64 total = 0.0, mass = 0.0;
        for (i64 k = begin; k < end; k++) {
            u64 low = grams[k * width + width - 1];
            i64 count = (i64)(low & low_mask(layout->count_bits));
            total += (f64)count;
            mass += low >> layout->count_bits & 1 ? (f64)count : discounts[smaller_i(count, 3)];
        }
        mass = total > 0.0 ? mass / total : 1.0;
        i64 before = kept;
        for (i64 k = begin; k < end; k++) {
            const u64 *gram = grams + k * width;
            u64 low = gram[width - 1];
            if (low >> layout->count_bits & 1) continue;
            i64 count = (i64)(low & low_mask(layout->count_bits));
            word[kept] = (i32)get_bits(gram, (order - 1) * bits, bits) - 1;
            suffix[kept] = (u32)get_bits(gram, after, rank_bits);
            rank[kept] = layout->ranked ? (u32)get_bits(gram, after + rank_bits, rank_bits) : 0;
            own[kept] = ((f64)count - discounts[smaller_i(count, 3)]) / total;
            if (kept < k) memcpy(grams + kept * width, gram, (size_t)width * sizeof *gram);
            kept++;
        }
        if (kept > before) {
            context[found[1]] = which;
            size[found[1]] = (i32)(kept - before);
            gamma[found[1]++] = mass;
        }
        begin = end;
    }
    found[0] = kept;
    return begin;
}

void kneser_ney_scatter(i64 n, const u32 *rank, const f64 *p, i64 first, i64 n_held, f64 *held) {
    for (i64 k = 0; k < n; k++) {
        i64 at = (i64)rank[k] - first;
        if (at >= 0 && at < n_held) held[at] = p[k];
    }
}

void kneser_ney_gather(i64 n, const u32 *suffix, i64 first, i64 n_held, const f64 *held, f64 *lower) {
    for (i64 k = 0; k < n; k++) {
        i64 at = (i64)suffix[k] - first;
        if (at >= 0 && at < n_held) lower[k] = held[at];
    }
}

void kneser_ney_interpolate(i64 n_contexts, const i32 *size, const f64 *gamma, i64 n, const f64 *own, const f64 *lower,
                            f64 *p) {
    (void)n;
    for (i64 x = 0, k = 0; x < n_contexts; x++)
        for (i64 end = k + size[x]; k < end; k++) p[k] = own[k] + gamma[x] * fabs(lower[k]);
}

void kneser_ney_round(i64 n_contexts, const i32 *size, i64 n, const f64 *lower, f64 *p, f64 *logp, f64 *bow, u8 *exact) {
    (void)n;
    for (i64 x = 0, k = 0; x < n_contexts; x++) {
        i64 first = k, end = k + size[x];
        f64 rest = 1.0, lower_rest = 1.0;
        for (; k < end; k++) {
            f64 shorter = on_grid(log(fabs(lower[k])));
            logp[k] = on_grid(logp[k]);
            rest -= exp((f32)logp[k]);
            lower_rest -= exp(lower[k] < 0.0 ? shorter : (f32)shorter);
        }
        exact[x] = smaller(rest, lower_rest) < ROOM;
        if (exact[x]) rest = 1.0;
        for (k = first; k < end; k++)
            if (exact[x]) {
                rest -= exp(logp[k]);
                p[k] = -p[k];
            } else {
                logp[k] = (f32)logp[k];
            }
        bow[x] = on_grid(rest > LEAST_LEFT && lower_rest > LEAST_LEFT * LEAST_LEFT ? log(rest / lower_rest) : bow[x]);
    }
}
