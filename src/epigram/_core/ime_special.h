/* Edges of the lattice whose texts the lexicon lacks: numbers in each form, signs, and letters that are spelled out. */
#include "core.h"

/* What the texts are made of. The first n_letters rows are names of letters, the longest first; the others are readings with
 * a text each, by their first character. Word class and log-probability of a number's forms stand in the order of
 * ime_special_write; without number (-inf) there are no numbers. */
typedef struct {
    i64 n_rows;
    i64 n_letters;
    i64 n_chars;
    i64 n_bytes;
    f64 number;
    f64 spelled;
    f64 letter;
    const f64 *form_logp; /* [6] */
    const u16 *form_class; /* [6] */
    const i64 *char_ptr; /* [n_rows + 1] */
    const i32 *chars; /* [n_chars] */
    const f64 *logp; /* [n_rows] */
    const i64 *text_ptr; /* [n_rows + 1] */
    const u8 *text; /* [n_bytes] */
} SpecialTexts;

/* The numbers of ten and more with which a reading begins: their ends and values. Returns how many. */
i64 ime_special_numbers(i64 n, const i32 chars[n], i64 end[n], i64 value[n]);

/* A number below 10^16 in a form: 1500, 1,500, 1億2000万, 千五百, 一五〇〇 and full width, from 0. Returns its bytes, 0 where the
 * form is that of digits or is not used. */
i64 ime_special_write(i64 value, i64 form, u8 out[128]);

/* The edges of all readings as OwnEdges of ime_engine.h: those of one start in the order numbers, rows, letters. Returns how
 * many, -1 where there is no room. */
i64 ime_special_edges(const SpecialTexts *t, i64 n_inputs, const i64 char_ptr[n_inputs + 1], i64 n_input_chars,
                      const i32 chars[n_input_chars], i64 ptr[n_inputs + 1], i64 room, i32 start[room], i32 end[room],
                      f64 logp[room], u16 word_class[room], i64 text_ptr[room + 1], i64 text_room, u8 text[text_room]);
