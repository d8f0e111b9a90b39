"""All weights of a model as rows that can be searched and sorted, whatever its family."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from epigram.serve.shelf import Entry

MOST_ROWS = 2_000_000


class WeightTable:
    """Rows of names with one weight each, the largest first.

    Names are put together when they are shown or searched, and kept.
    """

    def __init__(self, entry: Entry) -> None:
        self.columns, self._names, weights = _MAKERS[entry.family](entry.estimator)
        self._order = np.argsort(-np.abs(weights), kind="stable")[:MOST_ROWS]
        self._weights = weights

    @cached_property
    def _rows(self) -> list[tuple[str, ...]]:
        return list(zip(*self._names(), strict=True))

    @cached_property
    def _lower(self) -> list[str]:
        return [" ".join(row).lower() for row in self._rows]

    def page(self, text: str, order: str, first: int, count: int) -> tuple[int, list[list[Any]]]:
        """How many rows hold the text, and some of them: by size, from the largest, or from the smallest."""
        wanted = self._order
        if text:
            needle = text.lower()
            wanted = np.array([k for k in wanted.tolist() if needle in self._lower[k]], np.int64)
        if order != "size":
            sign = -1.0 if order == "largest" else 1.0
            wanted = wanted[np.argsort(sign * self._weights[wanted], kind="stable")]
        rows = [[*self._rows[k], float(self._weights[k])] for k in wanted[first : first + count].tolist()]
        return len(wanted), rows


def _tagger(estimator: Any) -> tuple[tuple[str, ...], Any, Any]:
    """Weights of attributes, of transitions, and of transitions that look at the text."""
    model = estimator.model_
    found = model.weights
    before, after = np.nonzero(found.transitions)

    def names() -> tuple[list[str], list[str]]:
        of, labels = model.table.names(range(len(model.table))), model.labels
        features = [of[a] for a in found.attributes.tolist()] + [f"after {labels[k]}" for k in before]
        edges = zip(found.edge_attributes.tolist(), found.before.tolist(), strict=True)
        features += [f"{of[a]} after {labels[k]}" for a, k in edges]
        owners = [*found.labels.tolist(), *after.tolist(), *found.after.tolist()]
        return features, [labels[k] for k in owners]

    values = np.concatenate((found.values, found.transitions[before, after], found.edge_values))
    return ("feature", "label", "weight"), names, values


def _reranker(model: Any) -> tuple[tuple[str, ...], Any, Any]:
    used = np.flatnonzero(model.weights_)
    return (
        ("feature", "weight"),
        lambda: ([model.space_.name(int(k)) for k in used],),
        model.weights_[used],
    )


def _language_model(model: Any) -> tuple[tuple[str, ...], Any, Any]:
    if hasattr(model, "tree_"):
        tree, words = model.tree_, model.vocabulary_.words
        used = np.flatnonzero(model.weights_)
        nodes = (np.searchsorted(tree.pair_ptr, used, side="right") - 1).tolist()

        def names() -> tuple[list[str], list[str]]:
            context = {node: _spelled(tree.context(node).tolist(), words) for node in set(nodes)}
            return [context[node] for node in nodes], [words[tree.word[k]] for k in used]

        return ("context", "next word", "weight"), names, model.weights_[used]
    return _backoff(model)


def _backoff(model: Any) -> tuple[tuple[str, ...], Any, Any]:
    """N-grams of a back-off model with their log-probabilities."""
    model = getattr(model, "backoff_", model)
    if not hasattr(model, "pair_ptr"):
        return ("n-gram", "weight"), lambda: ([],), np.zeros(0)
    words = model.vocabulary_.words
    nodes = np.repeat(np.arange(len(model.pair_ptr) - 1), np.diff(model.pair_ptr))

    def names() -> tuple[list[str], list[str]]:
        above = [""] * (len(model.pair_ptr) - 1)
        owner = nodes[model.node_pair[1:]]
        for node in range(1, len(above)):
            word = _name(int(model.pair_word[model.node_pair[node]]), words)
            above[node] = f"{above[owner[node - 1]]} {word}".strip()
        return [above[node] for node in nodes], [words[k] for k in model.pair_word]

    return ("context", "next word", "log probability"), names, np.asarray(model.pair_logp, np.float64)


def _converter(model: Any) -> tuple[tuple[str, ...], Any, Any]:
    return _backoff(model.model)


def _spelled(symbols: list[int], words: Any) -> str:
    return " ".join(_name(symbol, words) for symbol in symbols)


def _name(symbol: int, words: Any) -> str:
    return "<s>" if symbol == 0 else str(words[symbol])


_MAKERS = {"tagger": _tagger, "reranker": _reranker, "lm": _language_model, "converter": _converter}
