"""``epigram tag pool``: averages the weights of several CRFs."""

from __future__ import annotations

from pathlib import Path

import typer

from epigram.cli.options import Json, ModelOutput
from epigram.cli.tag.arguments import load_crf
from epigram.errors import InputError


def command(
    context: typer.Context,
    models: list[Path],
    output: ModelOutput,
    shares: str | None = None,
    json: Json = False,
) -> None:
    """Average the weights of several taggers with the same labels.

    Parameters
    ----------
    models MODEL... : CRFs to average (*.epigram).
    shares W,W : Weight of each model [default: equal]
    """
    from epigram.cli.run import TrainingRun
    from epigram.tagging.stacked.pool import pool as pool_taggers

    run = TrainingRun(output, json=json, checkpoint=0.0, context=context)
    try:
        given = None if shares is None else [float(share) for share in shares.split(",")]
    except ValueError:
        raise InputError(f"--shares are numbers such as 1,2, not {shares!r}") from None
    whole = pool_taggers([load_crf(model) for model in models], given)
    run.finish(dict(whole.fit_), save=lambda: whole.save(output))
