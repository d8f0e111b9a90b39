"""``epigram reproduce``: run the papers' experiments, and write their tables and figures with ours beside them."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from epigram import cli
from epigram.errors import EpigramError, InputError

if TYPE_CHECKING:
    from epigram_papers.report import Report, Run
    from epigram_papers.runner import Runner, Status

PAPERS = {
    "sgd-l1": "epigram_papers.sgd_l1",
    "structured-lm": "epigram_papers.structured_lm",
    "lasso-ime": "epigram_papers.lasso_ime",
}
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
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="local:N|ADDRESS|FILE",
            help="Run the experiments on a Dask cluster that sees both folders.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Claims and verdicts as one JSON object on standard output.")
    ] = False,
) -> None:
    """Run the experiments of one paper or all, and write one page with the paper's figures beside ours.

    Finished experiments are kept in the output folder: the same command goes on where it was stopped or killed.
    """
    from epigram.text import check_writable, make_folder
    from epigram_papers.figures import check_plots
    from epigram_papers.publish import publish
    from epigram_papers.runner import Runner

    if paper != "all" and paper not in PAPERS:
        raise InputError(f"no paper {paper!r}; there are {', '.join(PAPERS)}, and all")
    check_plots()
    folder = _data_folder(data)
    make_folder(output, "; choose another with -o")
    check_writable(output / "index.html")
    modules = {name: import_module(home) for name, home in PAPERS.items() if paper in (name, "all")}
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
                cluster=cluster,
                plan=plan,
                watch=display.show,
            ) as runner,
        ):
            reports = _reports(runner, modules, errors)
    except KeyboardInterrupt:
        cli.stderr().print("finished experiments are kept; the same command goes on from here")
        raise
    if reports:
        run = _run(runner, reports)
        page = publish(run, output)
        if json:
            cli.print_json(_record(run, page))
        else:
            _summarise(run)
            print(f"report: {page}")
    for error in errors:
        print(f"epigram: {error}", file=sys.stderr)
    if errors:
        raise typer.Exit(2 if isinstance(errors[0], InputError) else 1)


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
    from epigram_papers.provenance import machine
    from epigram_papers.report import Run

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
    from epigram_papers.report import SYMBOLS

    rows = [
        (report.name, f"{SYMBOLS[claim.verdict]} {claim.verdict}", claim.text)
        for report in run.reports
        for claim in report.claims()
    ]
    cli.table("claims of the papers", ["paper", "verdict", "claim"], rows)
    for note in run.notes:
        cli.stderr().print(note)


def _data_folder(given: Path | None) -> Path:
    from epigram.datasets import folders

    if given is not None and not given.is_dir():
        raise InputError("no such folder of data sets; choose it with --data", path=given)
    tried = [given] if given else folders()
    for folder in tried:
        if folder.is_dir():
            return folder.resolve()
    raise InputError(
        f"no data sets at {tried[0]}; choose their folder with --data, or see epigram data get --help"
    )


class Display:
    """Shows each :class:`Status` given to ``show``; use as a context manager."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._console = cli.stderr()
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
    >>> from epigram_papers.runner import Status
    >>> time_left(Status(done=70, kept=50, under_way=10, total=200, running=()), 60.0)
    '4 min left'
    """
    from epigram_papers.html import duration

    computed = status.done - status.kept + status.under_way
    if elapsed < 5 or computed <= 0:
        return ""
    return f"{duration((status.total - status.done - status.under_way) * elapsed / computed)} left"
