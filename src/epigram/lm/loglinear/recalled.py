"""Guess the n-gram counts of a training text from the model alone, for models that were saved without their text.

Of N positions, a context x = (y, v) is expected N(x) = N(y) P(v | y) times, and a stored pair N(x) P(u | x) times.
Single words are expected as often as a long text of the model has them, N(v) = sum over u of N(u) P(v | u), because
the probabilities of the root are those of backing off and not shares of the text. The strength of the penalty is
added, because it was taken off in training, and a stored pair was seen at least once. A pair that is less likely than
backing off makes it has a negative weight: there the strength is taken off, and it may never have been seen, where its
context has other pairs. A position of its own stands for each time a pair was seen and no longer stored context with
the same word was. Positions that only single words account for come after the words that were seen more often than
their stored pairs were, dealt at random: a small model stores few of the pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from epigram._core.native import dot
from epigram.lm.loglinear.tree import Positions
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats, Ints, Offsets

ROUNDS = 20
ROUNDING = 1e-5  # of the log-probabilities of a file


def recalled_positions(model: BackoffModel, n_positions: int, discount: float) -> Positions:
    """Positions that a model may have been trained on; ``n_positions`` 0 means their number is not known.

    It is then taken to be twice the number of stored pairs of two words.

    Examples
    --------
    >>> from epigram import LogLinearLM
    >>> text = ["a b a b a b", "a b"]
    >>> model = LogLinearLM(order=2, strength=0.1, depth_weight=1.0, ridge=0.01).fit(text)
    >>> positions = recalled_positions(model.backoff_, 10, 0.1)
    >>> np.bincount(positions.target).tolist()  # </s>, a, b
    [2, 4, 4]
    """
    depth = model.node_depth[model.pair_node]
    n = n_positions or 2 * int((depth == 1).sum())
    words = _word_counts(model, float(n))
    times = _times_seen(model, float(n), words, discount)
    above = _pairs_above(model)
    own = times.copy()
    for d in range(int(depth.max(initial=0)), 0, -1):
        here = np.flatnonzero(depth == d)
        covered = np.bincount(above[here], weights=times[here], minlength=times.size).astype(np.int64)
        times = np.maximum(times, covered)
        own = np.where(covered > 0, np.maximum(own - covered, 0), own)
    return _spelled(model, own, *_deal(model, own, words, times))


def _deal(model: BackoffModel, own: Offsets, words: Floats, times: Offsets) -> tuple[Ints, Ints]:
    """Contexts of one word, and words after them that are not stored there; these are taken off the root's."""
    n_words, nodes = len(model.vocabulary_), np.flatnonzero(model.node_depth == 1)
    stored = np.bincount(model.pair_node, weights=times, minlength=model.node_pair.size)[nodes]
    missing = np.maximum(np.rint(words[model.node_pair[nodes]] - stored), 0).astype(np.int64)
    places, words_left = np.repeat(nodes, missing), np.repeat(np.arange(n_words), own[:n_words])
    rng, size = np.random.default_rng(0), min(places.size, words_left.size)
    contexts, targets = (rng.permutation(some)[:size].astype(np.int32) for some in (places, words_left))
    own[:n_words] -= np.bincount(targets, minlength=n_words)
    return contexts, targets


def _times_seen(model: BackoffModel, n: float, words: Floats, discount: float) -> Offsets:
    """How often each stored pair was seen: at least once, but for those with a negative weight."""
    n_words = len(model.vocabulary_)
    expected = np.full(model.node_pair.size, n)
    first = np.flatnonzero(model.node_depth == 1)
    expected[first] = words[model.node_pair[first]]
    for d in range(2, int(model.node_depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(model.node_depth == d)
        last = model.node_pair[nodes]
        expected[nodes] = expected[model.pair_node[last]] * np.exp(model.pair_logp[last])
    rare = _is_rare(model)
    pairs: Floats = expected[model.pair_node] * np.exp(model.pair_logp) + np.where(rare, -discount, discount)
    pairs[:n_words] = words
    others = np.bincount(model.pair_node[~rare], minlength=model.node_pair.size)[model.pair_node]
    return np.maximum(np.rint(pairs), np.where(rare & (others > 0), 0, 1)).astype(np.int64)


def _is_rare(model: BackoffModel) -> npt.NDArray[np.bool_]:
    """Whether backing off would make a stored pair likelier than it is, by more than rounding."""
    below = np.arange(len(model.vocabulary_), model.n_ngrams)
    node = model.pair_node[below]
    _, logp = model.step_many(model.node_parent[node], model.pair_word[below])
    rare = np.zeros(model.n_ngrams, bool)
    rare[below] = model.pair_logp[below] < model.node_bow[node] + logp - ROUNDING
    return rare


def _word_counts(model: BackoffModel, n: float) -> Floats:
    """How often each word stands in ``n`` positions: the stationary distribution of the words one after another."""
    n_words = len(model.vocabulary_)
    root = np.exp(model.pair_logp[:n_words])
    pairs = np.flatnonzero(model.node_depth[model.pair_node] == 1)
    nodes = np.flatnonzero(model.node_depth == 1)
    backing_off = np.ones(n_words)
    backing_off[model.node_pair[nodes]] = np.exp(model.node_bow[nodes])
    before, after = model.node_pair[model.pair_node[pairs]], model.pair_word[pairs]
    above_backing_off = np.exp(model.pair_logp[pairs]) - backing_off[before] * root[after]
    counts: Floats = n * root
    for _ in range(ROUNDS):
        more = np.bincount(after, weights=counts[before] * above_backing_off, minlength=n_words)
        counts = np.maximum(more + dot(counts, backing_off) * root, 0.0)
        counts *= n / counts.sum()
    return counts


def _pairs_above(model: BackoffModel) -> Offsets:
    """The pair of the same word in the longest shorter context that has one; -1 at the root."""
    n_words = len(model.vocabulary_)
    keys = model.pair_node.astype(np.int64) * n_words + model.pair_word
    node = model.node_parent[model.pair_node].astype(np.int64)
    out = np.full(keys.size, -1, np.int64)
    open_pairs = np.flatnonzero(model.pair_node > 0)
    while open_pairs.size:
        wanted = node[open_pairs] * n_words + model.pair_word[open_pairs]
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        found = keys[at] == wanted
        out[open_pairs[found]] = at[found]
        open_pairs = open_pairs[~found]
        node[open_pairs] = model.node_parent[node[open_pairs]]
    return out


def _spelled(model: BackoffModel, times: Offsets, contexts: Ints, words: Ints) -> Positions:
    """Each pair so many times, after the words of its context, and words after contexts of one word.

    The history begins and ends with a boundary.
    """
    n_words = len(model.vocabulary_)
    histories, ends, lengths, targets = [np.zeros(1, np.int32)], [], [], []
    size = 1
    for d in range(int(model.node_depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(model.node_depth == d).astype(np.int32)
        place = np.full(model.node_pair.size, -1, np.int64)
        place[nodes] = size + d * np.arange(1, nodes.size + 1)
        histories.append(model.spell(nodes).ravel() if d else np.empty(0, np.int32))
        size += histories[-1].size
        pairs = np.flatnonzero(model.node_depth[model.pair_node] == d)
        repeats = times[pairs]
        ends.append(np.repeat(place[model.pair_node[pairs]], repeats))
        lengths.append(np.full(int(repeats.sum()), d))
        targets.append(np.repeat(model.pair_word[pairs], repeats))
        if d == 1:
            ends.append(place[contexts])
            lengths.append(np.ones(contexts.size))
            targets.append(words)
    end, length, target = (np.concatenate(parts).astype(np.int32) for parts in (ends, lengths, targets))
    history = np.concatenate((*histories, np.zeros(1, np.int32)))
    return Positions(history, end, length, target, n_targets=n_words, n_symbols=n_words)
