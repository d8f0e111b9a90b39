"""Which label may follow which: a chunk scheme by name, or a list of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from epigram.chain.chunks import may_follow
from epigram.errors import InputError
from epigram.features.sequences import Sequences
from epigram.protocols import Ints

Scheme = Literal["iob1", "iob2", "ioe2", "bioes"]
SCHEMES: tuple[str, ...] = get_args(Scheme)


def allowed_transitions(
    constrain: str | Iterable[tuple[str, str]] | None, labels: Sequence[str]
) -> npt.NDArray[np.bool_] | None:
    """Return the L x L matrix of permitted transitions, None if all are permitted.

    Parameters
    ----------
    constrain : ``"iob2"`` (``I-X`` only after ``B-X`` or ``I-X``), ``"bioes"``, ``"ioe2"``, ``"iob1"``, or the
        permitted pairs (label before, label).

    Examples
    --------
    >>> allowed_transitions("iob2", ["B-NP", "I-NP", "O"]).astype(int).tolist()
    [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    """
    if constrain is None:
        return None
    index = {label: k for k, label in enumerate(labels)}
    if isinstance(constrain, str):
        if constrain not in SCHEMES:
            raise ValueError(
                f"constrain must be one of {', '.join(SCHEMES)} or a list of label pairs, not {constrain!r}."
            )
        names = [str(label) for label in labels]
        return np.array([[may_follow(constrain, a, b) for b in names] for a in names])
    permitted = np.zeros((len(labels), len(labels)), dtype=bool)
    for before, after in constrain:
        for label in (before, after):
            if label not in index:
                raise ValueError(
                    f"constrain names the label {label!r}, which the training data does not have."
                )
        permitted[index[before], index[after]] = True
    return permitted


def allowed_ends(
    constrain: str | Iterable[tuple[str, str]] | None, labels: Sequence[str]
) -> npt.NDArray[np.bool_] | None:
    """2 x L: which labels may stand first, and last, in a sentence. Only the chunk schemes say.

    Examples
    --------
    >>> allowed_ends("iob2", ["B-NP", "I-NP", "O"]).astype(int).tolist()
    [[1, 0, 1], [1, 1, 1]]
    """
    if not isinstance(constrain, str):
        return None
    names = [str(label) for label in labels]
    first = [may_follow(constrain, "O", label) for label in names]
    return np.array([first, [may_follow(constrain, label, "O") for label in names]])


def check_permitted(
    sequences: Sequences,
    labels: Ints,
    classes: npt.NDArray[Any],
    allowed: npt.NDArray[np.bool_] | None,
    ends: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Refuse training labels that violate the constraint: their likelihood is zero."""
    if allowed is None:
        return
    if ends is not None:
        ptr = sequences.sentence_ptr
        full = np.flatnonzero(sequences.lengths > 0)
        for side, where, tokens in ((0, "first", ptr[full]), (1, "last", ptr[full + 1] - 1)):
            wrong = np.flatnonzero(~ends[side][labels[tokens]] & (labels[tokens] >= 0))
            if len(wrong):
                raise InputError(
                    f"sentence {full[wrong[0]]}: label {classes[labels[tokens[wrong[0]]]]!r} comes {where}, which "
                    "constrain forbids; correct the labels or leave constrain out"
                )
    before = sequences.tokens_before()
    after = np.flatnonzero(before >= 0)
    after = after[(labels[after] >= 0) & (labels[before[after]] >= 0)]
    broken = after[~allowed[labels[before[after]], labels[after]]]
    if len(broken):
        t = int(broken[0])
        s = int(np.searchsorted(sequences.sentence_ptr, t, side="right")) - 1
        raise InputError(
            f"sentence {s}: label {classes[labels[t]]!r} after {classes[labels[before[t]]]!r} is forbidden by "
            "constrain; correct the labels or leave constrain out"
        )
