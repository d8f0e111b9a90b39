"""The runner keeps what is finished, whatever happens, and its results depend on nothing but the experiment."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import fake_experiments
import pytest

from epigram.errors import InputError
from experiments.provenance import code_digest, imported, library
from experiments.runner import Experiment, ExperimentError, Runner, Status

SQUARES = [Experiment(f"fake/squares/{x}", fake_experiments.square, {"x": x}, cost=2.0) for x in (1, 2, 3)]
DRAWN = [Experiment(f"fake/drawn/{seed}", fake_experiments.drawn, {"seed": seed}) for seed in range(5)]


def run(folder: Path, experiments: list[Experiment], **options: Any) -> dict[str, dict[str, Any]]:
    with Runner(folder, folder / "data", **{"jobs": 1, **options}) as runner:
        return runner.run(experiments)


def without_time(results: dict[str, dict[str, Any]]) -> str:
    return json.dumps({name: {**result, "cpu_seconds": 0} for name, result in results.items()})


def test_results_come_by_name_with_data_and_time(tmp_path: Path) -> None:
    results = run(tmp_path, SQUARES)
    assert [result["y"] for result in results.values()] == [1, 4, 9]
    assert list(results) == [experiment.name for experiment in SQUARES]
    for result in results.values():
        assert result["data"] == str(tmp_path / "data")
        assert result["cpu_seconds"] >= 0
    assert run(tmp_path, [Experiment("own", fake_experiments.own_time)])["own"] == {"cpu_seconds": 12.5}


def test_finished_experiments_are_not_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    experiments = [Experiment("a", fake_experiments.slow, {"seconds": 0, "log": str(log), "name": "a"})]
    first = run(tmp_path, experiments)
    assert run(tmp_path, experiments) == first
    assert len(log.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("changed", "options"),
    [
        (Experiment("a", fake_experiments.square, {"x": 2}), {}),
        (Experiment("a", fake_experiments.drawn, {"seed": 1}), {}),
        (Experiment("a", fake_experiments.square, {"x": 1}), {"quick": True}),
    ],
)
def test_other_settings_function_or_size_are_another_experiment(
    tmp_path: Path, changed: Experiment, options: dict[str, Any]
) -> None:
    runner = Runner(tmp_path, tmp_path)
    assert Runner(tmp_path, tmp_path, **options).path(changed) != runner.path(
        Experiment("a", fake_experiments.square, {"x": 1})
    )
    same = Experiment("a", fake_experiments.square, {"x": 1}, cost=9, alone=True)
    assert runner.path(same) == runner.path(Experiment("a", fake_experiments.square, {"x": 1}))


def test_another_version_is_another_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Runner(tmp_path, tmp_path).path(SQUARES[0])
    monkeypatch.setattr("epigram.__version__", "9.9")
    assert Runner(tmp_path, tmp_path).path(SQUARES[0]) != before


def test_number_of_jobs_and_order_do_not_matter(tmp_path: Path) -> None:
    one = run(tmp_path / "one", DRAWN, jobs=1)
    two = run(tmp_path / "two", DRAWN, jobs=2)
    backwards = run(tmp_path / "three", DRAWN[::-1], jobs=2)
    assert without_time(one) == without_time(two)
    assert without_time(one) == without_time(dict(reversed(backwards.items())))


def test_first_and_later_runs_return_the_same(tmp_path: Path) -> None:
    first, later = run(tmp_path, DRAWN), run(tmp_path, DRAWN)
    assert json.dumps(first) == json.dumps(later)
    assert math.isnan(first["fake/drawn/0"]["nothing"])
    assert first["fake/drawn/0"]["pair"] == [1, 2]
    assert len(first["fake/drawn/0"]["numbers"]) == 3


def test_a_failing_experiment_is_named_after_the_others_have_ended(tmp_path: Path) -> None:
    experiments = [Experiment("fake/broken", fake_experiments.broken), *SQUARES]
    with pytest.raises(
        ExperimentError, match=r"fake/broken: RuntimeError: the cat is on the keyboard"
    ) as caught:
        run(tmp_path, experiments)
    place = tmp_path / "failed" / "fake--broken.txt"
    assert str(place) in str(caught.value)
    assert "Traceback" in place.read_text()
    assert len(list((tmp_path / "finished").iterdir())) == len(SQUARES)


def test_missing_data_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train.txt: no such file; choose the folder with --data"):
        run(tmp_path, [Experiment("a", fake_experiments.without_data), *SQUARES])


def test_a_dead_worker_is_named_and_replaced(tmp_path: Path) -> None:
    experiments = [Experiment("fake/dies", fake_experiments.dies), *SQUARES]
    with pytest.raises(ExperimentError, match=r"fake/dies: its process died \(signal SIGKILL\)"):
        run(tmp_path, experiments)
    assert len(list((tmp_path / "finished").iterdir())) == len(SQUARES)


def test_experiments_that_measure_time_run_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    experiments = [
        Experiment(
            name,
            fake_experiments.slow,
            {"seconds": 0.2, "log": str(log), "name": name},
            alone=name.startswith("t"),
        )
        for name in ("t1", "a", "t2", "b")
    ]
    run(tmp_path, experiments, jobs=2)
    events = [line.split()[:2] for line in log.read_text().splitlines()]
    for name in ("t1", "t2"):
        at = events.index([name, "begins"])
        assert events[at + 1] == [name, "ends"]


def test_two_jobs_are_two_processes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    experiments = [
        Experiment(name, fake_experiments.slow, {"seconds": 1, "log": str(log), "name": name})
        for name in ("a", "b")
    ]
    run(tmp_path, experiments, jobs=2)
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [event for _, event, _ in lines] == ["begins", "begins", "ends", "ends"]
    assert len({process for _, _, process in lines}) == 2


def test_workers_see_the_data_folder_and_use_one_thread(tmp_path: Path) -> None:
    before = dict(os.environ)
    result = run(tmp_path, [Experiment("a", fake_experiments.environment)])["a"]
    assert result["EPIGRAM_DATA"] == str(tmp_path / "data")
    assert result["OMP_NUM_THREADS"] == "1"
    assert dict(os.environ) == before


def test_progress_is_by_cost_over_the_whole_plan(tmp_path: Path) -> None:
    seen: list[Status] = []
    plan = {
        **{experiment.name: experiment.cost for experiment in SQUARES},
        "fake/later": 4.0,
        "other/x": 10.0,
    }
    run(tmp_path, SQUARES[:1])
    with Runner(tmp_path, tmp_path, jobs=1, plan=plan, watch=seen.append) as runner:
        runner.run(SQUARES)
        assert (seen[0].done, seen[0].kept, seen[0].total) == (2.0, 2.0, 20.0)
        assert (seen[-1].done, seen[-1].kept) == (6.0, 2.0)
        runner.drop("fake/")
    assert seen[-1].total == 16.0
    assert [status.done for status in seen] == sorted(status.done for status in seen)
    assert {status.finished for status in seen} >= {experiment.name for experiment in SQUARES}


def test_results_depend_on_what_the_experiment_imports_and_on_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "some_paper"
    package.mkdir()
    texts = {
        "__init__": "from some_paper.figures import draw",
        "figures": "from some_paper.work import work",
        "work": "from some_paper import experiments\nimport json\nfrom .results import found\n",
        "experiments": "def later():\n    import some_paper.report\n",
        "results": "found = 1",
        "report": "from epigram import SGD",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    names = {name.rpartition(".")[2] for name in imported("some_paper.work")}
    assert names == {"work", "experiments", "results", "report"}  # not figures, which imports work

    before = code_digest("some_paper.work")
    for name, changes in (("figures", False), ("__init__", False), ("results", True), ("report", True)):
        (package / f"{name}.py").write_text(texts[name] + "\nmore = 2\n")
        code_digest.cache_clear()
        assert (code_digest("some_paper.work") != before) == changes, name
        (package / f"{name}.py").write_text(texts[name])


def test_the_library_counts_without_its_command_line() -> None:
    names = set(library())
    assert {"solvers/sgd.py", "features/templates/chunking.txt"} <= names
    assert not [name for name in names if name.startswith("cli/")]


@pytest.mark.parametrize("paper", ["sgd_l1", "structured_lm", "lasso_ime"])
def test_every_paper_has_the_same_shape(paper: str) -> None:
    package = import_module(f"experiments.{paper}")
    assert {"plan", "run"} <= set(package.__all__)
    prefix = f"{paper.replace('_', '-')}/"
    for quick in (False, True):
        assert all(name.startswith(prefix) and cost > 0 for name, cost in package.plan(quick).items())


def test_results_of_this_code_are_not_stale(tmp_path: Path) -> None:
    with Runner(tmp_path, tmp_path, jobs=1) as runner:
        runner.run(SQUARES)
        assert runner.stale == []
        runner.records[SQUARES[1].name]["code"] = "other"
        assert runner.stale == [SQUARES[1].name]


def test_names_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"fake/squares/1"):
        run(tmp_path, [SQUARES[0], SQUARES[0]])


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    run(tmp_path, SQUARES[:1])
    (file,) = (tmp_path / "finished").iterdir()
    file.write_text("{")
    with pytest.raises(InputError, match=file.name):
        run(tmp_path, SQUARES[:1])


LONG_RUN = """
import sys
from pathlib import Path
import fake_experiments
from experiments.runner import Experiment, Runner

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    experiments = [Experiment(f"c{k}", fake_experiments.patient, {"k": k, "folder": str(folder)}) for k in range(6)]
    with Runner(folder, folder, jobs=2) as runner:
        print([result["k"] for result in runner.run(experiments).values()])
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, ending: signal.Signals) -> None:
    program = tmp_path / "long_run.py"
    program.write_text(LONG_RUN)
    places = [
        str(Path(__file__).parent),
        str(Path(__file__).parents[2]),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, str(program), str(tmp_path)]
    log = tmp_path / "log"

    def begun() -> list[list[str]]:
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as first:
        wait_for(lambda: len(begun()) == 5)  # 0, 1 and 2 have ended, 3 and 4 wait
        first.send_signal(ending)
    wait_for(lambda: not any(is_alive(int(process)) for _, process in begun()))
    assert sorted(file.name[:2] for file in (tmp_path / "finished").iterdir()) == ["c0", "c1", "c2"]
    (tmp_path / "go").touch()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert again.stdout == "[0, 1, 2, 3, 4, 5]\n"
    assert sorted(name for name, _ in begun()) == ["0", "1", "2", "3", "3", "4", "4", "5"]
    assert len(list((tmp_path / "finished").iterdir())) == 6


def wait_for(happened: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
