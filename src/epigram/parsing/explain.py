"""Explains a word's head by the weights against the best tree with another head.

Every weight that counts more often in one of the two trees is a term; the terms sum to the difference of their scores.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.parsing.arc_model import ArcModel
from epigram.parsing.arc_words import Words
from epigram.parsing.part_features import tree_parts


@dataclass(frozen=True, slots=True)
class ArcTerm:
    """Contribution of one feature to the difference, with the word and the head of its arc.

    A feature of the end of a head's children has the last of them as its word, or the head itself.
    """

    word: int
    head: int
    feature: str
    lift: float


@dataclass(frozen=True, slots=True)
class HeadExplanation:
    """A word's head and the runner-up, with probabilities, trees, and terms (strongest first).

    ``other`` is None if there is no other tree.
    """

    word: int
    head: int
    other: int | None
    probability: float
    other_probability: float
    heads: tuple[int, ...]
    other_heads: tuple[int, ...]
    lead: float
    terms: list[ArcTerm]


def explain_head(model: ArcModel, words: Words, word: int) -> HeadExplanation:
    """Compare the best tree of a sentence with the best in which ``word`` has another head."""
    n = int(words.lengths[0]) if len(words.lengths) else 0
    if not 1 <= word <= n:
        raise InputError(f"word {word} does not exist; the sentence has words 1 to {n}")
    best = tuple(model.decode(words).tolist())
    (p, _), *_ = model.marginals(words)
    head = best[word - 1]
    mine = float(p[head, word - 1])
    others = [h for h in range(n + 1) if h not in (head, word)]
    if not others:
        return HeadExplanation(word, head, None, mine, 0.0, best, (), 0.0, [])
    free = [others if c == word else None for c in range(1, n + 1)]
    rival = tuple(model.decode(words, allowed=[free]).tolist())
    lifts: dict[tuple[int, int, str], float] = defaultdict(float)
    for heads, sign in ((best, 1.0), (rival, -1.0)):
        for child, above in enumerate(heads, 1):
            if best[child - 1] == rival[child - 1]:
                continue
            for name, weight in model.terms(words, 0, above, child).items():
                lifts[child, above, name] += sign * weight
    parts, other_parts = set(tree_parts(best)), set(tree_parts(rival))
    for part, name, weight in model.part_terms(words, 0, sorted(parts ^ other_parts)):
        _, above, sibling, child = part
        own = child if 1 <= child <= n else sibling
        lifts[own, above, name] += weight if part in parts else -weight
    told = (ArcTerm(*place, lift) for place, lift in lifts.items() if lift)
    terms = sorted(told, key=lambda term: -abs(term.lift))
    lead = float(np.sum([term.lift for term in terms]))
    other = rival[word - 1]
    return HeadExplanation(word, head, other, mine, float(p[other, word - 1]), best, rival, lead, terms)
