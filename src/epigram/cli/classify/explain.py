"""``epigram classify explain``: shows which n-grams speak for a label."""

from __future__ import annotations

import sys
from typing import Literal

from epigram.cli.options import Model


def command(
    model: Model,
    text: str | None = None,
    label: str | None = None,
    top: int = 20,
    output: Literal["terminal", "html", "json"] = "terminal",
) -> None:
    """N-grams of a text with their part of the score, and the marked text.

    Parameters
    ----------
    text [TEXT] : A text [default: standard input].
    label NAME : Label to explain [default: the most probable].
    top -k >= 1 : N-grams that are listed.
    output --as : Form of the explanation.
    """
    from rich.text import Text

    from epigram.classify.explain import explain_text
    from epigram.cli import console
    from epigram.cli.classify.arguments import load_classifier

    classifier = load_classifier(model)
    found = explain_text(classifier, sys.stdin.read() if text is None else text, label)
    if output == "html":
        print(found.to_html())
        return
    if output == "json":
        console.print_json({**found.record(), "ngrams": found.record()["ngrams"][:top]})
        return
    marked, most = Text(), max((abs(mark) for _, mark in found.spans()), default=0.0)
    for span, mark in found.spans():
        strong = abs(mark) > 0.2 * most
        marked.append(span, style=("green" if mark > 0 else "red") if strong else "")
    facts = {"label": found.label, "probability": found.probability, "score": found.score, "bias": found.bias}
    console.facts("explanation", facts)
    console.stdout().print(marked)
    rows = [(repr(name)[1:-1], f"{value:+.4f}") for name, value in found.grams[:top]]
    console.table("n-grams", ("n-gram", "contribution"), rows)
