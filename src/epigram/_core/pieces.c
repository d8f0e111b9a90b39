#include "pieces.h"

#include "kenlm_inline.h"

i64 sizeof_Pieces(void) { return sizeof(Pieces); }

enum { USER_DEFINED = 4, UNUSED = 5, TRIES = 4096 };
static const u8 BLANK[3] = {0xE2, 0x96, 0x81}, REPLACEMENT[3] = {0xEF, 0xBF, 0xBD};

/* Bytes that the stream of a text goes through; they grow as they must. */
typedef struct {
    u8 *bytes;
    i64 n, room;
} Buffer;

static u8 reserve(Buffer *b, i64 more) {
    if (b->n + more <= b->room) return 1;
    i64 room = larger_i(2 * b->room, b->n + more + 4096);
    u8 *bytes = realloc(b->bytes, (size_t)room);
    if (!bytes) return 0;
    b->bytes = bytes;
    b->room = room;
    return 1;
}

static inline void put(Buffer *b, const u8 *bytes, i64 n) {
    memcpy(b->bytes + b->n, bytes, (size_t)n);
    b->n += n;
}

typedef struct {
    f32 score;
    f32 second; /* the score of the second best way here */
    i32 piece;
    i64 from, to;
} Node;

typedef struct {
    i64 start, n, before, after;
    u8 is_fixed;
} Symbol;

/* Two symbols that may be merged; stale where their lengths no longer add up to n. */
typedef struct {
    f32 score;
    i64 left, right, n;
} Pair;

/* A word that was cut before: its pieces, and how far the next best cut was behind at least. */
enum { N_KNOWN = 1 << 14, MOST_BYTES = 24, MOST_PIECES = 7 };
typedef struct {
    u8 n, n_pieces, bytes[MOST_BYTES];
    f32 margin;
    i32 pieces[MOST_PIECES];
} Known;

typedef struct {
    const Pieces *p;
    const Asked *asked;
    Known *known;
    i32 *stream;
    i64 n, room, n_unknown;
    u64 hash; /* of a run of unknown characters, which is one piece */
    u8 in_unknown;
    Buffer folded, line, nodes, pairs;
} Run;

/* ---- the trie ---- */

typedef struct {
    i64 unit, first, end, depth;
} Range;

static u8 is_free(const i32 *units, i64 n_units, i64 at) { return at > 0 && at < n_units && units[4 * at + 3] == 0; }

/* A base whose units for all labels are free, from `from` on; -1 for none. */
static i64 find_base(const i32 *units, i64 n_units, i64 from, i64 n, const u8 *labels) {
    for (i64 at = from; at < n_units; at++) {
        if (!is_free(units, n_units, at)) continue;
        i64 base = at ^ labels[0], k = 1;
        while (k < n && is_free(units, n_units, base ^ labels[k])) k++;
        if (k == n) return base;
    }
    return -1;
}

u8 pieces_index(i64 n_bytes, const u8 *bytes, i64 n, const i64 *ptr, const i32 *ids, i64 n_units, i32 *units) {
    (void)n_bytes;
    Range *queue = malloc((size_t)(n_units + 1) * sizeof *queue);
    if (!queue || n_units < 1) return free(queue), 0;
    i64 done = 0, n_queued = 0, first_free = 1;
    for (i64 k = 0; k < n_units; k++) units[4 * k + 1] = units[4 * k + 2] = -1;
    units[3] = 1;
    queue[n_queued++] = (Range){0, 0, n, 0};
    for (; done < n_queued; done++) {
        Range range = queue[done];
        i64 k = range.first, n_labels = 0, starts[257];
        u8 labels[256];
        for (; k < range.end && ptr[k + 1] - ptr[k] == range.depth; k++) units[4 * range.unit + 2] = ids[k];
        for (; k < range.end; k++) {
            u8 label = bytes[ptr[k] + range.depth];
            if (n_labels && labels[n_labels - 1] == label) continue;
            if (n_labels == 256) return free(queue), 0;
            starts[n_labels] = k;
            labels[n_labels++] = label;
        }
        if (!n_labels) continue;
        while (first_free < n_units && units[4 * first_free + 3]) first_free++;
        i64 near = n_labels > 1 ? larger_i(first_free, n_queued - TRIES) : first_free;
        i64 base = find_base(units, n_units, near, n_labels, labels);
        if (base < 0) return free(queue), 0;
        units[4 * range.unit] = (i32)base;
        starts[n_labels] = range.end;
        for (i64 j = 0; j < n_labels; j++) {
            i64 unit = base ^ labels[j];
            units[4 * unit + 1] = (i32)range.unit;
            units[4 * unit + 3] = 1;
            queue[n_queued++] = (Range){unit, starts[j], starts[j + 1], range.depth + 1};
        }
    }
    free(queue);
    return 1;
}

static inline i64 follow(const Pieces *p, i64 unit, u8 byte) {
    i64 next = p->units[4 * unit] ^ byte;
    return next < p->n_units && p->units[4 * next + 1] == unit ? next : -1;
}

/* The piece that n bytes spell, -1 for none. */
static i32 piece_of(const Pieces *p, const u8 *s, i64 n) {
    i64 unit = 0;
    for (i64 k = 0; k < n && unit >= 0; k++) unit = follow(p, unit, s[k]);
    return unit < 0 ? -1 : p->units[4 * unit + 2];
}

/* Length of the longest piece defined by the user that a text begins with. */
static i64 user_length(const Pieces *p, const u8 *s, i64 n) {
    i64 unit = 0, longest = 0;
    for (i64 k = 0; p->has_user && k < n && (unit = follow(p, unit, s[k])) >= 0; k++) {
        i32 piece = p->units[4 * unit + 2];
        if (piece >= 0 && p->kinds[piece] == USER_DEFINED) longest = k + 1;
    }
    return longest;
}

/* Bytes of a character by its first, as sentencepiece has them, no more than there are. */
static inline i64 char_length(const u8 *s, i64 n) {
    static const u8 LENGTH[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    return smaller_i(LENGTH[s[0] >> 4], n);
}

/* ---- normalisation ---- */

/* Replaces characters one by one. */
static u8 fold(Run *run, const u8 *text, i64 n) {
    const Pieces *p = run->p;
    run->folded.n = 0;
    if (!reserve(&run->folded, n)) return 0;
    const i32 *ascii = p->fold_of + 256 * p->pages[0];
    for (i64 at = 0; at < n;) {
        if (text[at] < 128 && !ascii[text[at]]) { /* there is room for all that is left, as it is */
            run->folded.bytes[run->folded.n++] = text[at++];
            continue;
        }
        i64 length = char_length(text + at, n - at);
        u32 c = length == 1 ? text[at] : text[at] & (0xFFu >> (length + 1));
        for (i64 k = 1; k < length; k++) c = c << 6 | (text[at + k] & 63);
        i64 page = (i64)(c >> 8) < p->n_pages ? p->pages[c >> 8] : 0, form = 0;
        if (256 * page + 256 <= p->n_fold_of) form = p->fold_of[256 * page + (c & 255)];
        if (form < 0 || form >= p->n_folds) form = 0;
        i64 n_form = form ? p->fold_ptr[form + 1] - p->fold_ptr[form] : length;
        if (!reserve(&run->folded, n_form + n - at)) return 0;
        put(&run->folded, form ? p->fold_bytes + p->fold_ptr[form] : text + at, n_form);
        at += length;
    }
    return 1;
}

/* The next characters that have a form of their own, and that form. */
typedef struct {
    const u8 *bytes;
    i64 n, n_read;
} Form;

static inline u64 offset_of(u32 unit) { return (u64)(unit >> 10) << ((unit & (1u << 9)) >> 6); }

static Form next_form(const Pieces *p, const u8 *s, i64 n) {
    i64 user = user_length(p, s, n), longest = 0;
    if (user) return (Form){s, user, user};
    u64 size = (u64)p->n_map, node = size ? offset_of(p->map[0]) : 0, value = 0;
    for (i64 k = 0; k < n; k++) {
        node ^= s[k];
        if (node >= size || (p->map[node] & 0x800000FFu) != s[k]) break;
        u32 unit = p->map[node];
        node ^= offset_of(unit);
        if (!(unit >> 8 & 1)) continue;
        if (node >= size) break;
        value = p->map[node] & 0x7FFFFFFFu;
        longest = k + 1;
    }
    if (longest && value < (u64)p->n_forms) {
        const u8 *form = p->forms + value;
        return (Form){form, (i64)strlen((const char *)form), longest};
    }
    i64 length = char_length(s, n);
    u8 is_valid = s[0] < 0x80 || s[0] >= 0xC2;
    for (i64 k = 1; k < length; k++) is_valid &= (s[k] & 0xC0) == 0x80;
    return is_valid ? (Form){s, length, length} : (Form){REPLACEMENT, 3, 1};
}

/* A line as a sentencepiece model sees it. */
static u8 normalise(Run *run, const u8 *text, i64 n) {
    const Pieces *p = run->p;
    Buffer *out = &run->line;
    const u8 *blank = p->escapes ? BLANK : (const u8 *)" ";
    i64 at = 0, n_blank = p->escapes ? 3 : 1;
    out->n = 0;
    for (Form form; p->trims && at < n; at += form.n_read) {
        form = next_form(p, text + at, n - at);
        if (form.n != 1 || form.bytes[0] != ' ') break;
    }
    if (at >= n) return 1;
    if (!reserve(out, 8)) return 0;
    if (p->adds_blank && !p->blank_is_last) put(out, blank, n_blank);
    u8 after_blank = p->trims;
    while (at < n) {
        if (text[at] < 128 && at + 1 < n && text[at + 1] < 128 && p->plain[text[at]]) {
            if (out->room - out->n < 8 && !reserve(out, n - at + 8)) return 0;
            u8 is_blank = text[at] == ' ';
            if (!is_blank) out->bytes[out->n++] = text[at];
            else if (!after_blank && p->escapes) put(out, BLANK, 3);
            else if (!after_blank) out->bytes[out->n++] = ' ';
            after_blank = is_blank && p->trims;
            at++;
            continue;
        }
        Form form = next_form(p, text + at, n - at);
        at += form.n_read;
        while (after_blank && form.n && form.bytes[0] == ' ') form.bytes++, form.n--;
        if (!reserve(out, 3 * form.n + 8)) return 0;
        for (i64 k = 0; k < form.n; k++) {
            if (form.bytes[k] == ' ') put(out, blank, n_blank);
            else out->bytes[out->n++] = form.bytes[k];
        }
        if (form.n) after_blank = form.bytes[form.n - 1] == ' ';
        if (!p->trims) after_blank = 0;
    }
    while (p->trims && out->n >= n_blank && !memcmp(out->bytes + out->n - n_blank, blank, (size_t)n_blank)) out->n -= n_blank;
    if (p->adds_blank && p->blank_is_last) put(out, blank, n_blank);
    return 1;
}

/* ---- segmentation ---- */

static inline void emit(Run *run, i32 word) {
    if (run->n < run->room) run->stream[run->n] = word;
    run->n++;
    run->n_unknown += word < 0 || word == run->asked->unknown;
}

/* A word by its hash; the marks of a sentence are unknown inside of it. */
static inline void emit_hash(Run *run, u64 key) {
    i32 id = id_of(run->asked, key);
    emit(run, id <= 0 ? -1 : id);
}

static inline void end_unknown(Run *run) {
    if (run->in_unknown) emit_hash(run, hash_end(run->hash) | 1);
    run->in_unknown = 0;
}

/* A piece of n bytes; -1 is an unknown character. */
static void emit_piece(Run *run, i32 piece, const u8 *s, i64 n) {
    if (piece >= 0) {
        end_unknown(run);
        emit(run, run->p->words[piece]);
    } else if (run->p->has_bytes) {
        for (i64 k = 0; k < n; k++) emit(run, run->p->byte_words[s[k]]);
    } else {
        if (!run->in_unknown) run->hash = HASH_START;
        run->in_unknown = 1;
        for (i64 k = 0; k < n; k++) run->hash = hash_byte(run->hash, s[k]);
    }
}

static inline void offer(Node *node, f32 score, i32 piece, i64 from) {
    if (node->from < 0 || score > node->score) *node = (Node){score, node->from < 0 ? -INFINITY : node->score, piece, from, 0};
    else if (score > node->second) node->second = score;
}

/* Keeps the cut of a word whose pieces are all known. */
static void keep(Known *known, const u8 *s, i64 n, const Node *nodes) {
    f32 margin = INFINITY;
    i64 n_pieces = 0;
    known->n = 0;
    for (i64 at = 0; at < n; at = nodes[at].to) {
        const Node *end = nodes + nodes[at].to;
        if (n_pieces == MOST_PIECES || end->piece < 0) return;
        known->pieces[n_pieces++] = end->piece;
        if (end->score - end->second < margin) margin = end->score - end->second;
    }
    memcpy(known->bytes, s, (size_t)n);
    known->n = (u8)n;
    known->n_pieces = (u8)n_pieces;
    known->margin = margin;
}

/* A word as it was cut before, with the sum that the search would find. The margin covers what sums from another base round
 * otherwise, in every addition half a unit in the last place. */
static u8 cut_again(Run *run, const Known *known, const u8 *s, i64 n, f32 *base) {
    if (known->n != n || memcmp(known->bytes, s, (size_t)n)) return 0;
    if (!(known->margin > (fabsf(*base) + 1000.0f) * (f32)n * 0x1p-21f)) return 0;
    for (i64 k = 0; k < known->n_pieces; k++) {
        *base += run->p->scores[known->pieces[k]];
        emit_piece(run, known->pieces[k], NULL, 0);
    }
    return 1;
}

/* Viterbi search with the numbers of sentencepiece: sums in float32 from the start of the line, base. */
static u8 unigram(Run *run, const u8 *s, i64 n, f32 *base) {
    const Pieces *p = run->p;
    Known *known = NULL;
    if (n <= MOST_BYTES && !p->has_user) {
        u64 hash = HASH_START;
        for (i64 k = 0; k < n; k++) hash = hash_byte(hash, s[k]);
        known = run->known + (hash_end(hash) & (N_KNOWN - 1));
        if (cut_again(run, known, s, n, base)) return 1;
    }
    run->nodes.n = 0;
    if (!reserve(&run->nodes, (n + 1) * (i64)sizeof(Node))) return 0;
    Node *nodes = (Node *)(void *)run->nodes.bytes;
    for (i64 k = 0; k <= n; k++) nodes[k].from = -1;
    nodes[0].score = *base;
    for (i64 at = 0, length; at < n; at += length) {
        length = char_length(s + at, n - at);
        f32 here = nodes[at].score;
        u8 is_whole = 0;
        i64 unit = 0;
        for (i64 end = at; end < n && (unit = follow(p, unit, s[end++])) >= 0;) {
            i32 piece = p->units[4 * unit + 2];
            if (piece < 0 || p->kinds[piece] == UNUSED) continue;
            f32 score = p->kinds[piece] == USER_DEFINED ? (f32)((f64)(end - at) * p->bonus - 0.1) : p->scores[piece];
            offer(nodes + end, score + here, piece, at);
            is_whole |= end - at == length;
        }
        if (!is_whole) offer(nodes + at + length, p->unknown_score + here, -1, at);
    }
    *base = nodes[n].score;
    for (i64 at = n; at > 0; at = nodes[at].from) nodes[nodes[at].from].to = at;
    if (known) keep(known, s, n, nodes);
    for (i64 at = 0, end; at < n; at = end) {
        end = nodes[at].to;
        emit_piece(run, nodes[end].piece, s + at, end - at);
    }
    return 1;
}

static inline u8 is_better(const Pair *a, const Pair *b) {
    return a->score > b->score || (a->score == b->score && a->left < b->left);
}

/* Adds the pair of two symbols to the heap if it is a piece; there is room for it. */
static void add_pair(Run *run, const u8 *s, const Symbol *symbols, i64 left, i64 right) {
    if (left < 0 || right < 0 || symbols[left].is_fixed || symbols[right].is_fixed) return;
    i64 n = symbols[left].n + symbols[right].n;
    i32 piece = piece_of(run->p, s + symbols[left].start, n);
    if (piece < 0) return;
    Pair *heap = (Pair *)(void *)run->pairs.bytes, pair = {run->p->scores[piece], left, right, n};
    i64 at = run->pairs.n / (i64)sizeof(Pair);
    run->pairs.n += (i64)sizeof(Pair);
    for (; at > 0 && is_better(&pair, heap + (at - 1) / 2); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = pair;
}

static Pair take_pair(Run *run) {
    Pair *heap = (Pair *)(void *)run->pairs.bytes, best = heap[0];
    run->pairs.n -= (i64)sizeof(Pair);
    i64 n = run->pairs.n / (i64)sizeof(Pair), at = 0;
    Pair last = heap[n];
    for (i64 child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_better(heap + child + 1, heap + child)) child++;
        if (!is_better(heap + child, &last)) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return best;
}

/* Merges symbols, the best pair first and the leftmost of equal ones. */
static u8 bpe(Run *run, const u8 *s, i64 n) {
    run->nodes.n = run->pairs.n = 0;
    if (!reserve(&run->nodes, n * (i64)sizeof(Symbol)) || !reserve(&run->pairs, 3 * n * (i64)sizeof(Pair))) return 0;
    Symbol *symbols = (Symbol *)(void *)run->nodes.bytes;
    i64 n_symbols = 0;
    for (i64 at = 0; at < n; n_symbols++) {
        i64 user = user_length(run->p, s + at, n - at), length = user ? user : char_length(s + at, n - at);
        symbols[n_symbols] = (Symbol){at, length, n_symbols - 1, n_symbols + 1, user > 0};
        at += length;
    }
    symbols[n_symbols - 1].after = -1;
    for (i64 k = 1; k < n_symbols; k++) add_pair(run, s, symbols, k - 1, k);
    while (run->pairs.n) {
        Pair pair = take_pair(run);
        Symbol *left = symbols + pair.left, *right = symbols + pair.right;
        if (!left->n || !right->n || left->n + right->n != pair.n) continue;
        left->n = pair.n;
        left->after = right->after;
        if (left->after >= 0) symbols[left->after].before = pair.left;
        right->n = 0;
        add_pair(run, s, symbols, left->before, pair.left);
        add_pair(run, s, symbols, pair.left, left->after);
    }
    for (i64 k = 0; k >= 0; k = symbols[k].after) {
        const u8 *found = s + symbols[k].start;
        emit_piece(run, piece_of(run->p, found, symbols[k].n), found, symbols[k].n);
    }
    return 1;
}

/* The pieces of a normalised line, of each of its words alone where no piece goes across words. */
static u8 segment(Run *run) {
    const u8 *s = run->line.bytes;
    f32 base = 0.0f;
    for (i64 at = 0, end; at < run->line.n; at = end) {
        for (end = at + 1; end < run->line.n; end++)
            if (run->p->cuts_words && s[end] == BLANK[0] && run->line.n - end >= 3 && !memcmp(s + end, BLANK, 3)) break;
        if (!run->p->cuts_words) end = run->line.n;
        if (!(run->p->is_bpe ? bpe(run, s + at, end - at) : unigram(run, s + at, end - at, &base))) return 0;
    }
    end_unknown(run);
    return 1;
}

static u8 read_line(Run *run, const u8 *text, i64 n) {
    i64 before = run->n, at = 0;
    if (run->p->n_pieces) {
        if (!normalise(run, text, n) || !segment(run)) return 0;
    } else
        for (u64 key; (key = next_word(n, text, &at)) != 0;) emit_hash(run, key);
    if (run->n == before) return 1;
    if (run->n < run->room) run->stream[run->n] = 0;
    run->n++;
    return 1;
}

static u8 read_text(Run *run, const u8 *text, i64 n) {
    if (run->p->n_pages) {
        if (!fold(run, text, n)) return 0;
        text = run->folded.bytes;
        n = run->folded.n;
    }
    for (i64 at = 0; at < n;) {
        const u8 *end = memchr(text + at, '\n', (size_t)(n - at));
        i64 length = end ? end - (text + at) : n - at;
        if (!read_line(run, text + at, length)) return 0;
        at += length + 1;
    }
    return 1;
}

i64 pieces_stream(const Pieces *p, const Asked *asked, i64 n_bytes, const u8 *bytes, i64 n_texts, const i64 *text_ptr,
                  i64 room, i32 *stream, i64 *stream_ptr, i64 *unknown) {
    (void)n_bytes;
    Run run = {.p = p, .asked = asked, .stream = stream, .room = room, .known = calloc(N_KNOWN, sizeof(Known))};
    i64 done = 0, good = run.known != NULL;
    for (stream_ptr[0] = 0; good && done < n_texts; done++) {
        run.n_unknown = 0;
        good = read_text(&run, bytes + text_ptr[done], text_ptr[done + 1] - text_ptr[done]);
        if (!good || run.n > room) break;
        stream_ptr[done + 1] = run.n;
        unknown[done] = run.n_unknown;
    }
    free(run.known);
    free(run.folded.bytes);
    free(run.line.bytes);
    free(run.nodes.bytes);
    free(run.pairs.bytes);
    return good ? done : -1;
}
