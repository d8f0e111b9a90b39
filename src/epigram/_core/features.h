/* Features given as Python objects, read from the bytes that Python's marshal module (version 4) makes of them.
 *
 * The core knows nothing of Python, and walking through dicts in Python costs more than decoding: so one call of marshal
 * copies a sentence to bytes, and the walk is here. A sentence is a list or tuple of tokens; a token is a dict, or a list,
 * tuple or set of names; names nest with a colon between (see features/feature_dicts.py for the meaning). Objects that occur
 * again are references to their first place. Whatever is not of this form is left to the slow way in Python.
 */
#ifndef EPIGRAM_FEATURES_H
#define EPIGRAM_FEATURES_H
#include "decoding.h"

/* What comes out. Sentence s has the tokens sentence_ptr[s] up to sentence_ptr[s + 1], token t the occurrences
 * attribute_ptr[t] up to attribute_ptr[t + 1], each with a fingerprint (see encoding.h) and a value; those of value 0 only if
 * `zeros` is 1. `refs` is working memory: for each object that may be referred to, where it is, where its text is, how
 * long, H and B^length. */
typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_occurrences;
    i64 n_refs;
    i64 zeros;
    i64 *sentence_ptr; /* [n_sentences + 1] */
    i64 *attribute_ptr; /* [n_tokens + 1] */
    u64 *keys; /* [n_occurrences] */
    f64 *values; /* [n_occurrences] */
    u64 *refs; /* [5 * n_refs] */
} Found;

/* What a reading ended with, beside the number of sentences: another form, or too little room in `out`. */
/* counts: sentences, tokens, occurrences, and 1 where every value is one. */
i64 features_read(i64 n_bytes, const u8 content[n_bytes], Found *out, i64 counts[4]);
i64 features_spell(i64 n_bytes, const u8 content[n_bytes], Found *out, i64 n_wanted, const i64 wanted[n_wanted],
                   i64 room, u8 text[room], i64 text_ptr[n_wanted + 1]);
i64 features_label(i64 n_bytes, const u8 content[n_bytes], Found *out, i64 n_slots, const u64 slots[2 * n_slots],
                   i64 n_attributes, const i32 row_of[n_attributes], const Layout *layout, i64 n_weights,
                   const f64 w[n_weights], const Scratch *scratch, i64 n_ids, i32 ids[n_ids], i64 most,
                   i32 labels[most]);

#endif
