"""Explanations of predictions: contributions of n-grams and of each character."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epigram.classify.estimator import TextClassifier
from epigram.classify.model import prints_of
from epigram.errors import InputError
from epigram.features.grams import locate_grams


@dataclass
class TextExplanation:
    """Parts of the score of ``label`` (for two classes: of the log-odds) by n-gram.

    Attributes
    ----------
    grams : n-grams and their contributions, the largest first; with ``bias`` they add up to ``score``.
    text, marks : the text as the model reads it, and the contribution of each character.
    """

    label: str
    probability: float
    score: float
    bias: float
    grams: list[tuple[str, float]]
    text: str = field(repr=False)
    marks: list[float] = field(repr=False)

    def spans(self) -> list[tuple[str, float]]:
        """Words and the blanks between them, with the mean contribution of their characters."""
        spans: list[tuple[str, float]] = []
        begin = 0
        for k in range(1, len(self.text) + 1):
            if k == len(self.text) or self.text[k].isspace() != self.text[k - 1].isspace():
                spans.append((self.text[begin:k], float(np.mean(self.marks[begin:k]))))
                begin = k
        return spans

    def to_html(self) -> str:
        """The marked text as a piece of HTML: green speaks for the label, red against it."""
        most = max((abs(mark) for _, mark in self.spans()), default=0.0) or 1.0
        parts = []
        for span, mark in self.spans():
            colour = "0,140,60" if mark > 0 else "200,30,30"
            style = f"background:rgba({colour},{abs(mark) / most:.2f})"
            parts.append(f'<span style="{style}">{html.escape(span)}</span>')
        return f'<p title="{html.escape(self.label)} {self.probability:.3f}">{"".join(parts)}</p>'

    def record(self) -> dict[str, Any]:
        """The explanation for JSON."""
        return {
            "label": self.label, "probability": self.probability, "score": self.score, "bias": self.bias,
            "ngrams": [{"ngram": name, "contribution": value} for name, value in self.grams],
            "spans": [{"text": span, "contribution": mark} for span, mark in self.spans()],
        }  # fmt: skip


def explain_text(classifier: TextClassifier, text: str, label: Any = None) -> TextExplanation:
    """Explain the probability of a label of a text, by default of the most probable one.

    Examples
    --------
    >>> texts = ["cheap pills now", "lunch at noon?", "cheap watches", "meeting at noon"] * 5
    >>> classifier = TextClassifier(words=2, l2=0.1).fit(texts, ["spam", "ham"] * 10)
    >>> explain_text(classifier, "cheap lunch").grams[0][0]
    'cheap'
    """
    model, p = classifier.model_, classifier.predict_proba([text])[0]
    names = classifier.classes_.tolist()
    if label is not None and label not in names and str(label) in map(str, names):
        label = names[list(map(str, names)).index(str(label))]
    if label is not None and label not in names:
        raise InputError(f"no label {label!r}; the labels are {', '.join(map(str, names[:20]))}")
    k = int(p.argmax()) if label is None else names.index(label)
    single = len(model.bias) == 1 and len(names) == 2
    column, sign = (0, 1.0 if k == 1 else -1.0) if single else (k, 1.0)
    keys, begins, ends, shares, content = locate_grams(text, model.spec)
    distinct, at = np.unique(keys, return_inverse=True)
    prints = prints_of(distinct)
    rows = np.minimum(np.searchsorted(model.prints, prints), max(0, len(model.prints) - 1))
    weights = np.zeros(len(distinct))
    for j, row in enumerate(rows.tolist()):
        if len(model.prints) and model.prints[row] == prints[j]:
            own = slice(int(model.row_ptr[row]), int(model.row_ptr[row + 1]))
            chosen = model.columns[own] == column
            weights[j] = float(model.weights[own][chosen].sum())
    shares *= sign * weights[at]
    parts = np.bincount(at, shares, len(distinct))
    shares /= np.maximum(1, ends - begins)
    bytes_marks = np.zeros(len(content) + 1)
    np.add.at(bytes_marks, begins, shares)
    np.add.at(bytes_marks, ends, -shares)
    prepared = bytes(content).decode("utf-8", "replace")
    sizes = [len(char.encode()) for char in prepared]
    per_byte = np.cumsum(bytes_marks)[:-1]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    marks = [
        float(per_byte[a:b].sum()) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    first = {int(g): j for j, g in reversed(list(enumerate(at.tolist())))}
    grams: dict[str, float] = {}
    for j in np.flatnonzero(parts).tolist():  # a word may also be a sequence of characters: one line for both
        name = bytes(content[begins[first[j]] : ends[first[j]]]).decode("utf-8", "replace")
        grams[name] = grams.get(name, 0.0) + float(parts[j])
    strongest = sorted(grams.items(), key=lambda item: -abs(item[1]))
    bias = sign * float(model.bias[column])
    return TextExplanation(
        str(names[k]), float(p[k]), bias + float(parts.sum()), bias, strongest, prepared, marks
    )
