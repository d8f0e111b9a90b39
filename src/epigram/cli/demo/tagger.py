"""Tagger tour: a CRF learns chunking (CoNLL-2000) by SGD with cumulative L1 penalty."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any

from epigram.cli import console
from epigram.datasets import sample

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from epigram.chain.metrics import TaggingReport
    from epigram.tagging.crf import CRFTagger

L1 = 0.3  # of 0.1, 0.3, 1 and 3 the best on the dev part
PASSES = 30
BLOCKS = "▁▂▃▄▅▆▇█"
TWO_READINGS = "The/DT cook/NN tasted/VBD the/DT soup/NN before/IN the/DT guests/NNS waited/VBD ./."
Part = tuple[list[list[tuple[str, str]]], list[list[str]]]


def show(seed: int) -> None:
    """Train, score, look inside, tag."""
    screen = console.stdout()
    train, dev, test = (_split(part, seed) for part in ("train", "dev", "test"))
    screen.rule("[bold]a tagger learns to find phrases", style="dim")
    screen.print(_introduction(train, test), soft_wrap=False)
    tagger, seconds = _train(train, dev, seed)
    from epigram.chain.metrics import evaluate

    predicted = tagger.predict(test[0])
    _show_training(screen, tagger, seconds)
    _show_scores(evaluate(test[1], predicted))
    _show_weights(tagger)
    _show_sentences(screen, train, test, predicted)
    _show_doubt(screen, tagger)


def _split(part: str, seed: int) -> Part:
    """Rows (word, part of speech), and chunk tags."""
    sentences = sample.tagged(part, seed=seed)
    rows = [[(word, pos) for word, pos, _ in sentence] for sentence in sentences]
    return rows, [[chunk for _, _, chunk in sentence] for sentence in sentences]


def _vocabulary(rows: list[list[tuple[str, str]]]) -> set[str]:
    return {word.lower() for sentence in rows for word, _ in sentence}


def _introduction(train: Part, test: Part) -> str:
    seen = _vocabulary(train[0])
    words = [word.lower() for sentence in test[0] for word, _ in sentence]
    unseen = sum(word not in seen for word in words) / len(words)
    return (
        f"{len(train[0])} sentences with their phrases, made by a grammar that comes with epigram. "
        f"{len(test[0])} others are the test; {unseen:.0%} of their words never occur in training.\n"
    )


def _train(train: Part, dev: Part, seed: int) -> tuple[CRFTagger, float]:
    from epigram import SGD, CRFTagger

    watch = console.Stopwatch()
    with console.progress() as bars:
        task = bars.add_task("training", total=PASSES, status="")

        def show(entry: dict[str, Any]) -> None:
            status = f"objective {entry['objective']:,.0f}  active {entry['nonzero']:,}"
            bars.update(
                task, completed=entry["iteration"], status=f"{status}  dev F1 {entry['dev_score']:.2%}"
            )

        tagger = CRFTagger("chunking", l1=L1, constrain="iob2", solver=SGD(passes=PASSES, random_state=seed))
        tagger.fit(*train, dev=dev, callback=show)
    return tagger, watch.seconds


def _show_training(screen: Console, tagger: CRFTagger, seconds: float) -> None:
    """Print the objective and the number of weights of every pass."""
    history, fit = tagger.history_, tagger.fit_
    objective = [entry["objective"] for entry in history]
    active = [entry["nonzero"] for entry in history]
    kept = f"{fit['active_features']:,} of {fit['features']:,} are not zero"
    screen.print(f"  objective  [cyan]{spark(objective)}[/]  {objective[0]:,.0f} to {objective[-1]:,.0f}")
    screen.print(f"  weights    [green]{spark(active)}[/]  {kept}")
    screen.print(
        f"  {len(history)} passes over {fit['tokens']:,} words in {seconds:.1f} s, best on dev kept, "
        f"{len(tagger.to_bytes()):,} bytes as a file\n"
    )


def spark(values: Sequence[float]) -> str:
    """A line of blocks whose heights are the values' logarithms.

    Examples
    --------
    >>> spark([1000.0, 100.0, 10.0])
    '█▅▁'
    """
    heights = [log(value) for value in values]
    low, span = min(heights), (max(heights) - min(heights)) or 1.0
    return "".join(BLOCKS[round((len(BLOCKS) - 1) * (height - low) / span)] for height in heights)


def _show_scores(report: TaggingReport) -> None:
    """Print the scores of each kind of phrase."""
    by_size = sorted(report.per_type.items(), key=lambda item: -item[1].gold)
    rows = [
        (name, *(f"{100 * x:.1f}" for x in (score.precision, score.recall, score.f1)), score.gold)
        for name, score in [*by_size, ("all", report.overall)]
    ]
    console.table("On the test part", ("phrase", "precision", "recall", "F1", "in the text"), rows)


def _show_weights(tagger: CRFTagger) -> None:
    """Print the strongest features of each label, in words."""
    from epigram.chain.storage import describe, to_model_file

    template = tagger.fitted_model().template
    assert template is not None
    sections = {section.title: section for section in describe(to_model_file(tagger))}
    strongest: dict[str, list[str]] = {}
    for label, feature, weight in sections["strongest features"].rows:
        strongest.setdefault(label, []).append(f"{template.meaning(feature)} {weight:.1f}")
    rows = [(label, "   ".join(entries[:4])) for label, entries in strongest.items()]
    console.table("What speaks for each label", ("label", "strongest weights"), rows)


def _show_sentences(screen: Console, train: Part, test: Part, predicted: list[list[str]]) -> None:
    """Print right test sentences with unknown words, and one with a mistake."""
    from epigram.chain.chunks import chunks

    seen = _vocabulary(train[0])
    right, wrong = [], []
    for rows, gold, tags in zip(*test, predicted, strict=True):
        words = [word for word, _ in rows]
        if 8 <= len(words) <= 13:
            new = any(word.lower() not in seen for word in words)
            if tags != gold:
                wrong.append((words, tags, gold))
            elif new and len({kind for kind, _, _ in chunks(gold)}) > 3:
                right.append((words, tags, gold))
    legend = "[dim]underlined: a word it has never met; [/][bold red]✗[/][dim]: a mistake"
    screen.print(f"  [bold]Sentences it has not seen[/]  {legend}\n")
    for words, tags, gold in [*right[:3], *wrong[:1]]:
        screen.print(draw(words, tags, gold, seen), end="\n\n")


def _show_doubt(screen: Console, tagger: CRFTagger) -> None:
    """One sentence with two readings, and what the model thinks of each."""
    rows = [(token.rpartition("/")[0], token.rpartition("/")[2]) for token in TWO_READINGS.split()]
    words = [word for word, _ in rows]
    screen.print(
        "  [bold]And one with two readings[/]  [dim]the best two labellings, with their probabilities\n"
    )
    for tags, probability in tagger.predict_nbest([rows], k=2)[0]:
        screen.print(f"  [bold]{probability:5.1%}[/] [cyan]{'━' * round(40 * probability)}[/]")
        screen.print(draw(words, tags, tags, set(map(str.lower, words))), end="\n\n")


def draw(words: Sequence[str], tags: Sequence[str], gold: Sequence[str], seen: set[str]) -> Text:
    """Write a sentence with phrases in brackets; mark wrong words, underline new ones.

    Examples
    --------
    >>> print(draw(["The", "cook", "sleeps"], ["B-NP", "I-NP", "O"], ["B-NP", "I-NP", "B-VP"], set()))
      [NP The cook] sleeps ✗
    """
    from rich.text import Text

    from epigram.chain.chunks import chunks

    text, found = Text("  "), chunks(tags)
    opened, closed = {start: kind for kind, start, _ in found}, {end for _, _, end in found}
    for k, (word, tag, right) in enumerate(zip(words, tags, gold, strict=True)):
        text.append(f"[{opened[k]} " if k in opened else "", "cyan")
        style = "bold red" if tag != right else "" if word.lower() in seen else "underline"
        text.append(word + " ✗" * (tag != right), style)
        text.append("]" if k + 1 in closed else "", "cyan")
        text.append(" " if k + 1 < len(words) else "")
    return text
