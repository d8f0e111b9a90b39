"""The training runner of the commands: checks first, progress, Ctrl-C, record, exit code."""

import gc
import json
import signal
import time
import weakref

import numpy as np
import pytest
import typer

from epigram.cli.lm import train as lm_training
from epigram.cli.run import TrainingRun
from epigram.errors import InputError
from epigram.protocols import Iteration


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
