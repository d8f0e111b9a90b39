"""The training runner of the commands: checks first, progress, Ctrl-C, record, exit code."""

import gc
import json
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer

from epigram.cli.lm import train as lm_training
from epigram.cli.run import TrainingRun
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.protocols import Iteration
from epigram.tagging.column_tagger import ColumnTagger
from in_process import epigram


def test_a_run_reports_cost_and_size(tmp_path, capsys):
    run = TrainingRun(tmp_path / "m", json=True)
    with run.progress("training", 3) as show:
        assert show(1, "half way") is False
    run.finish({"nonzero": 7}, save=lambda: run.output.write_bytes(b"abc"))
    record = json.loads(capsys.readouterr().out)
    assert list(record) == ["nonzero", "seconds", "cpu_seconds", "interrupted", "bytes"]
    assert (record["nonzero"], record["interrupted"], record["bytes"]) == (7, False, 3)


def test_targets_are_looked_at_before_any_work(tmp_path):
    with pytest.raises(InputError, match="the folder does not exist"):
        TrainingRun(tmp_path / "nowhere" / "m")
    with pytest.raises(InputError, match="a plot is a"):
        TrainingRun(tmp_path / "m", tmp_path / "plot.txt")


def test_a_signal_stops_saves_and_exits_with_130(tmp_path, capsys):
    run = TrainingRun(tmp_path / "m", json=True)
    with run.progress("training", step="pass") as show:
        signal.raise_signal(signal.SIGINT)
        until = time.monotonic() + 600
        while not show(1) and time.monotonic() < until:
            time.sleep(0.001)
    drawn = []
    with pytest.raises(typer.Exit) as ended:
        run.finish({}, save=lambda: run.output.write_bytes(b"x"), draw=drawn.append)
    assert ended.value.exit_code == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["interrupted"] is True
    assert run.output.exists()
    assert not drawn
    assert "stopping after this pass" in err


def test_no_fit_of_a_search_leaves_its_weights_behind(tmp_path):
    alive = []

    class Model:
        def make_solver(self):
            return object()

        def fit(self, text, valid, callback, on_trial):
            for _ in range(5):
                w = np.zeros(1000)
                alive.append(weakref.ref(w))
                callback(Iteration(1, 1.0, 0, 0.1, w, 0.5))

    history = []
    with lm_training._watched(TrainingRun(tmp_path / "m"), Model(), history) as watching:
        Model().fit(tmp_path, None, **watching)
    gc.collect()
    assert history == [(1, 0.5)] * 5
    assert [ref() for ref in alive] == [None] * 5


# A training run that reports each pass on stdout, so that the test knows when to send its signal.
PROGRAM = """
from epigram.cli import main
from epigram.tagging.crf import CRFTagger
fit = CRFTagger.fit
def with_report(self, *data, callback, **rest):
    def report(entry):
        print("pass", entry["iteration"], flush=True)
        return callback(entry)
    return fit(self, *data, callback=report, **rest)
CRFTagger.fit = with_report
main()
"""

STARTED: list[subprocess.Popen[bytes]] = []
ENDLESS = ("--passes", "1000000", "--eta0", "0.3")
NEVER_CONVERGED = ("--max-iterations", "1000000", "--tolerance", "1e-300")


@pytest.fixture(autouse=True)
def _nobody_stays_behind() -> Iterator[None]:
    """A test that fails leaves no training behind."""
    yield
    for process in STARTED:
        process.kill()
    STARTED.clear()


def begin(train: Path, target: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, "tag", "train", str(train), "-o", str(target), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    STARTED.append(process)
    return process


def wait_for_passes(process: subprocess.Popen[bytes], n: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.split() == [b"pass", str(n).encode()]:
            return
    raise AssertionError(process.communicate())


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text(sample.columns("train"))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("solver", ["sgd", "owlqn"])
def test_a_signal_saves_the_model_so_far(
    train: Path, tmp_path: Path, number: signal.Signals, solver: str
) -> None:
    target = tmp_path / "m.epigram"
    words = ENDLESS if solver == "sgd" else NEVER_CONVERGED
    process = begin(train, target, "--solver", solver, *words, "--json")
    wait_for_passes(process, 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert b"stopping after this pass" in err
    record = json.loads(out[out.index(b"{") :])
    assert record["interrupted"] is True
    assert record["stopped"] == "callback"
    assert 2 <= record["passes"] < 1_000_000
    assert ColumnTagger.load(target).model.labels
    assert epigram("tag", "eval", target, train).returncode == 0
    left = ["m.epigram", "m.epigram.checkpoint", "train.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert b"--resume continues" in err


def test_the_best_pass_on_held_out_sentences_is_what_is_saved(train: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.epigram"
    process = begin(train, target, "--dev", str(train), *ENDLESS, "--json")
    wait_for_passes(process, 3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    record = json.loads(out[out.index(b"{") :])
    scored = json.loads(epigram("tag", "eval", target, train, "--json").stdout)
    assert scored["f1"] == pytest.approx(record["dev_score"])


def test_an_old_model_stays_whole_where_training_is_killed(train: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.epigram"
    target.write_bytes(b"the old one")
    process = begin(train, target, *ENDLESS)
    wait_for_passes(process, 1)
    process.kill()
    process.communicate(timeout=600)
    assert target.read_bytes() == b"the old one"


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    program = (
        "import time, sys\nfrom epigram.cli.run import GracefulStop\n"
        "with GracefulStop(lambda: print('asked', flush=True)):\n"
        "    print('ready', flush=True)\n    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for said in (b"ready\n", b"asked\n"):
        assert process.stdout.readline() == said
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
    process.stdout.close()


def test_handlers_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from epigram.cli.run import GracefulStop

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    said = threading.Event()
    with GracefulStop(said.set) as stop:
        assert not stop.asked
        signal.raise_signal(signal.SIGTERM)
        assert said.wait(600)
        deadline = time.monotonic() + 600
        while not stop.asked and time.monotonic() < deadline:
            time.sleep(0.001)
    assert stop.asked
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
