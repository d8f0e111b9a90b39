"""Kernels of the exchange algorithm: what the move of a word to another class is worth, and making it.

Letters: N(v, w) are the bigram counts of words, rows ``succ_*`` by v and ``pred_*`` by w; M[a, b] those of classes,
MT its transpose; f(x) = x log x; F and FT hold f(M) and f(MT). ``size`` and ``members`` are the tokens and the words
of each class. The objective is sum f(M) - 2 sum f(size). For a word w of class a: S[c] and P[c] count its successors
and predecessors in class c, itself left out; ``own`` is N(w, w). Class 0 is the boundary's and takes no word.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def _f(x, table):
    """x log x, from the table where it reaches."""
    if x < table.size:
        return table[x]
    return x * np.log(x)


@kernel
def count_classes(word_class, succ_ptr, succ_word, succ_count, table, M, MT, F, FT):
    """Fill M, F and their transposes from the bigrams of words."""
    M[:] = 0
    for v in range(word_class.size):
        a = word_class[v]
        for k in range(succ_ptr[v], succ_ptr[v + 1]):
            M[a, word_class[succ_word[k]]] += succ_count[k]
    for a in range(M.shape[0]):
        for b in range(M.shape[1]):
            MT[b, a] = M[a, b]
            F[a, b] = _f(M[a, b], table)
            FT[b, a] = F[a, b]


@kernel
def _neighbours(w, word_class, ptr, word, count, sums, listed):
    """Sums of counts by class over the neighbours of w other than itself; returns how many classes, and N(w, w)."""
    n, own = 0, 0
    for k in range(ptr[w], ptr[w + 1]):
        v = word[k]
        if v == w:
            own = count[k]
            continue
        c = word_class[v]
        if sums[c] == 0:
            listed[n] = c
            n += 1
        sums[c] += count[k]
    return n, own


@kernel
def _side(b, a, sums, listed, n, rows, f_rows, table):
    """sum over c not in {a, b} of f(M[b, c] + sums[c]) - f(M[b, c])."""
    total = 0.0
    for k in range(n):
        c = listed[k]
        total += _f(rows[b, c] + sums[c], table) - f_rows[b, c]
    for c in (a, b):
        if sums[c] > 0:
            total -= _f(rows[b, c] + sums[c], table) - f_rows[b, c]
    return total


@kernel
def _worth(b, a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table):
    """What w adds to the objective in class b != a, once taken out of class a."""
    total = _side(b, a, S, listed_s, n_s, M, F, table) + _side(b, a, P, listed_p, n_p, MT, FT, table)
    before = M[b, a] - P[b]
    total += _f(before + S[a], table) - _f(before, table)
    before = M[a, b] - S[b]
    total += _f(before + P[a], table) - _f(before, table)
    total += _f(M[b, b] + S[b] + P[b] + own, table) - F[b, b]
    return total - 2 * (_f(size[b] + n, table) - _f(size[b], table))


@kernel
def _worth_now(a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table):
    """What w adds to the objective in its own class a."""
    total = 0.0
    for k in range(n_s):
        c = listed_s[k]
        if c != a:
            total += F[a, c] - _f(M[a, c] - S[c], table)
    for k in range(n_p):
        c = listed_p[k]
        if c != a:
            total += FT[a, c] - _f(MT[a, c] - P[c], table)
    total += F[a, a] - _f(M[a, a] - S[a] - P[a] - own, table)
    return total - 2 * (_f(size[a], table) - _f(size[a] - n, table))


@kernel
def best_moves(
    words,
    word_class,
    word_count,
    succ_ptr,
    succ_word,
    succ_count,
    pred_ptr,
    pred_word,
    pred_count,
    M,
    MT,
    F,
    FT,
    size,
    members,
    table,
    candidates,
    everywhere,
    best,
):
    """The best class for each of some words, all else as it is; the class it has where no move gains.

    With ``everywhere`` all classes but 0 are tried and the most promising are noted in ``candidates``; else only those.
    """
    k_classes = M.shape[0]
    S, P = np.zeros(k_classes, np.int64), np.zeros(k_classes, np.int64)
    listed_s, listed_p = np.empty(k_classes, np.int64), np.empty(k_classes, np.int64)
    worths = np.empty(k_classes)
    n_kept = candidates.shape[1]
    for i in range(words.size):
        w = words[i]
        a = np.int64(word_class[w])
        best[i] = a
        if members[a] == 1:
            continue
        n_s, own = _neighbours(w, word_class, succ_ptr, succ_word, succ_count, S, listed_s)
        n_p, own = _neighbours(w, word_class, pred_ptr, pred_word, pred_count, P, listed_p)
        n = word_count[w]
        now = _worth_now(a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table)
        top = now + 1e-9 * (1.0 + abs(now))
        if everywhere:
            worths[0] = -np.inf
            for b in range(1, k_classes):
                worths[b] = now
                if b != a:
                    worths[b] = _worth(
                        b, a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table
                    )
                    if worths[b] > top:
                        top, best[i] = worths[b], b
            candidates[w] = np.argsort(-worths, kind="mergesort")[:n_kept]
        else:
            for j in range(n_kept):
                b = np.int64(candidates[w, j])
                if b != a:
                    worth = _worth(
                        b, a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table
                    )
                    if worth > top:
                        top, best[i] = worth, b
        for k in range(n_s):
            S[listed_s[k]] = 0
        for k in range(n_p):
            P[listed_p[k]] = 0


@kernel
def make_moves(
    words,
    best,
    word_class,
    word_count,
    succ_ptr,
    succ_word,
    succ_count,
    pred_ptr,
    pred_word,
    pred_count,
    M,
    MT,
    F,
    FT,
    size,
    members,
    table,
):
    """Move the words whose move still gains, one after the other; returns the number of moves and their gain."""
    k_classes = M.shape[0]
    S, P = np.zeros(k_classes, np.int64), np.zeros(k_classes, np.int64)
    listed_s, listed_p = np.empty(k_classes, np.int64), np.empty(k_classes, np.int64)
    moved, gained = 0, 0.0
    for i in range(words.size):
        w, b = words[i], np.int64(best[i])
        a = np.int64(word_class[w])
        if a == b or members[a] == 1:
            continue
        n_s, own = _neighbours(w, word_class, succ_ptr, succ_word, succ_count, S, listed_s)
        n_p, own = _neighbours(w, word_class, pred_ptr, pred_word, pred_count, P, listed_p)
        n = word_count[w]
        now = _worth_now(a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table)
        worth = _worth(b, a, own, n, S, listed_s, n_s, P, listed_p, n_p, M, MT, F, FT, size, table)
        if worth > now + 1e-9 * (1.0 + abs(now)):
            moved += 1
            gained += worth - now
            word_class[w] = b
            size[a] -= n
            size[b] += n
            members[a] -= 1
            members[b] += 1
            for k in range(n_s):
                c = listed_s[k]
                M[a, c] -= S[c]
                M[b, c] += S[c]
            for k in range(n_p):
                c = listed_p[k]
                M[c, a] -= P[c]
                M[c, b] += P[c]
            M[a, a] -= own
            M[b, b] += own
            for k in range(n_s):
                c = listed_s[k]
                for x in (a, b):
                    MT[c, x] = M[x, c]
                    F[x, c] = _f(M[x, c], table)
                    FT[c, x] = F[x, c]
            for k in range(n_p):
                c = listed_p[k]
                for x in (a, b):
                    MT[x, c] = M[c, x]
                    F[c, x] = _f(M[c, x], table)
                    FT[x, c] = F[c, x]
            for x in (a, b):
                for y in (a, b):
                    MT[y, x] = M[x, y]
                    F[x, y] = _f(M[x, y], table)
                    FT[y, x] = F[x, y]
        for k in range(n_s):
            S[listed_s[k]] = 0
        for k in range(n_p):
            P[listed_p[k]] = 0
    return moved, gained
