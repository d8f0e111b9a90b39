"""Why a mixture finds a word likely: what each of its parts says, and how much that counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epigram.errors import InputError
from epigram.lm.base import LanguageModel


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a mixture: its share, what it makes of the word, and its own reasons where it has any."""

    name: str
    share: float
    probability: float
    why: Any = None


@dataclass(frozen=True, slots=True)
class Blend:
    """A probability as the sum of share times probability over parts."""

    word: str
    probability: float
    parts: tuple[Part, ...]


def blend(
    context: str | Sequence[str], word: str, parts: Sequence[tuple[str, float, LanguageModel | float, Any]]
) -> Blend:
    """The blend of models (with the state each is in) and of plain probabilities."""
    found = []
    for name, share, source, state in parts:
        if not isinstance(source, LanguageModel):
            found.append(Part(name, share, source))
        elif word not in source.vocabulary_:
            found.append(Part(name, share, 0.0))
        else:
            _, logp = source.advance(state, word)
            own = getattr(source, "explain", None)
            found.append(Part(name, share, math.exp(logp), None if own is None else own(context, word)))
    if not any(isinstance(source, LanguageModel) and word in source.vocabulary_ for _, _, source, _ in parts):
        raise InputError(f"{word!r} is not in the vocabulary.")
    return Blend(word, sum(part.share * part.probability for part in found), tuple(found))
