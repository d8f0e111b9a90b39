"""Predicts completions of a partly typed reading.

Words are sorted by reading, so that those with the same prefix are one range of ids, and their probabilities after the
left context are computed at once. The last words of the best conversion may be incomplete, so the prediction starts at
each of them. If no word begins as typed, readings with one kana wrong, missing or too much are tried.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from epigram.ime.kana import HIRAGANA
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.scorer import Scorer
from epigram.protocols import Floats

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter

LAST_WORDS = 2
"""Number of last words of a conversion that may be incomplete."""
USERS = -5.0
"""Log-probability of a word of the user's dictionaries that is typed in full."""
MISTAKE = -4.0
"""Log-probability of one wrong kana."""


class Prediction(NamedTuple):
    """Completion: text, whole reading, and natural log-probability."""

    reading: str
    text: str
    score: float


def predict(converter: KanaKanjiConverter, prefix: str, k: int) -> list[Prediction]:
    """Up to ``k`` predictions: earlier choices of the user, then the most probable."""
    if not prefix:
        return []
    found: dict[str, Prediction] = {}
    for prediction in _of_the_user(converter, prefix):
        found.setdefault(prediction.text, prediction)
    own = list(found.values())[:k]
    rest = [*_by_words(converter, prefix, k), *_of_dictionaries(converter, prefix)]
    if not rest:
        for other in _near(prefix):
            if len(_range(converter.decoder.lexicon, other)):
                rest += [p._replace(score=p.score + MISTAKE) for p in _by_words(converter, other, k)]
    for prediction in sorted(rest, key=lambda p: -p.score):
        found.setdefault(prediction.text, prediction)
    return [*own, *(p for p in found.values() if p not in own)][:k]


def _of_the_user(converter: KanaKanjiConverter, prefix: str) -> Iterator[Prediction]:
    """Corrections whose readings begin with ``prefix``, the last first."""
    for lesson in reversed(converter.journal.lessons):
        if lesson.reading.startswith(prefix):
            yield Prediction(lesson.reading, lesson.chosen, 0.0)


def _of_dictionaries(converter: KanaKanjiConverter, prefix: str) -> Iterator[Prediction]:
    """User words by prefix of the reading; the more is left to type, the less probable."""
    for entry in converter.journal.words:
        if entry.reading.startswith(prefix):
            yield Prediction(entry.reading, entry.surface, USERS - (len(entry.reading) - len(prefix)))


def _by_words(converter: KanaKanjiConverter, prefix: str, k: int) -> Iterator[Prediction]:
    """Words that complete the last words of the best conversion."""
    decoder = converter.decoder
    best = decoder.best(prefix)
    starts = [word.start for word in best.words][-LAST_WORDS:]
    for start in dict.fromkeys([0, *starts]):
        done = [word for word in best.words if word.start < start]
        if any(word.end > start for word in done):
            continue
        words = _range(decoder.lexicon, prefix[start:])
        if not len(words):
            continue
        node, before = decoder.scorer.start, 0.0
        for word in done:
            if word.id < 0:
                logp, node = decoder.special_score(prefix[word.start : word.end], word.surface)
                before += logp
                continue
            logp, node = decoder.scorer.step(node, word.id)
            before += logp
        scores = after_node(decoder.scorer, node, words) + decoder.bonus[words.start : words.stop]
        text = "".join(word.surface for word in done)
        for place in _largest(scores, k):
            word_id = words[place]
            yield Prediction(
                prefix[:start] + decoder.lexicon.reading(word_id),
                text + decoder.lexicon.surface(word_id),
                before + float(scores[place]),
            )


def after_node(scorer: Scorer, node: int, words: range) -> Floats:
    """Log-probabilities of a range of words after a node, all at once.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> scorer = build(["石/いし の 橋/はし", "箸/はし"]).decoder.scorer
    >>> quick = after_node(scorer, scorer.start, range(scorer.n_words))
    >>> bool(np.allclose(quick, [scorer.step(scorer.start, word)[0] for word in range(scorer.n_words)], atol=1e-5))
    True
    """
    tables, stored, weight = scorer.tables, list[tuple[int, int, float]](), 0.0
    while node >= scorer.n_classes:
        first, last = int(tables.pair_ptr[node]), int(tables.pair_ptr[node + 1])
        low, high = first + np.searchsorted(tables.pair_word[first:last], [words.start, words.stop])
        stored.append((int(low), int(high), weight))
        weight += float(tables.node_bow[node])
        node = int(tables.node_parent[node])
    part = slice(words.start, words.stop)
    out = np.asarray(tables.pair_logp[part] + scorer.class_logp[node][scorer.word_class[part]], np.float64)
    out += weight
    for low, high, weight in reversed(stored):  # longer contexts last: they replace shorter ones
        out[tables.pair_word[low:high] - words.start] = weight + tables.pair_logp[low:high]
    return out


def _largest(scores: Floats, k: int) -> list[int]:
    """Offsets of the ``k`` largest scores, largest first."""
    top = np.argpartition(-scores, k)[:k] if k < scores.size else np.arange(scores.size)
    return list(map(int, top[np.lexsort((top, -scores[top]))]))


def _range(lexicon: Lexicon, prefix: str) -> range:
    """Ids of the words whose readings begin with ``prefix``."""
    n = lexicon.reading_ptr.size - 1
    chars, ptr = lexicon.reading_chars, lexicon.reading_ptr

    def reading(r: int) -> str:
        return str(chars[ptr[r] : ptr[r + 1]].tobytes().decode("utf-32-le"))

    low = bisect_left(range(n), prefix, key=reading)
    high = bisect_left(range(n), prefix + chr(0x10FFFF), lo=low, key=reading)
    return range(int(lexicon.reading_word[low]), int(lexicon.reading_word[high]))


def _near(prefix: str) -> Iterator[str]:
    """Readings at edit distance one."""
    kana = [chr(code) for code in HIRAGANA] + ["ー"]
    for place in range(len(prefix)):
        if len(prefix) > 1:
            yield prefix[:place] + prefix[place + 1 :]
        for char in kana:
            yield prefix[:place] + char + prefix[place + 1 :]
            yield prefix[:place] + char + prefix[place:]
