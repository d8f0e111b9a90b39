"""``epigram lm filter``: selects lines by their score under language models."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import Annotated

import typer

from epigram.cli.lm.models import Model, Text, open_model, warn_if_left_out
from epigram.errors import InputError


def command(
    model: Model,
    text: Text,
    keep: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the sentences to keep, the best.")
    ] = None,
    max_perplexity: Annotated[
        float | None, typer.Option(metavar="X", help="Highest perplexity of a sentence to keep.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Model of general text; perplexities are divided by those under it."
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Text file to write; - writes to standard output."
        ),
    ] = Path("-"),
    json: Annotated[
        bool, typer.Option("--json", help="Print the number of lines kept, as JSON on standard error.")
    ] = False,
) -> None:
    """Keep the sentences of a text that a model finds likely, in their order.

    A word outside the vocabulary has the probability of <unk>, so text of another language and noise are unlikely.

    With --against GENERAL, a model of text of any kind, this finds the sentences that are like the text of MODEL:
    the perplexity is then that under MODEL divided by that under GENERAL (Moore and Lewis 2010).
    """
    import numpy as np

    from epigram.cli.lm.prepare import write_text
    from epigram.files import read_lines
    from epigram.lm.corpus import Corpus
    from epigram.lm.score_report import Report
    from epigram.lm.vocabulary import tokens_of

    if (keep is None) == (max_perplexity is None):
        raise InputError("give --keep SHARE or --max-perplexity X, one of them.")
    if keep is not None and not 0 < keep <= 1:
        raise InputError(f"--keep {keep:g}: a share above 0 and at most 1.")
    lines = [line for line in read_lines(text, sentences=True) if tokens_of(line)]
    language_model = open_model(model)
    corpus = Corpus.of(map(language_model.vocabulary_.tokens, lines))
    report = Report.of(language_model, corpus)
    warn_if_left_out(language_model, int(report.n_unknown.sum()), corpus.n_tokens)
    measure = report.perplexities
    if against is not None:
        general = open_model(against)
        if general.vocabulary_.tokenizer != language_model.vocabulary_.tokenizer:
            raise InputError("cuts text in another way than MODEL (words, characters, pieces)", path=against)
        measure = measure / Report.of(general, corpus).perplexities
    if max_perplexity is not None:
        chosen = measure <= max_perplexity
    else:
        chosen = np.zeros(len(lines), dtype=bool)
        chosen[np.argsort(measure, kind="stable")[: round((keep or 0.0) * len(lines))]] = True
    kept = [line for line, wanted in zip(lines, chosen.tolist(), strict=True) if wanted]
    write_text(output, "".join(f"{line}\n" for line in kept).encode())
    record = {"sentences": len(lines), "kept": len(kept), "most": float(measure[chosen].max(initial=0.0))}
    if json:
        print(encoder.dumps(record), file=sys.stderr)
