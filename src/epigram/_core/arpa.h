/* The n-gram lines of ARPA files, read and written; lm/ngram/arpa.py reads the rest. */
#include "core.h"

typedef struct {
    i64 n_bytes;
    i64 n_words;
    i64 n_slots;
    const u8 *names; /* [n_bytes] */
    const i64 *start; /* [n_words] */
    const i64 *length; /* [n_words] */
    i32 *slots; /* [n_slots] */
    const i32 *word_id; /* [n_words] */
} ArpaWords;

void arpa_hash_words(const ArpaWords *words);
f64 arpa_parse_number(i64 n, const u8 raw[n]);
void arpa_parse_section(i64 n_raw, const u8 raw[n_raw], i64 start, i64 stop, i64 n, const ArpaWords *words, i64 n_rows,
                        i64 begins[n + 3], i64 ends[n + 3], i32 grams[n_rows * n], f64 logp[n_rows], f64 bow[n_rows],
                        i64 line_of[n_rows], i64 found[3]);
i64 arpa_lines(i64 first_node, i64 last_node, i64 n_bytes, const u8 names[n_bytes], i64 n_names,
               const i64 name_start[n_names + 1], i64 depth, i64 context[depth], i64 n_nodes, const i64 node_pair[n_nodes],
               const f64 node_bow[n_nodes], const i64 pair_ptr[n_nodes + 1], i64 n_pairs, const i32 pair_word[n_pairs],
               const i32 pair_node_of[n_pairs], const f64 pair_logp[n_pairs], u8 weights, i64 n_out, u8 out[n_out]);
