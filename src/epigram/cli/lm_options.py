"""What the options of ``epigram lm train`` say: numbers, durations, classes, strengths, solvers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.corpus import Corpus, Vocabulary
    from epigram.protocols import Solver

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def vocabulary_of(path: Path | None) -> Vocabulary | None:
    """The given list of words, if any."""
    from epigram.lm.corpus import Vocabulary

    return None if path is None else Vocabulary.read(path)


def cut_text(path: Path, tokens: str, **limits: Any) -> Corpus:
    """The training text in characters or other pieces, which the model will remember."""
    from epigram.lm.pieces import Pieces, in_pieces

    pieces = Pieces.of(tokens)
    assert pieces is not None  # the caller reads words itself
    return in_pieces(path, pieces, **limits)


def number_of(text: str, name: str) -> Any:
    """``auto`` or a number."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is auto or a number, not {text!r}.") from None


def counts_of(text: str) -> int | list[int]:
    """A count, or one for each order between commas."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise InputError(f"--prune {text!r}: a count, or one for each order, as 0,0,1.")
    counts = [int(part) for part in text.split(",")]
    return counts if "," in text else counts[0]


def seconds_of(text: str) -> float:
    """A duration such as ``90``, ``60s``, ``5m`` or ``1h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise InputError(f"--budget {text!r} is no duration; write 60s, 5m or 1h.")
    return float(match[1]) * _UNITS[match[2]]


def classes_of(text: str) -> int | str | Path:
    """``auto``, a number of classes or a class file."""
    if text == "auto":
        return text
    if text.isdecimal():
        if int(text) < 2:
            raise InputError(f"--classes {text}: two classes at least, one of them for </s>.")
        return int(text)
    if not Path(text).is_file():
        raise InputError(
            f"--classes {text!r} is neither auto, a number nor a file; make one with epigram lm classes."
        )
    return Path(text)


def strengths_of(penalty: str, **numbers: Any) -> dict[str, Any]:
    """Both strengths of a class-factored model with the given numbers; None (to be searched) where all are ``auto``."""
    from epigram.lm.factored.problem import first_strength

    given = {name: value for name, value in numbers.items() if value != "auto"}
    if not given:
        return {"class_strength": None, "word_strength": None}
    return {f"{part}_strength": replace(first_strength(penalty, part), **given) for part in ("class", "word")}


def solver_of(
    name: str, max_iterations: int | None, tolerance: float | None, seed: int, **stochastic: Any
) -> str | Solver:
    """The name alone, or Algorithm 1 with the options that were given for it."""
    from epigram.solvers.proximal import StochasticProximal

    given = {option: value for option, value in stochastic.items() if value is not None}
    if name == "stochastic" and max_iterations is not None:
        raise InputError("--max-iterations is for --solver fista; say how many passes with --passes.")
    if name != "stochastic" and given:
        options = ", ".join(f"--{option.replace('_', '-')}" for option in given)
        raise InputError(f"{options}: for --solver stochastic only; leave out or add that.")
    if not given:
        return name
    if tolerance is not None:
        given["tolerance"] = tolerance
    try:
        return StochasticProximal(seed=seed, **given)
    except ValueError as wrong:
        raise InputError(str(wrong)) from wrong
