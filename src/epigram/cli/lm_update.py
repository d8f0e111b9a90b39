"""``epigram lm update``: go on training a model with more text, in batches, and say what it gained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.cli.training import TrainingRun
from epigram.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from epigram.lm.base import LanguageModel
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM

_OTHERS = "an n-gram model cannot go on; only log-linear and class-factored ones can, and mixtures with one of these"
_REFUSED = {
    "document": "a model with --document cannot go on, its weights of what came before would no longer fit; train it "
    "again on all text, or train without --document and update that",
    "cached": "a model with a cache cannot go on; update the model that it was made of, and add the cache again "
    "by lm interpolate",
    "mixture": "only mixtures with exactly one log-linear or class-factored model can go on; update the parts and "
    "mix them again",
}


def command(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A log-linear or class-factored model, or a mixture with one."),
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
    """Train a model further with new text; the old text keeps its weight. Of a mixture, its log-linear part goes on."""
    run = TrainingRun(model if output is None else output, json=json, checkpoint=0.0)
    language_model, stored_bits, whole = _open(model)
    words, weights = len(language_model.vocabulary_), language_model.n_nonzero_
    learnt = _learn(run, language_model, text, batch)
    if not learnt:
        raise InputError("no words to learn", path=text)
    record = {
        "sentences": sum(part.n_sentences for part in learnt),
        "tokens": sum(part.n_tokens for part in learnt),
        "perplexity_before": language_model.stream_perplexity_,
        "perplexity_after": _perplexity(language_model, learnt),
        "nonzero_before": weights,
        "nonzero": language_model.n_nonzero_,
        "words_before": words,
        "words": len(language_model.vocabulary_),
    }
    keep_text = hasattr(language_model, "corpus_")  # where the file had it
    bits = stored_bits if bits is None else bits
    run.finish(record, save=lambda: whole().save(run.output, bits, keep_text))


def _open(path: Path) -> tuple[LogLinearLM | ClassFactoredLM, int, Callable[[], LanguageModel]]:
    """The model that learns, in how many bits its weights are stored, and what gives the model of the file with it."""
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.mixed.mixture import InterpolatedLM
    from epigram.lm.storage import FAMILY, from_model_file
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming

    file = ModelFile.load(path, FAMILY)
    with blaming(path):
        found = from_model_file(file)
    parts = found.models if isinstance(found, InterpolatedLM) else [found]
    headers = file.header["parts"] if isinstance(found, InterpolatedLM) else [file.header]
    able = [k for k, part in enumerate(parts) if isinstance(part, LogLinearLM | ClassFactoredLM)]
    if len(able) != 1:
        raise InputError(_REFUSED.get(file.header["settings"]["model"], _OTHERS), path=path)
    learner = parts[able[0]]
    assert isinstance(learner, LogLinearLM | ClassFactoredLM)
    bits = int(headers[able[0]]["settings"].get("bits", 0))
    if isinstance(found, InterpolatedLM):
        return learner, bits, lambda: InterpolatedLM(found.models, found.weights.tolist())  # with new words
    return learner, bits, lambda: learner


def _learn(run: TrainingRun, model: LogLinearLM | ClassFactoredLM, text: Path, size: int) -> list[Corpus]:
    """Learn in batches; a first Ctrl-C ends it after the present one. Returns the text in ids."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.stream import batches

    learnt: list[Corpus] = []
    with run.progress("learning", step="batch") as show:
        done, status = 0, ""
        for sentences in batches(text, size):
            new = Corpus.more(sentences, model.vocabulary_)
            if new.n_sentences:
                model.partial_fit(new)
                learnt.append(new)
            done += new.n_sentences
            perplexity = model.stream_perplexity_
            status = "" if math.isnan(perplexity) else f"perplexity so far {perplexity:,.2f}"
            if show(done, status):
                break
        show(done, status, "settling")
        model.settle()
    return learnt


def _perplexity(model: Any, parts: list[Corpus]) -> float:
    """Of all parts together."""
    found = [model.evaluate(part) for part in parts]
    n = sum(one.tokens - one.oov + one.sentences for one in found)
    return math.exp(-sum(one.log_likelihood for one in found) / n)
