"""``epigram lm interpolate``: mixes language models linearly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli import console
from epigram.cli.lm.models import open_model
from epigram.cli.options import Json
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
from epigram.cli.lm.models import is_arpa, open_backoff, write_model


def command(
    models: list[Path],
    valid: Path,
    output: Path | None = None,
    cache: int = 0,
    merged: bool = False,
    json: Json = False,
) -> None:
    """Mix models, with weights chosen on held-out text.

    Parameters
    ----------
    models MODEL... : Models to mix; one is enough with --cache.
    valid --valid FILE : Held-out text that the weights are chosen on.
    output -o FILE : Model file of the mixture to write (*.epigram, *.arpa[.gz]).
    cache N >= 0 : Number of last words in a cache that is mixed in; 0 for none.
    merged --merge : Merge the models into one back-off model, as for *.arpa.
    """
    from epigram.lm.cache import CachedLM
    from epigram.lm.mixture import interpolate, table_of

    if len(models) < 2 and not (cache and models):
        raise InputError("give two models or more to mix, or one and --cache.")
    merged = merged or (output is not None and is_arpa(output))
    if merged and (cache or len(models) < 2):
        raise InputError(
            "a cache is no back-off model; leave out --cache, or write a *.epigram without --merge."
        )
    parts = [open_backoff(path) if merged else open_model(path) for path in models]
    alone = [part.evaluate(valid) for part in parts]
    record: dict[str, Any] = {
        "perplexity_valid_alone": [found.perplexity for found in alone],
        "oov_alone": [found.oov for found in alone],
    }
    mixture: LanguageModel = parts[0]
    if len(parts) > 1:
        mixture = mixed = interpolate(parts, valid)
        record["weights"] = mixed.weights.tolist()
        if merged:
            mixture = table_of(mixed)
            record["perplexity_valid_merged"] = mixture.perplexity(valid)
        record["perplexity_valid"] = mixed.perplexity(valid)
    if cache:
        mixture = cached = CachedLM.chosen(mixture, valid, cache)
        record |= {"cache_weight": cached.weight, "perplexity_valid": cached.perplexity(valid)}
    if output is not None:
        write_model(mixture, output)
    console.report(record, "mixture", json)
