#include "grams.h"

#include "fingerprint.h"
#include "unicode_classes.h"

enum { SIGN, BLANK, WORD, ALONE };
static const u64 OF_CHARS = 0x632BE59BD9B4E019ull, OF_WORDS = 0x8CB92BA72F3D8DD7ull;
static const u64 BEFORE = 1, BEHIND = 2;
static const u32 REPLACEMENT = 0xFFFD;

i64 sizeof_Grams(void) { return sizeof(Grams); }

/* The code point at `at`, U+FFFD for a byte that begins none; `at` moves on. */
static inline u32 next_point(const u8 *p, i64 end, i64 *at) {
    u8 first = p[*at];
    if (first < 0x80) return p[(*at)++];
    i64 n = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    u32 point = first & (0x3F >> n);
    (*at)++;
    if (first < 0xC2 || first > 0xF4 || *at + n > end) return REPLACEMENT;
    for (i64 k = 0; k < n; k++) {
        if ((p[*at + k] & 0xC0) != 0x80) return REPLACEMENT;
        point = point << 6 | (p[*at + k] & 0x3F);
    }
    *at += n;
    return point;
}

/* Characters of a text with a blank before and behind; returns their number. */
static i64 read_points(Grams *g, const u8 *bytes, i64 begin, i64 end) {
    i64 n = 1, at = begin;
    g->points[0] = ' ', g->starts[0] = begin;
    while (at < end) {
        i64 start = at;
        u32 point = next_point(bytes, end, &at);
        if (class_of(point) == BLANK) {
            if (g->points[n - 1] == ' ') continue;
            point = ' ';
        }
        g->starts[n] = start;
        g->points[n++] = point;
    }
    if (g->points[n - 1] != ' ' || n == 1) g->starts[n] = end, g->points[n++] = ' ';
    g->starts[n] = end;
    return n;
}

/* Where the word that begins at point k ends. */
static inline i64 word_end(const u32 *points, i64 n, i64 k) {
    u8 may_join = 1;
    if (class_of(points[k++]) != WORD) return k;
    for (; k < n; k++) {
        if (class_of(points[k]) == WORD) continue;
        u8 joins = points[k] == '\'' || points[k] == 0x2019;
        if (!joins || !may_join || k + 1 >= n || class_of(points[k + 1]) != WORD) break;
        may_join = 0;
    }
    return k;
}

typedef struct {
    i64 n, room, mask;
    u64 *keys;
    i64 *begins, *ends;
} Output;

/* Take an n-gram: count it, or with `locate` write where it is. */
static inline void take(Grams *g, Output *out, u8 locate, u64 key, i64 first, i64 last) {
    if (locate) {
        if (out->n < out->room) {
            out->keys[out->n] = key;
            out->begins[out->n] = g->starts[first];
            out->ends[out->n] = g->starts[last];
        }
        out->n++;
        return;
    }
    i64 s = (i64)(key & (u64)out->mask);
    while (g->slots[s] != 0 && g->slots[s] != key) s = (s + 1) & out->mask;
    if (g->slots[s] == key) {
        g->counts[g->entries[s]]++;
        return;
    }
    if (out->n == g->n_keys) return;
    g->slots[s] = key;
    g->entries[s] = (i32)out->n;
    g->keys[out->n] = key;
    g->counts[out->n++] = 1;
}

static inline void take_chars(Grams *g, i64 n, Output *out, u8 locate) {
    i64 least = g->chars_least, most = g->chars_most;
    for (i64 k = 0; k < n; k++) {
        u64 h = 0;
        for (i64 length = 1; length <= most && k + length <= n; length++) {
            u32 point = g->points[k + length - 1];
            h = h * B + point + 1;
            if (length >= least && !(length == 1 && point == ' '))
                take(g, out, locate, mix(h + (u64)length * OF_CHARS), k, k + length);
            if (!g->across && length > 1 && point == ' ') break;
        }
    }
}

static inline void take_words(Grams *g, i64 n, Output *out, u8 locate) {
    u64 *words = g->words_at, *begins = words + g->n_points, *ends = begins + g->n_points;
    i64 n_words = 0;
    words[n_words] = BEFORE, begins[n_words] = ends[n_words] = 0, n_words++;
    for (i64 k = 1; k < n - 1;) {
        if (g->points[k] == ' ') {
            k++;
            continue;
        }
        i64 end = word_end(g->points, n - 1, k);
        u64 h = 0;
        for (i64 j = k; j < end; j++) h = h * B + g->points[j] + 1;
        words[n_words] = mix(h + (u64)(end - k) * OF_CHARS);
        begins[n_words] = (u64)k, ends[n_words] = (u64)end, n_words++;
        k = end;
    }
    words[n_words] = BEHIND, begins[n_words] = ends[n_words] = (u64)(n - 1), n_words++;
    for (i64 k = 0; k < n_words; k++) {
        u64 h = 0;
        for (i64 length = 1; length <= g->words && k + length <= n_words; length++) {
            i64 last = k + length - 1;
            h = h * B + words[last] + 1;
            if (length == 1 && (k == 0 || last == n_words - 1)) continue;
            take(g, out, locate, mix(h + (u64)length * OF_WORDS), (i64)begins[k], (i64)ends[last]);
        }
    }
}

static inline f64 value_of(const Grams *g, i64 k) {
    return g->log_counts && g->counts[k] > 1 ? 1.0 + log((f64)g->counts[k]) : 1.0;
}

/* 1 / the l2 norm of the values of n-grams begin .. end - 1 of the text at hand. */
static f64 inverse_norm(const Grams *g, i64 begin, i64 end) {
    f64 sum = g->log_counts ? 0.0 : (f64)(end - begin);
    for (i64 k = begin; g->log_counts && k < end; k++) {
        f64 v = value_of(g, k);
        sum += v * v;
    }
    return end > begin ? 1.0 / sqrt(sum) : 0.0;
}

/* n-grams of a text in g->keys and g->counts: the first n_first are scaled by scales[0], the others by scales[1]. */
typedef struct {
    i64 n, n_first, mask;
    f64 scales[2];
} Row;

static Row collect(Grams *g, const u8 *bytes, i64 begin, i64 end) {
    Output out = {0};
    i64 n = read_points(g, bytes, begin, end), slots = 64;
    i64 orders = g->words + (g->chars_most ? g->chars_most - g->chars_least + 1 : 0);
    while (slots < 2 * n * orders && slots < g->n_slots) slots *= 2;
    out.mask = slots - 1;
    memset(g->slots, 0, (size_t)slots * sizeof(u64));
    if (g->words) take_words(g, n, &out, 0);
    i64 n_words = out.n;
    if (g->chars_most) take_chars(g, n, &out, 0);
    i64 n_first = g->apart ? n_words : out.n;
    f64 share = g->apart ? sqrt(0.5) : 1.0;
    return (Row){out.n, n_first, out.mask,
                 {share * inverse_norm(g, 0, n_first), share * inverse_norm(g, n_first, out.n)}};
}

/* The value of n-gram k of a row. */
static inline f64 scaled_value(const Grams *g, const Row *row, i64 k) {
    return row->scales[k >= row->n_first] * value_of(g, k);
}

i64 grams_list(Grams *g, i64 n_bytes, const u8 *bytes, i64 n_texts, const i64 *text_ptr, i64 room, u64 *keys,
               i64 *out_ptr) {
    (void)n_bytes;
    i64 n = 0;
    for (i64 t = 0; t < n_texts; t++) {
        i64 found = collect(g, bytes, text_ptr[t], text_ptr[t + 1]).n;
        if (n + found > room) return t;
        memcpy(keys + n, g->keys, (size_t)found * sizeof(u64));
        out_ptr[t + 1] = n += found;
    }
    return n_texts;
}

i64 grams_locate(Grams *g, i64 n_bytes, const u8 *bytes, i64 room, u64 *keys, i64 *begins, i64 *ends, f64 *shares) {
    Row row = collect(g, bytes, 0, n_bytes);
    Output out = {0, room, 0, keys, begins, ends};
    i64 n = read_points(g, bytes, 0, n_bytes);
    if (g->words) take_words(g, n, &out, 1);
    if (g->chars_most) take_chars(g, n, &out, 1);
    for (i64 j = 0; j < out.n && j < room; j++) {
        i64 s = (i64)(keys[j] & (u64)row.mask);
        while (g->slots[s] != 0 && g->slots[s] != keys[j]) s = (s + 1) & row.mask;
        i64 k = g->slots[s] ? g->entries[s] : -1;
        shares[j] = k < 0 ? 0.0 : scaled_value(g, &row, k) / g->counts[k];
    }
    return out.n;
}

i64 grams_met_before(i64 n, u64 *keys, i64 n_bits, u64 *bits) {
    i64 kept = 0;
    for (i64 k = 0; k < n; k++) {
        u64 at = (keys[k] >> 6) % (u64)n_bits, bit = 1ull << (keys[k] & 63);
        if (bits[at] & bit) keys[kept++] = keys[k];
        else bits[at] |= bit;
    }
    return kept;
}

i64 grams_encode(Grams *g, i64 n_bytes, const u8 *bytes, i64 n_texts, const i64 *text_ptr, i64 n_table, const u64 *table,
                 i64 room, i32 *ids, f32 *values, i64 *out_ptr) {
    (void)n_bytes;
    i64 n = 0;
    for (i64 t = 0; t < n_texts; t++) {
        Row row = collect(g, bytes, text_ptr[t], text_ptr[t + 1]);
        if (n + row.n > room) return t;
        for (i64 k = 0; k < row.n; k++) {
            i64 s = (i64)(g->keys[k] & (u64)(n_table - 1));
            while (table[2 * s] != 0 && table[2 * s] != g->keys[k]) s = (s + 1) & (n_table - 1);
            if (table[2 * s] == 0) continue;
            ids[n] = (i32)table[2 * s + 1];
            values[n++] = (f32)scaled_value(g, &row, k);
        }
        out_ptr[t + 1] = n;
    }
    return n_texts;
}

void grams_index(i64 n, const u32 *prints, i64 n_index, u32 *slots, i32 *rows) {
    for (i64 s = 0; s < n_index; s++) slots[s] = 0, rows[s] = -1;
    for (i64 r = 0; r < n; r++) {
        i64 s = (i64)(prints[r] & (u64)(n_index - 1));
        while (rows[s] >= 0 && slots[s] != prints[r]) s = (s + 1) & (n_index - 1);
        if (rows[s] < 0) slots[s] = prints[r], rows[s] = (i32)r;
    }
}

void grams_score(Grams *g, i64 n_bytes, const u8 *bytes, i64 n_texts, const i64 *text_ptr, i64 n_index, const u32 *slots,
                 const i32 *rows, i64 n_rows, const i64 *row_ptr, i64 n_weights, const i32 *columns, const f32 *weights,
                 i64 n_columns, const f64 *bias, f64 *scores) {
    (void)n_bytes, (void)n_rows, (void)n_weights;
    for (i64 t = 0; t < n_texts; t++) {
        Row row = collect(g, bytes, text_ptr[t], text_ptr[t + 1]);
        f64 *out = scores + t * n_columns;
        for (i64 c = 0; c < n_columns; c++) out[c] = bias[c];
        for (i64 k = 0; k < row.n; k++) {
            u32 print = (u32)(g->keys[k] >> 32);
            i64 s = (i64)(print & (u64)(n_index - 1));
            while (rows[s] >= 0 && slots[s] != print) s = (s + 1) & (n_index - 1);
            if (rows[s] < 0) continue;
            f64 value = scaled_value(g, &row, k);
            for (i64 j = row_ptr[rows[s]]; j < row_ptr[rows[s] + 1]; j++) out[columns[j]] += value * weights[j];
        }
    }
}
