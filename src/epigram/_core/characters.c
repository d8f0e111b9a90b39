#include "characters.h"

enum { PIECE = 8, WORD = 10, CLASSES_BEFORE = 4, CLASSES_AFTER = 5, MOST_LEFT = 4 };
static const u8 CONSTANTS[] = "_.-<>01234";
enum { BEGIN, INSIDE, NONE, BEFORE_ALL, AFTER_ALL, ZERO, N_CONSTANTS = 11 };

/* The bytes of one code point; what is none becomes the replacement character. */
static i64 write_utf8(u32 c, u8 *out) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    if (c < 0x80) {
        out[0] = (u8)c;
        return 1;
    }
    i64 more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (u8)((0xFF00 >> (more + 1)) | (c >> (6 * more)));
    for (i64 k = 1; k <= more; k++) out[k] = 0x80 | ((c >> (6 * (more - k))) & 0x3F);
    return more + 1;
}

typedef struct {
    i64 begin;
    i64 end;
} Word;

typedef struct {
    const u8 *blank;
    const i64 *lower_at, *kind_at;
    i64 n_rows, *starts, *ends;
} Cells;

static Word word_from(const u8 *blank, i64 at, i64 end) {
    while (at < end && blank[at]) at++;
    Word word = {at, at};
    while (word.end < end && !blank[word.end]) word.end++;
    return word;
}

static void put(const Cells *c, i64 column, i64 row, i64 start, i64 end) {
    c->starts[column * c->n_rows + row] = start;
    c->ends[column * c->n_rows + row] = end;
}

static void put_constant(const Cells *c, i64 column, i64 row, i64 constant) {
    put(c, column, row, constant, constant + 1);
}

/* Characters from..to of the text, or a constant where there are none. */
static void put_slice(const Cells *c, i64 column, i64 row, const i64 *at, i64 from, i64 to, i64 none) {
    if (from < to) put(c, column, row, at[from], at[to]);
    else put_constant(c, column, row, none);
}

/* The end of a word, where one is there. */
static void put_tail(const Cells *c, i64 column, i64 row, Word word) {
    put_slice(c, column, row, c->lower_at, larger_i(word.begin, word.end - WORD), word.end, BEFORE_ALL);
}

static void put_character(const Cells *c, i64 row, i64 i, const Word word[4]) {
    const i64 *lower = c->lower_at, *kind = c->kind_at;
    Word own = word[2], next = word[3];
    put_slice(c, 0, row, lower, i, i + 1, NONE);
    put_slice(c, 1, row, kind, i, i + 1, NONE);
    put_constant(c, 2, row, i == own.begin ? BEGIN : INSIDE);
    put_slice(c, 3, row, lower, larger_i(own.begin, i - PIECE), i, NONE);
    put_slice(c, 4, row, lower, i, smaller_i(own.end, i + PIECE), NONE);
    put_tail(c, 5, row, word[1]);
    put_slice(c, 6, row, lower, next.begin, smaller_i(next.end, next.begin + WORD), AFTER_ALL);
    put_slice(c, 7, row, kind, next.begin, smaller_i(next.end, next.begin + 1), AFTER_ALL);
    put_constant(c, 8, row, ZERO + smaller_i(own.end - i, MOST_LEFT));
    put_slice(c, 9, row, lower, larger_i(word[1].begin, word[1].end - 1), word[1].end, BEFORE_ALL);
    put_slice(c, 10, row, kind, larger_i(own.begin, i - CLASSES_BEFORE), i, NONE);
    put_slice(c, 11, row, kind, i, smaller_i(own.end, i + CLASSES_AFTER), NONE);
    put_tail(c, 12, row, word[0]);
}

/* The rows of one sequence from row on; returns the row after them, or -1 where there are more than `last`. */
static i64 put_sequence(const Cells *c, i64 begin, i64 end, i64 row, i64 last) {
    Word word[4] = {{begin, begin}, {begin, begin}, word_from(c->blank, begin, end), {end, end}};
    while (word[2].begin < end) {
        word[3] = word_from(c->blank, word[2].end, end);
        if (word[2].end - word[2].begin > last - row) return -1;
        for (i64 i = word[2].begin; i < word[2].end; i++) put_character(c, row++, i, word);
        memmove(word, word + 1, 3 * sizeof(Word));
    }
    return row;
}

i64 characters_find_cells(i64 n, const u32 *lower, const u32 *kinds, const u8 *blank, i64 n_sequences, const i64 *begins,
                          const i64 *ends, const i64 *ptr, i64 n_bytes, u8 *raw, i64 *lower_at, i64 *kind_at, i64 n_rows,
                          i64 *cell_starts, i64 *cell_ends) {
    if (n_bytes < 8 * n + N_CONSTANTS) return -1;
    memcpy(raw, CONSTANTS, N_CONSTANTS);
    i64 at = N_CONSTANTS;
    for (i64 i = 0; i < n; i++) {
        lower_at[i] = at;
        at += write_utf8(lower[i], raw + at);
    }
    lower_at[n] = at;
    for (i64 i = 0; i < n; i++) {
        kind_at[i] = at;
        at += write_utf8(kinds[i], raw + at);
    }
    kind_at[n] = at;
    Cells c = {blank, lower_at, kind_at, n_rows, cell_starts, cell_ends};
    for (i64 s = 0; s < n_sequences; s++) {
        if (begins[s] < 0 || ends[s] > n || begins[s] > ends[s] || ptr[s] < 0 || ptr[s + 1] > n_rows) return -1;
        if (put_sequence(&c, begins[s], ends[s], ptr[s], ptr[s + 1]) != ptr[s + 1]) return -1;
    }
    return at;
}
