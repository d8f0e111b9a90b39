"""Weights saved on the way, so that a training whose process was killed goes on near where it was.

The solver's own memory is not saved: what is resumed reaches the same optimum, by another path.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from epigram.errors import InputError
from epigram.protocols import Floats, Iteration
from epigram.storage.file import write_atomically


@dataclass
class Checkpoint:
    """A file with the weights of a training so far.

    Parameters
    ----------
    path : the file; replaced whole or not at all.
    subject : what is trained on, such as the digest of a manifest; weights of another subject are refused.
    every : seconds between two saves.
    resume : start from the saved weights, where there are any.

    Examples
    --------
    >>> import tempfile
    >>> saved = Checkpoint(Path(tempfile.mkdtemp()) / "weights", "a corpus", every=0.0)
    >>> saved.keep(Iteration(1, 5.0, 2, 0.1, np.array([1.0, 2.0])))
    >>> Checkpoint(saved.path, "a corpus", resume=True).weights(2).tolist()
    [1.0, 2.0]
    """

    path: Path
    subject: str
    every: float = 60.0
    resume: bool = False
    _last: float = field(default_factory=time.monotonic, repr=False)

    def keep(self, iteration: Iteration) -> None:
        """Save the weights, if it is time."""
        if time.monotonic() - self._last < self.every:
            return
        content = io.BytesIO()
        np.savez(content, w=iteration.w, subject=np.array(self.subject))
        write_atomically(self.path, content.getvalue())
        self._last = time.monotonic()

    def weights(self, n_weights: int) -> Floats | None:
        """The saved weights to start from; None to start afresh."""
        if not self.resume or not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as saved:
                w, subject = np.asarray(saved["w"], dtype=np.float64), str(saved["subject"])
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(
                f"not a checkpoint ({error}); remove it to start afresh", path=self.path
            ) from None
        if subject != self.subject or w.shape != (n_weights,):
            raise InputError(
                "saved by a training of other data or settings; remove it to start afresh", path=self.path
            )
        return w

    def remove(self) -> None:
        """The training is done."""
        self.path.unlink(missing_ok=True)
