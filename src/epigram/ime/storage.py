"""Converter to and from a model file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from epigram.ime import quantised
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.corrections import read_lesson
from epigram.ime.decoder import Decoder
from epigram.ime.kana import KANA_ROWS, LONGEST_READING
from epigram.ime.lexicon.dictionary_formats import Entry
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.unknown_words import CLASSES, UnknownWords
from epigram.ime.numbers import FORMS, NumberForms
from epigram.ime.scorer import Scorer, Tables
from epigram.ime.word_classes import LexicalClasses
from epigram.lm.ngram.storage import LARGEST_LOG, ngram_rows
from epigram.protocols import check_finite
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import narrow
from epigram.storage.schema import Array, Contents, Maybe, Schema, damaged

_RERANK = "rerank."
UNBOUNDED = {
    "lm.pair_logp",
    "lm.node_bow",
    "lm.gain",
    "lm.root",
    "lm.logp.books",
    "lm.bow.books",
    "characters.logp",
    "characters.bow",
    "characters.logp.books",
    "characters.bow.books",
}
"""A word may be impossible, and older files have gains that are not finite."""


def to_model_file(converter: KanaKanjiConverter, quantise: bool = False) -> ModelFile:
    """Convert to header and arrays; ``quantise`` stores log-probabilities in eight bits."""
    import json

    lexicon, scorer, unknown = converter.decoder.lexicon, converter.decoder.scorer, converter.decoder.unknown
    tensors: dict[str, Any] = {
        "surface.bytes": lexicon.surface_raw,
        "surface.lengths": narrow(np.diff(lexicon.surface_ptr)),
        "reading.chars": narrow(lexicon.reading_chars),
        "reading.lengths": narrow(np.diff(lexicon.reading_ptr)),
        "reading.sizes": narrow(np.diff(lexicon.reading_word)),
        **(quantised.pack(scorer) if quantise else _full(scorer)),
        "lm.word_class": narrow(scorer.word_class),
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
        "unknown_class": unknown.katakana_class,
        "user_words": [list(entry) for entry in converter.journal.words],
        "lessons": [json.dumps(asdict(lesson), ensure_ascii=False) for lesson in converter.journal.lessons],
    }
    if converter.card_:
        header["card"] = converter.card_
    if converter.rescorer is not None:
        tensors |= converter.rescorer.pack(quantise)
    unbounded = {name for name in tensors if name in UNBOUNDED}
    for name in sorted(unbounded):
        check_finite(name, np.where(np.isinf(tensors[name]), 0.0, tensors[name]))
    if converter.reranker is not None:
        from epigram.rerank.storage import to_model_file as pack

        inner = pack(converter.reranker)
        header["rerank"] = inner.header
        tensors |= {_RERANK + name: array for name, array in inner.tensors.items()}
        unbounded |= {_RERANK + name for name in inner.unbounded}
    return ModelFile("ime", header, tensors, unbounded)


def _full(scorer: Scorer) -> dict[str, Any]:
    """Arrays of the language model as the search uses them."""
    tables = {f"lm.{name}": array for name, array in scorer.tables._asdict().items()}
    return {**tables, "lm.node_pair": scorer.node_pair, "lm.gain": scorer.gain}


HEADER = {
    "settings": (dict, None),
    "fit": (dict, None),
    "start": int,
    "classes": Maybe([str]),
    "unknown_class": Maybe(int),
    "card": Maybe(dict),
    "numbers": Maybe({"logp": float, "shares": dict.fromkeys(FORMS, float), "classes": dict}),
    "user_words": Maybe([[str]]),
    "lessons": [str],
    "rerank": Maybe(dict),
    "texts": Maybe(dict),
}
COMMON = {
    "surface.bytes": Array(np.uint8, ("surface_bytes",)),
    "surface.lengths": Array(np.uint32, ("words",), total="surface_bytes"),
    "reading.chars": Array(np.int32, ("chars",), below=sys.maxunicode + 1),
    "reading.lengths": Array(np.uint32, ("readings",), below=LONGEST_READING + 1, total="chars"),
    "reading.sizes": Array(np.uint32, ("readings",)),
    "lm.word_class": Array(np.uint16, ("words",), optional=True),
    "lm.class_logp": Array(np.float32, ("classes", "classes"), optional=True),
    "unknown.class_logp": Array(np.float64, (len(CLASSES),), infinite="-"),
    "unknown.hiragana": Array(np.float64, (KANA_ROWS + 1, KANA_ROWS + 1), below=LARGEST_LOG, infinite="-"),
    "unknown.katakana": Array(np.float64, (KANA_ROWS + 1, KANA_ROWS + 1), below=LARGEST_LOG, infinite="-"),
}
FULL = {
    "lm.pair_ptr": Array(np.int64, ("nodes+1",), offsets="pairs"),
    "lm.pair_word": Array(np.int32, ("pairs",), below="words"),
    "lm.pair_logp": Array(np.float32, ("pairs",), infinite="-"),
    "lm.pair_next": Array(np.int32, ("pairs",), below="nodes"),
    "lm.node_parent": Array(np.int32, ("nodes",), least=-1, below="nodes"),
    "lm.node_bow": Array(np.float32, ("nodes",), infinite="-"),
    "lm.node_pair": Array(np.int64, ("nodes",), least=-1, below="pairs"),
    "lm.gain": Array(np.float32, ("nodes",), infinite="-"),
}
SCHEMA = Schema(HEADER, {**COMMON, **FULL})
QUANTISED = Schema(HEADER, {**COMMON, **quantised.ARRAYS})


def _classes(tensors: Contents, header: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    """Classes of words, transitions and names; files of earlier versions have none."""
    if "classes" in header:
        return tensors["lm.word_class"], tensors["lm.class_logp"], header["classes"]
    none = LexicalClasses.none(tensors.sizes["words"])
    return none.of_word, none.transitions.astype(np.float32), none.names


def from_model_file(file: ModelFile) -> KanaKanjiConverter:
    """The converter."""
    small, rescorer = "lm.logp.codes" in file.tensors, None
    tensors, header = (QUANTISED if small else SCHEMA).read(file), file.header
    names = ("surface.bytes", "surface.lengths", "reading.chars", "reading.lengths", "reading.sizes")
    lexicon = Lexicon(*(tensors[name] for name in names))
    classes = _classes(tensors, header)
    if small:
        scorer = quantised.unpack(tensors, *classes)
    else:
        tables = Tables(*(tensors[f"lm.{name}"] for name in Tables._fields))
        scorer = Scorer(tables, tensors["lm.node_pair"], tensors["lm.gain"], header["start"], *classes)
    if not scorer.fits:
        damaged("the arrays of the language model do not fit together")
    class_logp, hiragana, katakana = (
        tensors[f"unknown.{name}"] for name in ("class_logp", "hiragana", "katakana")
    )
    unknown = UnknownWords(class_logp, hiragana, katakana, header.get("unknown_class", 0))
    numbers = NumberForms(**header["numbers"]) if "numbers" in header else None
    if numbers is not None:
        if not all(type(c) is int and 0 <= c < scorer.n_classes for c in numbers.classes.values()):
            damaged("numbers are of a class of words that the model lacks")
        if not (numbers.logp <= 0 and all(0 < share <= 1 for share in numbers.shares.values())):
            damaged("the forms of numbers have shares that are no probabilities")
    decoder = Decoder(lexicon, scorer, unknown, numbers)
    lessons = [read_lesson(line) for line in header["lessons"]]
    words = [Entry(*entry) for entry in header.get("user_words", ())]
    reranker = None
    if "rerank" in header:
        from epigram.rerank.storage import from_model_file as unpack

        inner = {
            name[len(_RERANK) :]: array for name, array in file.tensors.items() if name.startswith(_RERANK)
        }
        reranker = unpack(ModelFile("reranker", header["rerank"], inner))
    if "characters.points" in file.tensors:
        from epigram.ime.rescoring import Rescorer

        rescorer = Rescorer.unpack(file.tensors)
    tensors.clear()
    settings, fit = header.get("settings"), header.get("fit")
    converter = KanaKanjiConverter(decoder, reranker, settings, fit, lessons, words, rescorer)
    converter.card_ = {str(name): str(value) for name, value in header.get("card", {}).items()}
    return converter


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
    if converter.rescorer is not None:
        sizes.append(("n-grams of characters", converter.rescorer.n_ngrams))
        sizes.append(("pairs of words", converter.rescorer.pairs.others.size))
    masses = [
        (name, float(np.exp(logp))) for name, logp in zip(CLASSES, decoder.unknown.class_logp, strict=True)
    ]
    card = list(converter.card_.items())
    sections = [
        *([Section("card", ("name", "value"), card)] if card else []),
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
    """Every n-gram of the language model, and every weight of the reranker."""
    converter = from_model_file(file)

    def rows() -> Iterator[tuple[Any, ...]]:
        reranker = converter.reranker
        for context, word, logp, _ in ngram_rows(converter.model):
            yield "language model", context, word, logp
        if reranker is not None:
            for k in np.flatnonzero(reranker.weights_).tolist():
                yield "reranker", reranker.space_.name(k), "", float(reranker.weights_[k])

    return ("part", "attribute", "label", "weight"), rows()
