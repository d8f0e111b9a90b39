"""Runs the experiments of the papers and writes a report with the papers' figures beside ours."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from epigram.cli import console
from epigram.errors import EpigramError, InputError

if TYPE_CHECKING:
    from experiments.report import Report, Run
    from experiments.runner import Runner, Status

PAPERS = {
    "sgd-l1": "experiments.sgd_l1",
    "structured-lm": "experiments.structured_lm",
    "lasso-ime": "experiments.lasso_ime",
}
DATA_SETS = {
    "sgd-l1": ("conll2000", "jnlpba", "genia-pos", "ud-ewt", "treebank-sample"),
    "structured-lm": ("lm-splits", "english-novels"),
    "lasso-ime": ("ime",),
}
QUICK_DATA_SETS = {**DATA_SETS, "sgd-l1": ("conll2000", "treebank-sample")}
BESIDE = 58  # columns of the terminal that bar, share and times take
LINE_EVERY = 20.0  # seconds, without a terminal


def command(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)}, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Subsets: minutes instead of hours.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The folder of data sets; else EPIGRAM_DATA.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the report and finished results go.")
    ] = Path("epigram-report"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Experiments at a time; all cores by default.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Claims and verdicts as one JSON object on standard output.")
    ] = False,
) -> None:
    """Run the experiments of one paper or all, and write a report with the paper's figures beside ours.

    Finished experiments are kept in the output folder: the same command goes on where it was stopped or killed. The
    data sets are those of `epigram data list`; a paper whose data sets are missing is named first and left out.
    """
    from epigram.files import check_writable, make_folder
    from experiments.figures import check_plots
    from experiments.publish import publish
    from experiments.runner import Runner

    if paper != "all" and paper not in PAPERS:
        raise InputError(f"no paper {paper!r}; there are {', '.join(PAPERS)}, and all")
    check_plots()
    folder = _data_folder(data)
    asked = [name for name in PAPERS if paper in (name, "all")]
    complete = _with_data(asked, QUICK_DATA_SETS if quick else DATA_SETS, folder)
    make_folder(output, "; choose another with -o")
    check_writable(output / "report.md")
    modules = {name: import_module(PAPERS[name]) for name in complete}
    plan = {name: cost for module in modules.values() for name, cost in module.plan(quick).items()}
    errors: list[EpigramError] = []
    try:
        with (
            Display() as display,
            Runner(
                output.resolve(),
                folder,
                quick=quick,
                jobs=jobs,
                plan=plan,
                watch=display.show,
            ) as runner,
        ):
            reports = _reports(runner, modules, errors)
    except KeyboardInterrupt:
        console.stderr().print("finished experiments are kept; the same command goes on from here")
        raise
    if reports:
        run = _run(runner, reports)
        page = publish(run, output)
        if json:
            console.print_json(_record(run, page))
        else:
            _summarise(run)
            print(f"report: {page}")
    for error in errors:
        print(f"epigram: {error}", file=sys.stderr)
    if errors or len(complete) < len(asked):
        raise typer.Exit(1 if errors and not isinstance(errors[0], InputError) else 2)


def _reports(runner: Runner, modules: dict[str, Any], errors: list[EpigramError]) -> list[Report]:
    """The papers' reports; what fails in one does not stop the others."""
    reports = []
    for name, module in modules.items():
        try:
            reports.append(module.run(runner))
        except EpigramError as error:
            errors.append(error)
        runner.drop(f"{name}/")
    return reports


def _run(runner: Runner, reports: list[Report]) -> Run:
    from experiments.provenance import machine
    from experiments.report import Run

    records = runner.records
    dates = sorted(record["date"] for record in records.values()) or ["unknown"]
    notes = []
    if runner.stale:
        notes.append(
            f"{len(runner.stale)} of {len(records)} results were computed by an earlier state of the code. "
            "Remove the folder `finished` to compute them again."
        )
    return Run(
        reports,
        runner.quick,
        machine(),
        dates[0],
        dates[-1],
        sum(record["cpu_seconds"] for record in records.values()),
        {name: records[name] for name in sorted(records)},
        notes,
    )


def _record(run: Run, page: Path) -> dict[str, Any]:
    """What the summary says, as data; all numbers are in results.json beside the page."""
    return {
        "report": str(page),
        "quick": run.quick,
        "cpu_seconds": run.cpu_seconds,
        "verdicts": run.verdicts(),
        "claims": [
            {"paper": report.name, "verdict": claim.verdict, "claim": claim.text, "why": claim.why}
            for report in run.reports
            for claim in report.claims()
        ],
        "notes": run.notes,
    }


def _summarise(run: Run) -> None:
    from experiments.report import SYMBOLS

    rows = [
        (report.name, f"{SYMBOLS[claim.verdict]} {claim.verdict}", claim.text)
        for report in run.reports
        for claim in report.claims()
    ]
    console.table("claims of the papers", ["paper", "verdict", "claim"], rows)
    for note in run.notes:
        console.stderr().print(note)


def _data_folder(given: Path | None) -> Path:
    from epigram.datasets import folders

    if given is not None and not given.is_dir():
        raise InputError("no such folder of data sets; choose it with --data", path=given)
    tried = [given] if given else folders()
    return next((folder for folder in tried if folder.is_dir()), tried[0]).resolve()


def _with_data(papers: list[str], needed: dict[str, tuple[str, ...]], folder: Path) -> list[str]:
    """Papers whose data sets are all in the folder; lists the missing sets with the way to get each."""
    from epigram.datasets import dataset

    missing = [name for paper in papers for name in needed.get(paper, ()) if not (folder / name).is_dir()]
    if not missing:
        return papers
    rows = [f"data sets that are not in {folder} (choose another folder with --data):"]
    for name in missing:
        found = dataset(name)
        way = f"epigram data get {name}"
        if not all(file.url for file in found.files):
            way = f"no public address; {found.origin}"
        rows.append(f"  {name}: {way}")
    complete = [paper for paper in papers if not set(needed.get(paper, ())) & set(missing)]
    left_out = [paper for paper in papers if paper not in complete]
    rows.append(f"left out for want of data: {', '.join(left_out)}")
    for row in rows:
        console.stderr().print(row, markup=False, highlight=False, soft_wrap=True)
    if not complete:
        raise InputError(
            "no data for any experiment; get the data sets above, or choose their folder with --data"
        )
    return complete


class Display:
    """Shows each :class:`Status` given to ``show``; use as a context manager."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._console = console.stderr()
        self._began = time.monotonic()
        self._last_line = self._began
        self._bar = Progress(
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[dim]{task.description}[/dim]", markup=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, traceback)

    def show(self, status: Status) -> None:
        """Bring the display up to date."""
        from rich.markup import escape

        now = time.monotonic()
        left = time_left(status, now - self._began)
        names = ", ".join(status.running)
        room = max(10, self._console.width - BESIDE)
        self._bar.update(
            self._task,
            total=status.total,
            completed=status.done + status.under_way,
            description=escape(names if len(names) <= room else f"{names[: room - 1]}…"),
            left=left,
        )
        if not self._console.is_terminal and now - self._last_line >= LINE_EVERY:
            self._last_line = now
            share = (status.done + status.under_way) / status.total if status.total else 1.0
            self._console.print(f"{share:.0%} {left} {names}", markup=False, soft_wrap=True)


def time_left(status: Status, elapsed: float) -> str:
    """An estimate in words from what this run itself has done so far; nothing before it has done something.

    Examples
    --------
    >>> from experiments.runner import Status
    >>> time_left(Status(done=70, kept=50, under_way=10, total=200, running=()), 60.0)
    '4 min left'
    """
    from experiments.publish import duration

    computed = status.done - status.kept + status.under_way
    if elapsed < 5 or computed <= 0:
        return ""
    return f"{duration((status.total - status.done - status.under_way) * elapsed / computed)} left"
