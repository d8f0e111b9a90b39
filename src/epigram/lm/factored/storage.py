"""Class-factored models in model files: the classes of words, and the trees of both parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts
from epigram.lm.factored.loss import PARTS, Factor
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.penalties import Strength, named
from epigram.lm.storage import (
    FAMILY,
    IN_PLACE,
    Rows,
    check_unknown,
    pack_text,
    pack_words,
    settings_of,
    unpack_text,
    unpack_words,
    with_solver,
)
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import narrow
from epigram.storage.schema import Array, Maybe, Schema, damaged

LONGEST_CONTEXT = 1000
"""Words back that contexts of a file may reach."""
SCHEMA = Schema(
    {
        "settings": {"class_contexts": str, "word_contexts": str, "classes": int},
        "fit": Maybe({"unknown": Maybe(float)}),
    },
    {"class_of": Array(np.int64, ("words",), below="words")},
)


def to_model_file(
    model: ClassFactoredLM, bits: int, fit: dict[str, Any], text: bool, compress: bool
) -> ModelFile:
    """A fitted model as header and arrays; ``fit`` adds to the header, ``text`` keeps the text."""
    model.check_fitted()
    settings = {
        "model": "factored",
        **settings_of(model),
        "penalty": named(model.penalty)[0],
        "classes": model.classes_.n_classes,
        "class_contexts": str(model.class_model_.contexts),
        "word_contexts": str(model.word_model_.contexts),
        "class_strength": asdict(model.class_strength_),
        "word_strength": asdict(model.word_strength_),
        "bits": bits,
    }
    names = ("objective_", "n_iter_", "n_parameters_", "valid_perplexity_")
    found = {name.rstrip("_"): getattr(model, name) for name in names if hasattr(model, name)}
    tensors = {**pack_words(model.known_vocabulary_), "class_of": narrow(model.classes_.class_of)}
    for part, scorer in zip(PARTS, (model.class_model_, model.word_model_), strict=True):
        if compress:
            tensors |= {f"{part}.{name}": tensor for name, tensor in scorer.tensors(bits).items()}
        else:
            tensors |= {f"{part}.{IN_PLACE}{name}": array for name, array in scorer.in_place().items()}
    if text and hasattr(model, "corpus_"):
        tensors |= pack_text(model.corpus_)
    given = {"unknown": model.unknown_, "text_digest": model.text_digest_}
    found |= {name: value for name, value in given.items() if value}
    header = {"settings": settings, "fit": {**found, "nonzero": model.n_nonzero_, **fit}}
    return ModelFile(FAMILY, header, tensors, [name for name in tensors if IN_PLACE in name])


def from_model_file(file: ModelFile) -> ClassFactoredLM:
    """The fitted model of a file."""
    vocabulary = unpack_words(file.tensors)
    found = SCHEMA.read(file, words=len(vocabulary))
    settings, class_of = file.header["settings"], found["class_of"].astype(np.int32)
    classes, models, strengths = WordClasses(vocabulary, class_of), [], []
    n_symbols = int(class_of.max()) + 1 + len(vocabulary)
    for part in PARTS:
        contexts = Contexts.parse(settings[f"{part}_contexts"])
        if contexts.n_words > LONGEST_CONTEXT:
            damaged(f"contexts of {contexts.n_words:,} words")
        in_place = f"{part}.{IN_PLACE}"
        if f"{in_place}choices" in file.tensors:
            models.append(FactorScorer.use_in_place(contexts, file.tensors, in_place, n_symbols))
        else:
            models.append(FactorScorer.from_tensors(contexts, file.tensors, f"{part}.", n_symbols))
        if not np.array_equal(models[-1].n_candidates, Factor(part, classes, contexts).n_candidates):
            damaged("classes and weights do not fit together")
        given = settings.get(f"{part}_strength") or settings[f"{part}_price"]  # its name in older files
        strengths.append(Strength(**{"depth_weights": "groups", **given}))
    known = ClassFactoredLM().get_params()
    own = {name: value for name, value in with_solver(settings).items() if name in known}
    model = ClassFactoredLM(**{**own, "class_strength": strengths[0], "word_strength": strengths[1]})
    model.restore(classes, models, strengths, unpack_text(file.tensors, vocabulary))
    model.open_vocabulary = settings.get("open_vocabulary", False)
    fit = file.header.get("fit", {})
    check_unknown(fit, vocabulary)
    for name, value in fit.items():
        if name in ("objective", "n_iter", "n_parameters", "valid_perplexity", "unknown", "text_digest"):
            setattr(model, f"{name}_", value)
    return model


def describe(file: ModelFile) -> list[Section]:
    """Weights of each part by tree and depth, the heaviest, and the most frequent classes."""
    model = from_model_file(file)
    sections = []
    for part, scorer in zip(PARTS, (model.class_model_, model.word_model_), strict=True):
        depth, tree = scorer.depth, scorer.tree_of
        per_pair = np.repeat(np.arange(depth.size), np.diff(scorer.pair_ptr))
        rows: list[tuple[str, int, int, float]] = []
        for k, symbols in enumerate(scorer.contexts.trees):
            for d in range(len(symbols) + 1):
                mine = (tree[per_pair] == k) & (depth[per_pair] == d)
                name = " ".join(f"{kind}{lag}" for kind, lag in symbols[:d]) or "(none)"
                rows.append((name, d, int(mine.sum()), float(np.abs(scorer.w[mine]).sum())))
        sections.append(
            Section(f"weights of the {part} part", ("context", "depth", "not zero", "sum of sizes"), rows)
        )
        heaviest = [
            (context, _candidate(model, part, root, chosen), w)
            for context, root, chosen, w in scorer.heaviest(10, model.symbol_name)
        ]
        sections.append(Section(f"heaviest of the {part} part", ("context", part, "weight"), heaviest))
    classes = [
        (k, " ".join(model.classes_.words(k)[:8])) for k in range(1, min(11, model.classes_.n_classes))
    ]
    return [*sections, Section("most frequent classes", ("class", "words"), classes)]


def weights(file: ModelFile) -> Rows:
    """Every weight below the roots: its part, its context, and its class or word."""
    model = from_model_file(file)

    def rows() -> Iterator[tuple[Any, ...]]:
        for part, scorer in zip(PARTS, (model.class_model_, model.word_model_), strict=True):
            for context, root, chosen, w in scorer.heaviest(scorer.w.size, model.symbol_name):
                if w:
                    yield part, context, _candidate(model, part, root, chosen), w

    return ("part", "attribute", "label", "weight"), rows()


def _candidate(model: ClassFactoredLM, part: str, root: int, chosen: int) -> str:
    return model.class_name(chosen) if part == "class" else model.classes_.words(root)[chosen]
