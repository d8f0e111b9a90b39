"""Rising integers within groups as differences, and back: what the trees of a model file are packed as."""

from __future__ import annotations

import numpy as np

from epigram.errors import ModelFileError
from epigram.protocols import Ints


def differences(values: Ints, groups: np.ndarray) -> np.ndarray:
    """Each value less the one before it in its group (rising within groups); the first as it is.

    Examples
    --------
    >>> differences(np.array([3, 5, 1]), np.array([0, 0, 1])).tolist()
    [3, 2, 1]
    """
    out = np.diff(values.astype(np.int64), prepend=0)
    first = np.diff(groups, prepend=-1) != 0
    out[first] = values[first]
    return out


def summed(steps: np.ndarray, sizes: np.ndarray) -> Ints:
    """Undo :func:`differences`; ``sizes`` are the lengths of the groups.

    Examples
    --------
    >>> summed(np.array([3, 2, 1]), np.array([2, 1])).tolist()
    [3, 5, 1]
    """
    if sizes.sum() != steps.size:
        raise ModelFileError("damaged model file (its trees do not fit together)")
    total = np.cumsum(steps)
    starts = np.cumsum(sizes) - sizes
    before = np.where(starts > 0, total[np.maximum(starts - 1, 0)], 0)
    return np.asarray(total - np.repeat(before, sizes), dtype=np.int32)
