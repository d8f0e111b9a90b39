"""``epigram ime adapt``: adapts a converter to the text of a domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from epigram.cli.ime.arguments import Model, Quantise, Raw, Text, describe, load_converter, read_sentences
from epigram.cli.options import EVERY, Json, Output, Resume, Seconds, derived
from epigram.cli.rerank.learning import LEARNING


@derived(LEARNING)
def command(
    context: typer.Context,
    model: Model,
    text: Text,
    output: Output,
    dev: Path | None = None,
    method: str = "map-kn",
    raw: Raw = False,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    quantise: Quantise = False,
    json: Json = False,
    **settings: Any,
) -> None:
    """Adapt a converter to the text of a domain.

    Settings that are not given are chosen on held-out text.

    Parameters
    ----------
    dev TEXT : Held-out text  [default: the last tenth of TEXT]
    method : Interpolation (map, map-kn), a learner of epigram rerank, or both as in map-kn+blasso.
    """
    from epigram.cli.run import TrainingRun
    from epigram.ime.adapt import parse_method

    parse_method(method)
    training = TrainingRun(output, None, json, checkpoint, resume, context=context)
    converter = load_converter(model)
    sentences = read_sentences(text, raw)
    held_out = read_sentences(dev, raw) if dev else None
    with training.progress("reading", total=100, step="step") as show:
        adapted = converter.adapt(
            sentences,
            held_out,
            method,
            lambda what, share: show(round(100 * (share or 0)), "", what),
            **{option.name: settings[option.name] for option in LEARNING},
        )
        show(100, "", "adapted")
    training.finish(describe(adapted, output), lambda: adapted.save(output, quantise=quantise))
