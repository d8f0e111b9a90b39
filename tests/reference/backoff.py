"""A back-off model as two dictionaries, scored by the textbook recursion. Slow and obvious."""

from __future__ import annotations

import math

import numpy as np


def logp(grams: dict[tuple[int, ...], float], bows: dict[tuple[int, ...], float], context, word) -> float:
    """log p(word | context): the longest stored n-gram, with the weights of the contexts left behind."""
    context = tuple(context)
    if (*context, word) in grams:
        return grams[(*context, word)]
    return bows.get(context, 0.0) + logp(grams, bows, context[1:], word)


def score(grams, bows, order: int, sentence: list[int]) -> list[float]:
    """Each word of a sentence and its end; 0 is the boundary, -1 gives None and cuts the context."""
    context: tuple[int, ...] = (0,)
    scores: list[float] = []
    for word in [*sentence, 0]:
        if word < 0:
            scores.append(float("nan"))
            context = ()
            continue
        scores.append(logp(grams, bows, context[len(context) - min(len(context), order - 1) :], word))
        context = (*context, word)
    return scores


UNIT, FAR, ROOM, LEAST = 2.0**-34, 32.0, 1e-3, 1e-6


def on_grid(number: float) -> float:
    """The nearest multiple of the unit; in single precision far from 0."""
    return round(number / UNIT) * UNIT if abs(number) < FAR else float(np.float32(number))


def as_stored(grams: dict[tuple[int, ...], float], bows: dict[tuple[int, ...], float]):
    """The numbers that a file gives back: probabilities rounded, weights so that every context sums to 1."""
    grams = {gram: on_grid(value) for gram, value in grams.items()}
    stored = {gram: value for gram, value in grams.items() if len(gram) == 1}
    weights: dict[tuple[int, ...], float] = {(): 0.0}
    for context in sorted(bows, key=len)[1:]:
        own = {gram: value for gram, value in grams.items() if gram[:-1] == context}
        rounded = {gram: float(np.float32(value)) for gram, value in own.items()}
        lower_rest = 1 - math.fsum(math.exp(logp(stored, weights, gram[1:-1], gram[-1])) for gram in own)
        if min(1 - math.fsum(map(math.exp, rounded.values())), lower_rest) >= ROOM:
            own = rounded
        rest = 1 - math.fsum(map(math.exp, own.values()))
        stored |= own
        changed = rest > LEAST and lower_rest > LEAST**2
        weights[context] = on_grid(math.log(rest / lower_rest) if changed else bows[context])
    return stored, weights


def divided_by_sums(grams: dict[tuple[int, ...], float], bows: dict[tuple[int, ...], float]):
    """Every distribution divided by its sum, from short contexts to long."""
    new, weights = {}, {}
    for context in sorted(bows, key=len):
        own = {gram: value for gram, value in grams.items() if gram[:-1] == context}
        lower = (math.exp(logp(new, weights, gram[1:-1], gram[-1])) for gram in own) if context else (1.0,)
        total = math.fsum(map(math.exp, own.values())) + math.exp(bows[context]) * max(
            1 - math.fsum(lower), 0.0
        )
        new |= {gram: value - math.log(total) for gram, value in own.items()}
        weights[context] = bows[context] - math.log(total)
    return new, weights
