/* One call from readings to texts: the lattice of each reading, the search, and the texts of what it finds. */
#include "ime_engine.h"

#include "surface_hash.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { AS_TYPED = 0, AS_KATAKANA = 1, OWN_TEXT = 2 };
enum { HIRAGANA = 0x3041, HIRAGANA_END = 0x3097, TO_KATAKANA = 0x60, LONGEST_READING = 64 };
enum { SPARE = 20 }; /* ways to find one among that writes no wrong amount */

i64 sizeof_UnknownModel(void) { return sizeof(UnknownModel); }
i64 sizeof_OwnEdges(void) { return sizeof(OwnEdges); }
i64 sizeof_TextUnits(void) { return sizeof(TextUnits); }
i64 sizeof_CodedCharacters(void) { return sizeof(CodedCharacters); }

void ime_engine_trim(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

/* Arrays of one reading, with room for the longest of a batch. */
typedef struct {
    i64 *ptr, *unknown_ptr, *special_ptr, *way_ptr;
    i32 *end, *low, *high, *kind, *kana;
    i32 *unknown_end, *unknown_form, *special_end, *special_form, *special_own;
    i32 *words;
    f64 *unknown_logp, *special_logp, *score;
    u16 *special_class;
    u64 *hash, *pow;
    Search search;
    Agenda *agenda;
} Room;

typedef struct {
    const OwnEdges *own;
    const Backwards *b;
    const i32 *chars;
    Room room;
} Reading;

static u8 allocate(Room *w, i64 n, i64 n_own, i64 longest, i64 k) {
    size_t edges = (size_t)(n * LONGEST_READING + 1), unknown = (size_t)(2 * n * longest + 1), special = unknown + (size_t)n_own;
    size_t at = (size_t)(n + 1);
    u8 good = 1;
#define NEW(x, count) good &= (w->x = malloc((count) * sizeof *w->x)) != NULL
    NEW(ptr, at), NEW(unknown_ptr, at), NEW(special_ptr, at), NEW(way_ptr, (size_t)k + 1), NEW(score, (size_t)k);
    NEW(end, edges), NEW(low, edges), NEW(high, edges), NEW(kind, at), NEW(kana, at), NEW(words, (size_t)k * at);
    NEW(unknown_end, unknown), NEW(unknown_form, unknown), NEW(unknown_logp, unknown);
    NEW(special_end, special), NEW(special_form, special), NEW(special_own, special), NEW(special_logp, special);
    NEW(special_class, special), NEW(hash, special), NEW(pow, special);
#undef NEW
    w->agenda = search_agenda(&w->search);
    return good && w->agenda;
}

static void release(Room *w) {
    void *all[] = {w->ptr, w->unknown_ptr, w->special_ptr, w->way_ptr, w->end, w->low, w->high, w->kind, w->kana, w->words,
                   w->unknown_end, w->unknown_form, w->unknown_logp, w->special_end, w->special_form, w->special_own,
                   w->special_logp, w->special_class, w->hash, w->pow, w->score};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    search_release(&w->search);
    search_release_agenda(w->agenda);
}

/* A character in UTF-8; returns its bytes. */
static inline i64 put(u32 c, u8 *out) {
    i64 n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const u8 first[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (i64 j = n - 1; j > 0; j--, c >>= 6) out[j] = (u8)(0x80 | (c & 0x3F));
    out[0] = (u8)(first[n] | c);
    return n;
}

/* What a special edge of this form writes for a character. */
static inline u32 written(i32 c, i32 form) {
    return (u32)(form == AS_KATAKANA && c >= HIRAGANA && c < HIRAGANA_END ? c + TO_KATAKANA : c);
}

/* Keeps the edges that stay within one piece. */
static void cut_edges(i64 n, const i32 *piece, Room *w) {
    i64 kept = 0, e = 0;
    for (i64 i = 0; i < n; i++) {
        i64 last = w->ptr[i + 1];
        w->ptr[i] = kept;
        for (; e < last; e++) {
            if (piece[i] != piece[w->end[e] - 1]) continue;
            w->end[kept] = w->end[e];
            w->low[kept] = w->low[e];
            w->high[kept++] = w->high[e];
        }
    }
    w->ptr[n] = kept;
}

static inline void add_special(Room *w, i64 x, i32 end, f64 logp, i32 form, u16 word_class, i64 own) {
    w->special_end[x] = end;
    w->special_logp[x] = logp;
    w->special_form[x] = form;
    w->special_class[x] = word_class;
    w->special_own[x] = (i32)own;
}

/* Special edges by start: unknown words, then those that have texts. */
static void merge_special(i64 n, i64 q, const UnknownModel *u, const OwnEdges *own, const i32 *piece, Room *w) {
    i64 x = 0, o = own->ptr[q];
    for (i64 i = 0; i < n; i++) {
        w->special_ptr[i] = x;
        for (i64 e = w->unknown_ptr[i]; e < w->unknown_ptr[i + 1]; e++)
            if (!piece || piece[i] == piece[w->unknown_end[e] - 1]) {
                u16 word_class = w->unknown_form[e] == AS_KATAKANA ? u->katakana_class : 0;
                add_special(w, x++, w->unknown_end[e], w->unknown_logp[e], w->unknown_form[e], word_class, -1);
            }
        for (; o < own->ptr[q + 1] && own->start[o] == i; o++)
            if (own->end[o] > i && own->end[o] <= n && (!piece || piece[i] == piece[own->end[o] - 1]))
                add_special(w, x++, own->end[o], own->logp[o], OWN_TEXT, own->word_class[o], o);
    }
    w->special_ptr[n] = x;
}

/* ime_surface_hashes of the texts of special edges; each unknown word goes on from the one before it. */
static void hash_special(i64 n, const Reading *s) {
    const Room *w = &s->room;
    for (i64 i = 0; i < n; i++) {
        u64 hash[2] = {0, 0}, pow[2] = {1, 1};
        i64 at[2] = {i, i};
        for (i64 x = w->special_ptr[i]; x < w->special_ptr[i + 1]; x++) {
            i32 form = w->special_form[x];
            if (form == OWN_TEXT) {
                const i64 *text = s->own->text_ptr + w->special_own[x];
                hash_bytes(s->own->text + text[0], text[1] - text[0], w->hash + x, w->pow + x);
                continue;
            }
            for (; at[form] < w->special_end[x]; at[form]++) {
                u8 bytes[4];
                hash_more(bytes, put(written(s->chars[at[form]], form), bytes), hash + form, pow + form);
            }
            w->hash[x] = hash[form];
            w->pow[x] = pow[form];
        }
    }
}

/* The text of a word that begins at i, if there is room for it; returns its bytes, -1 without room. */
static i64 spell_word(const Reading *s, i64 i, i32 word, i32 *end, u8 *out, i64 room) {
    const u8 *from = s->b->surface;
    i64 n = 0;
    if (word >= 0) {
        from += s->b->surface_ptr[word];
        n = s->b->surface_ptr[word + 1] - s->b->surface_ptr[word];
        *end = (i32)i + s->b->word_length[word];
    } else {
        i64 x = -2 - word;
        *end = s->room.special_end[x];
        i32 form = s->room.special_form[x];
        if (form != OWN_TEXT) {
            if (4 * (*end - i) > room) return -1;
            for (i64 j = i; j < *end; j++) n += put(written(s->chars[j], form), out + n);
            return n;
        }
        const i64 *text = s->own->text_ptr + s->room.special_own[x];
        from = s->own->text + text[0];
        n = text[1] - text[0];
    }
    if (n > room) return -1;
    memcpy(out, from, (size_t)n);
    return n;
}

/* Whether a text begins (last: ends) with a digit, half or full width. */
static u8 has_digit(const u8 *text, i64 n, u8 last) {
    const u8 *c = last ? text + n - 1 : text;
    if (n < 1) return 0;
    if (*c >= '0' && *c <= '9') return 1;
    if (n < 3) return 0;
    c = last ? text + n - 3 : text;
    return c[0] == 0xEF && c[1] == 0xBC && c[2] >= 0x90 && c[2] <= 0x99;
}

/* Whether a text begins with one of 一 to 九. */
static u8 has_kanji_digit(const u8 *text, i64 n) {
    static const u8 DIGITS[9][3] = {"\xE4\xB8\x80", "\xE4\xBA\x8C", "\xE4\xB8\x89", "\xE5\x9B\x9B", "\xE4\xBA\x94",
                                    "\xE5\x85\xAD", "\xE4\xB8\x83", "\xE5\x85\xAB", "\xE4\xB9\x9D"};
    for (i64 k = 0; k < 9 && n >= 3; k++)
        if (!memcmp(text, DIGITS[k], 3)) return 1;
    return 0;
}

/* Whether digits of two words stand side by side, which together would be another number: 30 and 2億 are no 302億, nor is
 * 30二億 a number. Typed digits may, and a nought that is read alone. */
static u8 is_wrong_amount(const Reading *s, const i32 *words, i64 count) {
    u8 before = 0, nought_before = 0, typed_before = 0, single_before = 0;
    i32 at = 0;
    for (i64 k = 0; k < count; k++) {
        const u8 *text = s->b->surface;
        i64 n = 0;
        u8 typed = s->room.kind[at] == 1, first, nought;
        if (words[k] >= 0) {
            text += s->b->surface_ptr[words[k]];
            n = s->b->surface_ptr[words[k] + 1] - s->b->surface_ptr[words[k]];
            at += s->b->word_length[words[k]];
        } else {
            i64 x = -2 - words[k];
            if (s->room.special_form[x] == OWN_TEXT) {
                text = s->own->text + s->own->text_ptr[s->room.special_own[x]];
                n = s->own->text_ptr[s->room.special_own[x] + 1] - s->own->text_ptr[s->room.special_own[x]];
            }
            at = s->room.special_end[x];
        }
        first = n ? has_digit(text, n, 0) : typed;
        nought = n == 1 && *text == '0';
        u8 spelled = n == 1 && single_before && (nought || nought_before); /* 0, 9, 0 */
        if (before && first && !(typed_before && typed) && !spelled) return 1;
        if (before && !typed_before && has_kanji_digit(text, n)) return 1;
        before = n ? has_digit(text, n, 1) : typed;
        nought_before = nought;
        single_before = n == 1;
        typed_before = typed;
    }
    return 0;
}

/* Leaves out the ways that write wrong amounts, if others are left. */
static i64 without_wrong_amounts(const Reading *s, i64 found) {
    const Room *w = &s->room;
    i64 kept = 0;
    for (i64 k = 0; k < found; k++) {
        i64 first = w->way_ptr[k], count = w->way_ptr[k + 1] - first;
        if (is_wrong_amount(s, w->words + first, count)) continue;
        w->score[kept] = w->score[k];
        memmove(w->words + w->way_ptr[kept], w->words + first, (size_t)count * sizeof *w->words);
        w->way_ptr[kept + 1] = w->way_ptr[kept] + count;
        kept++;
    }
    return kept;
}

/* The k best ways of a reading into the room; returns how many, -1 where there is no memory. */
static i64 find_ways(const Trigram *m, Context context, i32 merged, i64 k, f64 margin, i64 n, Reading *s) {
    Room *w = &s->room;
    i64 n_special = w->special_ptr[n];
    Lattice l = {n, s->chars, w->ptr, w->end, w->low, w->high, w->special_ptr, w->special_end, w->special_logp,
                 w->special_class, merged};
    if (k == 1) {
        f64 scores[2];
        i64 count = search_best(&w->search, m, s->b, &l, context, w->words, scores);
        if (count < 0) return -1;
        if (scores[1] >= scores[0] - 1e-6) {
            for (i64 x = 0; x < count / 2; x++) {
                i32 word = w->words[x];
                w->words[x] = w->words[count - 1 - x];
                w->words[count - 1 - x] = word;
            }
            w->way_ptr[0] = 0;
            w->way_ptr[1] = count;
            w->score[0] = scores[1];
            return 1;
        }
        memset(w->hash, 0, (size_t)n_special * sizeof *w->hash); /* nothing to tell apart */
        memset(w->pow, 0, (size_t)n_special * sizeof *w->pow);
    } else {
        hash_special(n, s);
    }
    return search_k_best(w->agenda, m, &l, s->b, context, w->hash, w->pow, k, margin, w->way_ptr, w->words, w->score);
}

/* Asks for the words of the edges ahead of the search. */
static void prefetch_words(const Trigram *m, const f32 *bonus, i64 n, const Room *w) {
    for (i64 e = 0; e < w->ptr[n]; e++) {
        __builtin_prefetch(m->pair_logp + w->low[e]);
        __builtin_prefetch(m->pair_next + w->low[e]);
        __builtin_prefetch(m->word_class + w->low[e]);
        __builtin_prefetch(bonus + w->low[e]);
    }
}

static void make_lattice(const Readings *r, const UnknownModel *u, i64 q, i64 n, const i32 *piece, Reading *s) {
    Room *w = &s->room;
    ime_classify(n, s->chars, w->kind, w->kana);
    ime_find_edges(r, n, s->chars, LONGEST_READING, w->ptr, w->end, w->low, w->high);
    ime_find_unknown(n, w->kind, w->kana, u->longest, u->n_rows, u->hiragana, u->katakana, u->class_logp, u->char_logp,
                     w->unknown_ptr, w->unknown_end, w->unknown_form, w->unknown_logp);
    if (piece) cut_edges(n, piece, w);
    merge_special(n, q, u, s->own, piece, w);
}

i64 ime_engine_ways(const Readings *r, const Trigram *m, const Backwards *b, const UnknownModel *u, const OwnEdges *own,
                    i32 start, i64 n_words, const f32 *of_word, i64 n_recent, const u8 *recent, f64 of_recent, i64 k, f64 margin,
                    i64 n_inputs, const i64 *char_ptr, i64 n_input_chars, const i32 *chars, i64 n_pieces, const i32 *pieces,
                    i64 *found, f64 *score, i64 *ptr, i64 room, i32 *word, i32 *end, i64 *text_end, i64 text_room, u8 *text) {
    (void)n_input_chars;
    Context context = {start, of_word, n_recent > n_words / 8 ? recent : NULL, (f32)of_recent};
    Reading s = {.own = own, .b = b, .room = {0}};
    i64 longest = 0, most_own = 0, n_ways = 0, count = 0, bytes = 0, failed = 0;
    for (i64 q = 0; q < n_inputs; q++) {
        longest = larger_i(longest, char_ptr[q + 1] - char_ptr[q]);
        most_own = larger_i(most_own, own->ptr[q + 1] - own->ptr[q]);
    }
    if (!allocate(&s.room, longest, most_own, u->longest, larger_i(k, SPARE))) failed = -1;
    ptr[0] = 0;
    for (i64 q = 0; q < n_inputs && !failed; q++) {
        i64 n = char_ptr[q + 1] - char_ptr[q];
        s.chars = chars + char_ptr[q];
        make_lattice(r, u, q, n, n_pieces ? pieces + char_ptr[q] : NULL, &s);
        prefetch_words(m, of_word, n, &s.room);
        found[q] = n ? find_ways(m, context, u->katakana_class, k, margin, n, &s) : 0;
        if (found[q] > 0 && is_wrong_amount(&s, s.room.words, s.room.way_ptr[1]))
            found[q] = find_ways(m, context, u->katakana_class, larger_i(k, SPARE), INFINITY, n, &s);
        if (found[q] > 0) found[q] = smaller_i(k, larger_i(without_wrong_amounts(&s, found[q]), 1));
        if (found[q] < 0) failed = -1;
        for (i64 w = 0; w < found[q] && !failed; w++) {
            i32 at = 0;
            for (i64 x = s.room.way_ptr[w]; x < s.room.way_ptr[w + 1]; x++) {
                i64 size = count < room ? spell_word(&s, at, s.room.words[x], &at, text + bytes, text_room - bytes) : -1;
                if (size < 0) {
                    failed = -2;
                    break;
                }
                word[count] = s.room.words[x] < 0 ? -1 : s.room.words[x];
                end[count] = at;
                text_end[count++] = bytes += size;
            }
            score[n_ways++] = s.room.score[w];
            ptr[n_ways] = count;
        }
    }
    release(&s.room);
    return failed ? failed : n_ways;
}

/* The slot of a unit with this hash, or the hole where it would stand. */
static inline i64 slot_by_hash(const i64 *unit_ptr, const u8 *unit_text, i64 n_slots, const i32 *slots, const u8 *text, i64 n,
                               u64 hash) {
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ull; /* short texts differ in few bits */
    i64 at = (i64)(hash >> 32) & (n_slots - 1);
    for (; slots[at] >= 0; at = (at + 1) & (n_slots - 1)) {
        i64 first = unit_ptr[slots[at]];
        if (unit_ptr[slots[at] + 1] - first == n && !memcmp(unit_text + first, text, (size_t)n)) break;
    }
    return at;
}

static inline i64 slot_of(const i64 *unit_ptr, const u8 *unit_text, i64 n_slots, const i32 *slots, const u8 *text, i64 n) {
    u64 hash, pow;
    hash_bytes(text, n, &hash, &pow);
    return slot_by_hash(unit_ptr, unit_text, n_slots, slots, text, n, hash);
}

i64 ime_engine_units_in(i64 n_units, const i64 *unit_ptr, i64 n_bytes, const u8 *unit_text, i64 n_slots, const i32 *slots,
                        i64 longest, i64 n_text, const u8 *text, i32 *out) {
    (void)n_units, (void)n_bytes;
    i64 found = 0;
    for (i64 i = 0, next; i < n_text; i = next) {
        u64 hash = 0, pow = 1;
        u8 is_unit = 0;
        next = 0;
        for (i64 j = i, n = 0; j < n_text && n < longest; n++) {
            i64 from = j;
            for (j++; j < n_text && (text[j] & 0xC0) == 0x80;) j++;
            if (!next) next = j;
            hash_more(text + from, j - from, &hash, &pow);
            i32 unit = slots[slot_by_hash(unit_ptr, unit_text, n_slots, slots, text + i, j - i, hash)];
            if (unit < 0) continue;
            found -= is_unit;
            out[found++] = unit;
            is_unit = 1;
            next = j;
        }
        if (!next) next = i + 1;
    }
    return found;
}

void ime_engine_index_units(i64 n_units, const i64 *unit_ptr, i64 n_bytes, const u8 *unit_text, i64 n_slots, i32 *slots) {
    (void)n_bytes;
    memset(slots, 0xff, (size_t)n_slots * sizeof *slots);
    for (i64 k = 0; k < n_units; k++)
        slots[slot_of(unit_ptr, unit_text, n_slots, slots, unit_text + unit_ptr[k], unit_ptr[k + 1] - unit_ptr[k])] = (i32)k;
}

/* A character of valid UTF-8, and the next one. */
static inline i32 take(const u8 **text) {
    const u8 *s = *text;
    i64 n = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    i32 c = n == 1 ? s[0] : s[0] & (0xFF >> (n + 1));
    for (i64 j = 1; j < n; j++) c = c << 6 | (s[j] & 0x3F);
    *text += n;
    return c;
}

/* The unit of a word, which is its text without the hiragana at its end; -1 where it is none. */
static i32 unit_of(const TextUnits *t, const u8 *text, i64 n) {
    for (const u8 *last = text + n - 3; n >= 3; n -= 3, last -= 3) {
        const u8 *at = last;
        i32 c = last[0] >= 0xE0 && last[0] < 0xF0 ? take(&at) : 0;
        if (c < HIRAGANA || c >= HIRAGANA_END) break;
    }
    return n ? t->slots[slot_of(t->unit_ptr, t->unit_text, t->n_slots, t->slots, text, n)] : -1;
}

enum { N_RUNS = 8 };

typedef struct {
    i64 at, end;
    i32 node;
    f64 backed_off;
} Run;

/* The pair of a node with a character, -1: none. The root holds all characters. */
static inline i64 coded_pair(const CodedCharacters *m, i32 node, i32 word) {
    i64 first = m->pair_ptr[node], n = m->pair_ptr[node + 1] - first;
    if (node == 0) return word;
    while (n > 0) {
        i64 half = n >> 1;
        if (m->pair_word[first + half] < word) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first < m->pair_ptr[node + 1] && m->pair_word[first] == word ? first : -1;
}

/* ngram_score_stream of a model in codes: eight runs of sentences advance in turn. */
static void score_coded_stream(const CodedCharacters *m, i64 n, const i32 *stream, i32 start, f64 *out) {
    Run runs[N_RUNS];
    i64 cut = 0;
    for (i64 k = 0; k < N_RUNS; k++) {
        i64 first = cut;
        cut = larger_i(cut, n * (k + 1) / N_RUNS);
        while (0 < cut && cut < n && stream[cut - 1] != 0) cut++;
        runs[k] = (Run){first, cut, start, 0.0};
    }
    for (u8 open = 1; open;) {
        open = 0;
        for (Run *run = runs; run < runs + N_RUNS; run++) {
            if (run->at >= run->end) continue;
            open = 1;
            i32 word = stream[run->at];
            i64 pair = word < 0 ? -1 : coded_pair(m, run->node, word);
            if (word >= 0 && pair < 0) {
                run->backed_off += m->bow[m->node_code[run->node]];
                run->node = m->node_parent[run->node];
                continue;
            }
            out[run->at++] = word < 0 ? NAN : run->backed_off + m->logp[m->pair_code[pair]];
            run->node = word < 0 ? 0 : m->pair_next[pair];
            run->backed_off = 0.0;
        }
    }
}

/* The gains by a model of characters, in full or in codes. */
static u8 gains(const Backoff *full, const CodedCharacters *coded, const WordPairs *pairs, const TextUnits *t, i64 n_before,
                const i32 *before, i64 n_units_before, const i32 *units_before, i64 n_ways, const i64 *ptr, i64 n_words,
                const i64 *text_end, i64 n_text, const u8 *text, f64 *out_characters, f64 *out_pairs) {
    size_t room = (size_t)(n_text + n_ways * (n_before + 1) + 1);
    i32 *stream = malloc(room * sizeof *stream), *units = malloc((size_t)(n_words + 1) * sizeof *units);
    f64 *logp = malloc(room * sizeof *logp);
    i64 *unit_ptr = malloc((size_t)(n_ways + 1) * sizeof *unit_ptr), *first = malloc((size_t)(n_ways + 1) * sizeof *first);
    u8 good = stream && units && logp && unit_ptr && first;
    i64 n = 0, n_units = 0;
    const u8 *at = text;
    for (i64 w = 0; good && w < n_ways; w++) {
        unit_ptr[w] = n_units;
        for (i64 k = 0; k < n_before; k++) stream[n++] = before[k];
        first[w] = n;
        for (i64 x = ptr[w]; x < ptr[w + 1]; x++) {
            const u8 *stop = text + text_end[x];
            i32 unit = unit_of(t, at, stop - at);
            if (unit >= 0) units[n_units++] = unit;
            while (at < stop) {
                i32 c = take(&at);
                stream[n++] = c < t->n_points ? t->char_id[c] : -1;
            }
        }
        stream[n++] = 0;
    }
    if (good) {
        unit_ptr[n_ways] = n_units;
        first[n_ways] = n + n_before;
        if (full)
            ngram_score_stream(full, n, stream, t->start, logp);
        else
            score_coded_stream(coded, n, stream, t->start, logp);
        ime_pair_scores(pairs, n_units_before, units_before, n_ways, unit_ptr, n_units, units, out_pairs);
        for (i64 w = 0; w < n_ways; w++) {
            out_characters[w] = 0.0;
            for (i64 k = first[w]; k < first[w + 1] - n_before; k++) out_characters[w] += isnan(logp[k]) ? t->stray : logp[k];
        }
    }
    free(stream), free(units), free(logp), free(unit_ptr), free(first);
    return good;
}

u8 ime_engine_gains(const Backoff *characters, const WordPairs *pairs, const TextUnits *t, i64 n_before, const i32 *before,
                    i64 n_units_before, const i32 *units_before, i64 n_ways, const i64 *ptr, i64 n_words,
                    const i64 *text_end, i64 n_text, const u8 *text, f64 *out_characters, f64 *out_pairs) {
    return gains(characters, NULL, pairs, t, n_before, before, n_units_before, units_before, n_ways, ptr, n_words, text_end,
                 n_text, text, out_characters, out_pairs);
}

u8 ime_engine_coded_gains(const CodedCharacters *characters, const WordPairs *pairs, const TextUnits *t, i64 n_before,
                          const i32 *before, i64 n_units_before, const i32 *units_before, i64 n_ways,
                          const i64 *ptr, i64 n_words, const i64 *text_end, i64 n_text, const u8 *text,
                          f64 *out_characters, f64 *out_pairs) {
    return gains(NULL, characters, pairs, t, n_before, before, n_units_before, units_before, n_ways, ptr, n_words, text_end,
                 n_text, text, out_characters, out_pairs);
}
