"""``python -m experiments`` on a small paper of our own, and its refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epigram.datasets import catalogue
from experiments import command
from experiments.__main__ import main
from in_process import epigram

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
PAPERS = {"fake": "fake_paper", "broken": "broken_paper", "slow": "slow_paper"}
PROGRAM = """
import sys
sys.path[:0] = [{here!r}, {root!r}]
from experiments import command
from experiments.__main__ import main
command.PAPERS = {papers}
if __name__ == "__main__":
    main()
"""
BROKEN = """
import fake_experiments
from experiments.runner import Experiment

def plan(quick):
    return {"broken/a": 1.0}

def run(runner):
    return runner.run([Experiment("broken/a", fake_experiments.broken)])
"""
SLOW = """
import fake_experiments, fake_paper
from experiments.runner import Experiment

def plan(quick):
    return {"slow/2": 1.0, "slow/3": 1.0}

def run(runner):
    experiments = [Experiment(f"slow/{k}", fake_experiments.patient, {"k": k, "folder": "."}) for k in (2, 3)]
    return fake_paper.report([result["k"] for result in runner.run(experiments).values()], name="slow")
"""


def written(folder: Path) -> Path:
    """The command with papers of our own, in a folder."""
    (folder / "program.py").write_text(PROGRAM.format(here=str(HERE), root=str(ROOT), papers=PAPERS))
    (folder / "broken_paper.py").write_text(BROKEN)
    (folder / "slow_paper.py").write_text(SLOW)
    (folder / "data").mkdir()
    return folder / "program.py"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return written(tmp_path)


def reproduce(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program), *words],
        cwd=program.parent,
        env={**os.environ, "EPIGRAM_DATA": str(program.parent / "data")},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder in which the small paper was run once, and what the command said."""
    program = written(tmp_path_factory.mktemp("first"))
    return program.parent, reproduce(program, "fake", "--quick", "--jobs", "2")


@pytest.fixture
def finished(program: Path, first_run: tuple[Path, subprocess.CompletedProcess[str]]) -> Path:
    """The program, with the results of that run beside it."""
    shutil.copytree(first_run[0] / "epigram-report", program.parent / "epigram-report")
    return program


def test_it_writes_a_report_and_goes_on_from_it(
    finished: Path, first_run: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    out = finished.parent / "epigram-report"
    home, first = first_run
    assert first.returncode == 0, first.stderr
    assert "✗ not reproduced" in first.stdout
    assert f"report: {Path('epigram-report') / 'report.md'}" in first.stdout
    raw = json.loads((out / "results.json").read_text("utf-8"))
    assert raw["quick"] is True
    assert raw["records"]["fake/3"]["result"] == {"y": 9, "data": str((home / "data").resolve())}
    assert raw["machine"]["processor"]
    kept = {file.name: file.stat().st_mtime_ns for file in (out / "finished").iterdir()}
    assert len(kept) == 2
    (out / "report.md").unlink()
    second = reproduce(finished, "fake", "--quick")
    assert second.returncode == 0, second.stderr
    assert {file.name: file.stat().st_mtime_ns for file in (out / "finished").iterdir()} == kept
    assert (out / "report.md").is_file()


def test_verdicts_come_as_json(finished: Path) -> None:
    done = reproduce(finished, "fake", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["report"] == str(Path("epigram-report") / "report.md")
    assert record["quick"] is True
    assert record["verdicts"] == {claim["verdict"]: 1 for claim in record["claims"]}
    assert record["claims"][0] == {
        "paper": "fake",
        "verdict": "reproduced",
        "claim": "Squares grow (Section 2, Table 1).",
        "why": "4 < 9.",
    }


def test_results_of_other_code_are_pointed_out(finished: Path) -> None:
    experiment, *_ = (finished.parent / "epigram-report" / "finished").iterdir()
    experiment.write_text(json.dumps({**json.loads(experiment.read_text()), "code": "old"}))
    again = reproduce(finished, "fake", "--quick")
    assert "1 of 2 results were computed by an earlier state of the code" in again.stderr
    page = finished.parent / "epigram-report" / "report.md"
    assert "earlier state of the code" in page.read_text("utf-8")


def test_control_c_keeps_what_is_finished(program: Path) -> None:
    home = program.parent
    with subprocess.Popen(
        [sys.executable, str(program), "slow", "--jobs", "1"],
        cwd=home,
        env={**os.environ, "EPIGRAM_DATA": str(home / "data")},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        deadline = time.monotonic() + 600
        while not (home / "log").exists() or len((home / "log").read_text().splitlines()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, complaints = running.communicate(timeout=600)
    assert running.returncode == 130
    assert "finished experiments are kept; the same command goes on from here" in complaints
    assert "Traceback" not in complaints
    (home / "go").touch()
    assert reproduce(program, "slow").returncode == 0
    assert [line.split()[0] for line in (home / "log").read_text().splitlines()] == ["2", "3", "3"]


def test_what_fails_in_one_paper_does_not_stop_the_others(program: Path) -> None:
    (program.parent / "go").touch()
    done = reproduce(program, "all", "-o", "out")
    assert done.returncode == 1
    assert "broken/a: RuntimeError: the cat is on the keyboard" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Squares" in (program.parent / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["gao"], "no paper 'gao'; there are fake, broken, slow, and all"),
        (["fake", "--data", "nowhere"], "nowhere: no such folder of data sets; choose it with --data"),
        (["fake", "-o", "program.py"], "program.py: cannot make the folder"),
        (["fake", "-o", "program.py/out"], "program.py/out: cannot make the folder"),
        (["fake", "--jobs", "0"], "Invalid value for '--jobs'"),
        ([], "Missing argument"),
    ],
)
def test_bad_use_is_said_in_one_line(
    program: Path, words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    monkeypatch.setenv("EPIGRAM_DATA", str(program.parent / "data"))
    monkeypatch.setattr(command, "PAPERS", PAPERS)
    done = epigram(*words, program=main)
    assert done.returncode == 2
    assert complaint in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert not (program.parent / "epigram-report" / "finished").exists()


def test_missing_data_sets_are_listed_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPIGRAM_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("EPIGRAM_CACHE", str(tmp_path / "cache"))
    done = epigram("all", "-o", str(tmp_path / "out"), program=main)
    said = done.stderr.decode()
    assert done.returncode == 2
    assert "  conll2000: epigram data get conll2000\n" in said
    assert "  lm-splits: no public address; cut from ap-news and ptb by experiments/lm_splits.py" in said
    assert "  ime: no public address; " in said
    assert "left out for want of data: sgd-l1, structured-lm, lasso-ime\n" in said
    assert "--data" in said
    assert not (tmp_path / "out").exists()


def test_papers_with_their_data_run_without_the_others(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished.parent)
    monkeypatch.setenv("EPIGRAM_DATA", str(finished.parent / "data"))
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr(command, "PAPERS", {"fake": "fake_paper", "broken": "broken_paper"})
    monkeypatch.setattr(command, "QUICK_DATA_SETS", {"broken": ("conll2000",)})
    done = epigram("all", "--quick", program=main)
    assert done.returncode == 2
    assert "left out for want of data: broken\n" in done.stderr.decode()
    assert b"Squares grow" in done.stdout


@pytest.mark.parametrize("needed", [command.DATA_SETS, command.QUICK_DATA_SETS])
def test_the_data_sets_of_the_papers_are_in_the_catalogue(needed: dict[str, tuple[str, ...]]) -> None:
    assert list(needed) == list(command.PAPERS)
    assert {name for names in needed.values() for name in names} <= set(catalogue())


def test_the_installed_command_says_where_the_experiments_are() -> None:
    done = epigram("reproduce", "sgd-l1", "--quick")
    assert done.returncode == 2
    assert "in a checkout of epigram's source run python -m experiments" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_all_papers_quickly(data: Path, tmp_path: Path) -> None:
    """Every experiment on subsets, and the report."""
    command = [sys.executable, "-m", "experiments", "all", "--quick", "-o", str(tmp_path / "report")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "EPIGRAM_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    raw = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))
    assert [report["name"] for report in raw["reports"]] == ["sgd-l1", "structured-lm", "lasso-ime"]
