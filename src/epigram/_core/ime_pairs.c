/* Pairs of units that the text has near each other: what a list of units is worth by them. */
#include <math.h>

#include "ime.h"

i64 sizeof_WordPairs(void) { return sizeof(WordPairs); }

static f64 count_of(const WordPairs *p, i32 low, i32 high)
{
    i64 first = p->ptr[low], last = p->ptr[low + 1];
    while (first < last) {
        i64 middle = first + (last - first) / 2;
        if (p->others[middle] < high)
            first = middle + 1;
        else
            last = middle;
    }
    return first < p->ptr[low + 1] && p->others[first] == high ? p->counts[first] : -1.0;
}

enum { REMEMBERED = 512 };

/* What a pair of units is worth; ways of one reading have mostly the same pairs. */
typedef struct {
    i32 one, two;
    f64 worth;
} Memo;

static f64 find_worth(const WordPairs *p, i32 one, i32 two)
{
    f64 count = one < two ? count_of(p, one, two) : count_of(p, two, one);
    f64 chance = p->degrees[one] * p->degrees[two] / p->total;
    if (count < 0) count = chance < p->dropped ? chance : p->dropped;
    return log((count + p->doubt) / (chance + p->doubt));
}

static f64 worth(const WordPairs *p, Memo *memo, i32 one, i32 two)
{
    if (one == two)
        return 0.0;
    Memo *known = memo + (((u32)one * 2654435761u ^ (u32)two * 40503u) >> 8) % REMEMBERED;
    if (known->one != one || known->two != two)
        *known = (Memo){one, two, find_worth(p, one, two)};
    return known->worth;
}

void ime_pair_scores(const WordPairs *p, i64 n_before, const i32 before[n_before], i64 n, const i64 ptr[n + 1], i64 n_all,
                     const i32 units[n_all], f64 out[n])
{
    (void)n_all;
    Memo memo[REMEMBERED];
    for (i64 k = 0; k < REMEMBERED; k++)
        memo[k].one = -1;
    for (i64 list = 0; list < n; list++) {
        const i32 *own = units + ptr[list];
        out[list] = 0.0;
        for (i64 k = 0; k < ptr[list + 1] - ptr[list]; k++)
            for (i64 back = 1; back <= p->window && back <= k + n_before; back++)
                out[list] += worth(p, memo, back <= k ? own[k - back] : before[n_before + k - back], own[k]);
    }
}
