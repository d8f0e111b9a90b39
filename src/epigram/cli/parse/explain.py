"""``epigram parse explain``: lists the weights behind the head of each word."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.options import Model
from epigram.cli.parse.arguments import load_parser
from epigram.errors import InputError


def command(
    model: Model,
    source: Path = Path("-"),
    sentence: int = 1,
    word: int | None = None,
    top: int = 10,
    json: bool = False,
) -> None:
    """Show the features that make a word's head win over the runner-up.

    Parameters
    ----------
    source [INPUT] : CoNLL-U; - reads standard input.
    sentence >= 1 : Number of the sentence in the input, from 1.
    word >= 1 : Number of the word, from 1 [default: all words]
    top >= 1 : Number of terms to print per word.
    json : Print one JSON object with all terms.
    """
    from dataclasses import asdict

    from epigram.parsing.treebank import read_treebank

    estimator = load_parser(model, None, 1)
    if not hasattr(estimator, "arcs_"):
        raise InputError(
            "only a parser explains heads; this model labels the nodes of given trees", path=model
        )
    bank = read_treebank(source)
    if sentence > bank.n_sentences:
        raise InputError(f"there is no sentence {sentence}; the input has {bank.n_sentences}, counted from 1")
    names = [name.strip() for name in estimator.observed.split(",")]
    bank.warn_of_empty(names, estimator.fit_.get("empty_columns", ()))
    own = bank.take([sentence - 1])
    forms = ["root", *(row[0] for row in next(iter(own.observed(["form"]).rows())))]
    chosen = range(1, len(forms)) if word is None else [word]
    found = [estimator.explain(own, k) for k in chosen]
    if json:
        console.print_json(
            {"sentence": sentence, "words": forms[1:], "heads": [asdict(why) for why in found]}
        )
        return
    for why in found:
        against = "nothing" if why.other is None else f"{forms[why.other]} ({why.other_probability:.3f})"
        title = f"{forms[why.word]}: {forms[why.head]} ({why.probability:.3f}) against {against}, by {why.lead:.3f}"
        terms = [
            (forms[term.word], forms[term.head], term.feature, f"{term.lift:+.3f}")
            for term in why.terms[:top]
        ]
        console.table(title, ("word", "head", "feature", "lift"), terms)
