"""Interpolates two back-off trigram models (MAP adaptation, Gao et al. 2006, 5.2).

    P(w | h) = lambda P_b(w | h) + (1 - lambda) P_a(w | h)

for every n-gram that either model stores. For others the mixture backs off with the weight that makes its probabilities
sum to one, as n-gram toolkits do. A stored n-gram never gets less than backing off would give it, so that the relaxed
search is mostly exact. With P_a by plain maximum likelihood the interpolation is exact: it changes histories of the
adaptation text, all others keep P_b.

Words are ids of one lexicon; an n-gram (w1 w2 w3) is the number (w1 V + w2) V + w3, so sorting numbers sorts n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram._core.arrays import offsets
from epigram.lm.corpus import Corpus
from epigram.lm.mixture import mixture_weights
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.ngram.counts import count_ngrams
from epigram.lm.vocabulary import BOUNDARY, Vocabulary
from epigram.protocols import Floats, Ints, Offsets

SMALLEST = 1e-12
BIGRAM = 0.4
"""The share of the bigram model in a converter's trigram model; see epigram.ime.build."""


@dataclass(frozen=True)
class Grams:
    """Bigrams and trigrams as sorted numbers with log-probabilities, and back-off weights."""

    bigrams: Offsets = field(repr=False)
    trigrams: Offsets = field(repr=False)
    contexts: Offsets = field(repr=False)

    @classmethod
    def of(cls, model: BackoffModel) -> Grams:
        """Stored n-grams of a model of order 3 or less; ``contexts`` are its contexts of one word."""
        size = len(model.vocabulary_)
        keys = []
        for depth in (1, 2):
            nodes = np.flatnonzero(model.node_depth == depth).astype(np.int32)
            counts = np.diff(model.pair_ptr)[nodes]
            first = int(model.pair_ptr[nodes[0]]) if nodes.size else 0
            words = model.pair_word[first : first + int(counts.sum())].astype(np.int64)
            spelled = model.spell(nodes).reshape(nodes.size, depth).astype(np.int64)
            number = spelled[:, 0] if depth == 1 else spelled[:, 0] * size + spelled[:, -1]
            keys.append(np.repeat(number, counts) * size + words)
            if depth == 1:
                contexts = number
        return cls(keys[0], keys[1], contexts)

    def union(self, other: Grams) -> Grams:
        """Union of two sets of n-grams."""
        return Grams(
            _union(self.bigrams, other.bigrams),
            _union(self.trigrams, other.trigrams),
            _union(self.contexts, other.contexts),
        )

    def with_contexts(self, size: int) -> Grams:
        """Add the last word of every bigram as a context, which unknown words may leave out."""
        known = np.zeros(size, bool)
        known[self.contexts] = True
        known[self.bigrams % size] = True
        return Grams(self.bigrams, self.trigrams, np.flatnonzero(known))


def _union(one: Offsets, two: Offsets) -> Offsets:
    """Union of two sorted arrays by a stable sort, which merges the two runs."""
    keys = np.sort(np.concatenate((one, two)), kind="stable")
    return np.asarray(keys[np.diff(keys, prepend=keys[:1] - 1) != 0])


def widen(model: BackoffModel, vocabulary: Vocabulary, new_id: Ints, logp: Floats) -> BackoffModel:
    """Extend a model to more words: word k becomes ``new_id[k]`` (sorted), others get ``logp``."""
    old, new = len(model.vocabulary_), len(vocabulary)
    root = logp.copy()
    root[new_id] = model.pair_logp[:old]
    shift = new - old
    node_pair = model.node_pair + shift
    shallow = (model.node_pair >= 0) & (model.node_pair < old)
    node_pair[shallow] = new_id[model.node_pair[shallow]]
    node_pair[0] = -1
    return BackoffModel(
        vocabulary,
        node_pair,
        np.concatenate(([0], model.pair_ptr[1:] + shift)).astype(np.int64),
        np.concatenate((np.arange(new, dtype=np.int32), new_id[model.pair_word[old:]])).astype(np.int32),
        np.concatenate((root, model.pair_logp[old:])),
        model.node_bow,
    )


def mixture(background: BackoffModel, adapted: BackoffModel, weight: float) -> BackoffModel:
    """Interpolate the background (``weight``) with a model over the same vocabulary.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> one = Corpus.of(["a b a", "b b"])
    >>> other = Corpus.of(["b a b a"], one.vocabulary)
    >>> models = [KneserNeyLM(order=3, open_vocabulary=False).fit(text).backoff_ for text in (one, other)]
    >>> mixed = mixture(*models, 0.5)
    >>> a = one.vocabulary.id("a")
    >>> background, adapted, both = (float(m.distribution("b")[a]) for m in (*models, mixed))
    >>> round(both - (background + adapted) / 2, 12)
    0.0
    """
    size = len(background.vocabulary_)
    grams = Grams.of(background).union(Grams.of(adapted)).with_contexts(size)
    models = ((background, weight), (adapted, 1 - weight))
    root = sum(share * np.exp(model.pair_logp[:size]) for model, share in models)
    two = sum(share * np.exp(_bigram_logp(model, grams.bigrams, size)) for model, share in models)
    three = sum(share * np.exp(_trigram_logp(model, grams.trigrams, size)) for model, share in models)
    lower = np.asarray(root)[grams.bigrams % size]
    bow1 = _backoff(grams.bigrams // size, grams.contexts, np.asarray(two), lower)
    two = np.maximum(two, bow1[np.searchsorted(grams.contexts, grams.bigrams // size)] * lower)
    lower = _lower(grams, np.asarray(root), two, bow1, size)
    pairs = np.unique(grams.trigrams // size)
    bow2 = _backoff(grams.trigrams // size, pairs, np.asarray(three), lower)
    three = np.maximum(three, bow2[np.searchsorted(pairs, grams.trigrams // size)] * lower)
    return lay_out(
        background.vocabulary_,
        grams,
        np.log(root),
        np.log(two),
        np.log(three),
        pairs,
        np.log(bow1),
        np.log(bow2),
    )


def share_with_bigrams(model: BackoffModel, share: float) -> None:
    """Set P(w | u v) to (1 - share) P(w | u v) + share P(w | v), in place.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(order=3, open_vocabulary=False).fit(["a b a", "b b a", "a a"]).backoff_
    >>> three, two = model.distribution("a b"), model.distribution("b")
    >>> share_with_bigrams(model, 0.5)
    >>> bool(np.allclose(model.distribution("a b"), (three + two) / 2))
    True
    """
    nodes = np.flatnonzero(model.node_depth == 2)
    if not nodes.size or share == 0:
        return
    first, last = int(model.pair_ptr[nodes[0]]), int(model.pair_ptr[nodes[-1] + 1])
    owner = np.repeat(nodes, np.diff(model.pair_ptr)[nodes])
    _, lower = model.step_many(model.node_parent[owner], model.pair_word[first:last])
    model.pair_logp[first:last] = np.log(
        (1 - share) * np.exp(model.pair_logp[first:last]) + share * np.exp(lower)
    )
    model.node_bow[nodes] = np.log((1 - share) * np.exp(model.node_bow[nodes]) + share)


def map_mixture(background: BackoffModel, corpus: Corpus, weight: float) -> BackoffModel:
    """Interpolate with P_a, the relative frequency of a word after its whole history.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> one = Corpus.of(["a b a", "b b"])
    >>> model = KneserNeyLM(order=3, open_vocabulary=False).fit(one).backoff_
    >>> mixed = map_mixture(model, Corpus.of(["b a"], one.vocabulary), 0.5)
    >>> before, after = (float(m.distribution(["<s>", "b"])[one.vocabulary.id("a")]) for m in (model, mixed))
    >>> round(after - (0.5 * before + 0.5), 12)
    0.0
    """
    size = len(background.vocabulary_)
    own = Grams.of(background)
    levels = count_ngrams(corpus, 3)
    bigrams, trigrams, counts = _numbers(levels, size)
    seen_start = bigrams // size == BOUNDARY  # "<s>" alone is the whole history of a first word
    starts, start_counts = (
        bigrams[seen_start],
        levels[1].count[seen_start] if len(levels) > 1 else bigrams[:0],
    )
    grams = own.union(Grams(starts, trigrams, np.unique(bigrams // size)))
    # prefixes and suffixes of the new trigrams must be stored for their contexts to exist
    grams = grams.union(Grams(trigrams // size, trigrams, np.unique(trigrams % size))).with_contexts(size)
    two = _bigram_logp(background, grams.bigrams, size)
    three = _trigram_logp(background, grams.trigrams, size)
    two = _mix_frequencies(two, grams.bigrams, starts, start_counts, np.unique(starts // size), size, weight)
    three = _mix_frequencies(
        three, grams.trigrams, trigrams, counts, np.unique(trigrams // size), size, weight
    )
    pairs = np.unique(grams.trigrams // size)
    bow1 = _bow_of(background, grams.contexts, size, 1)
    bow2 = _bow_of(background, pairs, size, 2)
    bow1[np.isin(grams.contexts, starts // size)] += np.log(weight)
    bow2[np.isin(pairs, trigrams // size)] += np.log(weight)
    root = background.pair_logp[:size]
    return lay_out(background.vocabulary_, grams, root, two, three, pairs, bow1, bow2)


def best_weight(background: Floats, adapted: Floats) -> float:
    """Weight with the highest likelihood of held-out words; ignores positions that are NaN.

    Examples
    --------
    >>> round(best_weight(np.log([0.9, 0.1]), np.log([0.1, 0.9])), 3)
    0.5
    """
    both = np.isfinite(background) & ~np.isnan(adapted)
    if not both.any():
        return 0.5
    weight = float(mixture_weights(np.stack((background[both], adapted[both])), tolerance=1e-6)[0])
    return min(max(weight, 1e-3), 1 - 1e-3)


def relative_frequencies(text: Corpus, stream: Ints) -> Floats:
    """Maximum-likelihood log P_a of each position of a stream; NaN after unseen histories."""
    levels = count_ngrams(text, 3)
    size = np.int64(len(text.vocabulary))
    words = stream.astype(np.int64)
    out = np.full(words.size, np.nan)
    bigrams = levels[1].prefix.astype(np.int64) * size + levels[1].word
    trigrams = bigrams[levels[2].prefix] * size + levels[2].word if len(levels) > 2 else bigrams[:0]
    first = np.append(True, words[:-1] == 0)
    for keys, counts, span in ((bigrams, levels[1].count, 1), (trigrams, levels[-1].count, 2)):
        at = np.flatnonzero((first if span == 1 else ~first) & (words >= 0))
        at = at[at >= span]
        history = words[at - 1] if span == 1 else words[at - 2] * size + words[at - 1]
        known = (history >= 0) & (words[at - 1] >= 0)
        at, history = at[known], history[known]
        total = _counts_of(keys // size, counts, history)
        joint = _counts_of(keys, counts, history * size + words[at])
        seen = total > 0
        with np.errstate(divide="ignore"):
            out[at[seen]] = np.log(joint[seen] / total[seen])
    return out


def _counts_of(keys: Offsets, counts: Ints, wanted: Offsets) -> Floats:
    """Sum of the counts of each wanted key; the keys are sorted and may repeat."""
    if not keys.size:
        return np.zeros(wanted.size)
    cumulative = np.concatenate(([0.0], np.cumsum(counts, dtype=np.float64)))
    low, high = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    return cumulative[high] - cumulative[low]


def lay_out(
    vocabulary: Vocabulary,
    grams: Grams,
    root: Floats,
    two: Floats,
    three: Floats,
    pairs: Offsets,
    bow1: Floats,
    bow2: Floats,
) -> BackoffModel:
    """Make the forward trie of sorted n-grams; ``pairs`` are the contexts of two words."""
    size = len(vocabulary)
    per_word = np.diff(np.searchsorted(grams.bigrams // size, np.append(grams.contexts, size)))
    firsts = np.searchsorted(grams.trigrams // size, pairs)
    per_pair = np.diff(np.append(firsts, grams.trigrams.size))
    return BackoffModel(
        vocabulary,
        np.concatenate(([-1], grams.contexts, size + np.searchsorted(grams.bigrams, pairs))),
        offsets(np.concatenate(([size], per_word, per_pair))),
        np.concatenate((np.arange(size), grams.bigrams % size, grams.trigrams % size)).astype(np.int32),
        np.concatenate((root, two, three)),
        np.concatenate(([0.0], bow1, bow2)),
    )


def _states(model: BackoffModel, contexts: Offsets, size: int) -> Ints:
    """Longest stored suffix of each context (w1 V + w2)."""
    first = model.pair_next[contexts // size]
    return model.step_many(first, (contexts % size).astype(np.int32))[0]


def _bigram_logp(model: BackoffModel, bigrams: Offsets, size: int) -> Floats:
    return model.step_many(model.pair_next[bigrams // size], (bigrams % size).astype(np.int32))[1]


def _trigram_logp(model: BackoffModel, trigrams: Offsets, size: int) -> Floats:
    contexts, which = np.unique(trigrams // size, return_inverse=True)
    return model.step_many(_states(model, contexts, size)[which], (trigrams % size).astype(np.int32))[1]


def _bow_of(model: BackoffModel, contexts: Offsets, size: int, depth: int) -> Floats:
    """Back-off weights of a model; 0 (log 1) for contexts that it does not store."""
    nodes = model.pair_next[contexts] if depth == 1 else _states(model, contexts, size)
    return np.where(model.node_depth[nodes] == depth, model.node_bow[nodes], 0.0)


def _backoff(owner: Offsets, contexts: Offsets, p: Floats, lower: Floats) -> Floats:
    """Back-off weight per context: (1 - stored mass) / (1 - lower-order mass), at most 1."""
    where = np.searchsorted(contexts, owner)
    kept = np.bincount(where, p, minlength=contexts.size)
    below = np.bincount(where, lower, minlength=contexts.size)
    out: Floats = np.maximum(1 - kept, SMALLEST) / np.maximum(1 - below, SMALLEST)
    return np.minimum(out, 1.0)


def _lower(grams: Grams, root: Floats, two: Floats, bow1: Floats, size: int) -> Floats:
    """P(w3 | w2) of each trigram under the bigrams of the mixture."""
    suffix = grams.trigrams % (size * size)
    place = np.minimum(np.searchsorted(grams.bigrams, suffix), max(grams.bigrams.size - 1, 0))
    stored = grams.bigrams[place] == suffix
    context = np.minimum(np.searchsorted(grams.contexts, suffix // size), grams.contexts.size - 1)
    known = grams.contexts[context] == suffix // size
    backed = np.where(known, bow1[context], 1.0) * root[suffix % size]
    return np.where(stored, two[place], backed)


def _numbers(levels: list, size: int) -> tuple[Offsets, Offsets, Ints]:  # type: ignore[type-arg]
    """Bigrams and trigrams of a counted text as sorted numbers, and counts of the trigrams."""
    empty = np.zeros(0, np.int64)
    if len(levels) < 2:
        return empty, empty, np.zeros(0, np.int32)
    bigrams = levels[1].prefix.astype(np.int64) * size + levels[1].word
    if len(levels) < 3:
        return bigrams, empty, np.zeros(0, np.int32)
    return bigrams, bigrams[levels[2].prefix] * size + levels[2].word, levels[2].count


def _mix_frequencies(
    logp: Floats,
    keys: Offsets,
    seen: Offsets,
    counts: Ints | Offsets,
    contexts: Offsets,
    size: int,
    weight: float,
) -> Floats:
    """weight P_b + (1 - weight) c(hw) / c(h) after seen ``contexts``; P_b elsewhere."""
    owner = keys // size
    place = np.minimum(np.searchsorted(contexts, owner), max(contexts.size - 1, 0))
    mixed = contexts[place] == owner if contexts.size else np.zeros(keys.size, bool)
    p = np.where(mixed, weight, 1.0) * np.exp(logp)
    totals = np.bincount(np.searchsorted(contexts, seen // size), counts, minlength=contexts.size)
    share = counts / totals[np.searchsorted(contexts, seen // size)] if seen.size else np.zeros(0)
    p[np.searchsorted(keys, seen)] += (1 - weight) * share
    out: Floats = np.log(p)
    return out
