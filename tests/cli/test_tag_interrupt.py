"""Ctrl-C and SIGTERM in training: the model so far is saved and loads, exit code 130; a second one ends at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from epigram.datasets import sample
from epigram.tagging.column_tagger import ColumnTagger
from in_process import epigram

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
