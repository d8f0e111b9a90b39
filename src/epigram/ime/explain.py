"""Explain a conversion: each word's probability and the longest n-gram that gave it."""

from __future__ import annotations

from typing import NamedTuple

from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Conversion
from epigram.lm.corpus import BOUNDARY


class WordScore(NamedTuple):
    """A word of a conversion: natural log-probability, order of the n-gram it came from, the user's bonus."""

    token: str
    logp: float
    order: int
    bonus: float


def explain(converter: KanaKanjiConverter, conversion: Conversion) -> list[WordScore]:
    """Word by word, the end of the sentence last; order 0 is a word outside the lexicon.

    Examples
    --------
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
    >>> [(row.token, row.order) for row in explain(converter, converter.best("はしをわたる"))]
    [('橋/はし', 2), ('を', 3), ('渡る/わたる', 3), ('</s>', 3)]
    """
    decoder = converter.decoder
    scorer = decoder.scorer
    parents = scorer.tables.node_parent
    node = scorer.start
    rows: list[WordScore] = []
    ids = [*(word.id for word in conversion.words), BOUNDARY]
    for word, token in zip(ids, [*conversion.tokens, "</s>"], strict=True):
        if word < 0:
            place = conversion.words[len(rows)]
            reading = conversion.reading[place.start : place.end]
            logp, to = decoder.special_score(reading, place.surface)
            rows.append(WordScore(token, scorer.special(node, to) + logp, 0, 0.0))
            node = to
            continue
        at, order = node, 1
        while at >= scorer.n_classes and not scorer.stores(at, word):
            at = int(parents[at])
        if at >= scorer.n_classes:
            order = 2 if parents[at] < scorer.n_classes else 3
        logp, node = scorer.step(node, word)
        rows.append(WordScore(token, logp, order, decoder.bonus_of(word)))
    return rows
