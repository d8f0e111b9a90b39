"""Tagger tour: a CRF learns chunking (CoNLL-2000) by SGD with cumulative L1 penalty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from epigram.cli import console
from epigram.datasets import sample

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from epigram.chain.metrics import TaggingReport
    from epigram.tagging.crf import CRFTagger

L1 = 0.3  # of 0.1, 0.3, 1 and 3 the best on the dev part
PASSES = 30
BLOCKS = "▁▂▃▄▅▆▇█"
TWO_READINGS = "The/DT cook/NN tasted/VBD the/DT soup/NN before/IN the/DT guests/NNS waited/VBD ./."
Part = tuple[list[list[tuple[str, str]]], list[list[str]]]
COLOURS = {
    "NP": "cyan",
    "VP": "green",
    "PP": "yellow",
    "SBAR": "magenta",
    "ADVP": "bright_blue",
    "ADJP": "bright_magenta",
    "PRT": "bright_yellow",
    "INTJ": "white",
}


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
    screen.print(_score_table(evaluate(test[1], predicted)))
    screen.print(_weight_table(tagger))
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


def _score_table(report: TaggingReport) -> Table:
    table = _table("On the test part", ("phrase", "precision", "recall", "F1", "in the text"))
    by_size = sorted(report.per_type.items(), key=lambda item: -item[1].gold)
    for name, score in [*by_size, ("all", report.overall)]:
        bold = "bold " if name == "all" else ""
        cells = (f"{100 * x:.1f}" for x in (score.precision, score.recall, score.f1))
        table.add_row(f"[{bold}{colour(name)}]{name}", *cells, f"{score.gold:,}", style=bold.strip())
    return table


def _weight_table(tagger: CRFTagger) -> Table:
    from rich.markup import escape

    from epigram.chain.storage import describe, to_model_file

    sections = {section.title: section for section in describe(to_model_file(tagger))}
    strongest: dict[str, list[str]] = {}
    for label, feature, weight in sections["strongest features"].rows:
        strongest.setdefault(label, []).append(f"{escape(readable(feature))} [dim]{weight:.1f}[/]")
    table = _table("What speaks for each label", ("label", "strongest weights"))
    for label, entries in strongest.items():
        table.add_row(f"[{colour(label[2:])}]{label}", "   ".join(entries[:4]))
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k and len(columns) > 2 else "left")
    return table


def readable(feature: str) -> str:
    """A feature of the chunking template in words.

    Examples
    --------
    >>> readable("U01:was"), readable("U14:RB/."), readable("U19:_B-1")
    ('word before: was', 'tag, tag after: RB/.', 'first word')
    """
    from epigram.features.template import Template

    line, _, value = feature.partition(":")
    if value in ("_B-1", "_B+1"):
        return "first word" if value == "_B-1" else "last word"
    cells = re.search(rf"^{line}:((?:%x\[-?\d,\d\]/?)+)$", Template.load("chunking").text, re.MULTILINE)
    if cells is None:
        return feature
    places = {-2: " two before", -1: " before", 0: "", 1: " after", 2: " two after"}
    found = re.findall(r"%x\[(-?\d),(\d)\]", cells[1])
    return f"{', '.join(('word', 'tag')[int(c)] + places[int(row)] for row, c in found)}: {value}"


def _show_sentences(screen: Console, train: Part, test: Part, predicted: list[list[str]]) -> None:
    """Print right test sentences with unknown words, and one with a mistake."""
    seen = _vocabulary(train[0])
    right, wrong = [], []
    for rows, gold, tags in zip(*test, predicted, strict=True):
        words = [word for word, _ in rows]
        if 8 <= len(words) <= 13:
            new = any(word.lower() not in seen for word in words)
            if tags != gold:
                wrong.append((words, tags, gold))
            elif new and len({chunk.type for chunk in chunks(gold)}) > 4:
                right.append((words, tags, gold))
    legend = "[dim]underlined: a word it has never met; [/][bold red]✗[/][dim]: a mistake"
    screen.print(f"  [bold]Sentences it has not seen[/]  {legend}\n")
    for words, tags, gold in [*right[:3], *wrong[:1]]:
        for line in _drawn(words, tags, gold, seen, screen.width):
            screen.print(line)
        screen.print()


def _drawn(words: list[str], tags: list[str], gold: list[str], seen: set[str], width: int) -> Iterator[Any]:
    from rich.padding import Padding

    for line in draw(words, tags, gold, min(width, 110) - 4):
        line.highlight_regex(
            "|".join(rf"\b{re.escape(word)}\b" for word in words if word.lower() not in seen) or "$^",
            "underline",
        )
        yield Padding(line, (0, 2))


def _show_doubt(screen: Console, tagger: CRFTagger) -> None:
    """One sentence with two readings, and what the model thinks of each."""
    rows = [(token.rpartition("/")[0], token.rpartition("/")[2]) for token in TWO_READINGS.split()]
    words = [word for word, _ in rows]
    screen.print(
        "  [bold]And one with two readings[/]  [dim]the best two labellings, with their probabilities\n"
    )
    for tags, probability in tagger.predict_nbest([rows], k=2)[0]:
        screen.print(f"  [bold]{probability:5.1%}[/] [cyan]{'━' * round(40 * probability)}[/]")
        for line in _drawn(words, tags, tags, set(map(str.lower, words)), screen.width):
            screen.print(line)
        screen.print()


class Chunk(NamedTuple):
    """A run of words with one type; type "" is outside of all chunks."""

    type: str
    start: int
    end: int


def chunks(tags: Sequence[str]) -> list[Chunk]:
    """The chunks of IOB2 tags, and the runs outside of them.

    Examples
    --------
    >>> [tuple(chunk) for chunk in chunks(["B-NP", "I-NP", "B-NP", "O", "O"])]
    [('NP', 0, 2), ('NP', 2, 3), ('', 3, 4), ('', 4, 5)]
    """
    from epigram.chain.chunks import chunks as inside

    found = [Chunk(*chunk) for chunk in inside(tags)]
    covered = {k for chunk in found for k in range(chunk.start, chunk.end)}
    outside = (Chunk("", k, k + 1) for k in range(len(tags)) if k not in covered)
    return sorted([*found, *outside], key=lambda chunk: chunk.start)


def colour(kind: str) -> str:
    """The colour of a chunk type."""
    return COLOURS.get(kind, "white")


def draw(words: Sequence[str], tags: Sequence[str], gold: Sequence[str], width: int) -> Iterator[Text]:
    """Yield pairs of lines, words above chunk types; what is not gold is red."""
    from rich.text import Text

    right = set(chunks(gold))
    above, below = Text(), Text()
    for chunk in chunks(tags):
        text = " ".join(words[chunk.start : chunk.end])
        label = chunk.type if chunk in right else f"{chunk.type or 'O'} ✗"
        size = max(len(text), len(label)) + 2
        if len(above) + size > width and len(above):
            yield from (above, below)
            above, below = Text(), Text()
        shade = colour(chunk.type)
        above.append(f" {text}".ljust(size), style=f"black on {shade}" if chunk.type else "dim")
        below.append(f" {label}".ljust(size), style=shade if chunk in right else "bold red")
        above.append(" ")
        below.append(" ")
    yield from (above, below)
