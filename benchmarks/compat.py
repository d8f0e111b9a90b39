"""Other programs' classes on our core against the originals: training and tagging from dicts, in the same run.

Features are made before the clock starts, as users of sklearn-crfsuite write them; one thread, CPU seconds, the best of
three runs for tagging. Training includes reading the dicts (``append``). Other living CRF libraries stand beside where
they are installed. Memory is what training adds to a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _bars import Claims
from _crfsuite import Part, conll2000, jnlpba

OURS, THEIRS = "epigram.compat.pycrfsuite", "pycrfsuite"
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "lbfgs c1=c2=0.1, 100 iterations": ("lbfgs", {"c1": 0.1, "c2": 0.1, "max_iterations": 100}),
    "ap, 10 iterations": ("ap", {"max_iterations": 10}),
}
BARS = {"lbfgs c1=c2=0.1, 100 iterations": 0.5, "ap, 10 iterations": 0.7}


def as_dicts(part: Part) -> list[list[dict[str, Any]]]:
    """The features of sklearn-crfsuite's tutorial."""
    return [[_token(rows, t) for t in range(len(rows))] for rows in part.columns.rows()]


def _token(rows: list[tuple[str, ...]], t: int) -> dict[str, Any]:
    word = rows[t][0]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    if len(rows[t]) > 1:
        found |= {"postag": rows[t][1], "postag[:2]": rows[t][1][:2]}
    for side, k in (("-1:", t - 1), ("+1:", t + 1)):
        if not 0 <= k < len(rows):
            found["BOS" if k < 0 else "EOS"] = True
            continue
        other = rows[k][0]
        found |= {
            side + "word.lower()": other.lower(),
            side + "word.istitle()": other.istitle(),
            side + "word.isupper()": other.isupper(),
        }
        if len(rows[k]) > 1:
            found |= {side + "postag": rows[k][1], side + "postag[:2]": rows[k][1][:2]}
    return found


def train(
    module: str, part: Part, features: list[Any], algorithm: str, params: dict[str, Any], path: str
) -> float:
    """CPU seconds of appending and training."""
    trainer = importlib.import_module(module).Trainer(algorithm, params, verbose=False)
    began = time.process_time()
    for x, y in zip(features, part.names, strict=True):
        trainer.append(x, y)
    trainer.train(path)
    return time.process_time() - began


def tag(module: str, features: list[Any], path: str, repeats: int = 3) -> tuple[float, list[list[str]]]:
    """Tokens a CPU second, and the labels."""
    tagger = importlib.import_module(module).Tagger()
    tagger.open(path)
    best, found = 0.0, []
    for _ in range(repeats):
        began = time.process_time()
        found = [tagger.tag(x) for x in features]
        best = max(best, sum(map(len, features)) / (time.process_time() - began))
    return best, found


def accuracy(part: Part, found: list[list[str]]) -> float:
    pairs = [
        (g, p) for one, other in zip(part.names, found, strict=True) for g, p in zip(one, other, strict=True)
    ]
    return sum(g == p for g, p in pairs) / len(pairs)


def memory(module: str, name: str) -> float:
    """Megabytes that appending and training add to a process that has the features."""
    code = f"import compat; print(compat.grown({module!r}, {name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, check=True
    )
    return float(done.stdout.split()[-1])


def grown(module: str, name: str) -> float:
    """The same, in this process."""
    part = PARTS[name]("train")
    features, names = as_dicts(part), part.names
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten (Linux)
    trainer = importlib.import_module(module).Trainer("ap", {"max_iterations": 2}, verbose=False)
    for x, y in zip(features, names, strict=True):
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/m")
    return (_status("VmHWM") - before) / 1024.0


def _status(name: str) -> int:
    """Kilobytes that the kernel counts for this process."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def underthesea(part: Part, X: list[Any], test: Part, T: list[Any]) -> str:
    """The same training by underthesea-core, whose input is lists of strings (made before the clock starts)."""
    from underthesea_core import CRFTagger, CRFTrainer

    flat, new = ([[_strings(token) for token in x] for x in features] for features in (X, T))
    trainer = CRFTrainer(loss_function="lbfgs", verbose=0)
    trainer.set_l1_penalty(0.1)
    trainer.set_l2_penalty(0.1)
    trainer.set_max_iterations(100)
    began = time.process_time()
    tagger = CRFTagger.from_model(trainer.train(flat, part.names))
    seconds = time.process_time() - began
    began = time.process_time()
    found = [tagger.tag(x) for x in new]
    speed = sum(map(len, T)) / (time.process_time() - began)
    return f"{seconds:.1f} s, {speed:,.0f} tokens/s, accuracy {100 * accuracy(test, found):.2f}"


def crfs_tagging(T: list[Any], path: str) -> float:
    """Tokens a CPU second by crfs, whose input is lists of attributes (made within the clock, as dicts are given)."""
    import crfs

    with open(path, "rb") as file:
        model = crfs.Model(file.read())
    began = time.process_time()
    for x in T:
        model.tag([[crfs.Attribute(name, 1.0) for name in _strings(token)] for token in x])
    return sum(map(len, T)) / (time.process_time() - began)


def _strings(token: dict[str, Any]) -> list[str]:
    return [f"{k}:{v}" if isinstance(v, str) else k for k, v in token.items() if v]


PARTS = {"conll2000": conll2000, "jnlpba": jnlpba}


def measure(name: str, claims: Claims) -> None:
    """All claims about one data set."""
    part, test = PARTS[name]("train"), PARTS[name]("test")
    X, T = as_dicts(part), as_dicts(test)
    with tempfile.TemporaryDirectory() as folder:
        paths = {module: f"{folder}/{module}" for module in (OURS, THEIRS)}
        for title, (algorithm, params) in RUNS.items():
            seconds = {m: train(m, part, X, algorithm, params, paths[m]) for m in (OURS, THEIRS)}
            right = {m: accuracy(test, tag(m, T, paths[m], 1)[1]) for m in (OURS, THEIRS)}
            size = {m: Path(paths[m]).stat().st_size for m in (OURS, THEIRS)}
            shown = [f"{seconds[m]:.1f} s {100 * right[m]:.2f} {size[m] / 1e6:.1f}M" for m in (OURS, THEIRS)]
            claims.add(f"{name}: {title}", *shown, seconds[OURS] / seconds[THEIRS], BARS[title])
        (mine, a), (theirs, b) = (tag(m, T, paths[THEIRS]) for m in (OURS, THEIRS))
        assert a == b, "the same model gives other labels"
        speeds = f"{mine:,.0f}/s", f"{theirs:,.0f}/s"
        claims.add(f"{name}: Tagger.tag from dicts, tokens", *speeds, mine / theirs, 1.5, at_least=True)
        with contextlib.suppress(ImportError):
            other = crfs_tagging(T, paths[THEIRS])
            claims.add(f"{name}: the same by crfs", speeds[0], f"{other:,.0f}/s", mine / other, None)
    used = [memory(m, name) for m in (OURS, THEIRS)]
    claims.add(f"{name}: memory of training", *(f"{m:.0f} MB" for m in used), used[0] / used[1], 1.0)
    with contextlib.suppress(ImportError):
        print(f"{name}: underthesea-core, lbfgs c1=c2=0.1: {underthesea(part, X, test, T)}")


def main(names: list[str]) -> int:
    claims = Claims(rival="python-crfsuite")
    for name in names or list(PARTS):
        measure(name, claims)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
