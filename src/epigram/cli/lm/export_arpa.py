"""``epigram lm export-arpa``: writes a language model as an ARPA file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epigram.cli import console
from epigram.cli.lm.models import Model, open_backoff, open_model
from epigram.cli.options import Json


def command(
    model: Model,
    output: Path,
    ngrams: Path | None = None,
    valid: Path | None = None,
    json: Json = False,
) -> None:
    """Write a model as an ARPA file, without approximation.

    With --ngrams any model is written: each n-gram of the other one gets the probability that this model gives its
    last word after its first ones, and back-off weights make the distributions sum to one.

    Parameters
    ----------
    output OUT.arpa[.gz] : File to write.
    ngrams MODEL : Model whose n-grams approximate a model without n-grams.
    valid FILE : Text whose perplexity is printed before and after.
    """
    from epigram.lm.ngram.arpa import write_arpa
    from epigram.lm.ngram.merge import approximate

    table = open_backoff(model) if ngrams is None else approximate(open_model(model), open_backoff(ngrams))
    write_arpa(table, output)
    record: dict[str, Any] = {"ngrams": table.n_ngrams, "bytes": output.stat().st_size}
    if valid is not None:
        record["perplexity_model"] = open_model(model).perplexity(valid)
        record["perplexity"] = table.perplexity(valid)
    if json:
        console.print_json(record)
    elif ngrams is not None or valid is not None:
        console.facts(str(output), record)
