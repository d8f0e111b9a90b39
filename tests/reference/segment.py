"""Semi-Markov chains the slow way: every labelling in IOB2 is written down and scored by the names of its features."""

from __future__ import annotations

import itertools
import math

from epigram.chain.model import ChainModel

Words = list[str]
Labelling = tuple[str, ...]


def segments(labels: Labelling) -> list[tuple[int, int, str]]:
    """(first token, number of tokens, type) of each segment."""
    found: list[tuple[int, int, str]] = []
    for t, label in enumerate(labels):
        if label.startswith("B-"):
            found.append((t, 1, label[2:]))
        elif label.startswith("I-"):
            begin, length, kind = found.pop()
            found.append((begin, length + 1, kind))
    return found


def is_iob2(labels: Labelling) -> bool:
    pairs = zip(("O", *labels), labels, strict=False)
    return all(b[0] != "I" or (a[0] in "BI" and a[2:] == b[2:]) for a, b in pairs)


class SlowSegments:
    """A model with ``U0:%x[0,0]``, ``U1:%x[-1,0]`` (outside: drop), ``B`` and the ``S`` lines of :meth:`names`."""

    def __init__(self, model: ChainModel, longest: int) -> None:
        names, found = model.table.names(range(len(model.table))), model.weights
        self.labels, self.longest = model.labels, longest
        self.w: dict[tuple[str, str], float] = {}
        for a, j, value in zip(found.attributes, found.labels, found.values, strict=True):
            self.w[names[a], self.labels[j]] = float(value)
        self.transitions = found.transitions

    def names(self, words: Words, begin: int, length: int) -> list[str]:
        """What ``S0:%x[all,0|lower]``, ``S1:%x[before,0]/%x[length]``, ``S2:%x[first,0]/%x[last,0]`` and
        ``S3:%x[after,0]`` make."""
        inside = words[begin : begin + length]
        out = ["S0:" + " ".join(inside).lower(), f"S2:{inside[0]}/{inside[-1]}"]
        if begin:
            out.append(f"S1:{words[begin - 1]}/{length}")
        if begin + length < len(words):
            out.append(f"S3:{words[begin + length]}")
        return out

    def score(self, words: Words, labels: Labelling) -> float:
        total = 0.0
        for t, label in enumerate(labels):
            total += self.w.get((f"U0:{words[t]}", label), 0.0)
            if t:
                total += self.w.get((f"U1:{words[t - 1]}", label), 0.0)
                total += float(self.transitions[self.labels.index(labels[t - 1]), self.labels.index(label)])
        for begin, length, kind in segments(labels):
            total += sum(self.w.get((name, f"B-{kind}"), 0.0) for name in self.names(words, begin, length))
        return total

    def labellings(self, words: Words) -> dict[Labelling, float]:
        """All permitted ones with their scores."""
        everything = itertools.product(self.labels, repeat=len(words))
        return {
            labels: self.score(words, labels)
            for labels in everything
            if is_iob2(labels) and all(length <= self.longest for _, length, _ in segments(labels))
        }

    def log_z(self, words: Words) -> float:
        return math.log(sum(math.exp(score) for score in self.labellings(words).values()))
