"""Label encoding: names to integer ids, with sets of ids for labels that are known in part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError, each
from epigram.features.columns import Column
from epigram.features.sequences import Sequences
from epigram.files import check_text
from epigram.protocols import Ints

Labels: TypeAlias = Sequence[Sequence[Any]] | Column
"""The labels of sentences: a list per sentence, or the column of a file."""
Sets: TypeAlias = Mapping[tuple[int, ...], int]
"""Numbers of sets of label ids, in rising order; the empty one stands for all labels."""


def is_open(label: Any) -> bool:
    """Whether a label is partly known: a set or list of labels, or None."""
    return label is None or isinstance(label, set | frozenset | list | tuple)


LABEL_TYPES: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"False": False, "True": True}.__getitem__,
}
"""Types of labels, and how a label is read from its name in a model file."""


def plain_labels(labels: Iterable[Any]) -> list[Any]:
    """Return labels as Python strings, integers, floats or booleans; refuse mixed types.

    Examples
    --------
    >>> plain_labels([np.int64(3), 4])
    [3, 4]
    >>> plain_labels(["O", 1])
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: labels of several types, as 'O' (str) and 1 (int); give all of one type
    """
    found = list(labels)
    if set(map(type, found)) <= {str}:
        return found
    found = [_plain_label(label) for label in found]
    kinds = {type(label): label for label in reversed(found)}
    if len(kinds) > 1:
        shown = " and ".join(f"{label!r} ({kind.__name__})" for kind, label in reversed(kinds.items()))
        raise InputError(f"labels of several types, as {shown}; give all of one type")
    return found


def _plain_label(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    for kind in (str, bool, int, float):
        if isinstance(value, kind) and value == value:  # NaN is a label that is missing
            return kind(value)
    raise InputError(
        f"{label!r} ({type(label).__name__}) is no label; give strings, integers, floats or booleans"
    )


def check_lengths(labels: Sequence[Sequence[Any]], sequences: Sequences) -> None:
    """Refuse labels that do not match the numbers of sentences and tokens."""
    lengths, wanted = np.array([len(own) for own in labels], dtype=np.int64), sequences.word_lengths
    if len(lengths) != len(wanted):
        raise InputError(f"{len(lengths)} lists of labels for {len(wanted)} sentences")
    for s in np.flatnonzero(lengths != wanted)[:1].tolist():
        raise InputError(f"sentence {s} has {wanted[s]} tokens, but {lengths[s]} labels")


def encode_labels(y: Labels, sequences: Sequences) -> tuple[npt.NDArray[Any], Ints]:
    """The labels, sorted by name, and one id per token; counts must match."""
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a list of labels per sentence"
        )
    if isinstance(y, Column):
        flat, ids = np.array(y.strings, dtype=object), y.ids
        n_words = int(sequences.word_lengths.sum())
        if len(ids) != n_words:
            raise InputError(f"{len(ids)} labels for {n_words} tokens")
    else:
        sentences = [list(sentence) for sentence in y]
        check_lengths(sentences, sequences)
        for s, sentence in enumerate(sentences):
            if any(map(is_open, sentence)):
                raise InputError(
                    f"sentence {s} has labels that are known in part, which only the training of a CRFTagger takes"
                )
        index: dict[Any, int] = {}
        labels = plain_labels(label for sentence in sentences for label in sentence)
        ids = np.array([index.setdefault(label, len(index)) for label in labels], dtype=np.int32)
        check_text(map(str, index))
        flat = np.array(list(index), dtype=object)
    used = np.unique(ids)
    order = used[np.argsort(flat[used].astype(str), kind="stable")]
    new = np.empty(len(flat), dtype=np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    return flat[order], new[ids]


class LabelIndex(dict[Any, int]):
    """Numbers of labels by name, and of the sets of labels that tokens may have."""

    def __init__(self, names: Collection[Any] = (), sets: Sets | None = None) -> None:
        super().__init__((name, k) for k, name in enumerate(names))
        self.sets: dict[tuple[int, ...], int] = dict(sets or {})

    def number(self, names: Sequence[Any]) -> int:
        """The label of one name, or the set of several, or of none: any label."""
        ids = sorted({self[name] for name in names})
        return ids[0] if len(ids) == 1 else -1 - self.sets.setdefault(tuple(ids), len(self.sets))


def read_labels(y: Any, sequences: Sequences, index: LabelIndex, known: Collection[Any] = ()) -> Ints:
    """Return the label id of every token by ``index``, which grows; ``known`` are more labels.

    A label is a name; or, for tokens known in part, a set or list of names, or None.
    """
    if not isinstance(y, Column) and y is not None:
        y = [list(each(own, f"y[{s}]", "labels")) for s, own in enumerate(each(y, "y", "lists of labels"))]
        if any(is_open(label) for sentence in y for label in sentence):
            from epigram.chain.partial_labels import in_part

            return in_part(y, sequences, index, known)
    found, ids = encode_labels(y, sequences)
    for name in plain_labels([*index, *found.tolist(), *known])[len(index) :]:
        index.setdefault(name, len(index))
    return np.array([index[name] for name in found.tolist()], dtype=np.int32)[ids]
