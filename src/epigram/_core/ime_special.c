/* Numbers, signs and letters of a reading. Numbers are read piece by piece, the longest piece first. */
#include "ime_special.h"

enum { DIGITS, GROUPED, MIXED, KANJI, PLACES, WIDE, N_FORMS };
enum { MOST_LETTERS = 20, LONG_MARK = 0x30FC };

typedef struct {
    u32 text[4];
    i64 value;
} Piece;

static const i64 TEN_THOUSAND = 10000, LARGEST = 10000000000000000;
static const Piece PIECES[] = {
    {U"きゅう", 9}, {U"じゅう", 10}, {U"じゅっ", 10}, {U"ひゃく", 100}, {U"ひゃっ", 100}, {U"びゃく", 100}, {U"びゃっ", 100},
    {U"ぴゃく", 100}, {U"ぴゃっ", 100}, {U"ちょう", 1000000000000}, {U"いち", 1}, {U"いっ", 1}, {U"さん", 3}, {U"よん", 4},
    {U"ろく", 6}, {U"ろっ", 6}, {U"なな", 7}, {U"しち", 7}, {U"はち", 8}, {U"はっ", 8}, {U"じっ", 10}, {U"せん", 1000},
    {U"ぜん", 1000}, {U"まん", 10000}, {U"おく", 100000000}, {U"おっ", 100000000}, {U"に", 2}, {U"よ", 4}, {U"し", 4},
    {U"ご", 5}, {U"く", 9},
};
static const u8 ONES[10][4] = {"〇", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
static const struct {
    i64 value;
    u8 name[4];
} LARGE[] = {{1000000000000, "兆"}, {100000000, "億"}, {10000, "万"}, {1, ""}}, UNITS[] = {{1000, "千"}, {100, "百"}, {10, "十"}, {1, ""}};

i64 sizeof_SpecialTexts(void) { return sizeof(SpecialTexts); }

/* The value of the longest piece with which characters begin, and its length; 0 for none. */
static i64 piece_at(const i32 *chars, i64 n, i64 *length) {
    for (size_t k = 0; k < sizeof PIECES / sizeof *PIECES; k++) {
        i64 j = 0;
        while (j < n && PIECES[k].text[j] && (u32)chars[j] == PIECES[k].text[j]) j++;
        if (PIECES[k].text[j]) continue;
        *length = j;
        return PIECES[k].value;
    }
    return 0;
}

i64 ime_special_numbers(i64 n, const i32 *chars, i64 *end, i64 *value) {
    i64 done = 0, group = 0, one = 0, last_unit = TEN_THOUSAND, last_large = LARGEST, at = 0, length, found = 0;
    for (i64 piece; (piece = piece_at(chars + at, n - at, &length)) > 0;) {
        if (piece < 10) {
            if (one) break;
            one = piece;
        } else if (piece < TEN_THOUSAND) {
            if (piece >= last_unit) break;
            group += (one ? one : 1) * piece;
            one = 0;
            last_unit = piece;
        } else {
            if (piece >= last_large || !(group + one)) break;
            done += (group + one) * piece;
            group = one = 0;
            last_unit = TEN_THOUSAND;
            last_large = piece;
        }
        at += length;
        if (done + group + one < 10) continue;
        end[found] = at;
        value[found++] = done + group + one;
    }
    return found;
}

static i64 write_digits(i64 value, u8 *out) {
    i64 n = 1, left = value;
    while (left /= 10) n++;
    for (i64 j = n - 1; j >= 0; j--, value /= 10) out[j] = (u8)('0' + value % 10);
    return n;
}

static i64 write_kanji(i64 value, u8 *out) {
    i64 n = 0;
    for (i64 k = 0; k < 4; value %= UNITS[k++].value) {
        i64 digit = value / UNITS[k].value;
        if (!digit) continue;
        if (digit > 1 || k == 3) memcpy(out + n, ONES[digit], 3), n += 3;
        if (k < 3) memcpy(out + n, UNITS[k].name, 3), n += 3;
    }
    return n;
}

static i64 write_groups(i64 value, u8 in_kanji, u8 *out) {
    i64 n = 0;
    for (i64 k = 0; k < 4; value %= LARGE[k++].value) {
        i64 part = value / LARGE[k].value;
        if (!part) continue;
        n += in_kanji ? write_kanji(part, out + n) : write_digits(part, out + n);
        if (k < 3) memcpy(out + n, LARGE[k].name, 3), n += 3;
    }
    return n;
}

i64 ime_special_write(i64 value, i64 form, u8 *out) {
    u8 digits[20];
    if (value < 0 || value >= LARGEST || form < 0 || form >= N_FORMS) return 0;
    i64 n = write_digits(value, digits), size = 0;
    if (form == MIXED || form == KANJI) return form == KANJI || value >= TEN_THOUSAND ? write_groups(value, form == KANJI, out) : 0;
    if ((form == GROUPED && n < 4) || (form == PLACES && n > 4)) return 0;
    for (i64 j = 0; j < n; j++) {
        const u8 wide[3] = {0xEF, 0xBC, (u8)(0x90 + digits[j] - '0')};
        if (form == GROUPED && j && (n - j) % 3 == 0) out[size++] = ',';
        if (form == PLACES || form == WIDE)
            memcpy(out + size, form == WIDE ? wide : ONES[digits[j] - '0'], 3), size += 3;
        else
            out[size++] = digits[j];
    }
    return size;
}

typedef struct {
    i64 n, room, bytes, text_room, at;
    i32 *start, *end;
    f64 *logp;
    u16 *word_class;
    i64 *text_ptr;
    u8 *text;
} Out;

static u8 add(Out *o, i64 length, f64 logp, u16 word_class, const u8 *text, i64 size) {
    if (o->n >= o->room || o->bytes + size > o->text_room) return 0;
    o->start[o->n] = (i32)o->at;
    o->end[o->n] = (i32)(o->at + length);
    o->logp[o->n] = logp;
    o->word_class[o->n] = word_class;
    memcpy(o->text + o->bytes, text, (size_t)size);
    o->text_ptr[++o->n] = o->bytes += size;
    return 1;
}

static u8 add_numbers(const SpecialTexts *t, i64 n, const i32 *chars, Out *o) {
    i64 end[128], value[128], found = ime_special_numbers(smaller_i(n, 128), chars, end, value);
    u8 text[128], good = 1;
    for (i64 k = 0; k < found; k++) {
        f64 logp = t->number - log(10.0) * (f64)write_digits(value[k], text);
        for (i64 form = 0; good && form < N_FORMS; form++) {
            i64 size = ime_special_write(value[k], form, text);
            if (size) good = add(o, end[k], logp + t->form_logp[form], t->form_class[form], text, size);
        }
    }
    return good;
}

static inline u8 begins_with(const SpecialTexts *t, i64 row, i64 n, const i32 *chars) {
    i64 first = t->char_ptr[row], length = t->char_ptr[row + 1] - first;
    return length > 0 && length <= n && !memcmp(t->chars + first, chars, (size_t)length * sizeof *chars);
}

static u8 add_rows(const SpecialTexts *t, i64 n, const i32 *chars, Out *o) {
    i64 row = t->n_letters;
    for (i64 last = t->n_rows; row < last;) {
        i64 half = row + (last - row) / 2;
        if (t->chars[t->char_ptr[half]] < *chars)
            row = half + 1;
        else
            last = half;
    }
    for (; row < t->n_rows && t->chars[t->char_ptr[row]] == *chars; row++) {
        const i64 *text = t->text_ptr + row;
        if (begins_with(t, row, n, chars) &&
            !add(o, t->char_ptr[row + 1] - t->char_ptr[row], t->logp[row], 0, t->text + text[0], text[1] - text[0]))
            return 0;
    }
    return 1;
}

/* Words of two and more letters, one of them with a long vowel. */
static u8 add_letters(const SpecialTexts *t, i64 n, const i32 *chars, Out *o) {
    u8 letters[MOST_LETTERS], is_long = 0;
    for (i64 count = 0, at = 0; count < MOST_LETTERS;) {
        i64 row = 0;
        while (row < t->n_letters && !begins_with(t, row, n - at, chars + at)) row++;
        if (row == t->n_letters) return 1;
        for (i64 last = at + t->char_ptr[row + 1] - t->char_ptr[row]; at < last; at++) is_long |= chars[at] == LONG_MARK;
        letters[count++] = t->text[t->text_ptr[row]];
        if (count > 1 && is_long && !add(o, at, t->spelled + t->letter * (f64)count, 0, letters, count)) return 0;
    }
    return 1;
}

i64 ime_special_edges(const SpecialTexts *t, i64 n_inputs, const i64 *char_ptr, i64 n_input_chars, const i32 *chars, i64 *ptr,
                      i64 room, i32 *start, i32 *end, f64 *logp, u16 *word_class, i64 *text_ptr, i64 text_room, u8 *text) {
    (void)n_input_chars;
    Out o = {0, room, 0, text_room, 0, start, end, logp, word_class, text_ptr, text};
    text_ptr[0] = 0;
    for (i64 q = 0; q < n_inputs; q++) {
        i64 n = char_ptr[q + 1] - char_ptr[q];
        ptr[q] = o.n;
        for (o.at = 0; o.at < n; o.at++) {
            const i32 *here = chars + char_ptr[q] + o.at;
            if (t->number > -INFINITY && !add_numbers(t, n - o.at, here, &o)) return -1;
            if (!add_rows(t, n - o.at, here, &o) || !add_letters(t, n - o.at, here, &o)) return -1;
        }
    }
    ptr[n_inputs] = o.n;
    return o.n;
}
