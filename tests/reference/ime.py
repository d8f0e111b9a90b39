"""Slow, obvious twins of the input method's decoder: every way to write a short reading, scored word by word."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from epigram.ime.decoder import Decoder
from epigram.ime.kana import to_katakana
from epigram.ime.lexicon.unknown_words import UnknownWords, kana_rows
from epigram.ime.scorer import Scorer
from epigram.ime.word_classes import LexicalClasses
from epigram.lm.ngram.backoff import BackoffModel


def unknown_logp(unknown: UnknownWords, piece: str, katakana: bool) -> float:
    """log p of kana outside the lexicon: class, then character by character."""
    model = unknown.katakana if katakana else unknown.hiragana
    total = float(unknown.class_logp[0 if katakana else 1])
    edge = model.shape[0] - 1
    before = edge
    for char in piece:
        row = int(kana_rows(char)[0])
        total += float(model[before, row])
        before = row
    return total + float(model[before, edge])


def all_ways(decoder: Decoder, reading: str, start: int = 0) -> Iterator[list[tuple[str, int, float]]]:
    """All segmentations of a kana reading into (surface, word id or -1, log p of an unknown word)."""
    if start == len(reading):
        yield []
        return
    for end in range(start + 1, len(reading) + 1):
        piece = reading[start:end]
        heads = [(decoder.lexicon.surface(word), word, 0.0) for word in decoder.lexicon.words_of(piece)]
        heads.append((piece, -1, unknown_logp(decoder.unknown, piece, False)))
        heads.append((to_katakana(piece), -1, unknown_logp(decoder.unknown, piece, True)))
        for rest in all_ways(decoder, reading, end):
            for head in heads:
                yield [head, *rest]


def score(
    model: BackoffModel, way: list[tuple[str, int, float]], classes: LexicalClasses | None = None
) -> float:
    """Natural log-probability of a segmentation; after an unknown word the context is empty.

    With classes, P(w | h) is that of the plain model plus what P(w) gains by the class before it, times the weight of
    backing off from h to single words: Kneser-Ney is interpolated, so that holds for every h and w.
    """
    state, total, last = model.start(), 0.0, 0 if classes is None else int(classes.of_word[0])
    for _, word, logp in [*way, ("", 0, 0.0)]:
        if word >= 0:
            weight = np.exp(weight_to_root(model, state))
            p_alone = float(np.exp(model.pair_logp[word]))
            state, here = model.step(state, word)
            if classes is not None:
                c = int(classes.of_word[word])
                share = sum(np.exp(model.pair_logp[: len(classes.of_word)])[classes.of_word == c])
                ratio = np.exp(classes.transitions[last, c]) / share if last and c else 1.0
                here = np.log(np.exp(here) + weight * p_alone * (ratio - 1))
                last = c
            total += here
        else:
            total += weight_to_root(model, state) + logp
            state = last = 0
    return total


def weight_to_root(model: BackoffModel, state: int) -> float:
    """Log-weight of backing off from a context to single words."""
    total = 0.0
    while state:
        total += float(model.node_bow[state])
        state = int(model.node_parent[state])
    return total


def best_texts(
    decoder: Decoder, model: BackoffModel, reading: str, classes: LexicalClasses | None = None
) -> list[tuple[str, float]]:
    """Every distinct text with the score of its best segmentation, best first."""
    best: dict[str, float] = {}
    for way in all_ways(decoder, reading):
        text = "".join(surface for surface, _, _ in way)
        best[text] = max(best.get(text, -np.inf), score(model, way, classes))
    return sorted(best.items(), key=lambda item: -item[1])


def fits(scorer: Scorer) -> bool:
    """Whether every number of a trigram model that the search follows leads to a node, a pair or a word."""
    nodes, pairs = range(scorer.node_pair.size), range(scorer.tables.pair_word.size)
    tables = scorer.tables
    ptr = tables.pair_ptr.tolist()
    return (
        scorer.start in nodes
        and (ptr[0], ptr[-1]) == (0, len(pairs))
        and ptr == sorted(ptr)
        and scorer.word_class.size == ptr[1]
        and all(word in range(ptr[1]) for word in tables.pair_word.tolist())
        and all(node in nodes for node in tables.pair_next.tolist())
        and all(parent in range(x) for x, parent in enumerate(tables.node_parent.tolist()) if x)
        and all(
            tables.node_parent[parent] < scorer.n_classes
            for parent in tables.node_parent[scorer.n_classes :].tolist()
            if parent >= scorer.n_classes
        )
        and all(pair == -1 or pair in pairs for pair in scorer.node_pair.tolist())
    )


def pair_worth(
    sentences: list[list[str]],
    one: str,
    two: str,
    window: int,
    doubt: float,
    fewest: int,
    most_seldom: int,
    dropped: float,
) -> float:
    """What a pair of units is worth, counted by walking through sentences of units ("" for other words).

    A pair that occurs at most ``most_seldom`` times counts as often as by chance, at most ``dropped`` times.
    """
    seen = [[unit for unit in sentence if unit] for sentence in sentences]
    often = {unit for line in seen for unit in line if sum(line.count(unit) for line in seen) >= fewest}
    if one == two or one not in often or two not in often:
        return 0.0
    count, degrees, total = 0, {one: 0, two: 0}, 0
    for sentence in seen:
        line = [unit for unit in sentence if unit in often]
        for k, unit in enumerate(line):
            for other in line[k + 1 : k + 1 + window]:
                if unit == other:
                    continue
                total += 2
                count += {unit, other} == {one, two}
                for end in (unit, other):
                    if end in degrees:
                        degrees[end] += 1
    chance = degrees[one] * degrees[two] / total
    count = count if count > most_seldom else min(chance, dropped)
    return float(np.log((count + doubt) / (chance + doubt)))
