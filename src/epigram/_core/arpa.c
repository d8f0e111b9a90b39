#include "arpa.h"

#include "backoff.h"
#include "hashing.h"

i64 sizeof_ArpaWords(void) { return sizeof(ArpaWords); }

static u64 hash_of(const u8 *bytes, i64 length) {
    u64 h = HASH_START;
    for (i64 j = 0; j < length; j++) h = hash_byte(h, bytes[j]);
    return hash_end(h);
}

/* Open-addressing table of words by their bytes; n_slots is a power of two, more than n_words. */
void arpa_hash_words(const ArpaWords *w) {
    for (i32 k = 0; k < w->n_words; k++) {
        i64 slot = (i64)(hash_of(w->names + w->start[k], w->length[k]) & (u64)(w->n_slots - 1));
        while (w->slots[slot] >= 0) slot = (slot + 1) & (w->n_slots - 1);
        w->slots[slot] = k;
    }
}

/* The number of a word, -1 where it is not listed. */
static i32 find_word(const ArpaWords *w, const u8 *bytes, i64 length) {
    i64 slot = (i64)(hash_of(bytes, length) & (u64)(w->n_slots - 1));
    for (; w->slots[slot] >= 0; slot = (slot + 1) & (w->n_slots - 1)) {
        i32 k = w->slots[slot];
        if (w->length[k] == length && !memcmp(w->names + w->start[k], bytes, (size_t)length)) return k;
    }
    return -1;
}

static inline u8 is_digit(u8 byte) { return byte >= '0' && byte <= '9'; }

/* An optional sign; returns where it ends. */
static inline i64 read_sign(const u8 *raw, i64 at, i64 stop, u8 *negative) {
    *negative = at < stop && raw[at] == '-';
    return at + (at < stop && (raw[at] == '-' || raw[at] == '+'));
}

/* A decimal number, or NaN where there is none ("-inf" is one, "nan" is not). */
f64 arpa_parse_number(i64 stop, const u8 *raw) {
    u8 negative, minus, point = 0;
    i64 at = read_sign(raw, 0, stop, &negative), digits = 0, scale = 0, exponent = 0;
    if (stop - at >= 3 && (raw[at] | 32) == 'i' && (raw[at + 1] | 32) == 'n' && (raw[at + 2] | 32) == 'f')
        return negative ? -INFINITY : INFINITY;
    f64 mantissa = 0.0;
    for (; at < stop && (is_digit(raw[at]) || (raw[at] == '.' && !point)); at++) {
        if (raw[at] == '.') {
            point = 1;
            continue;
        }
        mantissa = mantissa * 10.0 + (raw[at] - '0');
        digits++;
        scale -= point;
    }
    if (digits == 0) return NAN;
    if (at < stop) {
        if ((raw[at] | 32) != 'e') return NAN;
        at = read_sign(raw, at + 1, stop, &minus);
        if (at == stop) return NAN;
        for (; at < stop; at++) {
            if (!is_digit(raw[at])) return NAN;
            exponent = smaller_i(exponent * 10 + (raw[at] - '0'), 1000000);
        }
        scale += minus ? -exponent : exponent;
    }
    f64 value = scale < 0 ? mantissa / pow(10.0, (f64)-scale) : mantissa * pow(10.0, (f64)scale);
    return negative ? -value : value;
}

/* Fields of the line at *at, whose end *at becomes; returns how many, of which at most `most` are noted. */
static i64 split_line(const u8 *raw, i64 *at, i64 stop, i64 most, i64 *begins, i64 *ends) {
    i64 n_fields = 0;
    while (*at < stop && raw[*at] != '\n') {
        if (is_blank(raw[*at])) {
            ++*at;
            continue;
        }
        i64 first = *at;
        while (*at < stop && !is_blank(raw[*at])) ++*at;
        if (n_fields < most) {
            begins[n_fields] = first;
            ends[n_fields] = *at;
        }
        n_fields++;
    }
    ++*at;
    return n_fields;
}

enum { FINE, WRONG_FIELDS, NOT_A_NUMBER, UNLISTED_WORD, TOO_MANY };

/* One line `logp w1 .. wn [bow]`; returns what is wrong. <s> (id -1) may only open an n-gram and </s> (id 0) only close
 * one: rows where they stand elsewhere can never be reached and are marked by a NaN in logp. */
static i64 read_row(const u8 *raw, i64 n, i64 n_fields, const ArpaWords *words, const i64 *begins, const i64 *ends,
                    i32 *gram, f64 *logp, f64 *bow) {
    if (n_fields < n + 1 || n_fields > n + 2) return WRONG_FIELDS;
    *logp = arpa_parse_number(ends[0] - begins[0], raw + begins[0]);
    *bow = NAN;
    if (isnan(*logp)) return NOT_A_NUMBER;
    if (n_fields == n + 2) {
        *bow = arpa_parse_number(ends[n + 1] - begins[n + 1], raw + begins[n + 1]);
        if (isnan(*bow)) return NOT_A_NUMBER;
    }
    for (i64 j = 0; j < n; j++) {
        i32 k = find_word(words, raw + begins[j + 1], ends[j + 1] - begins[j + 1]);
        if (k < 0) return UNLISTED_WORD;
        i32 u = words->word_id[k];
        if ((u == -1 && j > 0) || (u == 0 && j < n - 1)) *logp = NAN;
        gram[j] = u > 0 ? u : 0;
    }
    return FINE;
}

/* The lines of one section. bow is NaN where the column is missing. found: rows read, 0 or what is wrong (as above),
 * and the line it is on, from 0. */
void arpa_parse_section(i64 n_raw, const u8 *raw, i64 start, i64 stop, i64 n, const ArpaWords *words, i64 n_rows,
                        i64 *begins, i64 *ends, i32 *grams, f64 *logp, f64 *bow, i64 *line_of, i64 *found) {
    i64 at = start, row = 0, line = 0, wrong = FINE;
    stop = smaller_i(stop, n_raw);
    while (at < stop && wrong == FINE) {
        i64 n_fields = split_line(raw, &at, stop, n + 3, begins, ends);
        line++;
        if (n_fields == 0) continue;
        wrong = row == n_rows ? TOO_MANY
                              : read_row(raw, n, n_fields, words, begins, ends, grams + row * n, logp + row, bow + row);
        if (wrong == FINE) line_of[row++] = line - 1;
    }
    found[0] = row;
    found[1] = wrong;
    found[2] = wrong == FINE ? line : line - 1;
}

/* Write a decimal number with at most seven places, no trailing zeros; returns where it ends. */
static i64 put_number(f64 value, u8 *out, i64 at) {
    if (value <= -99.0) {
        memcpy(out + at, "-99", 3);
        return at + 3;
    }
    i64 scaled = (i64)nearbyint(fabs(value) * 1e7), whole = scaled / 10000000, part = scaled % 10000000;
    if (value < 0.0 && scaled > 0) out[at++] = '-';
    i64 n_digits = 1;
    for (i64 power = 10; power <= whole; power *= 10) n_digits++;
    for (i64 k = n_digits - 1; k >= 0; k--, whole /= 10) out[at + k] = (u8)('0' + whole % 10);
    at += n_digits;
    if (part == 0) return at;
    out[at] = '.';
    for (n_digits = 7; part % 10 == 0; part /= 10) n_digits--;
    for (i64 k = n_digits; k > 0; k--, part /= 10) out[at + k] = (u8)('0' + part % 10);
    return at + n_digits + 1;
}

static i64 put_bytes(const u8 *from, i64 length, u8 *out, i64 at) {
    memcpy(out + at, from, (size_t)length);
    return at + length;
}

/* Lines of the n-grams of some nodes of one depth, in log10; names are the words' bytes, each with a blank after it, the
 * last being <s> for the boundary as a context. With weights, each has that of its node, or 0. The caller makes room for
 * the longest line that can be, for each n-gram. Returns the bytes written. */
i64 arpa_lines(i64 first_node, i64 last_node, i64 n_bytes, const u8 *names, i64 n_names, const i64 *name_start, i64 depth,
               i64 *context, i64 n_nodes, const i64 *node_pair, const f64 *node_bow, const i64 *pair_ptr, i64 n_pairs,
               const i32 *pair_word, const i32 *pair_node_of, const f64 *pair_logp, u8 weights, i64 n_out, u8 *out) {
    const f64 log10 = 2.302585092994046;
    (void)n_bytes, (void)n_pairs, (void)n_out;
    i64 at = 0;
    for (i64 x = first_node; x < last_node; x++) {
        i64 y = x;
        for (i64 j = depth - 1; j >= 0; j--) {
            i64 pair = node_pair[y];
            context[j] = pair_word[pair] > 0 ? pair_word[pair] : n_names - 1;
            y = node_of_pair(n_nodes, pair_ptr, pair);
        }
        for (i64 pair = pair_ptr[x]; pair < pair_ptr[x + 1]; pair++) {
            at = put_number(pair_logp[pair] / log10, out, at);
            out[at++] = '\t';
            for (i64 j = 0; j < depth; j++)
                at = put_bytes(names + name_start[context[j]], name_start[context[j] + 1] - name_start[context[j]], out, at);
            i32 u = pair_word[pair];
            at = put_bytes(names + name_start[u], name_start[u + 1] - name_start[u] - 1, out, at);
            if (weights) {
                out[at++] = '\t';
                at = put_number(pair_node_of[pair] < 0 ? 0.0 : node_bow[pair_node_of[pair]] / log10, out, at);
            }
            out[at++] = '\n';
        }
    }
    return at;
}
