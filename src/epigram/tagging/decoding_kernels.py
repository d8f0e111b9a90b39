"""Kernels of decoding: best path (Viterbi), k best paths, marginals, and beam search over left tags.

``allowed`` is empty, or one byte per token and padded label: 0 forbids the label there.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel
from epigram.tagging.kernels import U, backward, exp_edges, exp_shared, forward, score_tokens

NEVER = -1e300


@kernel
def forbid(allowed, first, n, width, scores):
    """Scores of labels that are not allowed become NEVER."""
    if allowed.size:
        for k in range(n * width):
            if allowed[first * width + k] == 0:
                scores[k] = NEVER


@kernel
def log_transitions(layout, w, T):
    """Transition weights, NEVER where forbidden."""
    for k in range(layout.n_labels * layout.width):
        T[k] = w[layout.state_end + k] if layout.allowed[k] > 0.0 else NEVER


@kernel
def add_edges(chains, layout, t, w, T, out):
    """T plus the weights of the edge attributes of token t, for all label pairs."""
    size = layout.n_labels * layout.width
    out[:size] = T[:size]
    base = layout.state_end + size
    for k in range(chains.edge_ptr[t], chains.edge_ptr[t + 1]):
        a = chains.edge_attributes[k]
        if a + 1 < layout.edge_row_ptr.size:
            for m in range(layout.edge_row_ptr[a], layout.edge_row_ptr[a + 1]):
                out[layout.edge_pair[m]] += w[base + m]


@kernel
def viterbi(chains, layout, sentences, w, allowed, x, T, Tt, best, arg, back, out):
    """The best label of every token of the given sentences, to ``out``."""
    L, width = layout.n_labels, layout.width
    W = U(width)
    if layout.has_transitions:
        log_transitions(layout, w, T)
    for s in sentences:
        first = chains.sentence_ptr[s]
        n = chains.sentence_ptr[s + 1] - first
        score_tokens(chains, layout, s, w, x.scores)
        forbid(allowed, first, n, width, x.scores)
        if not layout.has_transitions:
            for t in range(n):
                out[first + t] = np.argmax(x.scores[t * width : t * width + L])
            continue
        for t in range(1, n):
            M = T
            if chains.edge_attributes.size and chains.edge_ptr[first + t] < chains.edge_ptr[first + t + 1]:
                add_edges(chains, layout, first + t, w, T, Tt)
                M = Tt
            row, before = U(t) * W, U(t - 1) * W
            f = x.scores[before]
            for j in range(W):
                best[j] = f + M[j]
                arg[j] = 0
            for i in range(U(1), U(L)):
                f = x.scores[before + i]
                p = i * W
                for j in range(W):
                    score = f + M[p + j]
                    arg[j] = np.int64(i) if score > best[j] else arg[j]
                    best[j] = max(score, best[j])
            for j in range(W):
                x.scores[row + j] += best[j]
                back[row + j] = arg[j]
        if n:
            last = (n - 1) * width
            y = np.argmax(x.scores[last : last + L])
            out[first + n - 1] = y
            for t in range(n - 1, 0, -1):
                y = back[t * width + y]
                out[first + t - 1] = y


@kernel
def k_best(chains, layout, s, w, k, allowed, x, T, Tt, score, back, labels, values):
    """The k best labellings of sentence s, best first: ``labels`` (k x n), ``values`` their scores.

    score[t, j, r] is the r-th best score of a path that ends in label j at token t; back[t, j, r] is
    label * k + rank of the token before. Returns how many labellings there are, at most k.
    """
    L, width = layout.n_labels, layout.width
    first = chains.sentence_ptr[s]
    n = chains.sentence_ptr[s + 1] - first
    score_tokens(chains, layout, s, w, x.scores)
    forbid(allowed, first, n, width, x.scores)
    if layout.has_transitions:
        log_transitions(layout, w, T)
    else:
        T[:] = 0.0
    score[:n] = NEVER
    for j in range(L):
        score[0, j, 0] = x.scores[j]
    for t in range(1, n):
        M = T
        if chains.edge_attributes.size and chains.edge_ptr[first + t] < chains.edge_ptr[first + t + 1]:
            add_edges(chains, layout, first + t, w, T, Tt)
            M = Tt
        for j in range(L):
            for i in range(L):
                step = M[i * width + j] + x.scores[t * width + j]
                for r in range(k):
                    if score[t - 1, i, r] <= NEVER or not _insert(
                        score[t, j], back[t, j], score[t - 1, i, r] + step, i * k + r
                    ):
                        break
    top, ends = values, np.zeros(k, dtype=np.int64)
    top[:] = NEVER
    for j in range(L):
        for r in range(k):
            if score[n - 1, j, r] <= NEVER or not _insert(top, ends, score[n - 1, j, r], j * k + r):
                break
    found = 0
    while found < k and top[found] > NEVER / 2:
        at = ends[found]
        for t in range(n - 1, -1, -1):
            labels[found, t] = at // k
            at = back[t, at // k, at % k]
        found += 1
    return found


@kernel
def _insert(scores, origins, score, origin):
    """Insert into a list sorted downwards; False if the score is not among the best."""
    last = scores.size - 1
    if score <= scores[last]:
        return False
    while last > 0 and scores[last - 1] < score:
        scores[last] = scores[last - 1]
        origins[last] = origins[last - 1]
        last -= 1
    scores[last] = score
    origins[last] = origin
    return True


@kernel
def marginals(chains, layout, sentences, w, allowed, x, nodes, edges, log_z):
    """Node marginals (token x label) and, unless ``edges`` is empty, those of label pairs into each token."""
    L, width = layout.n_labels, layout.width
    if layout.has_transitions:
        exp_shared(layout, w, x)
    for s in sentences:
        first = chains.sentence_ptr[s]
        n = chains.sentence_ptr[s + 1] - first
        if n == 0:
            continue
        score_tokens(chains, layout, s, w, x.scores)
        forbid(allowed, first, n, width, x.scores)
        n_matrices = exp_edges(chains, layout, s, w, x)
        log_z[s] = forward(n, layout, x)
        backward(n, n_matrices, layout, x)
        for t in range(n):
            for j in range(L):
                nodes[first + t, j] = x.alpha[t * width + j] * x.beta[t * width + j]
            if edges.size == 0 or t == 0:
                continue
            E = x.which[t] * L * width
            for i in range(L):
                a = x.alpha[(t - 1) * width + i]
                for j in range(L):
                    edge = a * x.scores[t * width + j]  # backward left c * score * beta there
                    if layout.has_transitions:
                        edge *= x.matrices[E + i * width + j]
                    else:
                        edge = nodes[first + t - 1, i] * nodes[first + t, j]
                    edges[first + t, i, j] = edge


@kernel
def beam_search(chains, layout, sentences, w, before, two_before, allowed, x, known, pairs, score, back, out):
    """History-based tagging: at each token keep the best pairs of last two labels (Ratnaparkhi 1996).

    before[i, j] is what label i on the left adds to label j; two_before[h, i, j] what the labels h, i add
    (empty: nothing). Label L stands for the sentence's start. Row t of ``pairs``, ``score``, ``back`` is the beam
    before token t; ``known`` is (L + 1)^2 times -1. Probabilities are normalised at every token.
    """
    L, width = layout.n_labels, layout.width
    S, beam = L + 1, score.shape[1]
    terms = np.empty(L)
    n_candidates = beam * L
    candidates, values, origins = (
        np.empty(n_candidates, dtype=np.int64),
        np.empty(n_candidates),
        np.empty(n_candidates, dtype=np.int64),
    )
    for s in sentences:
        first = chains.sentence_ptr[s]
        n = chains.sentence_ptr[s + 1] - first
        score_tokens(chains, layout, s, w, x.scores)
        forbid(allowed, first, n, width, x.scores)
        score[: n + 1] = NEVER
        score[0, 0] = 0.0
        pairs[0, 0] = L * S + L
        for t in range(n):
            found = 0
            for r in range(beam):
                if score[t, r] <= NEVER:
                    break
                h, i = pairs[t, r] // S, pairs[t, r] % S
                top = NEVER
                for j in range(L):
                    terms[j] = x.scores[t * width + j] + before[i, j]
                    if two_before.size:
                        terms[j] += two_before[h, i, j]
                    top = max(top, terms[j])
                total = 0.0
                for j in range(L):
                    total += np.exp(terms[j] - top)
                norm = score[t, r] - top - np.log(total)
                for j in range(L):
                    pair = i * S + j
                    if known[pair] < 0:
                        known[pair] = found
                        candidates[found], values[found] = pair, NEVER
                        found += 1
                    at = known[pair]
                    if norm + terms[j] > values[at]:
                        values[at], origins[at] = norm + terms[j], r
            for k in range(found):
                _insert(score[t + 1], pairs[t + 1], values[k], k)
                known[candidates[k]] = -1
            for r in range(beam):
                if score[t + 1, r] <= NEVER:
                    break
                k = pairs[t + 1, r]
                pairs[t + 1, r], back[t + 1, r] = candidates[k], origins[k]
        r = 0
        for t in range(n, 0, -1):
            out[first + t - 1] = pairs[t, r] % S
            r = back[t, r]
