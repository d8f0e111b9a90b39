/* From characters to edges: the trie over readings, words of the lexicon and unknown words that start at a position. */
#include "ime.h"

enum { CHAR_BITS = 21, AS_KATAKANA = 1, KEPT_NODES = 64 };
enum { HIRAGANA = 0x3041, HIRAGANA_END = 0x3097, TO_KATAKANA = 0x60, LONG_MARK = 0x30FC };
static const u64 HASH_BASE = 1099511628211ull;

i64 sizeof_Trie(void) { return sizeof(Trie); }
i64 sizeof_Lattice(void) { return sizeof(Lattice); }

static inline i64 trie_key(i64 node, i32 character) { return (i64)((u64)node << CHAR_BITS) | (i64)character; }

/* Place of a key in the table, or of the hole where it would stand. */
static inline i64 trie_slot(i64 size, const i64 *keys, i64 key) {
    u64 h = (u64)key * 0x9E3779B97F4A7C15ull;
    h ^= h >> 32;
    i64 slot = (i64)(h & (u64)(size - 1));
    while (keys[slot] >= 0 && keys[slot] != key) slot = (slot + 1) & (size - 1);
    return slot;
}

/* How many characters two readings begin alike with, of those whose nodes are kept. */
static inline i64 common_start(const i32 *one, i64 n_one, const i32 *other, i64 n_other) {
    i64 n = 0;
    while (n < n_one && n < n_other && n < KEPT_NODES && one[n] == other[n]) n++;
    return n;
}

/* The most nodes that the trie of the readings can have, which are sorted: what each begins with unlike its neighbour. */
i64 ime_count_nodes(i64 n_readings, const i64 *char_ptr, i64 n_chars, const i32 *chars) {
    (void)n_chars;
    i64 n_nodes = 1;
    for (i64 r = 0; r < n_readings; r++) {
        i64 n = char_ptr[r + 1] - char_ptr[r], before = r > 0 ? r - 1 : r, length = r > 0 ? char_ptr[r] - char_ptr[r - 1] : 0;
        n_nodes += n - common_start(chars + char_ptr[r], n, chars + char_ptr[before], length);
    }
    return n_nodes;
}

/* Enters all readings; node_reading gets the reading that ends at a node, -1 elsewhere. Returns how many nodes. */
i64 ime_grow_trie(i64 n_readings, const i64 *char_ptr, i64 n_chars, const i32 *chars, i64 size, i64 *keys, i32 *nodes,
                  i64 room, i32 *node_reading) {
    (void)room;
    (void)n_chars;
    i64 path[KEPT_NODES + 1] = {0}, n_nodes = 1, length = 0;
    const i32 *last = chars;
    node_reading[0] = -1;
    for (i64 r = 0; r < n_readings; r++) {
        const i32 *reading = chars + char_ptr[r];
        i64 n = char_ptr[r + 1] - char_ptr[r], common = common_start(reading, n, last, length), node = path[common];
        for (i64 c = common; c < n; c++) {
            i64 key = trie_key(node, reading[c]), slot = trie_slot(size, keys, key);
            if (keys[slot] < 0) {
                keys[slot] = key;
                nodes[slot] = (i32)n_nodes;
                node_reading[n_nodes++] = -1;
            }
            node = nodes[slot];
            if (c < KEPT_NODES) path[c + 1] = node;
        }
        node_reading[node] = (i32)r;
        last = reading;
        length = n;
    }
    return n_nodes;
}

/* Polynomial hash of byte strings, and the base to their length: hash(a + b) = hash(a) pow(b) + hash(b). */
void ime_surface_hashes(i64 n, const i64 *ptr, i64 n_bytes, const u8 *raw, u64 *out_hash, u64 *out_pow) {
    (void)n_bytes;
    for (i64 k = 0; k < n; k++) {
        u64 h = 0, p = 1;
        for (i64 j = ptr[k]; j < ptr[k + 1]; j++) {
            h = h * HASH_BASE + raw[j] + 1;
            p *= HASH_BASE;
        }
        out_hash[k] = h;
        out_pow[k] = p;
    }
}

static inline u8 is_hiragana(i32 c) { return c >= HIRAGANA && c < HIRAGANA_END; }

/* Bytes of one character in UTF-8, hashed. */
static inline void hash_character(u32 c, u64 *h, u64 *p) {
    u8 bytes[4];
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const u8 first[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (int j = n - 1; j > 0; j--, c >>= 6) bytes[j] = (u8)(0x80 | (c & 0x3F));
    bytes[0] = (u8)(first[n] | c);
    for (int j = 0; j < n; j++) {
        *h = *h * HASH_BASE + bytes[j] + 1;
        *p *= HASH_BASE;
    }
}

/* ime_surface_hashes of what special edges write: their characters as typed, or hiragana as katakana. */
void ime_special_hashes(i64 n, const i32 *chars, const i64 *ptr, i64 n_special, const i32 *end, const i32 *form,
                        u64 *out_hash, u64 *out_pow) {
    (void)n_special;
    for (i64 i = 0; i < n; i++) {
        for (i64 e = ptr[i]; e < ptr[i + 1]; e++) {
            u64 h = 0, p = 1;
            for (i64 j = i; j < end[e]; j++)
                hash_character((u32)(form[e] == AS_KATAKANA && is_hiragana(chars[j]) ? chars[j] + TO_KATAKANA : chars[j]), &h, &p);
            out_hash[e] = h;
            out_pow[e] = p;
        }
    }
}

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

/* Words that start at each position, as ranges of word numbers; ptr gets the offsets of the positions' edges. */
void ime_find_edges(const Trie *t, i64 n, const i32 *chars, i64 longest, i64 *ptr, i32 *end, i32 *low, i32 *high) {
    i64 n_edges = 0;
    for (i64 i = 0; i < n; i++) {
        i64 node = 0, stop = smaller_i(n, i + longest);
        ptr[i] = n_edges;
        for (i64 j = i; j < stop; j++) {
            i64 slot = trie_slot(t->size, t->keys, trie_key(node, chars[j]));
            if (t->keys[slot] < 0) break;
            node = t->nodes[slot];
            i32 r = t->node_reading[node];
            if (r < 0) continue;
            end[n_edges] = (i32)(j + 1);
            low[n_edges] = t->reading_word[r];
            high[n_edges++] = t->reading_word[r + 1];
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
