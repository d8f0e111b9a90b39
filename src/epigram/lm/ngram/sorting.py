"""External sorting: records in memory or in files, sorted runs, and their merge.

One implementation serves both: without a folder everything stays in memory and there is one run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError, reason

Records = npt.NDArray[np.uint64]
BLOCK = 1 << 16
"""Records that are handed on together."""
LEAST_RUN, LEAST_ROOM = 1 << 16, 1 << 10
"""Words of the smallest run, and records of the smallest buffer of a run that is merged."""


class Spool:
    """Arrays of one type that are appended, and read back as often as needed.

    They come back in the blocks in which they were appended.

    Parameters
    ----------
    dtype : type of the numbers.
    path : file that holds them; None keeps them in memory.
    sizes : numbers in each block of a file that is there already.

    Examples
    --------
    >>> spool = Spool(np.int32)
    >>> spool.append(np.arange(3))
    >>> spool.append(np.arange(2))
    >>> len(spool), [block.tolist() for block in spool.blocks()]
    (5, [[0, 1, 2], [0, 1]])
    """

    def __init__(
        self, dtype: npt.DTypeLike, path: Path | None = None, sizes: list[int] | None = None
    ) -> None:
        self.dtype, self.path, self.sizes = np.dtype(dtype), path, sizes or []
        self._blocks: list[npt.NDArray[Any]] = []
        self._file = None if path is None or sizes is not None else path.open("wb", buffering=1 << 20)

    def __len__(self) -> int:
        return sum(self.sizes)

    def append(self, block: npt.NDArray[Any]) -> None:
        """Keep a copy of a block."""
        block = np.array(block, self.dtype, order="C")
        if self._file is None:
            self._blocks.append(block)
        else:
            try:
                self._file.write(block.data if block.size else b"")
            except OSError as error:
                raise InputError(f"cannot write: {reason(error)}", path=self.path) from error
        self.sizes.append(block.size)

    def close(self) -> None:
        """Write what is buffered; nothing is appended any more."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                raise InputError(f"cannot write: {reason(error)}", path=self.path) from error

    def blocks(self, remove: bool = False) -> Iterator[npt.NDArray[Any]]:
        """The blocks in order; with ``remove`` none is left after."""
        if self.path is None:
            kept = self._blocks
            if remove:
                self._blocks, self.sizes = [], []
                kept.reverse()
                while kept:
                    yield kept.pop()
            else:
                yield from kept
            return
        self.close()
        with self.path.open("rb", buffering=0) as file:
            at = 0
            for size in self.sizes:
                yield read_numbers(file, at, size, self.dtype, ahead=True)
                at += size * self.dtype.itemsize
        if remove:
            self.remove()

    def array(self) -> npt.NDArray[Any]:
        """All numbers in memory."""
        return np.concatenate([np.empty(0, self.dtype), *self.blocks()])

    def remove(self) -> None:
        """Drop everything."""
        self.close()
        self._blocks, self.sizes = [], []
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def read_numbers(
    file: Any, at: int, size: int, dtype: np.dtype[Any], ahead: bool = False
) -> npt.NDArray[Any]:
    """Numbers of an open file; ``ahead`` has the system read the next block meanwhile."""
    block = np.empty(size, dtype)
    rest = memoryview(block.data).cast("B") if size else memoryview(b"")
    file.seek(at)
    while rest:
        if not (read := file.readinto(rest)):
            raise InputError("a temporary file was cut while in use", path=file.name)
        rest = rest[read:]
    if ahead and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), at + block.nbytes, block.nbytes, os.POSIX_FADV_WILLNEED)
    return block


def sort_records(
    blocks: Iterator[Records],
    n: int,
    width: int,
    n_bits: int,
    memory: int,
    folder: Path | None = None,
    combine: Callable[[int, Records], int] | None = None,
) -> Iterator[Records]:
    """Sort at most ``n`` records of ``width`` words by their first bits; yield blocks.

    Records beyond ``memory`` bytes (with what sorting needs) go to runs in files of ``folder``. ``combine`` joins equal
    neighbours of a run and returns how many records it left.

    Examples
    --------
    >>> blocks = iter([np.array([3, 1], np.uint64), np.array([2], np.uint64)])
    >>> [block.tolist() for block in sort_records(blocks, 3, 1, 64, 1 << 20)]
    [[1, 2, 3]]
    """
    room = max(n if folder is None else min(n, max(memory // (16 * width), LEAST_RUN // width)), 1)
    buffer, scratch = np.empty(room * width, np.uint64), np.empty(room * width, np.uint64)
    runs: list[Spool] = []

    def sort(filled: int) -> Records:
        bindings.sorting_sort(width, filled, n_bits, buffer, scratch)
        left = filled if combine is None else combine(filled, buffer)
        return buffer[: left * width]

    def spill(filled: int) -> None:
        assert folder is not None
        run = Spool(np.uint64, folder / f"run{len(runs)}")
        run.append(sort(filled))
        run.close()
        runs.append(run)

    filled = 0
    for block in blocks:
        at = 0
        while at < block.size:
            if filled == room:
                spill(filled)
                filled = 0
            step = min(block.size - at, (room - filled) * width)
            buffer[filled * width : filled * width + step] = block[at : at + step]
            filled, at = filled + step // width, at + step
    if runs:
        spill(filled)
        buffer = scratch = np.empty(0, np.uint64)
        yield from _merge(runs, width, memory)
        return
    ordered = sort(filled)
    scratch = np.empty(0, np.uint64)
    for at in range(0, ordered.size, BLOCK * width):
        yield ordered[at : at + BLOCK * width]


def _merge(runs: list[Spool], width: int, memory: int) -> Iterator[Records]:
    """Merge runs, each a file of one block, and remove them."""
    room = max(memory // (16 * width * len(runs)), LEAST_ROOM)
    heads, out = np.empty(len(runs) * room * width, np.uint64), np.empty(BLOCK * width, np.uint64)
    sizes = [len(run) // width for run in runs]
    read, at, ends = [0] * len(runs), np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    is_open = np.ones(len(runs), np.uint8)
    with ExitStack() as stack:
        files = []
        for run in runs:
            assert run.path is not None
            files.append(stack.enter_context(run.path.open("rb", buffering=0)))
            stack.callback(run.remove)
        while True:
            for k in np.flatnonzero((at == ends) & (is_open == 1)).tolist():
                step = min(room, sizes[k] - read[k])
                block = read_numbers(
                    files[k], 8 * width * read[k], step * width, np.dtype(np.uint64), ahead=True
                )
                first = k * room
                heads[first * width : first * width + block.size] = block
                read[k] += step
                at[k], ends[k], is_open[k] = first, first + step, read[k] < sizes[k]
            written = bindings.sorting_merge(width, heads.size // width, heads, at, ends, is_open, BLOCK, out)
            if written < 0:
                raise MemoryError("no memory to merge the runs of a sort")
            if written:
                yield out[: written * width]
            elif not is_open.any():
                return
