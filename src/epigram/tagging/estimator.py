"""What the estimators of this family share: labels in and out, templates by name, model files, held-out scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.estimator import check_fitted
from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.columns import Column
from epigram.tagging.layout import WeightLayout
from epigram.tagging.metrics import are_chunk_labels, evaluate_ids
from epigram.tagging.model import ChainModel, encode_sentences
from epigram.tagging.online import Online
from epigram.tagging.sequences import Sequences
from epigram.tagging.template import BUILT_IN, Template
from epigram.tagging.training import Scorer, checked_weights

Labels = Sequence[Sequence[str]] | Column
Decoder = Callable[[ChainModel, Sequences], Ints]


class SavableMixin:
    """A fitted estimator (``model_``, ``classes_``, ``history_``, ``fit_``) that can be a file."""

    model_: ChainModel
    _online: Online | None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file."""
        from epigram.tagging.storage import to_model_file

        to_model_file(self).save(path)

    def to_bytes(self) -> bytes:
        """The content of the model file."""
        from epigram.tagging.storage import to_model_file

        return to_model_file(self).to_bytes()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file."""
        from epigram.tagging.storage import load_as

        return load_as(cls, path=path)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the content of a model file."""
        from epigram.tagging.storage import load_as

        return load_as(cls, content=content)

    def _check(self) -> ChainModel:
        check_fitted(self, "model_")
        return self.model_

    def _extra_header(self) -> dict[str, Any]:
        """What a model file of this class holds beside the chain model."""
        return {}

    def _restore(self, model: ChainModel, header: dict[str, Any]) -> None:
        """Become the estimator a model file was made of."""
        from epigram.tagging.storage import setting

        known = self.get_params(deep=False)  # type: ignore[attr-defined]
        settings = {name: setting(value) for name, value in header["settings"].items() if name in known}
        if model.template is not None and settings.get("template") not in (*BUILT_IN, model.template.text):
            settings["template"] = model.template
        self.set_params(**settings)  # type: ignore[attr-defined]
        self.model_ = model
        self.classes_ = np.array(model.labels, dtype=object)
        self.history_ = header["history"]
        self.fit_ = header["fit"]
        self.n_features_ = header["fit"].get("features", 0)
        self._online = None


class SentenceInputMixin:
    """Tells scikit-learn that samples are sentences, not rows of a matrix."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def load_template(template: str | PathLike[str] | Template | None) -> Template | None:
    """A template object from what the estimators take."""
    if template is None or isinstance(template, Template):
        return template
    if isinstance(template, str) and ("%x[" in template or "\n" in template):
        return Template.parse(template)
    return Template.load(template)


def has_transitions(template: Template | None) -> bool:
    """False for a template without ``B`` lines: its tokens are labelled one by one."""
    return template is None or template.transitions or bool(template.edges)


def encode_labels(y: Labels, sequences: Sequences) -> tuple[npt.NDArray[Any], Ints]:
    """Sorted label names and one id per token; counts must match."""
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a list of labels per sentence"
        )
    if isinstance(y, Column):
        flat, ids = np.array(y.strings, dtype=object), y.ids
        if len(ids) != sequences.n_tokens:
            raise InputError(f"{len(ids)} labels for {sequences.n_tokens} tokens")
    else:
        sentences = [list(sentence) for sentence in y]
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        if len(lengths) != sequences.n_sentences:
            raise InputError(f"{len(lengths)} lists of labels for {sequences.n_sentences} sentences")
        wrong = np.flatnonzero(lengths != sequences.lengths)
        if len(wrong):
            s = int(wrong[0])
            raise InputError(f"sentence {s} has {sequences.lengths[s]} tokens, but {lengths[s]} labels")
        index: dict[str, int] = {}
        ids = np.array(
            [index.setdefault(str(label), len(index)) for sentence in sentences for label in sentence],
            dtype=np.int32,
        )
        flat = np.array(list(index), dtype=object)
    used = np.unique(ids)
    order = used[np.argsort(flat[used].astype(str), kind="stable")]
    new = np.empty(len(flat), dtype=np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    return flat[order], new[ids]


def split_labels(ids: Ints, sequences: Sequences, names: Sequence[str]) -> list[list[str]]:
    """Label names, sentence by sentence."""
    flat = [names[j] for j in ids.tolist()]
    bounds = sequences.sentence_ptr.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(bounds)]


def token_accuracy(
    model: ChainModel,
    predicted: Ints,
    y: Labels,
    sequences: Sequences,
    sample_weight: npt.ArrayLike | None,
) -> float:
    """Share of the tokens with the right label, sentences weighted."""
    classes, ids = encode_labels(y, sequences)
    right = np.array(model.labels, dtype=object)[predicted] == classes[ids]
    weights = checked_weights(sample_weight, sequences.n_sentences)
    per_token = np.ones(len(right)) if weights is None else np.repeat(weights, sequences.lengths)
    return float(right @ per_token / per_token.sum()) if per_token.any() else 0.0


def dev_scorer(
    dev: tuple[Any, Labels],
    template: Template | None,
    table: AttributeTable,
    classes: npt.NDArray[Any],
    decode: Decoder,
    ends: npt.NDArray[np.bool_] | None = None,
) -> Scorer:
    """F1 on the held-out sentences where labels are chunk labels, else accuracy."""
    sequences = encode_sentences(dev[0], template, table, grow=False)
    if not sequences.n_tokens:
        raise InputError("the held-out set has no tokens")
    names, ids = encode_labels(dev[1], sequences)
    everyone = [*classes.tolist(), *(name for name in names.tolist() if name not in set(classes.tolist()))]
    gold = np.array([everyone.index(name) for name in names.tolist()], dtype=np.int32)[ids]
    chunked = are_chunk_labels(everyone)

    def score(layout: WeightLayout, w: Floats) -> float:
        model = ChainModel(tuple(classes.tolist()), None, table, layout, w, ends)
        report = evaluate_ids(gold, decode(model, sequences), everyone, sequences.sentence_ptr)
        return report.overall.f1 if chunked else report.accuracy

    return score
