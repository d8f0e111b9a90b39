"""``epigram lm update``: go on training a model with more text, in batches, and say what it gained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM


def command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A log-linear or class-factored model file.")
    ],
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line (gzip too); - is stdin.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the result goes; else MODEL.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Sentences that are learnt at a time.")] = 500,
    bits: Annotated[
        int | None, typer.Option(min=0, max=16, help="Bits of a stored weight.", show_default="as in MODEL")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Train a model further with new text; the old text keeps its weight."""
    from epigram.storage.atomic import check_writable

    target = model if output is None else output
    check_writable(target)
    watch = console.Stopwatch()
    language_model, stored_bits = _open(model)
    words, weights = len(language_model.vocabulary_), language_model.n_nonzero_
    learnt, interrupted = _learn(language_model, text, batch)
    if not learnt:
        raise InputError("no words to learn", path=text)
    language_model.save(target, stored_bits if bits is None else bits)
    record = {
        "sentences": sum(part.n_sentences for part in learnt),
        "tokens": sum(part.n_tokens for part in learnt),
        "perplexity_before": language_model.stream_perplexity_,
        "perplexity_after": _perplexity(language_model, learnt),
        "nonzero_before": weights,
        "nonzero": language_model.n_nonzero_,
        "words_before": words,
        "words": len(language_model.vocabulary_),
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "interrupted": interrupted,
        "bytes": target.stat().st_size,
    }
    console.print_json(record) if json else console.facts(str(target), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def _open(path: Path) -> tuple[LogLinearLM | ClassFactoredLM, int]:
    """The model, and in how many bits its weights are stored."""
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.storage import FAMILY, from_model_file
    from epigram.storage import ModelFile
    from epigram.storage.families import blaming

    file = ModelFile.load(path, FAMILY)
    with blaming(path):
        found = from_model_file(file)
    if not isinstance(found, LogLinearLM | ClassFactoredLM):
        raise InputError(
            "an n-gram model cannot go on; only log-linear and class-factored ones can", path=path
        )
    return found, int(file.header["settings"].get("bits", 0))


def _learn(model: LogLinearLM | ClassFactoredLM, text: Path, size: int) -> tuple[list[Corpus], bool]:
    """Learn in batches; a first Ctrl-C ends it after the present one. Returns the text in ids."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.stream import batches

    learnt: list[Corpus] = []
    with console.progress() as bar, GracefulStop(lambda: bar.log("stopping after this batch")) as stop:
        task = bar.add_task("learning", total=None, status="")
        for sentences in batches(text, size):
            new = Corpus.more(sentences, model.vocabulary_)
            if new.n_sentences:
                model.partial_fit(new)
                learnt.append(new)
            done = sum(part.n_sentences for part in learnt)
            perplexity = model.stream_perplexity_
            known = "" if math.isnan(perplexity) else f"perplexity so far {perplexity:,.2f}"
            bar.update(task, completed=done, status=known)
            if stop.asked:
                break
        bar.update(task, description="settling")
        model.settle()
    return learnt, stop.asked


def _perplexity(model: Any, parts: list[Corpus]) -> float:
    """Of all parts together."""
    found = [model.evaluate(part) for part in parts]
    n = sum(one.tokens - one.oov + one.sentences for one in found)
    return math.exp(-sum(one.log_likelihood for one in found) / n)
