"""``epigram filter``: scores documents and keeps those within bounds."""

from __future__ import annotations

import json as encoder
import random
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli import console
from epigram.cli.classify.arguments import FileFormat, fields_of, load_classifier
from epigram.cli.documents import Field
from epigram.cli.options import Json, Threads, derived, parameters
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.filter import DocumentFilter
    from epigram.filter.scorers import DocumentScorer

SCORES, CHOICE = "Scores", "Choice"
Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="IN...", help="Text, TSV, CSV, JSON lines or Parquet files; - is stdin."),
]
FilterOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="OUT", help="Where kept records go.")
]
Scored = Annotated[
    Path,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="Language model or text classifier.", rich_help_panel=SCORES
    ),
]
Against = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL", help="Score: perplexity divided by that under this model.", rich_help_panel=SCORES
    ),
]
Pieces = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Sentencepiece model that cuts the text for the language model.",
        rich_help_panel=SCORES,
    ),
]
Normalisation = Annotated[
    Literal["ccnet"] | None,
    typer.Option(help="Normalise the text first, as CCNet does.", rich_help_panel=SCORES),
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="NAME", help="Score: probability of this label.", rich_help_panel=SCORES),
]
Name = Annotated[
    str,
    typer.Option("--score", metavar="NAME", help="Field of the score; empty: none.", rich_help_panel=SCORES),
]
Least = Annotated[
    float | None,
    typer.Option("--min", metavar="X", help="Keep scores of at least X.", rich_help_panel=CHOICE),
]
Most = Annotated[
    float | None, typer.Option("--max", metavar="X", help="Keep scores of at most X.", rich_help_panel=CHOICE)
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="N%",
        help="Keep the best share; files are read twice.",
        rich_help_panel=CHOICE,
    ),
]
Buckets = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME",
        help="Equally large buckets, such as head,middle,tail.",
        rich_help_panel=CHOICE,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped, to the same bytes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing; show documents around the bounds.")]
Sample = Annotated[int, typer.Option(min=1, help="Documents that --dry-run reads.")]


def _choice(
    against: Against = None,
    label: Label = None,
    pieces: Pieces = None,
    normalise: Normalisation = None,
    least: Least = None,
    most: Most = None,
    keep: Keep = None,
    buckets: Buckets = None,
) -> None: ...


@derived(parameters(_choice))
def command(
    files: Inputs,
    model: Scored,
    output: FilterOutput = None,
    field: Field = None,
    format: FileFormat = None,
    score: Name = "score",
    resume: Resume = False,
    dry_run: DryRun = False,
    sample: Sample = 1000,
    threads: Threads = 1,
    json: Json = False,
    **choice: Any,
) -> None:
    """Score documents by perplexity, a ratio of two models or a label; keep those within bounds."""
    from epigram.cli.run import refuse_inputs
    from epigram.filter import DocumentFilter

    if output is None and not dry_run:
        raise InputError("give -o OUT, or --dry-run to see what would be kept")
    least, most, buckets = (choice[name] for name in ("least", "most", "buckets"))
    against, label = choice["against"], choice["label"]
    job = DocumentFilter(
        scorer_of(model, against, label, choice["pieces"], choice["normalise"]), score or None,
        float("-inf") if least is None else least, float("inf") if most is None else most,
        share_of(choice["keep"]), label is not None, tuple(buckets.split(",")) if buckets else (), threads,
    )  # fmt: skip
    if dry_run:
        show_sample(job, files, field, format, sample)
        return
    assert output is not None
    refuse_inputs(output, {"files": files, "model": model, "against": against})
    watch = console.Stopwatch()
    with console.progress() as bar:
        task = bar.add_task("documents", total=None, status="")
        summary = job.run(
            [str(path) for path in files], str(output), fields_of(field, None), format, resume=resume,
            progress=lambda n: bar.update(task, completed=n, status=f"{n:,}"),
        )  # fmt: skip
    record = {
        "documents": summary.documents, "kept": summary.kept, "empty": summary.empty,
        "malformed": summary.malformed, "cpu_seconds": watch.cpu_seconds, **summary.quantiles,
    }  # fmt: skip
    if json:
        console.print_json({**record, "histogram": summary.histogram})
        return
    console.facts(str(output), record)
    largest = max((n for _, n in summary.histogram), default=1)
    rows = [(f"{edge:,.4g}", n, "#" * round(40 * n / largest)) for edge, n in summary.histogram]
    console.table("scores", ("from", "documents", ""), rows)


def scorer_of(
    model: Path, against: Path | None, label: str | None, pieces: Path | None, normalise: str | None
) -> DocumentScorer:
    """The scorer that the options name."""
    from epigram.filter import LabelProbability, Perplexity, PerplexityRatio, PieceModel

    if label is not None:
        if against is not None:
            raise InputError(
                "--label is for a text classifier, --against for language models; give one of them"
            )
        return LabelProbability(load_classifier(model), label)
    from epigram.cli.lm.models import open_model

    one, cuts = open_model(model), None if pieces is None else PieceModel.read(pieces)
    if against is None:
        return Perplexity(one, cuts, normalise == "ccnet")
    return PerplexityRatio(one, open_model(against), cuts, normalise == "ccnet")


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


def show_sample(job: DocumentFilter, files: list[Path], text: str | None, format: Any, sample: int) -> None:
    """Documents next to the bounds among the first ones, best last."""
    from epigram.records import RecordReader

    reader = RecordReader([str(path) for path in files], fields_of(text, None), format)
    documents = list(islice(iter(reader), sample * 10))
    chosen = sorted(random.Random(0).sample(range(len(documents)), min(sample, len(documents))))
    documents = [documents[k] for k in chosen]
    scores = job.scorer([document.text for document in documents])
    known = sorted((value, k) for k, value in enumerate(scores.tolist()) if value == value)
    least, most, _ = job.bounds(scores)
    for value, k in known:
        mark = "keep" if least <= value <= most else "drop"
        line = {"score": round(value, 6), "choice": mark, "text": documents[k].text[:200]}
        sys.stdout.write(console.echoed(encoder.dumps(line, ensure_ascii=False) + "\n"))
