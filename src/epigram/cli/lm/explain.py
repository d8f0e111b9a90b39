"""``epigram lm explain``: lists the weights behind the probability of a word."""

from __future__ import annotations

from typing import Any

from epigram.cli import console
from epigram.cli.lm.models import Model, Words, open_model
from epigram.cli.options import Json
from epigram.errors import InputError


def command(
    model: Model,
    words: Words,
    word: str,
    json: Json = False,
) -> None:
    """Show the weights behind the probability of a word, of each part of a mixture.

    Parameters
    ----------
    word : Next word.
    """
    from dataclasses import asdict

    language_model = open_model(model)
    if not hasattr(language_model, "explain"):
        raise InputError("only log-linear models and mixtures have weights to show", path=model)
    why = language_model.explain(words, word)
    console.print_json(asdict(why)) if json else _show_reasons(why, words)


def _show_reasons(why: Any, words: str, of: str = "") -> None:
    """The terms of a probability as tables; a mixture shows its parts, then the terms of each."""
    from epigram.lm.loglinear.explain import SuffixExplanation
    from epigram.lm.mixture import Blend

    title = f"P({why.word} | {words}) = {why.probability:.6g}{of}"
    columns = ("context", "weight", "seen", "P so far")
    if isinstance(why, Blend):
        rows = [(part.name, part.share, part.probability) for part in why.parts]
        console.table(title, ("part", "share", "P"), rows)
        for part in why.parts:
            if part.why is not None:
                _show_reasons(part.why, words, f" of {part.name}{of}")
    elif isinstance(why, SuffixExplanation):
        console.table(title, columns, [_term_row(" ".join(term.context), term) for term in why.terms])
    else:
        for part in (why.class_part, why.word_part):
            rows = [_term_row(name, step) for name, step in part.terms]
            console.table(f"{title}: {part.choice} {part.probability:.6g}", columns, rows)


def _term_row(name: str, term: Any) -> tuple[Any, ...]:
    return name or "(none)", term.weight, term.count, term.probability
