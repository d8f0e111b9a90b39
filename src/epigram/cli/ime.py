"""``epigram ime``: build, adapt, evaluate and use an input method, kana to text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli
from epigram.cli import EVERY, Resume, Seconds
from epigram.cli.cluster import Cluster
from epigram.cli.rerank import Eps, Rate, Reach, Shrinkage, Smoothing, Steps, Strongest, Theta, Top, Weakest
from epigram.errors import InputError
from epigram.text import read_lines

if TYPE_CHECKING:
    from epigram.ime import KanaKanjiConverter

app = typer.Typer(no_args_is_help=True)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file of an input method.")]
Text = Annotated[
    Path, typer.Argument(metavar="TEXT", help="Sentences of surface/reading tokens, one a line.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the result goes.")]
Raw = Annotated[
    bool, typer.Option("--raw", help="The text is raw Japanese; SudachiPy gives words and readings.")
]
Quantise = Annotated[
    bool, typer.Option("--quantise", help="A file of less than half the size: n-grams in eight bits.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
User = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Corrections of a user (JSON lines); made where it does not exist."),
]


@app.command()
def build(
    output: Output,
    texts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TEXT...", help="Sentences of surface/reading tokens; none: by --sudachi alone."
        ),
    ] = None,
    lexicon: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="More words: surface, reading, and if known cost and part of speech, by tabs.",
        ),
    ] = None,
    sudachi: Annotated[
        bool,
        typer.Option(
            "--sudachi", help="More words: all of the installed SudachiDict; without TEXT its costs, too."
        ),
    ] = False,
    prune: Annotated[
        int, typer.Option(min=0, help="Drop trigrams seen at most so often: a smaller model.")
    ] = 0,
    second_look: Annotated[
        bool,
        typer.Option(help="A model of characters too: fewer errors; without it three times as fast."),
    ] = True,
    raw: Raw = False,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    quantise: Quantise = False,
    json: Json = False,
) -> None:
    """Build a converter from text with readings and word lists, or from SudachiDict alone."""
    from epigram.cli.training import TrainingRun
    from epigram.ime import KanaKanjiConverter, WordList, read_word_list

    building = TrainingRun(output, None, json, checkpoint, resume)
    if not texts:
        if not sudachi or lexicon:
            raise InputError(
                "no text to build from; give files of surface/reading tokens, or --sudachi without --lexicon for a "
                "converter by the costs of SudachiDict alone"
            )
        with cli.stderr().status("reading SudachiDict"):
            converter = KanaKanjiConverter.from_sudachi()
        building.finish(_record(converter, output), lambda: converter.save(output, quantise=quantise))
        return
    lists = [read_word_list(path) for path in lexicon or ()]
    if sudachi:
        from epigram.ime.sudachi import read_sudachi

        lists.append(read_sudachi().words())
    words = WordList.joined(lists)
    sources: list[str | PathLike[str]] = [*texts]
    if raw:
        sources = [" ".join(tokens) for path in texts for tokens in _sentences(path, raw)]
    with cli.stderr().status("counting"), building.checkpoint:
        converter = KanaKanjiConverter.build(sources, words, prune=prune, second_look=second_look)
    building.finish(_record(converter, output), lambda: converter.save(output, quantise=quantise))


@app.command()
def convert(
    model: Model,
    kana: Annotated[
        list[str] | None, typer.Argument(metavar="KANA...", help="Readings; none: lines of stdin.")
    ] = None,
    nbest: Annotated[int, typer.Option(min=1, help="So many candidates, with their scores.")] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Show words and their probabilities.")] = False,
    romaji: Annotated[bool, typer.Option("--romaji", help="Read Latin letters as romaji.")] = False,
    before: Annotated[str, typer.Option(metavar="TEXT", help="Text that stands before the readings.")] = "",
    user: User = None,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Readings, one a line.")
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Write kana as text, one result a line."""
    from epigram.ime.explain import explain as explained
    from epigram.ime.text import from_romaji

    if kana and source is not None:
        raise InputError("give readings as arguments or --input FILE, not both")
    if cluster is not None:
        from epigram.cli.cluster import run_in_pieces
        from epigram.scale.pieces import LINE

        words = ["ime", "convert", str(model.resolve()), "--nbest", str(nbest)]
        words += [*(["--explain"] if explain else []), *(["--romaji"] if romaji else [])]
        words += [] if user is None else ["--user", str(user.resolve())]
        words += ["--before", before] if before else []
        run_in_pieces(words, source, cluster, LINE)
        return
    converter = _load(model, user)
    converter = converter.following(before) if before else converter
    readings = kana or (_stdin() if source is None else read_lines(source))
    for number, line in enumerate(readings, 1):
        reading = from_romaji(line) if romaji else line
        try:
            ways = converter.nbest(reading, nbest) if nbest > 1 else [converter.best(reading)]
        except InputError as error:
            raise InputError(
                str(error), path=None if kana else source or "-", line=None if kana else number
            ) from None
        for way in ways:
            line = f"{way.score:.4f}\t{way.text}" if nbest > 1 else way.text
            print(cli.echoed(line), flush=not kana)
            if explain:
                rows = [tuple(row) for row in explained(converter, way)]
                cli.table("", ("word", "log probability", "n-gram", "bonus"), rows)


@app.command(name="nbest")
def nbest_lists(
    model: Model,
    text: Text,
    output: Output,
    k: Annotated[int, typer.Option("--nbest", min=1, help="Candidates a sentence.")] = 20,
    raw: Raw = False,
) -> None:
    """Convert a text's readings to n-best lists (JSON lines), for epigram rerank."""
    from epigram.ime.decoder import convert_text
    from epigram.rerank import write_nbest
    from epigram.text import check_writable

    check_writable(output)
    converter = _load(model)
    sentences = _sentences(text, raw)
    with _progress("converting", len(sentences)) as tick:
        lists = convert_text(converter.decoder, sentences, k, tick)
    write_nbest(lists, output)
    print(f"{len(lists):,} lists, {lists.n_candidates:,} candidates in {output}")


@app.command()
def adapt(
    model: Model,
    text: Text,
    output: Output,
    dev: Annotated[
        Path | None, typer.Option(metavar="TEXT", help="Held-out text; else a tenth of TEXT.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="map, map-kn, blasso, boosting, another learner, or two as in map-kn+blasso.")
    ] = "map-kn",
    eps: Eps = None,
    smoothing: Smoothing = None,
    shrinkage: Shrinkage = None,
    theta: Theta = None,
    rate: Rate = None,
    top: Top = None,
    reach: Reach = None,
    strongest: Strongest = None,
    weakest: Weakest = None,
    steps: Steps = None,
    raw: Raw = False,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    quantise: Quantise = False,
    json: Json = False,
) -> None:
    """Adapt a converter to a domain by its text; settings that are not given are chosen on held-out text."""
    from epigram.cli.training import TrainingRun
    from epigram.ime.adapt import parse_method

    parse_method(method)
    training = TrainingRun(output, None, json, checkpoint, resume)
    converter = _load(model)
    sentences = _sentences(text, raw)
    held_out = _sentences(dev, raw) if dev else None
    with training.progress("reading", total=100, step="step") as show:
        adapted = converter.adapt(
            sentences, held_out, method, lambda what, share: show(round(100 * (share or 0)), "", what),
            eps=eps, smoothing=smoothing, shrinkage=shrinkage, theta=theta, rate=rate, top=top,
            reach=reach, strongest=strongest, weakest=weakest, steps=steps,
        )  # fmt: skip
        show(100, "", "adapted")
    training.finish(_record(adapted, output), lambda: adapted.save(output, quantise=quantise))


@app.command(name="eval")
def evaluate(
    model: Model,
    text: Text,
    k: Annotated[
        int, typer.Option("--nbest", min=1, help="Candidates for the oracle; 1 leaves it out.")
    ] = 20,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many sentences.")] = None,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Error rates of a converter on text with readings."""
    from epigram.ime.evaluate import evaluate as measured

    converter = _load(model)
    sentences = _sentences(text, raw)[:limit]
    with _progress("converting", len(sentences)) as tick:
        scores = measured(converter, sentences, k, tick).record()
    if json:
        cli.print_json(scores)
    else:
        cli.facts(str(text), scores)


@app.command(name="type")
def type_(model: Model, user: User = None) -> None:
    """Type Japanese in the terminal: romaji or kana, space, arrows, enter. Corrections are learnt."""
    from epigram.ime.editor import Editor
    from epigram.ime.terminal import run

    journal = user or model.with_suffix(".corrections.jsonl")
    converter = _load(model, journal)
    run(Editor(converter), lambda: converter.journal.save(journal))


@app.command()
def words(
    user: Annotated[Path, typer.Option(metavar="FILE", help="Words and corrections of a user (JSON lines).")],
    dictionaries: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DICTIONARY...", help="Dictionaries of Mozc, Google, MS-IME, ATOK or SKK to take."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="SURFACE/READING", help="A word to forget; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Take words of other input methods' dictionaries, forget some, or list them: surface and reading a line."""
    from epigram.ime import KanaKanjiConverter
    from epigram.ime.corrections import Journal
    from epigram.ime.dictionaries import read_dictionary
    from epigram.ime.text import split_token

    converter = KanaKanjiConverter.build(["。"])
    converter.journal = Journal.load(converter.decoder, user)
    taken = [entry for path in dictionaries or () for entry in read_dictionary(path)]
    gone = [split_token(token)[::-1] for token in remove or ()]
    if taken:
        converter.add_words(taken)
    if gone:
        converter.remove_words(gone)
    if taken or gone:
        converter.journal.save(user)
    kept = converter.user_dictionary
    if json:
        cli.print_json({"taken": len(taken), "removed": len(gone), "words": kept})
    elif taken or gone:
        print(f"{len(taken):,} words taken, {len(gone):,} removed, {len(kept):,} in {user}")
    else:
        for entry in kept:
            print(cli.echoed(f"{entry.surface}\t{entry.reading}"))


def _load(model: Path, user: Path | None = None) -> KanaKanjiConverter:
    """The converter, with a user's corrections."""
    from epigram.ime import KanaKanjiConverter
    from epigram.ime.corrections import Journal

    converter = KanaKanjiConverter.load(model)
    if user is not None:
        journal = Journal.load(converter.decoder, user, converter.journal.lessons)
        if converter.journal.words:
            journal.set_words([*converter.journal.words, *journal.words])
        converter.journal = journal
    return converter


def _sentences(path: Path, raw: bool) -> list[list[str]]:
    from epigram.ime.text import analyse, read_sentences

    if not raw:
        return read_sentences(path)
    from epigram.text import read_lines

    return analyse(read_lines(path))


def _stdin() -> Iterator[str]:
    """Lines as they come, so that a pipe can be talked to."""
    for raw in sys.stdin.buffer:
        try:
            yield raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError("standard input is not UTF-8; convert it first") from None


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[], object]]:
    with cli.progress() as bar:
        task = bar.add_task(what, total=total, status="")
        yield lambda: bar.advance(task)


def _record(converter: KanaKanjiConverter, output: Path) -> dict[str, Any]:
    return {"model": str(output), "settings": converter.settings, **converter.fit_}
