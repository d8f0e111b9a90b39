"""A back-off model as two dictionaries, scored by the textbook recursion. Slow and obvious."""

from __future__ import annotations


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
