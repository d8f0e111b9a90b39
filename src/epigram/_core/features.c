#include "features.h"

#include "encoding.h"
#include "fingerprint.h"

enum { OTHER_FORM = -1, NO_ROOM = -2, DEEPEST = 8, REF_SIZE = 5, MAY_BE_REFERRED_TO = 0x80 };

i64 sizeof_Found(void) { return sizeof(Found); }

typedef struct {
    i64 at, length;
    Part part;
} Text;

/* A walk through the bytes. With `wanted`, names are spelt and nothing is counted but occurrences. */
typedef struct {
    const u8 *content;
    i64 n_bytes;
    Found *out;
    i64 n_refs, n_tokens, n_occurrences;
    u8 all_ones;
    Text names[DEEPEST + 1]; /* of the dicts around the one at hand, and its own key */
    const i64 *wanted;
    i64 n_wanted, n_spelt, room, n_text;
    u8 *text;
    i64 *text_ptr;
} Walk;

static inline i64 number_at(const Walk *r, i64 at) {
    const u8 *p = r->content + at;
    return (i64)p[0] | (i64)p[1] << 8 | (i64)p[2] << 16 | (i64)p[3] << 24;
}

/* Remember an object that may be referred to; objects met again through a reference are not new. */
static inline i64 remember(Walk *r, i64 at, u8 again, const Text *text) {
    if (again || !(r->content[at] & MAY_BE_REFERRED_TO)) return 0;
    if (r->n_refs == r->out->n_refs) return NO_ROOM;
    u64 *ref = r->out->refs + REF_SIZE * r->n_refs++;
    ref[0] = (u64)at;
    ref[1] = text ? (u64)text->at : 0;
    if (!text) return 0;
    ref[2] = (u64)text->length;
    ref[3] = text->part.hash;
    ref[4] = text->part.power;
    return 0;
}

/* The reference at `at`, or NULL where it leads nowhere. */
static inline const u64 *referred(const Walk *r, i64 at) {
    if (at + 5 > r->n_bytes) return NULL;
    i64 k = number_at(r, at + 1);
    return k < r->n_refs ? r->out->refs + REF_SIZE * k : NULL;
}

/* H and B^length, eight bytes a step: the products of a step do not wait for each other. */
static inline Part hash_text(const u8 *p, i64 n) {
    const u64 B2 = B * B, B4 = B2 * B2, B8 = B4 * B4;
    Part s = {0, 1};
    for (; n >= 8; n -= 8, p += 8) {
        u64 high = ((p[0] + 1ull) * B + p[1] + 1) * B2 + (p[2] + 1ull) * B + p[3] + 1;
        u64 low = ((p[4] + 1ull) * B + p[5] + 1) * B2 + (p[6] + 1ull) * B + p[7] + 1;
        s = (Part){s.hash * B8 + high * B4 + low, s.power * B8};
    }
    for (; n > 0; n--, p++) s = with_byte(s, *p);
    return s;
}

/* Half of a surrogate pair, which marshal lets pass though it is no character. */
static u8 has_surrogates(const u8 *p, i64 n) {
    for (i64 k = 0; k + 1 < n; k++) {
        if (p[k] == 0xED && p[k + 1] >= 0xA0) return 1;
    }
    return 0;
}

/* A string; returns where it ends. */
static inline i64 read_text(Walk *r, i64 at, u8 again, Text *text) {
    if (at >= r->n_bytes) return OTHER_FORM;
    u8 kind = r->content[at] & 0x7F, is_short = kind == 'z' || kind == 'Z';
    if (kind == 'r') {
        const u64 *ref = referred(r, at);
        if (!ref || !ref[1]) return OTHER_FORM;
        *text = (Text){(i64)ref[1], (i64)ref[2], {ref[3], ref[4]}};
        return at + 5;
    }
    if (!is_short && kind != 'a' && kind != 'A' && kind != 'u' && kind != 't') return OTHER_FORM;
    text->at = at + (is_short ? 2 : 5);
    if (text->at > r->n_bytes) return OTHER_FORM;
    text->length = is_short ? r->content[at + 1] : number_at(r, at + 1);
    if (text->length > r->n_bytes - text->at) return OTHER_FORM;
    const u8 *p = r->content + text->at;
    if ((kind == 'u' || kind == 't') && has_surrogates(p, text->length)) return OTHER_FORM;
    text->part = hash_text(p, text->length);
    i64 full = remember(r, at, again, text);
    return full ? full : text->at + text->length;
}

static i64 spell_text(Walk *r, const Text *text) {
    if (r->n_text + text->length + 1 > r->room) return NO_ROOM;
    memcpy(r->text + r->n_text, r->content + text->at, (size_t)text->length);
    r->n_text += text->length;
    return 0;
}

/* Write the names down to `depth`, and a value where there is one, with colons between. */
static i64 spell(Walk *r, i64 depth, const Text *value) {
    for (i64 k = 0; k <= depth + (value != NULL); k++) {
        if (k) r->text[r->n_text++] = ':';
        i64 full = spell_text(r, k <= depth ? &r->names[k] : value);
        if (full) return full;
    }
    r->text_ptr[++r->n_spelt] = r->n_text;
    return 0;
}

/* One more feature of the token at hand. */
static inline i64 add_feature(Walk *r, u64 hash, f64 value, i64 depth, const Text *text) {
    if (r->wanted) {
        i64 mine = r->n_spelt < r->n_wanted && r->wanted[r->n_spelt] == r->n_occurrences;
        r->n_occurrences++;
        return mine ? spell(r, depth, text) : 0;
    }
    if (r->n_occurrences == r->out->n_occurrences) return NO_ROOM;
    r->out->keys[r->n_occurrences] = mix(hash);
    r->out->values[r->n_occurrences++] = value;
    r->all_ones &= value == 1.0;
    return 0;
}

static inline Part with_colon(Part s) { return with_byte(s, ':'); }

static i64 read_features(Walk *r, i64 at, u8 again, i64 depth, Part prefix);

/* The value of the key names[depth], whose H with all names before it is in `name`; returns where it ends. */
static i64 read_value(Walk *r, i64 at, u8 again, i64 depth, Part name) {
    if (at >= r->n_bytes) return OTHER_FORM;
    u8 kind = r->content[at] & 0x7F;
    f64 value = 0.0;
    i64 end = at + 1, full;
    Text text;
    switch (kind) {
    case 'z': case 'Z': case 'a': case 'A': case 'u': case 't':
        end = read_text(r, at, again, &text);
        if (end < 0) return end;
        full = add_feature(r, join_parts(with_colon(name), text.part).hash, 1.0, depth, &text);
        return full ? full : end;
    case 'T': value = 1.0; break;
    case 'F': break;
    case 'i':
        end = at + 5;
        if (end > r->n_bytes) return OTHER_FORM;
        value = (f64)(i32)number_at(r, at + 1);
        break;
    case 'g':
        end = at + 9;
        if (end > r->n_bytes) return OTHER_FORM;
        memcpy(&value, r->content + at + 1, sizeof value);
        if (!isfinite(value)) return OTHER_FORM;
        break;
    case 'r': {
        const u64 *ref = referred(r, at);
        if (!ref) return OTHER_FORM;
        if (ref[1]) {
            text = (Text){(i64)ref[1], (i64)ref[2], {ref[3], ref[4]}};
            full = add_feature(r, join_parts(with_colon(name), text.part).hash, 1.0, depth, &text);
        } else {
            full = read_value(r, (i64)ref[0], 1, depth, name);
        }
        return full < 0 ? full : at + 5;
    }
    default: return depth == DEEPEST ? OTHER_FORM : read_features(r, at, again, depth + 1, with_colon(name));
    }
    full = remember(r, at, again, NULL);
    if (full) return full;
    if (value != 0.0 || r->out->zeros) full = add_feature(r, name.hash, value, depth, NULL);
    return full ? full : end;
}

static i64 read_dict(Walk *r, i64 at, u8 again, i64 depth, Part prefix) {
    while (at < r->n_bytes && r->content[at] != '0') {
        at = read_text(r, at, again, &r->names[depth]);
        if (at < 0) return at;
        at = read_value(r, at, again, depth, join_parts(prefix, r->names[depth].part));
        if (at < 0) return at;
    }
    return at < r->n_bytes ? at + 1 : OTHER_FORM;
}

/* How many elements a list, tuple or set at `at` has, and where they begin; -1 for what is none of these. */
static inline i64 open_list(const Walk *r, i64 at, i64 *first) {
    u8 kind = r->content[at] & 0x7F;
    if (kind == ')' && at + 2 <= r->n_bytes) {
        *first = at + 2;
        return r->content[at + 1];
    }
    if (kind != '[' && kind != '(' && kind != '<' && kind != '>') return OTHER_FORM;
    *first = at + 5;
    return *first <= r->n_bytes ? number_at(r, at + 1) : OTHER_FORM;
}

/* A dict, or a list of names; returns where it ends. */
static i64 read_features(Walk *r, i64 at, u8 again, i64 depth, Part prefix) {
    if (at >= r->n_bytes) return OTHER_FORM;
    if ((r->content[at] & 0x7F) == 'r') {
        const u64 *ref = referred(r, at);
        if (!ref || ref[1] || again > DEEPEST) return OTHER_FORM;
        i64 end = read_features(r, (i64)ref[0], again + 1, depth, prefix);
        return end < 0 ? end : at + 5;
    }
    i64 full = remember(r, at, again, NULL);
    if (full) return full;
    if ((r->content[at] & 0x7F) == '{') return read_dict(r, at + 1, again, depth, prefix);
    i64 n = open_list(r, at, &at);
    if (n < 0) return n;
    for (i64 k = 0; k < n; k++) {
        at = read_text(r, at, again, &r->names[depth]);
        if (at < 0) return at;
        full = add_feature(r, join_parts(prefix, r->names[depth].part).hash, 1.0, depth, NULL);
        if (full) return full;
    }
    return at;
}

/* One sentence; returns where it ends. */
static i64 read_sentence(Walk *r, i64 at) {
    r->n_refs = 0;
    if (at >= r->n_bytes) return OTHER_FORM;
    i64 start = at, n = open_list(r, at, &at);
    if (n < 0) return n;
    i64 full = remember(r, start, 0, NULL);
    for (i64 t = 0; t < n && !full; t++) {
        at = read_features(r, at, 0, 0, (Part){0, 1});
        if (at < 0) return at;
        if (r->wanted) continue;
        if (r->n_tokens == r->out->n_tokens) return NO_ROOM;
        r->out->attribute_ptr[++r->n_tokens] = r->n_occurrences;
    }
    return full ? full : at;
}

/* Sentences one after another. Returns 0 where all were read, OTHER_FORM or NO_ROOM where one could not be; counts are
 * those of the whole sentences before it: sentences, tokens, occurrences, and 1 where every value is one. */
i64 features_read(i64 n_bytes, const u8 *content, Found *out, i64 *counts) {
    Walk r = {.content = content, .n_bytes = n_bytes, .out = out, .all_ones = 1};
    i64 at = 0;
    counts[0] = counts[1] = counts[2] = 0;
    counts[3] = 1;
    out->sentence_ptr[0] = out->attribute_ptr[0] = 0;
    while (at < n_bytes) {
        if (counts[0] == out->n_sentences) return NO_ROOM;
        at = read_sentence(&r, at);
        if (at < 0) return at;
        out->sentence_ptr[++counts[0]] = counts[1] = r.n_tokens;
        counts[2] = r.n_occurrences;
        counts[3] = r.all_ones;
    }
    return 0;
}

/* The names of the wanted occurrences, rising, as UTF-8: name k is text_ptr[k] up to text_ptr[k + 1]. Returns 0, or
 * NO_ROOM. */
i64 features_spell(i64 n_bytes, const u8 *content, Found *out, i64 n_wanted, const i64 *wanted, i64 room, u8 *text,
                   i64 *text_ptr) {
    Walk r = {.content = content, .n_bytes = n_bytes, .out = out, .wanted = wanted, .n_wanted = n_wanted,
              .room = room, .text = text, .text_ptr = text_ptr};
    i64 at = 0;
    text_ptr[0] = 0;
    while (at < n_bytes && r.n_spelt < n_wanted) {
        at = read_sentence(&r, at);
        if (at < 0) return at;
    }
    return 0;
}

/* Attributes that the model has no weights for leave the sentence. Returns how many occurrences are left. */
static i64 keep_known(i64 n_tokens, i64 *ptr, i32 *ids, f64 *values, const i32 *row_of) {
    i64 n = 0, first = 0;
    for (i64 t = 0; t < n_tokens; t++) {
        i64 end = ptr[t + 1];
        for (i64 o = first; o < end; o++) {
            if (ids[o] < 0 || row_of[ids[o]] < 0) continue;
            ids[n] = ids[o];
            values[n++] = values[o];
        }
        first = end;
        ptr[t + 1] = n;
    }
    return n;
}

/* The best label of each token of one sentence. Returns the number of tokens, OTHER_FORM or NO_ROOM. */
i64 features_label(i64 n_bytes, const u8 *content, Found *out, i64 n_slots, const u64 *slots, i64 n_attributes,
                   const i32 *row_of, const Layout *layout, i64 n_weights, const f64 *w, const Scratch *scratch,
                   i64 n_ids, i32 *ids, i64 n_labels, i32 *labels) {
    (void)n_attributes;
    i64 counts[4], rows_ptr[2] = {0, 0}, code = features_read(n_bytes, content, out, counts), n = counts[1];
    if (code || n == 0) return code;
    if (n > scratch->n_tokens || n > n_labels || counts[2] > n_ids) return NO_ROOM;
    encoding_look_up_keys(counts[2], out->keys, n_slots, slots, ids);
    i64 n_known = keep_known(n, out->attribute_ptr, ids, out->values, row_of);
    if (n_known && counts[3]) out->values[0] = 1.0;
    Chains chains = {.n_sentences = 1, .n_tokens = n, .n_occurrences = n_known, .value_stride = !counts[3],
                     .sentence_ptr = out->sentence_ptr, .attribute_ptr = out->attribute_ptr, .rows_ptr = rows_ptr,
                     .rows = row_of, .local = ids, .values = out->values};
    const i32 first = 0;
    decoding_viterbi(&chains, layout, 1, &first, n_weights, w, 0, NULL, scratch, n, labels);
    return n;
}
