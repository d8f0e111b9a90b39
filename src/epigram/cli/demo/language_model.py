"""Language-model tour: three models of the same text, compared and mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epigram.cli import console
from epigram.datasets import sample

if TYPE_CHECKING:
    from rich.console import Console

    from epigram.lm.base import LanguageModel
    from epigram.lm.loglinear.model import LogLinearLM

CONTEXT = "before the"


def show(seed: int) -> None:
    """Train three models, compare them, ask one of them."""
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    screen = console.stdout()
    screen.rule("[bold]language models predict the next word", style="dim")
    train, test = (sample.plain(part, seed=seed) for part in ("train", "test"))
    screen.print(f"{len(train)} sentences to learn from, {len(test)} others to predict, word by word:\n")
    plain = LogLinearLM(order=4, strength=0.3, depth_weight=1.5, ridge=0.05)
    models: dict[str, LanguageModel] = {
        "Kneser-Ney": KneserNeyLM(order=4),
        "log-linear": plain,
        "log-linear with 20 word classes": ClassFactoredLM(order=4, classes=20),
    }
    found = {}
    with console.progress() as bars:
        task = bars.add_task("training", total=len(models), status="")
        for name, model in models.items():
            bars.update(task, status=name)
            found[name] = model.fit(train).perplexity(test)  # type: ignore[attr-defined]
            bars.advance(task)
    for name, perplexity in found.items():
        bar = "━" * round(40 * perplexity / max(found.values()))
        screen.print(f"  {name:32s} [cyan]{bar}[/] perplexity {perplexity:.1f}", highlight=False)
    _show_next(screen, plain)


def _show_next(screen: Console, model: LogLinearLM) -> None:
    """Print the next words of a context, and the weights behind the first."""
    from rich.markup import escape

    words = model.next_words(CONTEXT, 6)
    guesses = "   ".join(f"{escape(word)} [dim]{p:.1%}[/]" for word, p in words)
    screen.print(f"\n  after [bold]{CONTEXT}[/]:  {guesses}", highlight=False)
    for term in model.explain(CONTEXT, words[0][0]).terms:
        suffix = " ".join(term.context) or "(anything)"
        screen.print(
            f"    [bold]{escape(words[0][0])}[/] after {suffix:14s} weight {term.weight:5.2f}"
            f"   [dim]seen {term.count} times; probability so far {term.probability:.1%}[/]",
            highlight=False,
        )
