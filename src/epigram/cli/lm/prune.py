"""``epigram lm prune``: removes n-grams that change the model little."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.lm.models import Model, open_backoff, write_model
from epigram.cli.options import Json, Output


def command(
    model: Model,
    output: Output,
    threshold: float = 1e-8,
    ngrams: int | None = None,
    json: Json = False,
) -> None:
    """Drop the n-grams that change the model least, by relative entropy.

    Parameters
    ----------
    threshold : Largest relative change of perplexity by an n-gram that is dropped.
    ngrams >= 1 : Number of n-grams to keep, in place of --threshold.
    """
    from epigram.lm.ngram.prune import prune as prune_model

    before = open_backoff(model)
    size = before.n_ngrams
    after = (
        prune_model(before, threshold=threshold) if ngrams is None else prune_model(before, n_ngrams=ngrams)
    )
    write_model(after, output)
    record = {"ngrams_before": size, "ngrams": after.n_ngrams, "bytes": output.stat().st_size}
    console.report(record, str(output), json)
