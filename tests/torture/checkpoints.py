"""Checkpoints of every kind of training: how one is made, resumed, and altered with a correct checksum."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from test_resuming import TRAINERS, Dying, Killed

from epigram.checkpoint import MAGIC, SIZES, Checkpoint, _sum_of

KINDS = [
    "sgd, no dial", "adagrad", "owlqn", "lbfgs", "fista", "l2sgd", "perceptron", "passive", "arow",
    "parser", "log-linear", "few classes", "shards", "blasso", "boosting, tuned", "rank perceptron",
    "build", "adapt",
]  # fmt: skip


def make(folder: Path) -> list[Path]:
    """Write a checkpoint of every kind, as a process leaves it that is killed; a file is named by its training."""
    return [path for kind in KINDS for path in make_kind(folder, kind)]


def make_kind(folder: Path, kind: str) -> list[Path]:
    """Write the first checkpoint of a training and one from its middle."""
    train = TRAINERS[kind]
    home = folder / f"home of {kind}"
    home.mkdir(parents=True)
    with Dying(home / "counted", every=0.0) as counted:
        train(home / "model")
    n_writes = 10**9 - counted.lives
    paths = []
    for at in sorted({1, (n_writes + 1) // 2}):
        paths.append(folder / f"{kind}.{at}.checkpoint")
        dying = Dying(paths[-1], every=0.0)
        dying.lives = at
        with suppress(Killed), dying:
            train(home / "model")
    return paths


def use(path: Path) -> None:
    """Resume a training of the kind that the file's name says; no file is changed."""
    home = path.with_name(f"home of {path.name.split('.')[0]}")
    home.mkdir(exist_ok=True)
    with Checkpoint(path, every=float("inf"), resume=True):
        TRAINERS[path.name.split(".")[0]](home / "model")


def seal(header: dict[str, Any], arrays: bytes) -> bytes:
    """A checkpoint with a correct checksum."""
    content = json.dumps(header).encode()
    rest = content + arrays
    return MAGIC + SIZES.pack(_sum_of(len(content), rest), len(content)) + rest


def unseal(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and arrays of a checkpoint."""
    start = len(MAGIC) + SIZES.size
    _, length = SIZES.unpack(content[len(MAGIC) : start])
    return json.loads(content[start : start + length]), content[start + length :]


def alter(content: bytes, rng: Random) -> bytes:
    """Change numbers, kinds, shapes or fields, and seal the result anew."""
    header, raw = unseal(content)
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5))):
        rng.choice((_alter_number, _alter_number, _alter_shape, _alter_field, _alter_field))(
            header, changed, rng
        )
    return seal(header, bytes(changed))


NUMBERS = (
    0,
    1,
    -1,
    2,
    255,
    2**31 - 1,
    -(2**31),
    2**40,
    2**62,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    0.5,
)
VALUES = (*NUMBERS, None, "x", "", [], {}, [1, 2, 3], True, [[]], {"a": 1})


def _alter_number(header: dict[str, Any], raw: bytearray, rng: Random) -> None:
    """Put an extreme number into an array."""
    at = 0
    places = []
    for kind, shape in header["arrays"].values():
        size = int(np.prod(shape)) if all(isinstance(one, int) for one in shape) else 0
        n_bytes = size * np.dtype(kind).itemsize
        if 0 < n_bytes <= len(raw) - at:
            places.append((kind, at, size))
        at += max(n_bytes, 0)
    if not places:
        return
    kind, at, size = rng.choice(places)
    dtype = np.dtype(kind)
    with np.errstate(all="ignore"):
        number = np.array([rng.choice(NUMBERS)]).astype(np.float64 if dtype.kind == "f" else object)
        try:
            put = number.astype(dtype).tobytes()
        except (OverflowError, ValueError, TypeError):
            put = np.array([-1], dtype.str.replace("u", "i").replace("b", "i")).tobytes()
    k = rng.choice((0, size - 1, rng.randrange(size)))
    raw[at + k * dtype.itemsize : at + (k + 1) * dtype.itemsize] = put


def _alter_shape(header: dict[str, Any], raw: bytearray, rng: Random) -> None:
    """Give an array another kind, or more or fewer numbers, with the bytes to match."""
    if not header["arrays"]:
        return
    name = rng.choice(list(header["arrays"]))
    kind, shape = header["arrays"][name]
    if rng.random() < 0.3:
        header["arrays"][name] = [rng.choice(["<f8", "<i8", "<i4", "<f4", "|O", "|u1"]), shape]
        return
    at = 0
    for other, (its_kind, its_shape) in header["arrays"].items():
        n_bytes = int(np.prod(its_shape)) * np.dtype(its_kind).itemsize
        if other == name:
            break
        at += n_bytes
    new = [rng.choice((0, 1, size // 2, size + 1, 2 * size, max(size - 1, 0))) for size in shape]
    put = bytes(raw[at : at + n_bytes]) * 3 or bytes(64)
    wanted = int(np.prod(new)) * np.dtype(kind).itemsize
    raw[at : at + n_bytes] = (put * (wanted // max(len(put), 1) + 1))[:wanted]
    header["arrays"][name] = [kind, new]


def _alter_field(header: dict[str, Any], raw: bytearray, rng: Random) -> None:
    """Replace, remove or add a value somewhere in the header's entries."""
    node: Any = header["entries"]
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            return
        key = rng.choice(list(keys))
        inner = node[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            node = inner
            continue
        if rng.random() < 0.15:
            del node[key]
        else:
            node[key] = deepcopy(rng.choice(VALUES))
        return


def outcome(path: Path) -> str:
    """``read``, ``refused``, or what is wrong."""
    from epigram.errors import EpigramError

    try:
        with np.errstate(all="ignore"):
            use(path)
    except EpigramError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def main(seed: str, first: int, last: int, folder: Path) -> None:
    """Resume from altered checkpoints ``first`` to ``last``; say each before it, for a process that may die of it."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    healthy = {path: path.read_bytes() for path in sorted(folder.glob("*.checkpoint"))}
    for case in range(first, last):
        path = list(healthy)[case % len(healthy)]
        altered = folder / "altered" / path.name
        altered.parent.mkdir(exist_ok=True)
        altered.write_bytes(alter(healthy[path], Random(f"{seed} {case}")))
        print(f"> {case} {path.name}", flush=True)
        print(f"{outcome(altered)}", flush=True)


if __name__ == "__main__":
    import sys

    home = Path(sys.argv[4])
    if not home.exists():
        home.mkdir()
        make(home)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), home)
