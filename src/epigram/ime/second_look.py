"""A second look at the best conversions: by a model of characters beside the model of words.

    score = log P(words) + WEIGHT log P(characters)

The model of characters is a Kneser-Ney model of what the text writes. It sees across words: how a word goes on that the
text never had beside its neighbours. N-grams that the text has seldom are left out, the more the longer the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import offsets
from epigram.ime.context import ENDS
from epigram.ime.text import split_token
from epigram.lm.corpus import BOUNDARY, UNSEEN, Corpus, Vocabulary
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats, Ints
from epigram.storage.arrays import PACKED, Array, Contents, narrow, pack_integers

ORDER = 5
WEIGHT = 0.5
"""Of the model of characters; chosen on held-out text of ten kinds."""
STRAY = -15.0
"""Log-probability of a character that the text never has."""
CHARACTERS_PER_COUNT = 6_000_000
"""N-grams of three and more characters are left out that so much text has only once; see :meth:`SecondLook.learn`."""
ARRAYS = {
    "characters.points": Array(np.int32, ("characters",), below=0x110000),
    "characters.contexts": Array(PACKED, ("character_contexts",), steps=True, below="character_pairs"),
    "characters.counts": Array(PACKED, ("character_contexts+1",), total="character_pairs"),
    "characters.targets": Array(np.int32, ("character_pairs",), below="characters+1"),
    "characters.logp": Array(np.float64, ("character_pairs",), infinite="-"),
    "characters.bow": Array(np.float64, ("character_contexts",), infinite="-"),
}


class SecondLook:
    """Score texts by their characters.

    Examples
    --------
    >>> look = SecondLook.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
    >>> scores = look.scores(["橋を", "を橋"])
    >>> bool(scores[0] > scores[1])
    True
    """

    def __init__(self, model: BackoffModel, before: Ints | None = None) -> None:
        self.model = model
        self.before = np.zeros(0, np.int32) if before is None else before

    @classmethod
    def learn(cls, corpus: Corpus, surfaces: Sequence[str]) -> SecondLook:
        """From a text of words and the surface of each word of its vocabulary."""
        return cls(_characters_model(_by_character(corpus, surfaces)))

    def adapted(self, text: Corpus, held_out: Corpus) -> SecondLook:
        """The same mixed with a model of the characters of ``text``; the weights are those ``held_out`` likes best.

        Both are texts of surface/reading tokens.

        Examples
        --------
        >>> look = SecondLook.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
        >>> news = Corpus.of(["箸/はし だ"] * 3)
        >>> bool(look.adapted(news, news).scores(["箸だ"])[0] > look.scores(["箸だ"])[0])
        True
        """
        from epigram.lm.mixed.mixture import interpolate, merge

        domain, held = (_by_character(part, _surfaces(part)) for part in (text, held_out))
        return SecondLook(merge(interpolate([self.model, _characters_model(domain)], held)))

    def after(self, before: str) -> SecondLook:
        """The same for text that follows another, of which the open sentence counts."""
        begun = max(before.rfind(end) for end in ENDS) + 1
        other = copy(self)
        other.before = self._ids(before[begun:][1 - ORDER :])
        return other

    def scores(self, texts: Sequence[str]) -> Floats:
        """Natural log-probability of each text, its end counted."""
        n = self.before.size
        pieces = [np.concatenate((self.before, self._ids(text), [BOUNDARY])) for text in texts]
        stream = np.concatenate(pieces).astype(np.int32)
        logp = self.model.score_stream(stream)
        logp[np.isnan(logp)] = STRAY
        starts = np.cumsum([0, *(piece.size for piece in pieces[:-1])])
        out: Floats = np.add.reduceat(logp, starts) - logp[:n].sum()
        return out

    def _ids(self, text: str) -> Ints:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
        table = self._id_of_point
        return np.where(points < table.size, table[np.minimum(points, table.size - 1)], UNSEEN).astype(
            np.int32
        )

    @cached_property
    def _id_of_point(self) -> Ints:
        points = np.array([ord(char) for char in self.model.vocabulary_.words[1:]])
        table = np.full(int(points.max(initial=0)) + 1, UNSEEN, np.int32)
        table[points] = np.arange(1, points.size + 1)
        return table

    def pack(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a model file; log-probabilities in half precision."""
        model = self.model
        return {
            "characters.points": narrow(np.array([ord(char) for char in model.vocabulary_.words[1:]])),
            "characters.contexts": pack_integers(np.diff(model.node_pair[1:], prepend=0)),
            "characters.counts": pack_integers(np.diff(model.pair_ptr)),
            "characters.targets": narrow(model.pair_word),
            "characters.logp": model.pair_logp.astype(np.float16),
            "characters.bow": model.node_bow[1:].astype(np.float16),
        }

    @classmethod
    def unpack(cls, found: Contents) -> SecondLook:
        """The model of the arrays of a file."""
        return cls(
            BackoffModel(
                Vocabulary(chr(point) for point in found["characters.points"].tolist()),
                np.concatenate(([-1], found["characters.contexts"])),
                offsets(found["characters.counts"]),
                found["characters.targets"],
                found["characters.logp"],
                np.concatenate(([0.0], found["characters.bow"])),
            )
        )


def _characters_model(text: Corpus) -> BackoffModel:
    """Kneser-Ney of a text of characters."""
    return KneserNeyLM(order=ORDER, prune=text.n_tokens // CHARACTERS_PER_COUNT).fit(text).backoff_


def _surfaces(corpus: Corpus) -> list[str]:
    """What each token of a text's vocabulary writes; the boundary writes nothing."""
    return ["", *(split_token(token)[0] for token in corpus.vocabulary.words[1:])]


def _by_character(corpus: Corpus, surfaces: Sequence[str]) -> Corpus:
    """The same sentences, each character a word."""
    points = np.frombuffer("".join(surfaces).encode("utf-32-le", "surrogatepass"), np.int32)
    lengths = np.array([len(surface) for surface in surfaces], np.int64)
    starts = np.cumsum(lengths) - lengths
    sizes = lengths[corpus.ids]
    ends = np.cumsum(sizes)
    chars = points[np.repeat(starts[corpus.ids] - (ends - sizes), sizes) + np.arange(sizes.sum())]
    known = np.zeros(0x110000, bool)
    known[chars] = True
    table = np.cumsum(known, dtype=np.int32)
    ptr = np.concatenate((np.zeros(1, np.int64), ends))[corpus.sentence_ptr]
    vocabulary = Vocabulary(chr(point) for point in np.flatnonzero(known).tolist())
    return Corpus(table[chars], ptr, vocabulary)
