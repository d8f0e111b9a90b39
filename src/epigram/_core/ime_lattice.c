/* From characters to edges: words of the lexicon and unknown words that start at a position. */
#include "ime.h"

#include "surface_hash.h"

enum { HIRAGANA = 0x3041, HIRAGANA_END = 0x3097, LONG_MARK = 0x30FC };

i64 sizeof_Readings(void) { return sizeof(Readings); }

/* Bytes of the character of UTF-8 that begins here, of which n are left; 0 where there is none (Unicode, table 3-7). */
static inline i64 character_bytes(const u8 *c, i64 n) {
    if (c[0] < 0x80) return 1;
    i64 size = c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
    if (c[0] < 0xC2 || c[0] > 0xF4 || size > n) return 0;
    u8 low = c[0] == 0xE0 ? 0xA0 : c[0] == 0xF0 ? 0x90 : 0x80, high = c[0] == 0xED ? 0x9F : c[0] == 0xF4 ? 0x8F : 0xBF;
    if (c[1] < low || c[1] > high) return 0;
    for (i64 k = 2; k < size; k++)
        if ((c[k] & 0xC0) != 0x80) return 0;
    return size;
}

u8 ime_are_texts(i64 n, const i64 *ptr, i64 n_bytes, const u8 *raw) {
    (void)n_bytes;
    for (i64 k = 0; k < n; k++) {
        for (i64 at = ptr[k], size; at < ptr[k + 1]; at += size) {
            size = character_bytes(raw + at, ptr[k + 1] - at);
            if (!size) return 0;
        }
    }
    return 1;
}

/* hash_bytes of byte strings. */
void ime_surface_hashes(i64 n, const i64 *ptr, i64 n_bytes, const u8 *raw, u64 *out_hash, u64 *out_pow) {
    (void)n_bytes;
    for (i64 k = 0; k < n; k++) hash_bytes(raw + ptr[k], ptr[k + 1] - ptr[k], out_hash + k, out_pow + k);
}

static inline u8 is_hiragana(i32 c) { return c >= HIRAGANA && c < HIRAGANA_END; }

/* Class of each character: 0 kana, 1 digits, 2 Latin letters, 3 katakana as typed, 4 other; and its row in the character
 * models: hiragana, the long mark, any other sign. */
void ime_classify(i64 n, const i32 *chars, i32 *kind, i32 *kana) {
    for (i64 i = 0; i < n; i++) {
        i32 c = chars[i], letter = c | 32;
        u8 is_kana = is_hiragana(c) || c == LONG_MARK || c == 0x309D || c == 0x309E;
        u8 is_digit = c >= '0' && c <= '9', is_latin = letter >= 'a' && letter <= 'z';
        kind[i] = is_kana ? 0 : is_digit ? 1 : is_latin ? 2 : c >= 0x30A1 && c <= 0x30F6 ? 3 : 4;
        kana[i] = is_hiragana(c) ? c - HIRAGANA : HIRAGANA_END - HIRAGANA + (c != LONG_MARK);
    }
}

/* A character of a reading; -1 behind its end. */
static inline i32 character(const Readings *r, i64 reading, i64 depth) {
    i64 at = r->char_ptr[reading] + depth;
    return at < r->char_ptr[reading + 1] ? r->chars[at] : -1;
}

/* The first of the readings low .. high, which begin alike, whose character there is not below the wanted one. Steps that
 * double, then halves: it is mostly near. */
static inline i64 first_not_below(const Readings *r, i64 low, i64 high, i64 depth, i32 wanted) {
    i64 step = 1;
    while (low + step <= high && character(r, low + step - 1, depth) < wanted) {
        low += step;
        step *= 2;
    }
    i64 n = smaller_i(step - 1, high - low);
    while (n > 0) {
        i64 half = n >> 1;
        u8 below = character(r, low + half, depth) < wanted;
        low = below ? low + half + 1 : low;
        n = below ? n - half - 1 : half;
    }
    return low;
}

void ime_index_readings(i64 n_readings, i64 n_chars, const i64 *char_ptr, const i32 *chars, i32 *starts) {
    Readings r = {n_readings, n_chars, char_ptr, chars, NULL, NULL};
    i64 at = 0;
    for (i32 one = HIRAGANA; one <= HIRAGANA_END; one++) {
        at = first_not_below(&r, at, n_readings, 0, one);
        *starts++ = (i32)at;
        i64 end = first_not_below(&r, at, n_readings, 0, one + 1), next = at;
        for (i32 two = HIRAGANA; two <= HIRAGANA_END; two++) {
            next = first_not_below(&r, next, end, 1, two);
            *starts++ = (i32)next;
        }
    }
}

/* Of the readings first .. last, which begin with chars[i .. j], those that go on with chars[j]. */
static inline void narrow(const Readings *r, const i32 *chars, i64 i, i64 j, i64 *first, i64 *last) {
    if (j - i < 2 && is_hiragana(chars[i]) && is_hiragana(chars[j])) {
        const i64 row = HIRAGANA_END - HIRAGANA + 2;
        const i32 *start = r->starts + (chars[i] - HIRAGANA) * row + (j > i ? 1 + chars[j] - HIRAGANA : 0);
        *first = start[0];
        *last = start[j > i ? 1 : row];
        return;
    }
    *first = first_not_below(r, *first, *last, j - i, chars[j]);
    *last = first_not_below(r, *first, *last, j - i, chars[j] + 1);
}

/* Words that start at each position, as ranges of word numbers; ptr gets the offsets of the positions' edges. */
void ime_find_edges(const Readings *r, i64 n, const i32 *chars, i64 longest, i64 *ptr, i32 *end, i32 *low, i32 *high) {
    i64 n_edges = 0;
    for (i64 i = 0; i < n; i++) {
        i64 first = 0, last = r->n_readings, stop = smaller_i(n, i + longest);
        ptr[i] = n_edges;
        for (i64 j = i; j < stop; j++) {
            narrow(r, chars, i, j, &first, &last);
            if (first >= last) break;
            if (character(r, first, j - i + 1) >= 0) continue;
            end[n_edges] = (i32)(j + 1);
            low[n_edges] = r->reading_word[first];
            high[n_edges++] = r->reading_word[first + 1];
            first++;
        }
    }
    ptr[n] = n_edges;
}

/* Words outside the lexicon that start at each position, with their log-probability; ptr gets offsets.
 * kind is the class of each character (0 kana, else digits, Latin letters, katakana, other), kana its row in the character
 * models hiragana and katakana (last row and column: the edges of a word). Form 0 stands as typed, form 1 is katakana. Only
 * characters of one class join. */
void ime_find_unknown(i64 n, const i32 *kind, const i32 *kana, i64 longest, i64 n_rows, const f64 *hiragana,
                      const f64 *katakana, const f64 *class_logp, const f64 *char_logp, i64 *ptr, i32 *out_end,
                      i32 *out_form, f64 *out_logp) {
    i64 edge = n_rows - 1, count = 0;
    for (i64 i = 0; i < n; i++) {
        f64 as_typed = class_logp[kind[i] + 1], as_katakana = class_logp[0];
        i64 before = edge, stop = smaller_i(n, i + longest);
        ptr[i] = count;
        for (i64 j = i; j < stop && kind[j] == kind[i]; j++) {
            out_end[count] = (i32)(j + 1);
            out_form[count] = 0;
            if (kind[i] != 0) {
                as_typed += char_logp[kind[i]];
                out_logp[count++] = as_typed;
                continue;
            }
            i64 here = kana[j];
            as_typed += hiragana[before * n_rows + here];
            as_katakana += katakana[before * n_rows + here];
            before = here;
            out_logp[count++] = as_typed + hiragana[here * n_rows + edge];
            out_end[count] = (i32)(j + 1);
            out_form[count] = 1;
            out_logp[count++] = as_katakana + katakana[here * n_rows + edge];
        }
    }
    ptr[n] = count;
}
