"""``epigram filter``: scores documents and keeps those within bounds."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epigram.cli import console
from epigram.cli.classify.arguments import FileFormat, fields_of
from epigram.cli.cluster import Cluster
from epigram.cli.documents import Field
from epigram.cli.options import Json, Threads, derived, parameters
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.filter import DocumentFilter, FilterSummary, ScorerRecipe

AROUND = 10
"""Documents that --dry-run shows on each side of a bound."""


def _choice(
    against: Path | None = None,
    label: str | None = None,
    also: list[str] | None = None,
    pieces: Path | None = None,
    normalise: Literal["ccnet"] | None = None,
    least: list[str] | None = None,
    most: list[str] | None = None,
    keep: str | None = None,
    buckets: str | None = None,
) -> None:
    """Options of the scores and of the choice.

    Scores
    ------
    against MODEL : Score: perplexity divided by that under this model.
    label NAME : Score: probability of this label.
    also NAME=MODEL : A further score in field NAME; ,against=MODEL or ,label=NAME may follow. May be repeated.
    pieces FILE : Sentencepiece model that cuts the text for the language model.
    normalise : Normalise the text first, as CCNet does.

    Choice
    ------
    least --min [NAME=]X : Keep scores of at least X. May be repeated.
    most --max [NAME=]X : Keep scores of at most X. May be repeated.
    keep N% : Keep the best share; files are read twice.
    buckets NAME,NAME : Equally large buckets, such as head,middle,tail.
    """


@derived(parameters(_choice))
def command(
    files: list[Path],
    model: Path,
    output: Path | None = None,
    field: Field = None,
    format: FileFormat = None,
    score: str = "score",
    strict: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    sample: int = 1000,
    threads: Threads = 1,
    cluster: Cluster = None,
    plot: Path | None = None,
    json: Json = False,
    **choice: Any,
) -> None:
    """Score documents by perplexity, a ratio of two models or a label; keep those within bounds.

    Parameters
    ----------
    files IN... : Text, TSV, CSV, JSON lines or Parquet files; - is stdin.
    output -o OUT : Where kept records go.
    strict : Stop at the first malformed record.
    resume : Continue a run that was stopped, to the same bytes.
    dry_run : Write nothing; show documents around the bounds.
    sample >= 1 : Documents that --dry-run scores.
    plot FILE : Histogram to draw: .png, .svg or .pdf.

    Scores
    ------
    model -m MODEL : Language model or text classifier.
    score NAME : Field of the score; empty: none.
    """
    from epigram.cli.plots import check_plot
    from epigram.files import check_writable

    if output is None and not dry_run:
        raise InputError("give -o OUT, or --dry-run to see what would be kept")
    if plot is not None:
        check_plot(plot)
    recipes, settings = recipes_of(model, score, choice), settings_of(score, choice)
    settings |= {"threads": threads, "subject": subject_of(files, recipes)}
    reading = {"fields": fields_of(field, None), "format": format, "strict": strict}
    if dry_run:
        show_sample(filter_of(recipes, settings), files, reading, sample)
        return
    assert output is not None
    refuse_blank(files)
    check_writable(output)
    if output.exists() and not output.is_file():
        raise InputError("cannot write: not a regular file; give another name", path=output)
    reading["resume"] = resume
    watch = console.Stopwatch()
    with console.progress() as bar:
        task = bar.add_task(
            "files" if cluster else "documents", total=len(files) if cluster else None, status=""
        )

        def progress(n: int) -> None:
            bar.update(task, completed=n, status=f"{n:,}")

        summary, counts = work(recipes, settings, files, output, reading, cluster, progress)
    record = {
        "documents": summary.documents, "kept": summary.kept, "empty": summary.empty,
        "malformed": summary.malformed, **counts, "cpu_seconds": watch.cpu_seconds,
    }  # fmt: skip
    report(record, summary, [recipe.name for recipe in recipes], output, json)
    if plot is not None:
        from epigram.cli.plots import plot_scores

        plot_scores({recipe.name: summary.histogram(recipe.name, 60) for recipe in recipes}, plot)


def refuse_blank(files: list[Path]) -> None:
    """Refuse to filter files that are all empty or blank."""
    from epigram.records.streams import iterate_lines, unpacked_name

    for path in files:
        if not path.is_file() or unpacked_name(str(path)).endswith(".parquet"):
            return
        if any(not line.isspace() for line in iterate_lines(str(path))):
            return
    raise InputError("no text: empty or blank", path=files[0])


def work(
    recipes: list[ScorerRecipe],
    settings: dict[str, Any],
    files: list[Path],
    output: Path,
    reading: dict[str, Any],
    cluster: str | None,
    progress: Callable[[int], object],
) -> tuple[FilterSummary, dict[str, int]]:
    """Filter here or on a cluster; also the words of language models, and how many were unknown."""
    from epigram.cli.lm.models import warn_if_left_out
    from epigram.files import make_folder
    from epigram.filter import Perplexity

    paths = [str(path) for path in files]
    if cluster is not None:
        from epigram.filter.cluster import filter_files

        make_folder(output)
        return filter_files(cluster, recipes, settings, paths, output, reading, progress), {}
    job = filter_of(recipes, settings)
    summary = job.run(paths, str(output), progress=progress, **reading)
    for scorer in job.scorers.values():
        if isinstance(scorer, Perplexity):
            warn_if_left_out(scorer.model, scorer.unknown, scorer.words)
    scorers = [scorer for scorer in job.scorers.values() if isinstance(scorer, Perplexity)]
    return summary, {"words": scorers[0].words, "unknown_words": scorers[0].unknown} if scorers else {}


def recipes_of(model: Path, score: str, choice: dict[str, Any]) -> list[ScorerRecipe]:
    """The scores that the options name, that of the choice first."""
    from epigram.filter import ScorerRecipe

    against, label = choice["against"], choice["label"]
    if label is not None and against is not None:
        raise InputError("--label is for a text classifier, --against for language models; give one of them")
    pieces, ccnet = choice["pieces"], choice["normalise"] == "ccnet"
    if label is not None and not choice["also"] and (pieces is not None or ccnet):
        raise InputError("--pieces and --normalise are for language models; leave them out with --label")
    pieces = None if pieces is None else str(pieces)
    own = (None, False) if label is not None else (pieces, ccnet)
    against = None if against is None else str(against)
    recipes = [ScorerRecipe(score or "score", str(model), against, label, *own)]
    recipes += [ScorerRecipe.parse(text, pieces, ccnet) for text in choice["also"] or ()]
    if len({recipe.name for recipe in recipes}) < len(recipes):
        raise InputError("two scores have one name; name them with --score NAME and --also NAME=MODEL")
    return recipes


def settings_of(score: str, choice: dict[str, Any]) -> dict[str, Any]:
    """Settings of the filter; bounds without a name are those of the first score."""
    names = [score or "score", *(text.partition("=")[0] for text in choice["also"] or ())]
    limits: dict[str, dict[str, float]] = {"least": {}, "most": {}}
    for kind, option in (("least", "--min"), ("most", "--max")):
        for text in choice[kind] or ():
            name, _, number = text.rpartition("=")
            name = name or names[0]
            try:
                limits[kind][name] = float(number)
            except ValueError:
                raise InputError(f"{option} {text!r}: expected a number, or NAME=NUMBER") from None
            if name not in names:
                raise InputError(f"{option} {text!r}: no score {name!r}; the scores are {', '.join(names)}")
    buckets = tuple(choice["buckets"].split(",")) if choice["buckets"] else ()
    return {
        **limits, "adds": bool(score), "share": share_of(choice["keep"]), "buckets": buckets,
        "highest": choice["label"] is not None,
    }  # fmt: skip


def filter_of(recipes: list[ScorerRecipe], settings: dict[str, Any]) -> DocumentFilter:
    """The filter, with its models opened."""
    from epigram.filter import DocumentFilter

    return DocumentFilter({recipe.name: recipe.build() for recipe in recipes}, **settings)


def subject_of(files: list[Path], recipes: list[ScorerRecipe]) -> str:
    """Files and models with sizes and times, which a stopped run and its resumption share."""
    paths = [
        *files,
        *(Path(path) for recipe in recipes for path in (recipe.model, recipe.against, recipe.pieces) if path),
    ]
    stats = [path.stat() for path in paths if path.is_file()]
    return repr((recipes, [(stat.st_size, stat.st_mtime_ns) for stat in stats]))


def report(
    record: dict[str, Any], summary: FilterSummary, names: list[str], output: Path, json: bool
) -> None:
    """Print counts, quantiles and histograms."""
    if json:
        scores = {name: {**summary.quantiles(name), "histogram": summary.histogram(name)} for name in names}
        console.print_json({**record, "scores": scores})
        return
    console.facts(str(output), record)
    for name in names:
        bars = summary.histogram(name)
        largest = max((n for _, n in bars), default=1)
        quantiles = ", ".join(f"{share} {value:g}" for share, value in summary.quantiles(name).items())
        rows = [(f"{edge:,.4g}", n, "#" * round(40 * n / largest)) for edge, n in bars]
        console.table(f"{name}: {quantiles}", ("from", "documents", ""), rows)


def share_of(keep: str | None) -> float | None:
    """``30%`` or ``0.3`` as a share.

    Examples
    --------
    >>> share_of("30%"), share_of("0.25")
    (0.3, 0.25)
    """
    if keep is None:
        return None
    try:
        share = float(keep[:-1]) / 100 if keep.endswith("%") else float(keep)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise InputError(f"--keep {keep}: expected a share such as 30% or 0.3")
    return share


def show_sample(job: DocumentFilter, files: list[Path], reading: dict[str, Any], sample: int) -> None:
    """Print the documents of a sample that are next to the bounds, or to both ends."""
    import numpy as np

    from epigram.records import RecordReader

    reader = RecordReader([str(path) for path in files], **reading)
    documents = list(islice(iter(reader), sample * 10))
    chosen = sorted(random.Random(0).sample(range(len(documents)), min(sample, len(documents))))
    documents = [documents[k] for k in chosen]
    scores = job.score([document.text for document in documents])
    cuts, names = job.cuts(scores), list(job.scorers)
    least, most = (
        [limits.get(name, end) for name in names]
        for limits, end in ((cuts.least, -np.inf), (cuts.most, np.inf))
    )
    kept = np.all((scores >= least) & (scores <= most), axis=1)
    order = np.argsort(scores[:, 0], kind="stable")[: int(np.sum(~np.isnan(scores[:, 0])))]
    ends = np.flatnonzero(np.diff(kept[order])) + 1
    places = np.arange(order.size)
    near = [np.abs(places + 0.5 - end) <= AROUND for end in (ends.tolist() or [0, order.size])]
    for k in order[np.any(near, axis=0)].tolist():
        line = {
            **{name: round(value, 6) for name, value in zip(names, scores[k].tolist(), strict=True)},
            "choice": "keep" if kept[k] else "drop",
            "text": documents[k].text[:200],
        }
        console.print_line(line)
    console.note(f"{int(kept.sum()):,} of {len(documents):,} documents of the sample would be kept")
