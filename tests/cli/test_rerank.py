"""The five commands: JSON keys, files, plots, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from epigram.rerank import NBest, write_nbest
from epigram.rerank.model import LEARNERS
from epigram.rerank.nbest import MEASURES
from in_process import epigram
from reference.rerank_lists import random_lists


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("rerank")
    for name, seed in (("train", 1), ("dev", 2)):
        write_nbest(NBest.from_lists(random_lists(seed, n_lists=30)), folder / f"{name}.jsonl")
    (folder / "heads").write_text("a\nc\n")
    out = {name: str(folder / f"{name}.jsonl") for name in ("train", "dev")}
    out |= {"heads": str(folder / "heads"), "model": str(folder / "model.epigram"), "folder": str(folder)}
    record = run("train", out["train"], "-o", out["model"], "--dev", out["dev"], "--steps", "200", "--json")
    assert {
        "eps",
        "theta",
        "settings_tried",
        "steps",
        "loss",
        "l1_norm",
        "nonzero",
        "cer_dev",
        "cpu_seconds",
    } <= set(record)
    return out


def run(*arguments: str) -> dict[str, Any]:
    result = epigram("rerank", *arguments)
    assert result.returncode == 0, result.stderr.decode()
    return dict(json.loads(result.stdout))


def test_a_plot_that_cannot_be_drawn_is_refused_before_training(files: dict[str, str]) -> None:
    model = f"{files['folder']}/unplotted.epigram"
    for command in (["train", files["train"], "-o", model], ["path", files["model"]]):
        refused = epigram("rerank", *command, "--plot", f"{files['folder']}/path.txt")
        assert refused.returncode == 2
        assert b"a plot is a .png, .svg, .pdf file" in refused.stderr
    assert not Path(model).exists()


@pytest.mark.parametrize(
    "learner", ["blasso", "boosting", "fslr", "f-boosting", "softmax", "perceptron", "lasso"]
)
def test_train_takes_every_learner(learner: str, files: dict[str, str]) -> None:
    model, plot = f"{files['folder']}/{learner}.epigram", f"{files['folder']}/{learner}.png"
    record = run(
        "train", files["train"], "-o", model, "--dev", files["dev"], "--learner", learner, "--steps", "5",
        "--ngrams", "1", "--headwords", files["heads"], "--plot", plot, "--json",
    )  # fmt: skip
    assert record["steps"] == 5
    assert Path(plot).read_bytes().startswith(b"\x89PNG")
    evaluated = run("eval", model, files["dev"], "--json")
    assert evaluated["cer"] == pytest.approx(record["cer_dev"])


def test_settings_are_taken_as_given_or_chosen(files: dict[str, str]) -> None:
    model = f"{files['folder']}/settings.epigram"
    given = run(
        "train", files["train"], "-o", model, "--learner", "boosting", "--steps", "9", "--smoothing", "0.01",
        "--shrinkage", "0.5", "--json",
    )  # fmt: skip
    assert (given["smoothing"], given["shrinkage"], given["steps"]) == (0.01, 0.5, 9)
    assert (given["held_out_lists"], given["chosen_step"]) == (0, 9)
    given = run(
        "train", files["train"], "-o", model, "--theta", "0.1", "--eps", "0.25", "--steps", "9", "--json"
    )
    assert (given["eps"], given["theta"], given["held_out_lists"]) == (0.25, 0.1, 0)
    chosen = run("train", files["train"], "-o", model, "--learner", "boosting", "--json")
    assert (chosen["held_out_lists"], chosen["settings_tried"] >= 4) == (3, True)
    assert chosen["smoothing"] is not None


def test_eval_keys_and_against(files: dict[str, str]) -> None:
    record = run("eval", files["model"], files["dev"], "--json")
    assert {"cer", "cer_base", "cer_oracle", "sentence_accuracy"} <= set(record)
    assert record["cer_oracle"] <= record["cer"] <= record["cer_base"]
    other = f"{files['folder']}/other.epigram"
    run("train", files["train"], "-o", other, "--learner", "f-boosting", "--steps", "3", "--json")
    against = run("eval", files["model"], files["dev"], "--against", other, "--json")
    assert 0.0 <= against["p_value"] <= 1.0
    assert run("eval", other, files["dev"], "--against", other, "--json")["p_value"] == 1.0


def test_run_prints_one_text_a_list(files: dict[str, str]) -> None:
    result = epigram("rerank", "run", files["model"], files["dev"])
    rows = [
        json.loads(line)
        for line in epigram("rerank", "run", files["model"], files["dev"], "--json").stdout.splitlines()
    ]
    assert result.stdout.decode().splitlines() == [row["text"] for row in rows]
    assert len(rows) == 30
    assert all(row["ranking"][0] == row["index"] for row in rows)


def test_explain_and_path(files: dict[str, str]) -> None:
    story = run("explain", files["model"], files["dev"], "--id", "3", "--json")["lists"]
    assert [item["id"] for item in story] == ["3"]
    assert all({"feature", "weight", "difference", "lift"} <= set(t) for item in story for t in item["terms"])
    assert b"lift" in epigram("rerank", "explain", files["model"], files["train"]).stdout
    plot = Path(files["folder"]) / "path.svg"
    rows = run("path", files["model"], "--plot", str(plot), "--json")["models"][files["model"]]
    assert rows[0]["step"] == 0
    assert sum(row["chosen"] for row in rows) == 1
    assert b"<svg" in plot.read_bytes()


def test_resume_goes_on(files: dict[str, str]) -> None:
    longer = f"{files['folder']}/longer.epigram"
    record = run(
        "train", files["train"], "-o", longer, "--dev", files["dev"], "--from", files["model"],
        "--steps", "260", "--json",
    )  # fmt: skip
    assert record["steps"] == 260


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "softmax", "--eps", "0.5"], "eps has no meaning for softmax"),
        (["--eps", "0"], "eps must be"),
        (["--plot", "/nowhere/at/all.png"], "cannot write"),
    ],
)
def test_bad_options_are_one_sentence(options: list[str], message: str, files: dict[str, str]) -> None:
    refused = epigram("rerank", "train", files["train"], "-o", f"{files['folder']}/x.epigram", *options)
    assert refused.returncode == 2
    assert message in refused.stderr.decode()


@pytest.mark.parametrize(("option", "choices"), [("--learner", list(LEARNERS)), ("--measure", MEASURES)])
def test_help_and_errors_name_the_choices(
    option: str, choices: list[str], files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    assert f"<{'|'.join(choices)}>" in epigram("rerank", "train", "--help").stdout.decode()
    refused = epigram(
        "rerank", "train", files["train"], "-o", f"{files['folder']}/x.epigram", option, "magic"
    )
    assert refused.returncode == 2
    assert all(name in refused.stderr.decode() for name in ("magic", *choices))


def test_exit_code_2_names_the_line(files: dict[str, str]) -> None:
    broken = Path(files["folder"]) / "broken.jsonl"
    broken.write_text(Path(files["train"]).read_text() + '{"candidates": [}\n')
    command = [sys.executable, "-m", "epigram", "rerank", "eval", files["model"], str(broken)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith(f"epigram: {broken}:31: broken JSON")
    assert "Traceback" not in result.stderr
