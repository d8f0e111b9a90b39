"""``epigram lm``: train, evaluate, query, explain, mix, prune and export language models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli
from epigram.cli import lm_classes, lm_counts, lm_prepare, lm_scoring, lm_training, lm_update
from epigram.cli.lm_scoring import Json, Model, open_model
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
    from epigram.lm.ngram.model import BackoffModel

app = typer.Typer(no_args_is_help=True)
app.command("train")(lm_training.command)

Words = Annotated[str, typer.Argument(metavar="WORDS", help="The words before; <s> marks a sentence start.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the result goes.")]


app.command("eval")(lm_scoring.evaluate)
app.command()(lm_scoring.score)
app.command("filter")(lm_scoring.choose)


@app.command("next")
def next_words(
    model: Model,
    words: Words = "",
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    json: Json = False,
) -> None:
    """The likeliest next words and their probabilities."""
    found = open_model(model).next_words(words, k)
    if json:
        cli.print_json([{"word": word, "probability": p} for word, p in found])
        return
    cli.table(words or "(no context)", ("word", "probability"), found)


@app.command()
def sample(
    model: Model,
    n: Annotated[int, typer.Option("-n", min=1, help="How many sentences.")] = 5,
    words: Annotated[str | None, typer.Option("--context", metavar="WORDS", help="Go on from here.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed, the same sentences.")] = None,
    max_words: Annotated[int, typer.Option(min=1, help="Longest sentence.")] = 200,
) -> None:
    """Random sentences of the model, one a line."""
    language_model = open_model(model)
    for sentence in language_model.sample(n, context=words, seed=seed, max_words=max_words):
        print(cli.echoed(language_model.vocabulary_.joined(sentence)))


@app.command()
def explain(
    model: Model,
    words: Words,
    word: Annotated[str, typer.Argument(metavar="WORD", help="The next word.")],
    json: Json = False,
) -> None:
    """The weights that made the probability of a word; of a mixture, what each part says."""
    from dataclasses import asdict

    language_model = open_model(model)
    if not hasattr(language_model, "explain"):
        raise InputError("only log-linear models and mixtures have weights to show", path=model)
    why = language_model.explain(words, word)
    cli.print_json(asdict(why)) if json else _show_reasons(why, words)


def _show_reasons(why: Any, words: str, of: str = "") -> None:
    """The terms of a probability as tables; a mixture shows its parts, then the terms of each."""
    from epigram.lm.loglinear.explain import Explanation
    from epigram.lm.mixed.mixture import Blend

    title = f"P({why.word} | {words}) = {why.probability:.6g}{of}"
    columns = ("context", "weight", "seen", "P so far")
    if isinstance(why, Blend):
        rows = [(part.name, part.share, part.probability) for part in why.parts]
        cli.table(title, ("part", "share", "P"), rows)
        for part in why.parts:
            if part.why is not None:
                _show_reasons(part.why, words, f" of {part.name}{of}")
    elif isinstance(why, Explanation):
        cli.table(title, columns, [_term_row(" ".join(term.context), term) for term in why.terms])
    else:
        for part in (why.class_part, why.word_part):
            rows = [_term_row(name, step) for name, step in part.terms]
            cli.table(f"{title}: {part.choice} {part.probability:.6g}", columns, rows)


def _term_row(name: str, term: Any) -> tuple[Any, ...]:
    return name or "(none)", term.weight, term.count, term.probability


@app.command()
def interpolate(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Models to mix; one for --cache.")],
    valid: Annotated[Path, typer.Option(metavar="FILE", help="Held-out text that chooses the weights.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The mixture as a model: *.epigram, *.arpa[.gz]."
        ),
    ] = None,
    cache: Annotated[
        int, typer.Option(min=0, metavar="N", help="Mix in a cache of the last N words too.")
    ] = 0,
    merged: Annotated[
        bool, typer.Option("--merge", help="Write one back-off model instead, as for *.arpa.")
    ] = False,
    json: Json = False,
) -> None:
    """Mix models, with weights chosen on held-out text."""
    from epigram.lm.mixed.cached import CachedLM
    from epigram.lm.mixed.mixture import interpolate, merge

    if len(models) < 2 and not (cache and models):
        raise InputError("give two models or more to mix, or one and --cache.")
    merged = merged or (output is not None and _is_arpa(output))
    if merged and (cache or len(models) < 2):
        raise InputError(
            "a cache is no back-off model; leave out --cache, or write a *.epigram without --merge."
        )
    parts = [_open_backoff(path) if merged else open_model(path) for path in models]
    record: dict[str, Any] = {"perplexity_valid_alone": [part.perplexity(valid) for part in parts]}
    mixture: LanguageModel = parts[0]
    if len(parts) > 1:
        mixture = mixed = interpolate(parts, valid)
        record["weights"] = mixed.weights.tolist()
        if merged:
            mixture = merge(mixed)
            record["perplexity_valid_merged"] = mixture.perplexity(valid)
        record["perplexity_valid"] = mixed.perplexity(valid)
    if cache:
        mixture = cached = CachedLM.chosen(mixture, valid, cache)
        record |= {"cache_weight": cached.weight, "perplexity_valid": cached.perplexity(valid)}
    if output is not None:
        _write(mixture, output)
    cli.print_json(record) if json else cli.facts("mixture", record)


@app.command()
def prune(
    model: Model,
    output: Output,
    threshold: Annotated[
        float, typer.Option(help="Largest relative change of perplexity of an n-gram.")
    ] = 1e-8,
    ngrams: Annotated[int | None, typer.Option(min=1, help="Instead: keep so many n-grams.")] = None,
    json: Json = False,
) -> None:
    """Drop the n-grams that matter least (relative entropy), from any model."""
    from epigram.lm.ngram.prune import prune as prune_model

    before = _open_backoff(model)
    size = before.n_ngrams
    after = (
        prune_model(before, threshold=threshold) if ngrams is None else prune_model(before, n_ngrams=ngrams)
    )
    _write(after, output)
    record = {"ngrams_before": size, "ngrams": after.n_ngrams, "bytes": output.stat().st_size}
    cli.print_json(record) if json else cli.facts(str(output), record)


@app.command("map")
def map_model(model: Model, output: Output, json: Json = False) -> None:
    """Write a model, or an ARPA file, as a larger file that is used where it lies.

    Loading decodes nothing, and all processes that load it share its memory. Probabilities are those of the model.
    """
    open_model(model).save(output, mapped=True)
    record = {"bytes_before": model.stat().st_size, "bytes": output.stat().st_size}
    cli.print_json(record) if json else cli.facts(str(output), record)


@app.command("export-arpa")
def export_arpa(
    model: Model,
    output: Annotated[Path, typer.Argument(metavar="OUT.arpa[.gz]", help="Where the file goes.")],
    ngrams: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Approximate a model that is none of n-grams, by the n-grams of this one."
        ),
    ] = None,
    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Report the perplexity of this text before and after.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a model as ARPA, without approximation; of a mixture, exact for all n-grams that its models store.

    With --ngrams any model is written: each n-gram of the other one gets the probability that this model gives its
    last word after its first ones, and back-off weights make the distributions sum to one.
    """
    from epigram.lm.mixed.approximate import approximate
    from epigram.lm.ngram.arpa import write_arpa

    table = _open_backoff(model) if ngrams is None else approximate(open_model(model), _open_backoff(ngrams))
    write_arpa(table, output)
    record: dict[str, Any] = {"ngrams": table.n_ngrams, "bytes": output.stat().st_size}
    if valid is not None:
        record["perplexity_model"] = open_model(model).perplexity(valid)
        record["perplexity"] = table.perplexity(valid)
    if json:
        cli.print_json(record)
    elif ngrams is not None or valid is not None:
        cli.facts(str(output), record)


app.command("classes")(lm_classes.command)
app.command("counts")(lm_counts.command)
app.command("prepare")(lm_prepare.command)
app.command("update")(lm_update.command)


def _open_backoff(path: Path) -> BackoffModel:
    """A model that is a table of n-grams; a mixture of such models is merged."""
    from epigram.lm.mixed.mixture import InterpolatedLM, merge
    from epigram.lm.ngram.model import as_backoff

    model = open_model(path)
    return merge(model) if isinstance(model, InterpolatedLM) else as_backoff(model, path)


def _write(model: Any, output: Path) -> None:
    """A model as ARPA or model file, by its name."""
    from epigram.lm.ngram.arpa import write_arpa

    if _is_arpa(output):
        write_arpa(model, output)
    else:
        model.save(output)


def _is_arpa(path: Path) -> bool:
    return path.name.endswith((".arpa", ".arpa.gz"))
