"""The model that ``epigram lm train`` makes where nothing is asked for, and what asks for another."""

import json

import pytest

import epigram
from epigram import LogLinearLM
from epigram.lm.mixture import InterpolatedLM

TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat saw the dog", "the dog saw a cat"] * 4


def test_the_command_says_what_it_chose(run, tmp_path):
    text, model, arpa = tmp_path / "text", tmp_path / "m.epigram", tmp_path / "m.arpa"
    text.write_text("\n".join(TEXT) + "\n")
    code, out, err = run("lm", "train", text, "-o", model, "--order", 3, "--json", "--bits", 8)
    assert code == 0, err
    record = json.loads(out)
    assert "log-linear and" in err
    assert "--model loglinear" in err
    assert sum(record["shares"].values()) == pytest.approx(1)
    assert 0.25 <= record["shares"]["loglinear"] <= 0.75
    assert isinstance(epigram.load(model), InterpolatedLM)
    before = json.loads(run("lm", "eval", model, text, "--json")[1])["perplexity"]
    assert run("lm", "export-arpa", model, arpa)[0] == 0
    after = json.loads(run("lm", "eval", arpa, text, "--json")[1])["perplexity"]
    assert after == pytest.approx(before, rel=1e-5)  # all n-grams of the text are stored
    more = tmp_path / "more"
    more.write_text("the owl sat on the cat\n" * 3)
    code, _, err = run("lm", "update", model, more)
    assert code == 0, err
    found = epigram.load(model)
    assert found.weights[0] == pytest.approx(record["shares"]["loglinear"])
    assert found.distribution("the").sum() == pytest.approx(1, abs=1e-6)  # from 8 bits
    assert found.distribution("the")[found.vocabulary_.id("owl")] > 0


@pytest.mark.parametrize(
    "asked",
    [["--model", "loglinear"], ["--penalty", "l1"], ["--solver", "fista"], ["--keep-text"], ["--order", 0]],
)
def test_what_is_for_the_log_linear_model_makes_it_alone(run, tmp_path, asked):
    text, model = tmp_path / "text", tmp_path / "m.epigram"
    text.write_text("\n".join(TEXT[:4]) + "\n")
    code, out, err = run("lm", "train", text, "-o", model, "--json", *asked)
    assert code == 0, err
    assert "shares" not in json.loads(out)
    assert isinstance(epigram.load(model), LogLinearLM)
