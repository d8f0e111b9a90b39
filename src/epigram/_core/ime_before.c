/* Segments the text before the caret by the trigram model. */
#include "ime_before.h"

#include "surface_hash.h"

enum { BEAM = 6 };

/* A context at a position: its score, the word it came by (-1: a character of no word), and where it came from. */
typedef struct {
    f64 score;
    i32 node;
    i32 word;
    i32 position;
    i32 place;
} Step;

typedef struct {
    Step steps[BEAM];
    i64 n;
} Beam;

/* Keeps the best of each node, and of those the BEAM best. */
static void keep(Beam *beam, Step step) {
    i64 at = 0, least = 0;
    for (; at < beam->n && beam->steps[at].node != step.node; at++)
        if (beam->steps[at].score < beam->steps[least].score) least = at;
    if (at == BEAM) at = least;
    if (at == beam->n)
        beam->n++;
    else if (!(step.score > beam->steps[at].score))
        return;
    beam->steps[at] = step;
}

/* The first of the hashes that is not below the wanted one. */
static i64 first_hash(i64 n, const u64 *hashes, u64 wanted) {
    i64 first = 0;
    while (n > 0) {
        i64 half = n >> 1;
        u8 below = hashes[first + half] < wanted;
        first = below ? first + half + 1 : first;
        n = below ? n - half - 1 : half;
    }
    return first;
}

/* A character of no word: backing off to any class. */
static void pass_over(const Trigram *m, Beam *next, const Beam *here, i32 position, f64 stray) {
    for (i64 k = 0; k < here->n; k++) {
        f64 score = here->steps[k].score + stray;
        i32 node = here->steps[k].node;
        for (; node >= m->n_classes; node = m->node_parent[node]) score += m->node_bow[node];
        keep(next, (Step){score + m->class_logp[node * m->n_classes], 0, -1, position, (i32)k});
    }
}

static void extend(const Trigram *m, Beam *next, const Beam *here, i32 position, i32 word) {
    for (i64 k = 0; k < here->n; k++) {
        i32 node;
        f64 logp = step(m, here->steps[k].node, word, &node);
        keep(next, (Step){here->steps[k].score + logp, node, word, position, (i32)k});
    }
}

i64 ime_before_segment(const Trigram *m, i64 n_words, const i64 *surface_ptr, i64 n_surface, const u8 *surface, const i64 *order,
                       const u64 *hashes, i64 n_bytes, const u8 *text, i32 start, f64 stray, i64 longest, i32 *out_word,
                       i32 *out_begin, i32 *out_node) {
    (void)n_surface;
    Beam *beams = calloc((size_t)n_bytes + 1, sizeof *beams);
    i64 *at = malloc(((size_t)n_bytes + 1) * sizeof *at), n = 0, count = 0;
    if (!beams || !at) {
        free(beams), free(at);
        return -1;
    }
    for (i64 k = 0; k < n_bytes; k++)
        if ((text[k] & 0xC0) != 0x80) at[n++] = k;
    at[n] = n_bytes;
    beams[0] = (Beam){{{0.0, start, -1, -1, 0}}, 1};
    for (i64 i = 0; i < n; i++) {
        u64 hash = 0, pow = 1;
        for (i64 j = i; j < smaller_i(n, i + longest); j++) {
            i64 size = at[j + 1] - at[i];
            hash_more(text + at[j], at[j + 1] - at[j], &hash, &pow);
            for (i64 x = first_hash(n_words, hashes, hash); x < n_words && hashes[x] == hash; x++) {
                i64 word = order[x], first = surface_ptr[word];
                if (surface_ptr[word + 1] - first == size && !memcmp(surface + first, text + at[i], (size_t)size))
                    extend(m, beams + j + 1, beams + i, (i32)i, (i32)word);
            }
        }
        pass_over(m, beams + i + 1, beams + i, (i32)i, stray);
    }
    i64 best = 0;
    for (i64 k = 1; k < beams[n].n; k++)
        if (beams[n].steps[k].score > beams[n].steps[best].score) best = k;
    *out_node = beams[n].steps[best].node;
    for (Step s = beams[n].steps[best]; s.position >= 0; s = beams[s.position].steps[s.place]) count += s.word >= 0;
    i64 to = count;
    for (Step s = beams[n].steps[best]; s.position >= 0; s = beams[s.position].steps[s.place])
        if (s.word >= 0) {
            out_word[--to] = s.word;
            out_begin[to] = s.position;
        }
    free(beams), free(at);
    return count;
}
