#include "columns.h"

#include "distinct.h"
#include "hashing.h"

static inline u8 is_space(u8 byte) { return byte == ' ' || byte == '\t'; }

/* Where the line that starts at `at` ends, without its line feed. */
static inline i64 line_end(const u8 *raw, i64 n, i64 at) {
    const u8 *found = memchr(raw + at, '\n', (size_t)(n - at));
    return found ? found - raw : n;
}

static inline u8 begins_with(const u8 *raw, i64 begin, i64 end, const u8 *prefix, i64 length) {
    return begin + length <= end && !memcmp(raw + begin, prefix, (size_t)length);
}

/* Whether a line begins with one of the comment marks. */
static u8 is_comment(const u8 *raw, i64 begin, i64 end, i64 n_comments, const u8 *comments, const i64 *comment_ptr) {
    for (i64 c = 0; c < n_comments; c++) {
        if (begins_with(raw, begin, end, comments + comment_ptr[c], comment_ptr[c + 1] - comment_ptr[c])) return 1;
    }
    return 0;
}

/* The kind of the ID that a line of CoNLL-U begins with, up to a tab: digits (a word), digits with one dash or dot between
 * (a range or an empty node), anything else (no CoNLL-U). */
enum { WORD_ID, RANGE_ID, NO_ID };
static u8 kind_of_id(const u8 *raw, i64 begin, i64 end) {
    u8 kind = WORD_ID, is_digit = 0;
    for (i64 k = begin; k < end && raw[k] != '\t'; k++) {
        u8 before = is_digit;
        is_digit = raw[k] >= '0' && raw[k] <= '9';
        if (is_digit) continue;
        if (!before || kind == RANGE_ID || (raw[k] != '-' && raw[k] != '.')) return NO_ID;
        kind = RANGE_ID;
    }
    return is_digit ? kind : NO_ID;
}

/* Cells between runs of spaces and tabs; writes those below n_columns to every capacity-th place, returns how many. */
static inline i64 cells_between_runs(const u8 *raw, i64 begin, i64 end, i64 n_columns, i64 capacity, i64 *starts,
                                     i64 *ends) {
    i64 found = 0;
    for (i64 k = begin;;) {
        while (k < end && is_space(raw[k])) k++;
        if (k == end) return found;
        i64 first = k;
        while (k < end && !is_space(raw[k])) k++;
        if (found < n_columns) {
            starts[found * capacity] = first;
            ends[found * capacity] = k;
        }
        found++;
    }
}

/* The same between single separators. */
static inline i64 cells_between(const u8 *raw, u8 separator, i64 begin, i64 end, i64 n_columns, i64 capacity,
                                i64 *starts, i64 *ends) {
    i64 found = 0;
    for (i64 first = begin;;) {
        const u8 *next = memchr(raw + first, separator, (size_t)(end - first));
        i64 k = next ? next - raw : end;
        if (found < n_columns) {
            starts[found * capacity] = first;
            ends[found * capacity] = k;
        }
        found++;
        if (!next) return found;
        first = k + 1;
    }
}

/* Cells of lines; separator 0 is any run of spaces and tabs. has_ids: lines begin with an ID of CoNLL-U, and ranges and
 * empty nodes are left out. `found`: tokens, sentences, the first line with another number of cells than n_columns or
 * without an ID (else 0), and its number of cells, -1 without an ID. At most `capacity` lines may be there. */
void columns_find_cells(i64 n, const u8 *raw, u8 separator, u8 has_ids, i64 n_bytes, const u8 *comments,
                        i64 n_comments, const i64 *comment_ptr, i64 n_columns, i64 capacity, i64 *starts, i64 *ends,
                        i64 *line_ends, i64 *sentence_ptr, i64 *found) {
    (void)n_bytes;
    i64 n_tokens = 0, n_sentences = 0, line = 0, bad_line = 0, n_cells = n_columns;
    sentence_ptr[0] = 0;
    for (i64 at = 0; at < n && !bad_line;) {
        i64 begin = at, end = line_end(raw, n, at), filled = begin;
        at = end + 1;
        line++;
        if (end > begin && raw[end - 1] == '\r') end--;
        while (filled < end && is_space(raw[filled])) filled++;
        if (filled == end) {
            if (n_tokens > sentence_ptr[n_sentences]) sentence_ptr[++n_sentences] = n_tokens;
            continue;
        }
        if (is_comment(raw, begin, end, n_comments, comments, comment_ptr)) continue;
        u8 id = has_ids ? kind_of_id(raw, begin, end) : WORD_ID;
        if (id == RANGE_ID) continue;
        if (id == NO_ID) {
            bad_line = line, n_cells = -1;
            break;
        }
        n_cells = separator ? cells_between(raw, separator, begin, end, n_columns, capacity, starts + n_tokens, ends + n_tokens)
                            : cells_between_runs(raw, begin, end, n_columns, capacity, starts + n_tokens, ends + n_tokens);
        if (n_cells == n_columns) {
            line_ends[n_tokens++] = end;
        } else {
            bad_line = line;
        }
    }
    if (!bad_line && n_tokens > sentence_ptr[n_sentences]) sentence_ptr[++n_sentences] = n_tokens;
    found[0] = n_tokens, found[1] = n_sentences, found[2] = bad_line, found[3] = n_cells;
}

static inline u8 is_space_or_return(u8 byte) { return is_space(byte) || byte == '\r'; }

/* Words of lines that are sentences; with two columns, a word is split at its last slash. Lines that begin with
 * `comment` are left out where that is not empty. `found`: tokens, sentences, and the first line with a word that has
 * no slash (else 0). At most `capacity` words may be there. */
void columns_find_words(i64 n, const u8 *raw, i64 n_comment, const u8 *comment, i64 n_columns, i64 capacity, i64 *starts,
                        i64 *ends, i64 n_lines, i64 *sentence_ptr, i64 *found) {
    (void)n_lines;
    i64 n_tokens = 0, n_sentences = 0, line = 0, bad_line = 0;
    sentence_ptr[0] = 0;
    for (i64 at = 0; at < n && !bad_line;) {
        i64 k = at, end = line_end(raw, n, at);
        at = end + 1;
        line++;
        if (n_comment && begins_with(raw, k, end, comment, n_comment)) k = end;
        while (!bad_line) {
            while (k < end && is_space_or_return(raw[k])) k++;
            if (k == end) break;
            i64 first = k, slash = -1;
            for (; k < end && !is_space_or_return(raw[k]); k++) slash = raw[k] == '/' ? k : slash;
            starts[n_tokens] = first;
            ends[n_tokens] = k;
            if (n_columns > 1) {
                if (slash < 0) {
                    bad_line = line;
                    break;
                }
                ends[n_tokens] = slash;
                starts[capacity + n_tokens] = slash + 1;
                ends[capacity + n_tokens] = k;
            }
            n_tokens++;
        }
        if (!bad_line && n_tokens > sentence_ptr[n_sentences]) sentence_ptr[++n_sentences] = n_tokens;
    }
    found[0] = n_tokens, found[1] = n_sentences, found[2] = bad_line;
}

/* Number the distinct cells in order of appearance. Returns how many there are, or -1 where memory ran out. */
i64 columns_factorise(i64 n, const u8 *raw, i64 n_cells, const i64 *starts, const i64 *ends, i32 *ids,
                      i64 *string_start, i32 *string_length) {
    (void)n;
    Distinct d;
    u8 fine = begin_distinct(&d, raw, n_cells, string_start, string_length);
    for (i64 t = 0; fine && t < n_cells; t++) {
        u64 h = HASH_START;
        for (i64 k = starts[t]; k < ends[t]; k++) h = hash_byte(h, raw[k]);
        ids[t] = number_of(&d, starts[t], ends[t], hash_end(h));
        fine = ids[t] >= 0;
    }
    i64 found = fine ? d.n_strings : -1;
    let_go_distinct(&d);
    return found;
}
