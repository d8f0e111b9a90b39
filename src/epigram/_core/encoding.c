#include "encoding.h"

#include "fingerprint.h"

i64 sizeof_Corpus(void) { return sizeof(Corpus); }
i64 sizeof_TemplateLines(void) { return sizeof(TemplateLines); }

/* Whether a byte of UTF-8 goes on with a character that began before it. */
static inline u8 goes_on(u8 byte) { return (byte & 0xC0) == 0x80; }

/* H and B^length of each string. */
void encoding_hash_strings(i64 n, const i64 *ptr, i64 n_bytes, const u8 *content, u64 *hashes, u64 *powers) {
    (void)n_bytes;
    for (i64 i = 0; i < n; i++) {
        Part s = part_of(content, ptr[i], ptr[i + 1]);
        hashes[i] = s.hash;
        powers[i] = s.power;
    }
}

/* Fingerprints of whole strings from their H, in place. */
void encoding_mix_all(i64 n, u64 *hashes) {
    for (i64 i = 0; i < n; i++) hashes[i] = mix(hashes[i]);
}

static u8 is_among(Part s, const u64 *hashes, const u64 *powers, i64 begin, i64 end) {
    for (i64 j = begin; j < end; j++) {
        if (hashes[j] == s.hash && powers[j] == s.power) return 1;
    }
    return 0;
}

/* All distinct substrings of each string, by start and then by length; returns how many in all, at most `most`. */
i64 encoding_hash_substrings(i64 n, const i64 *ptr, i64 n_bytes, const u8 *content, i64 longest, i64 most, u64 *hashes,
                             u64 *powers, i64 *value_ptr) {
    (void)n_bytes, (void)most;
    i64 n_out = 0;
    value_ptr[0] = 0;
    for (i64 i = 0; i < n; i++) {
        i64 before = n_out, end = ptr[i + 1];
        for (i64 k = ptr[i]; k < end; k++) {
            if (goes_on(content[k])) continue;
            Part s = {0, 1};
            for (i64 m = k, length = 0; length < longest && m < end; length++) {
                do s = with_byte(s, content[m++]);
                while (m < end && goes_on(content[m]));
                if (is_among(s, hashes, powers, before, n_out)) continue;
                hashes[n_out] = s.hash;
                powers[n_out++] = s.power;
            }
        }
        value_ptr[i + 1] = n_out;
    }
    return n_out;
}

/* The first (or, at_end, last) `length` characters of each string, nothing of shorter ones; returns how many. */
i64 encoding_hash_affixes(i64 n, const i64 *ptr, i64 n_bytes, const u8 *content, i64 length, u8 at_end, u64 *hashes,
                          u64 *powers, i64 *value_ptr) {
    (void)n_bytes;
    i64 n_out = 0;
    value_ptr[0] = 0;
    for (i64 i = 0; i < n; i++) {
        i64 begin = ptr[i], end = ptr[i + 1], n_characters = 0;
        if (at_end) {
            for (begin = end; begin > ptr[i] && n_characters < length;) n_characters += !goes_on(content[--begin]);
        } else {
            for (end = begin; end < ptr[i + 1] && n_characters < length;) {
                end++;
                n_characters += end == ptr[i + 1] || !goes_on(content[end]);
            }
        }
        if (n_characters == length) {
            Part s = part_of(content, begin, end);
            hashes[n_out] = s.hash;
            powers[n_out++] = s.power;
        }
        value_ptr[i + 1] = n_out;
    }
    return n_out;
}

/* The values of a view at a token: n of them, from `first` on; the hash and power of the first one. */
typedef struct {
    u64 hash, power;
    i64 n, first;
} Values;

static inline Values values_at(const Corpus *a, const TemplateLines *l, i64 view, i64 t, i64 begin, i64 end) {
    if (begin <= t && t < end) {
        i64 row = l->view_base[view] + a->ids[l->view_column[view] * a->n_tokens + t];
        i64 first = l->value_ptr[row], n = l->value_ptr[row + 1] - first;
        return n ? (Values){l->value_hash[first], l->value_power[first], n, first} : (Values){0, 0, 0, 0};
    }
    i64 k = l->reach + (t < begin ? t - begin : t - end + 1);
    return (Values){l->outside_hash[k], l->outside_power[k], l->view_marks[view], 0};
}

/* All views of n tokens from t on and of their neighbours. */
static void fill_window(const Corpus *a, const TemplateLines *l, i64 t, i64 n, i64 begin, i64 end, Values *window) {
    for (i64 view = 0; view < l->n_views; view++) {
        Values *row = window + view * l->stride;
        for (i64 k = 0; k < n + 2 * l->reach - 1; k++) row[k] = values_at(a, l, view, t - l->reach + k, begin, end);
    }
}

/* How many combinations of values a line has at a token; `hash` gets that of their first ones. */
static inline i64 first_combination(const TemplateLines *l, i64 line, const Values *at, u64 *hash) {
    i64 m = 1, c = l->line_ptr[line], last = l->line_ptr[line + 1];
    u64 h = l->literal_hash[c + line];
    for (; c < last; c++) {
        const Values *v = at + l->cell_site[c];
        m *= v->n;
        h = h * v->power + v->hash;
        h = h * l->literal_power[c + line + 1] + l->literal_hash[c + line + 1];
    }
    *hash = h;
    return m;
}

/* The hash of combination k of m, the last cell fastest. */
static u64 one_combination(const TemplateLines *l, i64 line, const Values *at, i64 m, i64 k) {
    i64 c = l->line_ptr[line], last = l->line_ptr[line + 1];
    u64 h = l->literal_hash[c + line];
    for (; c < last; c++) {
        Values v = at[l->cell_site[c]];
        m /= v.n;
        if (v.n > 1) {
            i64 chosen = v.first + k / m % v.n;
            v.hash = l->value_hash[chosen];
            v.power = l->value_power[chosen];
        }
        h = h * v.power + v.hash;
        h = h * l->literal_power[c + line + 1] + l->literal_hash[c + line + 1];
    }
    return h;
}

/* Fingerprints of the attributes of a token, line by line; returns how many, or -1 if there is no room. */
static inline i64 expand_token(const TemplateLines *l, const Values *at, i64 room, u64 *restrict keys) {
    i64 n_out = 0;
    for (i64 line = 0; line < l->n_lines; line++) {
        u64 h;
        i64 m = first_combination(l, line, at, &h);
        if (n_out + m > room) return -1;
        if (m == 1) keys[n_out] = mix(h);
        for (i64 k = 0; m > 1 && k < m; k++) keys[n_out + k] = mix(one_combination(l, line, at, m, k));
        n_out += m;
    }
    return n_out;
}

/* Fingerprints of all attributes of sentences, token by token; skip_first leaves out first tokens. Returns the first
 * sentence for which `keys` had no room; done[0] is the number of keys before it. `window` is working memory. */
i64 encoding_expand_keys(const Corpus *corpus, const TemplateLines *lines, u8 skip_first, i64 first_sentence, i64 room,
                         u64 *keys, i64 n_window, u64 *window, i64 n_tokens, i64 *out_ptr, i64 *done) {
    (void)n_window, (void)n_tokens;
    i64 n_out = 0, most = lines->stride - 2 * lines->reach;
    Values *values = (Values *)window;
    done[0] = 0;
    for (i64 s = first_sentence; s < corpus->n_sentences; s++) {
        i64 begin = corpus->sentence_ptr[s], end = corpus->sentence_ptr[s + 1];
        for (i64 t = begin; t < end; t++) {
            i64 in_window = (t - begin) % most, found = 0;
            if (in_window == 0) fill_window(corpus, lines, t, smaller_i(most, end - t), begin, end, values);
            if (t > begin || !skip_first) found = expand_token(lines, values + in_window, room - n_out, keys + n_out);
            if (found < 0) return s;
            n_out += found;
            out_ptr[t + 1] = out_ptr[t] + found;
        }
        done[0] = n_out;
    }
    return corpus->n_sentences;
}

/* Which line, and which combination of its values, made the attribute number ranks[i] of a token. */
void encoding_locate_keys(const Corpus *corpus, const TemplateLines *lines, i64 n, const i64 *tokens, const i64 *ranks,
                          const i64 *begins, const i64 *ends, i64 *out_lines, i64 *combinations) {
    for (i64 i = 0; i < n; i++) {
        i64 rank = ranks[i];
        for (i64 line = 0; line < lines->n_lines; line++) {
            i64 m = 1;
            for (i64 c = lines->line_ptr[line]; c < lines->line_ptr[line + 1]; c++)
                m *= values_at(corpus, lines, lines->cell_view[c], tokens[i] + lines->cell_offset[c], begins[i], ends[i]).n;
            if (rank < m) {
                out_lines[i] = line;
                combinations[i] = rank;
                break;
            }
            rank -= m;
        }
    }
}

/* A slot is (fingerprint, id) side by side; fingerprint 0 is free. Returns the slot of a key, or the free one where it
 * would be. */
static inline u64 slot_of(u64 key, i64 n_slots, const u64 *slots) {
    u64 mask = (u64)n_slots - 1, slot = key & mask;
    while (slots[2 * slot] != 0 && slots[2 * slot] != key) slot = (slot + 1) & mask;
    return slot;
}

/* Put ids 0..n-1 into an empty table. */
void encoding_fill_slots(i64 n, const u64 *fingerprints, i64 n_slots, u64 *slots) {
    u64 mask = (u64)n_slots - 1;
    for (i64 i = 0; i < n; i++) {
        u64 slot = fingerprints[i] & mask;
        while (slots[2 * slot] != 0) slot = (slot + 1) & mask;
        slots[2 * slot] = fingerprints[i];
        slots[2 * slot + 1] = (u64)i;
    }
}

/* Ids of the keys, new ones where a key is new; stops early when the table is full. Returns the number of keys done;
 * n_attributes goes on. */
i64 encoding_intern_keys(i64 n_keys, const u64 *keys, i64 begin, i64 first_origin, i64 n_slots, u64 *slots, i64 room,
                         u64 *fingerprints, i64 *counts, i64 *origins, i64 *n_attributes, i32 *ids) {
    i64 n = n_attributes[0], o = begin;
    for (; o < n_keys; o++) {
        u64 key = keys[o], slot = slot_of(key, n_slots, slots);
        if (slots[2 * slot] == 0) {
            if (n == room) break;
            slots[2 * slot] = key;
            slots[2 * slot + 1] = (u64)n;
            fingerprints[n] = key;
            counts[n] = 0;
            origins[n++] = first_origin + o;
        }
        u64 i = slots[2 * slot + 1];
        counts[i]++;
        ids[o] = (i32)i;
    }
    n_attributes[0] = n;
    return o;
}

/* Ids of the keys, -1 where a key is not in the table. Most keys are in their first slot or that one is free: only
 * others take a branch. */
void encoding_look_up_keys(i64 n_keys, const u64 *keys, i64 n_slots, const u64 *slots, i32 *ids) {
    u64 mask = (u64)n_slots - 1;
    for (i64 o = 0; o < n_keys; o++) {
        u64 slot = keys[o] & mask, there = slots[2 * slot];
        if ((there != 0) & (there != keys[o])) {
            slot = slot_of(keys[o], n_slots, slots);
            there = slots[2 * slot];
        }
        i32 id = (i32)slots[2 * slot + 1];
        ids[o] = there ? id : -1;
    }
}

/* Close the gaps of negative ids in place; returns how many are left. */
i64 encoding_drop_unknown(i64 n_tokens, const i64 *ptr, i64 n_ids, i32 *ids, i64 *new_ptr) {
    (void)n_ids;
    i64 n_out = 0;
    new_ptr[0] = 0;
    for (i64 t = 0; t < n_tokens; t++) {
        for (i64 o = ptr[t]; o < ptr[t + 1]; o++) {
            ids[n_out] = ids[o];
            n_out += ids[o] >= 0;
        }
        new_ptr[t + 1] = n_out;
    }
    return n_out;
}
