"""Character error rate, sentence accuracy and oracle of conversions.

Normalised rates compare texts after NFKC, without spaces and with all kinds of quotation marks and commas merged, so
that converters with different conventions can be compared. Accuracy with variants takes words of one normal form of
SudachiDict (行う and 行なう) for the same; without SudachiPy it is None.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from epigram.errors import InputError
from epigram.ime.converter import N_BEST, KanaKanjiConverter
from epigram.ime.kana import split_token, sudachi
from epigram.rerank.nbest import edit_distance

_QUOTES = "「」『』“”‘’\"'`´｢｣〝〟"
_STOPS = {"，": "、", ",": "、", "､": "、", "．": "。", "｡": "。"}
_MERGED = str.maketrans({**dict.fromkeys(_QUOTES, "「"), **_STOPS})


@dataclass(frozen=True)
class Scores:
    """Error rates in percent."""

    sentences: int
    characters: int
    cer: float
    cer_normalised: float
    sentence_accuracy: float
    accuracy_with_variants: float | None
    oracle_cer: float | None
    sentences_per_second: float

    def record(self) -> dict[str, float | int | None]:
        """Rates as a dictionary, for tables and JSON."""
        return asdict(self)


def normalise(text: str) -> str:
    """Normalise a text for the normalised error rate.

    Examples
    --------
    >>> normalise("『ＡＢ』， ｶﾞ")
    '「AB「、ガ'
    """
    return "".join(unicodedata.normalize("NFKC", text.translate(_MERGED)).translate(_MERGED).split())


def evaluate(
    converter: KanaKanjiConverter,
    sentences: Sequence[Sequence[str]],
    k: int = N_BEST,
    tick: Callable[[], object] | None = None,
) -> Scores:
    """Convert the readings of tokenised sentences and rate them; no oracle if ``k`` < 2.

    Examples
    --------
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし", "箸/はし"])
    >>> scores = evaluate(converter, [["箸/はし"], ["橋/はし"]])
    >>> scores.cer, scores.sentence_accuracy, scores.oracle_cer
    (50.0, 50.0, 0.0)
    """
    if not sentences:
        raise InputError("no sentences to evaluate on")
    normal = with_normal_forms()
    pairs = [split_sentence(tokens) for tokens in sentences]
    began = time.process_time()
    texts = []
    for reading, _ in pairs:
        texts.append(converter.convert(reading))
        if tick is not None:
            tick()
    seconds = time.process_time() - began
    errors = np.array([edit_distance(text, surface) for text, (_, surface) in zip(texts, pairs, strict=True)])
    wanted = [normalise(surface) for _, surface in pairs]
    normalised = [edit_distance(normalise(text), want) for text, want in zip(texts, wanted, strict=True)]
    length, alike = sum(len(surface) for _, surface in pairs), None
    if normal is not None:
        same = [
            text == want or normal(text) == normal(want) for text, (_, want) in zip(texts, pairs, strict=True)
        ]
        alike = 100 * sum(same) / len(same)
    oracle = None
    if k > 1:
        oracle = sum(
            min(edit_distance(way.text, surface) for way in converter.nbest(reading, k))
            for reading, surface in pairs
        )
    return Scores(
        len(pairs),
        length,
        100 * float(errors.sum()) / length,
        100 * sum(normalised) / max(sum(len(want) for want in wanted), 1),
        100 * float((errors == 0).mean()),
        alike,
        None if oracle is None else 100 * oracle / length,
        len(pairs) / max(seconds, 1e-9),
    )


def with_normal_forms() -> Callable[[str], str] | None:
    """Function that writes words in SudachiDict's normal form; None without SudachiPy."""
    try:
        tokenizer = sudachi().tokenizer("A")
    except InputError:
        return None
    return lambda text: "".join(word.normalized_form() for word in tokenizer.tokenize(text))


def split_sentence(tokens: Sequence[str]) -> tuple[str, str]:
    """Reading and surface of a tokenised sentence."""
    pieces = [split_token(token) for token in tokens]
    return "".join(reading for _, reading in pieces), "".join(surface for surface, _ in pieces)
