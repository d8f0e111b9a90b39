"""Reranker to and from a model file: the features of its path, the path, and its losses.

L1 norms and counts of non-zero weights follow from the path and are not stored.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from inspect import signature
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.rerank.features import FeatureSpace
from epigram.rerank.model import LEARNERS, Reranker
from epigram.rerank.paths import Curves, Tracker, Trial
from epigram.rerank.stagewise import BLasso, WeightPath
from epigram.storage import ModelFile, Section, pack_strings, unpack_strings
from epigram.storage.schema import Array, Maybe, Schema, damaged, strings

UNBOUNDED = ("path.alphas", "curves.dev_errors")  # alpha before the first step, errors without dev lists
LONGEST_GRAM = 64
KINDS = ("word", "head", "char")
RETIRED = ("ridge", "msr")
"""Learners of earlier versions, now in the papers' experiments: their models load with BLasso as learner."""
PARAMETERS = signature(Reranker).parameters
_STRINGS = ("vocabulary", "names", "headwords", "headword_tags")


def to_model_file(model: Reranker) -> ModelFile:
    """Convert a fitted reranker to header and arrays."""
    used = np.unique(model.path_.features).astype(np.int32)
    space = model.space_.subset(used)
    given = {name: getattr(model, name) for name in PARAMETERS}
    learner: Any = given.pop("learner") or BLasso()
    words = {name: given.pop(name) for name in ("headwords", "headword_tags")}
    strings = {
        "vocabulary": space.vocabulary,
        "names": space.names,
        **{name: sorted(value or ()) for name, value in words.items()},
    }
    tensors: dict[str, Any] = {
        **{f"{kind}_grams": space.grams(k) for k, kind in enumerate(KINDS)},
        "path.ptr": model.path_.ptr,
        "path.features": np.searchsorted(used, model.path_.features).astype(np.int32),
        "path.deltas": model.path_.deltas,
        "path.alphas": model.path_.alphas,
        "curves.losses": model.curves_.losses,
        "curves.dev_errors": model.curves_.dev_errors,
    }
    for name in _STRINGS:
        tensors[f"{name}.bytes"], tensors[f"{name}.lengths"] = pack_strings(strings[name])
    learner_name = next((name for name, kind in LEARNERS.items() if type(learner) is kind), None)
    if learner_name is None:
        raise InputError(
            f"a model file holds the learners {', '.join(LEARNERS)}, not {type(learner).__name__}; "
            "pickle the reranker instead"
        )
    header = {
        "settings": {
            "learner": learner_name,
            **asdict(learner),
            **given,
            **{name: value is not None for name, value in words.items()},
        },
        "fit": {
            "step": model.step_,
            "steps": len(model.path_),
            "base_weight": model.base_weight_,
            "loss": float(model.curves_.losses[model.step_]),
            "l1_norm": float(model.curves_.l1_norms[model.step_]),
            "nonzero": int(model.curves_.nonzeros[model.step_]),
            "dev_length": model.dev_length_,
            "held_out": model.n_held_out_,
            "least_lead": model.least_lead_,
            "chosen": asdict(model.learner_),  # type: ignore[call-overload]
            "trials": [asdict(trial) for trial in model.trials_],
        },
    }
    return ModelFile("reranker", header, tensors, UNBOUNDED)


SCHEMA = Schema(
    {
        "settings": {
            "learner": str,
            "ngrams": int,
            "min_count": int,
            "chars": int,
            "measure": str,
            "risk": float,
            "patience": (int, None),
            "held_out": Maybe(float),
            "headwords": bool,
            "headword_tags": bool,
        },
        "fit": {
            "step": int,
            "base_weight": float,
            "dev_length": (float, None),
            "held_out": Maybe(int),
            "chosen": Maybe(dict),
            "trials": Maybe([dict]),
        },
    },
    {
        **{name: array for kind in _STRINGS for name, array in strings(kind, kind).items()},
        "word_grams": Array(np.int32, ("word_grams", "word_order"), least=-1, below="vocabulary"),
        "head_grams": Array(np.int32, ("head_grams", "head_order"), least=-1, below="vocabulary"),
        "char_grams": Array(np.int32, ("char_grams", "char_order"), least=-1, below=sys.maxunicode + 1),
        "path.ptr": Array(np.int64, ("path",), offsets="moves"),
        "path.features": Array(np.int32, ("moves",), below="word_grams+head_grams+char_grams+names"),
        "path.deltas": Array(np.float64, ("moves",), most=1e8),
        "path.alphas": Array(np.float64, ("steps",), infinite="any"),
        "curves.losses": Array(np.float64, ("path",)),
        "curves.dev_errors": Array(np.float64, ("path",), infinite="any"),
    },
)


def from_model_file(file: ModelFile) -> Reranker:
    """Read a fitted reranker."""
    tensors = SCHEMA.read(file)
    if tensors["path.alphas"].size + 1 != tensors["path.ptr"].size:
        damaged("its path has another number of steps than of models")
    if any(tensors.sizes[f"{kind}_order"] > LONGEST_GRAM for kind in KINDS):
        damaged(f"n-grams of more than {LONGEST_GRAM} tokens")
    settings, fit = dict(file.header["settings"]), file.header["fit"]
    texts = {name: unpack_strings(tensors[f"{name}.bytes"], tensors[f"{name}.lengths"]) for name in _STRINGS}
    retired = settings["learner"] in RETIRED
    kind = BLasso if retired else LEARNERS[settings["learner"]]
    own = {name: settings.pop(name) for name in PARAMETERS if name in settings}
    own |= {name: texts[name] if own[name] else None for name in ("headwords", "headword_tags")}
    own["learner"] = kind() if retired else kind(**settings)
    model = Reranker(**{"held_out": 0.0, **own})
    model.space_ = FeatureSpace.from_grams(
        texts["vocabulary"],
        [tensors[f"{name}_grams"] for name in KINDS],
        texts["names"],
        model.headwords,
        model.headword_tags,
    )
    losses = tensors["curves.losses"]
    model.path_ = WeightPath(
        tensors["path.ptr"],
        tensors["path.features"],
        tensors["path.deltas"],
        losses[1:],
        tensors["path.alphas"],
    )
    model.base_weight_ = float(fit["base_weight"])
    model.dev_length_ = fit["dev_length"]
    model.learner_ = kind() if retired else kind(**fit.get("chosen", settings))
    model.trials_ = [Trial(**trial) for trial in fit.get("trials", [])]
    model.n_held_out_ = int(fit.get("held_out", 0))
    model.least_lead_ = float(fit.get("least_lead", 0.0))
    model.curves_ = _curves(model.space_, model.path_, losses[0], tensors["curves.dev_errors"])
    model.go_to(fit["step"])
    return model


def _curves(space: FeatureSpace, path: WeightPath, start_loss: float, dev_errors: Any) -> Curves:
    tracker = Tracker(space, 1.0, float(start_loss), None, "cer")
    tracker.follow(path)
    curves = tracker.curves
    return Curves(curves.losses, curves.l1_norms, curves.nonzeros, dev_errors)


def describe(file: ModelFile) -> list[Section]:
    """Strongest weights, and a dozen steps of the path."""
    model = from_model_file(file)
    strongest = np.argsort(-np.abs(model.weights_), kind="stable")[:20]
    weights = [(model.space_.name(int(k)), float(model.weights_[k])) for k in strongest if model.weights_[k]]
    curves, n = model.curves_, len(model.path_)
    steps = sorted({round(t) for t in np.linspace(0, n, 12)} | {model.step_})
    rows = [
        (
            int(t),
            float(curves.losses[t]),
            float(curves.l1_norms[t]),
            int(curves.nonzeros[t]),
            None if np.isnan(curves.dev_errors[t]) else float(curves.dev_errors[t]),
        )
        for t in steps
    ]
    return [
        Section("strongest weights", ("feature", "weight"), weights),
        Section("path", ("step", "loss", "l1_norm", "nonzero", "dev_errors"), rows),
    ]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every feature with a weight."""
    model = from_model_file(file)
    used = np.flatnonzero(model.weights_).tolist()
    return ("attribute", "weight"), ((model.space_.name(k), float(model.weights_[k])) for k in used)
