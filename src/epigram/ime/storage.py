"""Write a converter to a model file and read it: lexicon, trigram tables, unknown words, reranker, corrections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.ime.classes import WordClasses
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.corrections import read_lesson
from epigram.ime.decoder import Decoder
from epigram.ime.dictionaries import Entry
from epigram.ime.lexicon import Lexicon
from epigram.ime.numbers import NumberForms
from epigram.ime.trigram import Scorer, Tables
from epigram.ime.unknown import CLASSES, UnknownWords
from epigram.lm.ngram.storage import ngram_rows
from epigram.protocols import check_finite
from epigram.storage import ModelFile, Section

_RERANK = "rerank."


def to_model_file(converter: KanaKanjiConverter) -> ModelFile:
    """A converter as header and arrays."""
    import json

    lexicon, scorer, unknown = converter.decoder.lexicon, converter.decoder.scorer, converter.decoder.unknown
    tensors: dict[str, Any] = {
        "surface.bytes": lexicon.surface_raw,
        "surface.lengths": np.diff(lexicon.surface_ptr).astype(np.uint32),
        "reading.chars": lexicon.reading_chars,
        "reading.lengths": np.diff(lexicon.reading_ptr).astype(np.uint32),
        "reading.sizes": np.diff(lexicon.reading_word).astype(np.uint32),
        **{f"lm.{name}": array for name, array in scorer.tables._asdict().items()},
        "lm.node_pair": scorer.node_pair,
        "lm.gain": scorer.gain,
        "lm.word_class": scorer.word_class,
        "lm.class_logp": scorer.class_logp,
        "unknown.class_logp": unknown.class_logp,
        "unknown.hiragana": unknown.hiragana,
        "unknown.katakana": unknown.katakana,
    }
    header: dict[str, Any] = {
        "settings": converter.settings,
        "fit": converter.fit_,
        "start": scorer.start,
        "numbers": asdict(converter.decoder.numbers),
        "classes": scorer.class_names,
        "user_words": [list(entry) for entry in converter.journal.words],
        "lessons": [json.dumps(asdict(lesson), ensure_ascii=False) for lesson in converter.journal.lessons],
    }
    unbounded = {"lm.pair_logp", "lm.node_bow", "lm.gain"}  # a word may be impossible; gains of older files
    for name in sorted(unbounded):
        check_finite(name, np.where(np.isinf(tensors[name]), 0.0, tensors[name]))
    if converter.reranker is not None:
        from epigram.rerank.storage import to_model_file as pack

        inner = pack(converter.reranker)
        header["rerank"] = inner.header
        tensors |= {_RERANK + name: array for name, array in inner.tensors.items()}
        unbounded |= {_RERANK + name for name in inner.unbounded}
    return ModelFile("ime", header, tensors, unbounded)


def from_model_file(file: ModelFile) -> KanaKanjiConverter:
    """The converter."""
    tensors, header = file.tensors, file.header
    names = ("surface.bytes", "surface.lengths", "reading.chars", "reading.lengths", "reading.sizes")
    try:
        lexicon = Lexicon(*(tensors[name] for name in names))
        tables = Tables(*(tensors[f"lm.{name}"] for name in Tables._fields))
        classes = WordClasses.none(len(lexicon)) if "classes" not in header else None
        scorer = Scorer(
            tables, tensors["lm.node_pair"], tensors["lm.gain"], int(header["start"]),
            *(
                (tensors["lm.word_class"], tensors["lm.class_logp"], list(header["classes"]))
                if classes is None
                else (classes.of_word, classes.transitions.astype(np.float32), classes.names)
            ),
        )  # fmt: skip
        if not scorer.fits:
            raise InputError("the arrays of the language model do not fit together")
        unknown = UnknownWords(
            *(tensors[f"unknown.{name}"] for name in ("class_logp", "hiragana", "katakana"))
        )
        numbers = NumberForms(**header["numbers"]) if "numbers" in header else None
        if numbers is not None and not all(0 <= c < scorer.n_classes for c in numbers.classes.values()):
            raise InputError("numbers are of a class of words that the model lacks")
        decoder = Decoder(lexicon, scorer, unknown, numbers)
        lessons = [read_lesson(line) for line in header["lessons"]]
        words = [Entry(str(reading), str(surface)) for reading, surface in header.get("user_words", ())]
    except (ValueError, TypeError, IndexError) as error:
        raise ModelFileError(f"damaged converter model ({error})") from error
    reranker = None
    if "rerank" in header:
        from epigram.rerank.storage import from_model_file as unpack

        inner = {name[len(_RERANK) :]: array for name, array in tensors.items() if name.startswith(_RERANK)}
        reranker = unpack(ModelFile("reranker", header["rerank"], inner))
    return KanaKanjiConverter(decoder, reranker, header.get("settings"), header.get("fit"), lessons, words)


def describe(file: ModelFile) -> list[Section]:
    """Sizes, unknown words, the reranker's strongest weights, corrections."""
    converter = from_model_file(file)
    decoder = converter.decoder
    sizes: list[tuple[Any, ...]] = [
        ("words", len(decoder.lexicon) - 1),
        ("readings", decoder.lexicon.reading_ptr.size - 1),
        ("n-grams", decoder.scorer.tables.pair_word.size),
        ("contexts", decoder.scorer.node_pair.size),
        ("corrections", len(converter.journal.lessons)),
    ]
    masses = [
        (name, float(np.exp(logp))) for name, logp in zip(CLASSES, decoder.unknown.class_logp, strict=True)
    ]
    sections = [
        Section("sizes", ("what", "number"), sizes),
        Section("unknown words", ("class", "probability"), masses),
    ]
    if converter.reranker is not None:
        from epigram.rerank.storage import describe as describe_reranker
        from epigram.rerank.storage import to_model_file as pack

        sections += describe_reranker(pack(converter.reranker))
    lessons = [(lesson.reading, lesson.chosen) for lesson in converter.journal.lessons[-20:]]
    return [*sections, Section("last corrections", ("reading", "text"), lessons)] if lessons else sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every n-gram of the language model (words with their readings), and every weight of the reranker."""
    converter = from_model_file(file)

    def rows() -> Iterator[tuple[Any, ...]]:
        reranker = converter.reranker
        for context, word, logp, _ in ngram_rows(converter.model):
            yield "language model", context, word, logp
        if reranker is not None:
            for k in np.flatnonzero(reranker.weights_).tolist():
                yield "reranker", reranker.space_.name(k), "", float(reranker.weights_[k])

    return ("part", "attribute", "label", "weight"), rows()
