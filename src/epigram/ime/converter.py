"""KanaKanjiConverter: convert, n-best, segments, predictions, learning from corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from dataclasses import asdict
from functools import cached_property
from itertools import accumulate
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from epigram.errors import InputError
from epigram.ime.corrections import Journal, Lesson
from epigram.ime.decoder import Conversion, Decoder, Ways
from epigram.ime.kana import from_romaji, split_token
from epigram.ime.lexicon.dictionary_formats import Entry
from epigram.ime.segmentation import Segment, segment
from epigram.lm.corpus import Sentences
from epigram.protocols import Floats

if TYPE_CHECKING:
    from epigram.ime.build import Background, SizeLimits
    from epigram.ime.predict import Prediction
    from epigram.ime.rescoring import Rescorer
    from epigram.lm.ngram.backoff import BackoffModel
    from epigram.rerank import Reranker

N_BEST, MARGIN = 20, 5.0
"""Conversions that are rescored: so many, none of them less probable than the best by more nats."""
AT_ONCE = 64
"""Readings that one call of C converts."""


class KanaKanjiConverter:
    """Converts kana to text by a word trigram model and an optional rescorer or reranker.

    Examples
    --------
    >>> converter = KanaKanjiConverter.build(
    ...     ["橋/はし を 渡る/わたる", "箸/はし を 使う/つかう", "箸/はし を 持つ/もつ"])
    >>> converter.convert("はしをわたる"), converter.convert("hasi wo", romaji=True)
    ('橋を渡る', '箸 を')
    >>> [way.text for way in converter.nbest("はし", 2)]
    ['箸', '橋']
    >>> converter.learn("はし", "橋")
    >>> converter.convert("はし")
    '橋'
    >>> converter.undo()
    >>> converter.convert("はし")
    '箸'
    """

    def __init__(
        self,
        decoder: Decoder,
        reranker: Reranker | None = None,
        settings: dict[str, object] | None = None,
        fit: dict[str, object] | None = None,
        lessons: Sequence[Lesson] = (),
        words: Iterable[Entry] = (),
        rescorer: Rescorer | None = None,
    ) -> None:
        self.decoder = decoder
        self.reranker = reranker
        self.rescorer = rescorer
        self.settings = settings or {}
        self.fit_ = fit or {}
        self.card_: dict[str, str] = {}
        self.journal = Journal(decoder, lessons, words, rescorer)

    @classmethod
    def build(
        cls,
        texts: Iterable[str | Sequence[str] | PathLike[str]] | PathLike[str],
        words: Iterable[str] = (),
        *,
        prune: int = 0,
        prune_bigrams: int = 0,
        max_words: int | None = None,
        rescore: bool = False,
        rescore_scale: float = 1.0,
    ) -> KanaKanjiConverter:
        """Build from text of ``surface/reading`` tokens, and more such words.

        ``texts`` is a :class:`~pathlib.Path` of a file, or a list of sentences (strings, which are split at blanks, or
        lists of tokens) and path objects.

        ``rescore`` adds a model of characters that rescores the 20 best conversions: fewer errors, at half of the
        speed. The other parameters make the file smaller: ``prune`` and ``prune_bigrams`` drop trigrams and bigrams
        that occur at most so often, ``max_words`` keeps the most frequent words, ``rescore_scale`` multiplies the
        least counts of the rescorer's n-grams and pairs.
        """
        from epigram.ime.build import SizeLimits, build

        limits = SizeLimits(prune, prune_bigrams, max_words, rescore_scale)
        made = build(texts, words, limits=limits, rescore=rescore)
        return cls.of_background(made, limits)

    @classmethod
    def of_background(cls, made: Background, limits: SizeLimits) -> KanaKanjiConverter:
        """Make a converter of what was built within limits."""
        return cls._of(made, {"method": "trigram", **asdict(limits)})

    @classmethod
    def from_sudachi(cls, path: str | PathLike[str] | None = None) -> KanaKanjiConverter:
        """Build without text from the costs of SudachiDict (default: the installed one)."""
        from epigram.ime.lexicon.from_sudachi import build_from_dictionary
        from epigram.ime.lexicon.sudachi import read_sudachi

        return cls._of(build_from_dictionary(read_sudachi(path)), {"method": "dictionary"})

    @classmethod
    def _of(cls, made: Background, settings: dict[str, object]) -> KanaKanjiConverter:
        fit: dict[str, object] = {
            "sentences": made.n_sentences,
            "tokens": made.n_tokens,
            "words": len(made.decoder.lexicon) - 1,
            "ngrams": made.model.n_ngrams,
        }
        return cls(made.decoder, None, settings, fit, rescorer=made.rescorer)

    @cached_property
    def model(self) -> BackoffModel:
        """Language model in double precision, for adaptation and ARPA files; made on first use."""
        return self.decoder.scorer.backoff(self.decoder.lexicon.vocabulary())

    def convert(self, kana: str, *, before: str = "", romaji: bool = False) -> str:
        """Best text for a reading, after the text ``before``.

        Anything that is no kana stays as it is; with ``romaji``, Latin letters are read as romaji first.
        """
        return self.best(from_romaji(kana) if romaji else kana, before).text

    def best(self, kana: str, before: str = "") -> Conversion:
        """Best conversion with its words."""
        if before:
            return self.following(before).best(kana)
        if not kana:
            return Conversion("", (), 0.0)
        plain = self.reranker is None and self.rescorer is None
        return self.decoder.best(kana) if plain else self.nbest(kana, 1)[0]

    def nbest(
        self, kana: str, k: int = N_BEST, *, before: str = "", romaji: bool = False
    ) -> list[Conversion]:
        """The ``k`` best distinct texts after the text ``before``, of at least 20 rescored ones."""
        if before:
            return self.following(before).nbest(kana, k, romaji=romaji)
        kana = from_romaji(kana) if romaji else kana
        if not kana:
            return [Conversion("", (), 0.0)]
        if self.reranker is None and self.rescorer is None:
            return self.decoder.k_best(kana, k)
        if self.reranker is not None:
            best = self.decoder.k_best(kana, max(k, N_BEST))
            scores = self.scores(best)
            outside = np.zeros(scores.size, bool)
        else:
            ways = self.decoder.ways([kana], max(k, N_BEST), margin=MARGIN if k == 1 else np.inf)
            scores = self._rescored(ways)
            best = self.decoder.conversions([kana], ways) if k > 1 else []
            outside = ways.score < ways.score[0] - MARGIN
        order = np.lexsort((-scores, outside))[:k].tolist()
        if not best:
            words = self.decoder.spelled(kana, ways, order[0])
            return [Conversion(kana, words, float(scores[order[0]]))]
        return [Conversion(kana, best[i].words, float(scores[i])) for i in order]

    def convert_many(self, readings: Sequence[str]) -> list[str]:
        """Best text of each reading, many at a time.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし", "箸/はし"])
        >>> converter.convert_many(["はし", "", "はしをわたる"])
        ['箸', '', '橋を渡る']
        """
        if self.reranker is not None:
            return [self.best(reading).text for reading in readings]
        out: list[str] = []
        for first in range(0, len(readings), AT_ONCE):
            part = readings[first : first + AT_ONCE]
            ways = self.decoder.ways(part, 1 if self.rescorer is None else N_BEST, margin=MARGIN)
            scores, at = self._rescored(ways), 0
            for n in ways.found.tolist():
                out.append(ways.text_of(at + int(scores[at : at + n].argmax())) if n else "")
                at += n
        return out

    def _rescored(self, ways: Ways) -> Floats:
        if self.rescorer is None:
            return ways.score
        return ways.score + self.rescorer.gains_of(ways.ptr, ways.text_end, ways.text)

    def scores(self, ways: Sequence[Conversion]) -> Floats:
        """Score conversions by the reranker or the rescorer; their own scores if there is none."""
        if self.reranker is not None:
            from epigram.ime.decoder import as_lists

            return self.reranker.scores(as_lists([ways]))
        own = np.array([way.score for way in ways])
        if self.rescorer is None:
            return own
        return own + self.rescorer.gains([[word.surface for word in way.words] for way in ways])

    def copy(self) -> KanaKanjiConverter:
        """Copy with a separate journal of corrections, which starts as a copy of this one."""
        old = self.decoder
        decoder = Decoder(old.lexicon, old.scorer, old.unknown, old.numbers)
        lessons = deepcopy(self.journal.lessons)
        return KanaKanjiConverter(
            decoder, self.reranker, self.settings, self.fit_, lessons, self.journal.words, self.rescorer
        )

    def after(self, words: Sequence[str]) -> KanaKanjiConverter:
        """View of this converter after ``surface/reading`` tokens; corrections are shared.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["石/いし の 橋/はし", "箸/はし", "箸/はし"])
        >>> converter.convert("はし"), converter.after(["石/いし", "の"]).convert("はし")
        ('箸', '橋')
        """
        known: list[int] = []
        for token in words:
            id = self.decoder.lexicon.find(*split_token(token))
            known = [*known, id] if id >= 0 else []
        other = copy(self)
        other.decoder = self.decoder.after(known)
        if self.rescorer is not None:
            other.rescorer = self.rescorer.after("".join(split_token(token)[0] for token in words))
        return other

    def following(self, before: str) -> KanaKanjiConverter:
        """View of this converter after a text, of which the last words are the context.

        Corrections are shared.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["石/いし の 橋/はし", "箸/はし", "箸/はし"])
        >>> converter.convert("はし"), converter.convert("はし", before="石の")
        ('箸', '橋')
        """
        other = copy(self)
        other.decoder = self.decoder.following(before)
        if self.rescorer is not None:
            other.rescorer = self.rescorer.after(before)
        return other

    def segments(
        self, kana: str, k: int = 9, fixed: Sequence[int] = (), *, before: str = "", phrases: bool = False
    ) -> list[Segment]:
        """Segments of the best conversion, each with up to ``k`` alternatives.

        A segment is a word, or with ``phrases`` a content word with its function words; ``fixed`` sets other lengths of
        the first segments. ``before`` is the text that stands before the reading.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
        >>> [piece.surface for piece in converter.segments("はしを")]
        ['橋', 'を']
        >>> [piece.surface for piece in converter.segments("はしを", fixed=[3])]
        ['橋を']
        >>> [piece.surface for piece in converter.segments("はしをわたる", phrases=True)]
        ['橋を', '渡る']
        """
        if before:
            return self.following(before).segments(kana, k, fixed, phrases=phrases)
        ends = list(accumulate(fixed))
        if any(length < 1 for length in fixed) or (ends and ends[-1] > len(kana)):
            raise InputError(f"segments of {list(fixed)} characters do not fit a reading of {len(kana)}")
        found = segment(self, kana, ends, phrases=phrases)
        return [found.segment(place, k) for place in range(len(found.ranges))]

    def reading_of(self, text: str) -> str:
        """Most probable reading of a text; kana and Latin letters are their own.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
        >>> converter.reading_of("橋をワタル")
        'はしをわたる'
        """
        from epigram.ime.left_context import reading_of

        return reading_of(self.decoder.lexicon, self.decoder.scorer, text)

    def predict(self, prefix: str, before: str = "", k: int = 9) -> list[Prediction]:
        """Predict completions of a partly typed reading after the text ``before``.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["京都/きょうと へ", "京都/きょうと だ", "今日/きょう は"])
        >>> [prediction.text for prediction in converter.predict("きょ")]
        ['京都', '今日']
        >>> converter.predict("ぎょうと")[0].reading
        'きょうと'
        """
        from epigram.ime.predict import predict

        return predict(self.following(before) if before else self, prefix, k)

    def learn(self, kana: str, chosen: str, *, before: str = "") -> None:
        """Learn a correction: write ``kana`` as ``chosen`` in this context.

        ``before`` is the text that stood before it; :mod:`epigram.ime.user.learning` describes what is learnt.
        """
        from epigram.ime.user.learning import learn

        learn(self.following(before) if before else self, kana, chosen, before or self.decoder.left)

    @property
    def user_dictionary(self) -> list[Entry]:
        """Words that :meth:`add_words` added."""
        return list(self.journal.words)

    def add_words(self, words: Iterable[tuple[str, str]]) -> None:
        """Add preferred words, given as reading and surface; they are stored with the corrections.

        Examples
        --------
        >>> converter = KanaKanjiConverter.build(["この 橋/はし を 渡る/わたる"])
        >>> converter.add_words([("はし", "端"), ("えぴ", "Epi")])
        >>> converter.convert("はし"), converter.convert("えぴをわたる"), len(converter.user_dictionary)
        ('端', 'Epiを渡る', 2)
        >>> converter.remove_words([("はし", "端")])
        >>> converter.convert("はし")
        '橋'
        """
        self.journal.set_words([*self.journal.words, *(Entry(*word) for word in words)])

    def remove_words(self, words: Iterable[tuple[str, str]]) -> None:
        """Remove words that :meth:`add_words` added."""
        gone = {Entry(*word) for word in words}
        for word in gone:
            if word not in self.journal.words:
                raise InputError(
                    f"{word.surface!r} read {word.reading!r} is no word of the user's dictionary"
                )
        self.journal.set_words([word for word in self.journal.words if word not in gone])

    def open_journal(self, path: str | PathLike[str]) -> None:
        """Use the corrections and words of a file of JSON lines; the model's own words stay."""
        journal = Journal.load(self.decoder, path, self.journal.lessons, self.rescorer)
        if self.journal.words:
            journal.set_words([*self.journal.words, *journal.words])
        self.journal = journal

    def undo(self) -> None:
        """Forget the last correction."""
        self.journal.pop()

    def adapt(
        self,
        text: Sentences | PathLike[str],
        dev: Sentences | PathLike[str] | None = None,
        method: str = "map-kn",
        callback: Callable[[str, float | None], bool | None] | None = None,
        **settings: float | None,
    ) -> KanaKanjiConverter:
        """Return a converter adapted to sentences of a domain (see :func:`epigram.ime.adapt.adapt`).

        ``text`` and ``dev`` are a :class:`~pathlib.Path`, or a list of strings or of lists of tokens.
        """
        from epigram.ime.adapt import adapt

        return adapt(self, text, dev, method, callback, **settings)

    def save(self, path: str | PathLike[str], *, quantise: bool = False, compress: bool = True) -> None:
        """Write a model file with the corrections; ``quantise`` makes it smaller.

        ``quantise`` stores the numbers of the language model in eight bits. Processes that load a file with
        ``compress=False`` share its memory.
        """
        from epigram.ime.storage import to_model_file

        to_model_file(self, quantise).save(path, compress)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> KanaKanjiConverter:
        """Read a model file."""
        from epigram.storage import load

        converter: KanaKanjiConverter = load(path, "ime")
        return converter
