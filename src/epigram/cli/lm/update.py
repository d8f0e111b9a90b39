"""``epigram lm update``: continues the training of a language model on more text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from epigram.cli.options import Json
from epigram.cli.run import TrainingRun
from epigram.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from epigram.lm.base import LanguageModel
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.protocols import Iteration

_OTHERS = "an n-gram model cannot be updated; log-linear and class-factored models can, and mixtures with one of these"
_REFUSED = {
    "document": "a model with --document cannot be updated: its weights of earlier sentences would no longer fit; "
    "train it again on all text, or train without --document and update that",
    "cached": "a model with a cache cannot be updated; update the model that it was made of, and add the cache again "
    "by lm interpolate",
    "mixture": "only mixtures with exactly one log-linear or class-factored model can be updated; update the parts and "
    "mix them again",
}


def command(
    context: typer.Context,
    model: Path,
    text: Path,
    output: Path | None = None,
    bits: int | None = None,
    json: Json = False,
) -> None:
    """Train a model on more text; of a mixture, its log-linear part.

    A file with its text (lm train --keep-text) is fitted again on the old and the new text together, from its present
    weights. Without the text the new text alone is used, and weights stay near the present ones.

    Parameters
    ----------
    model : Log-linear or class-factored model, or a mixture with one.
    text : One sentence a line (gzip too); - is stdin.
    output -o FILE : Model file to write [default: MODEL]
    bits >= 0 <= 16 : Bits of a stored weight [default: as in MODEL]
    """
    from epigram.lm.corpus import Corpus

    run = TrainingRun(model if output is None else output, json=json, checkpoint=0.0, context=context)
    language_model, stored_bits, whole = _open(model)
    words, weights = len(language_model.vocabulary_), language_model.n_nonzero_
    new = Corpus.more(text, language_model.known_vocabulary_)
    if not new.n_sentences:
        raise InputError("no words to learn", path=text)
    before = language_model.perplexity(new)
    _learn(run, language_model, new)
    record = {
        "sentences": new.n_sentences,
        "tokens": new.n_tokens,
        "perplexity_before": before,
        "perplexity_of_learnt_text": language_model.perplexity(new),
        "nonzero_before": weights,
        "nonzero": language_model.n_nonzero_,
        "words_before": words,
        "words": len(language_model.vocabulary_),
    }
    keep_text = hasattr(language_model, "corpus_")  # where the file had it
    bits = stored_bits if bits is None else bits
    run.finish(record, save=lambda: whole().save(run.output, bits, keep_text))


def _open(path: Path) -> tuple[LogLinearLM | ClassFactoredLM, int, Callable[[], LanguageModel]]:
    """Return the model to train, the bits of its weights, and a maker of the whole model."""
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.mixture import InterpolatedLM
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


def _learn(run: TrainingRun, model: LogLinearLM | ClassFactoredLM, new: Corpus) -> None:
    """Train with a progress bar; a first Ctrl-C ends training after the present iteration."""
    from epigram.lm.loglinear.problem import most_iterations

    with run.progress("training", most_iterations(model.make_solver())) as show:

        def on_iteration(now: Iteration) -> bool:
            return show(now.number, f"objective {now.objective:,.0f}, {now.nonzero:,} weights")

        model.partial_fit(new, callback=on_iteration)
