"""``epigram lm train --classes`` and every command on the model it makes; what they say to bad input."""

from __future__ import annotations

import json
import re

import pytest

from epigram.cli.lm.train import read_seconds
from epigram.errors import EpigramError
from epigram.lm.factored.model import ClassFactoredLM

TEXT = "the cat sat on the mat\nthe dog sat on the log\na cat saw the dog\nthe dog saw a cat\n" * 3
FAST = ("--order", 3, "--budget", 0, "--tolerance", 1e-3)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text(TEXT)
    return path


@pytest.fixture
def model(run, text, tmp_path):
    path = tmp_path / "model.epigram"
    code, _, err = run("lm", "train", text, "-o", path, "--classes", 4, *FAST)
    assert code == 0, err
    return path


def one_line(text):
    """Errors may be wrapped to the width of the screen."""
    return re.sub(r"\s+", " ", text)


def test_train_reports_the_model_it_wrote(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    code, out, err = run("lm", "train", text, "-o", path, "--classes", 4, "--valid", text, "--json", *FAST)
    assert code == 0, err
    record = json.loads(out)
    model = ClassFactoredLM.load(path)
    assert record["classes"] == model.classes_.n_classes == 4
    assert record["nonzero"] == model.n_nonzero_
    assert 0 < record["nonzero"] <= record["parameters"]
    assert record["words"] == 11
    assert record["class_contexts"] == record["word_contexts"] == "c1 w1 c2 w2; c2 w2"
    assert record["perplexity_valid"] == pytest.approx(model.perplexity(text), rel=1e-5)
    assert record["trials"] == 0
    assert record["bytes"] == path.stat().st_size
    assert record["interrupted"] is False
    assert record["iterations"] > 1
    for name in ("objective", "seconds", "cpu_seconds"):
        assert record[name] > 0
    for name in ("class_strength", "word_strength"):
        assert re.fullmatch(r"strength .+, depth weight .+, ridge .+, side .+", record[name])


def test_train_for_people(run, text, tmp_path):
    code, out, _ = run("lm", "train", text, "-o", tmp_path / "m.epigram", "--classes", 4, *FAST)
    assert code == 0
    assert "word contexts" in out
    assert "c1 w1 c2 w2; c2 w2" in out


def test_auto_searches_within_the_budget(run, text, tmp_path):
    plot, path = tmp_path / "plot.png", tmp_path / "m.epigram"
    code, out, err = run(
        "lm", "train", text, "-o", path, "--classes", "auto", "--order", 2, "--budget", "0.5s", "--json",
        "--valid", text, "--plot", plot, "--bits", 8, "--threads", 2, "--tolerance", 1e-3,
    )  # fmt: skip
    assert code == 0, err
    record = json.loads(out)
    assert record["trials"] > 0
    assert re.search(r"best of \d+ fits: \d+\.\d\d", err)
    assert plot.stat().st_size > 1000
    assert run("lm", "eval", path, text)[0] == 0


def test_classes_from_a_file(run, text, tmp_path):
    classes, path = tmp_path / "classes", tmp_path / "m.epigram"
    assert run("lm", "classes", text, "-k", 5, "-o", classes)[0] == 0
    code, out, err = run("lm", "train", text, "-o", path, "--classes", classes, "--json", *FAST)
    assert code == 0, err
    assert json.loads(out)["classes"] == 5


def test_options_reach_the_model(run, text, tmp_path):
    path, words = tmp_path / "m.epigram", tmp_path / "words"
    words.write_text("the\ncat\ndog\n")
    code, out, err = run(
        "lm", "train", text, "-o", path, "--classes", 3, "--class-contexts", "c1 w1; c3", "--word-contexts", "w1",
        "--penalty", "tree-l2", "--strength", 0.3, "--depth-weight", 1.1, "--solver", "stochastic", "--vocab", words,
        "--unconstrained", "--passes", 4, "--batch-size", 7, "--seed", 3, "--json",
    )  # fmt: skip
    assert code == 0, err
    record, params = json.loads(out), ClassFactoredLM.load(path).get_params()
    assert (record["class_contexts"], record["word_contexts"], record["words"]) == ("c1 w1; c3", "w1", 5)
    assert (
        record["class_strength"]
        == record["word_strength"]
        == "strength 0.3, depth weight 1.1, ridge 0, side 1"
    )
    assert record["trials"] == 0
    chosen = {name: params[name] for name in ("penalty", "nonnegative", "random_state")}
    assert chosen == {"penalty": "tree-l2", "nonnegative": False, "random_state": 3}
    assert (params["solver"].passes, params["solver"].batch_size, params["solver"].seed) == (4, 7, 3)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("0", 0), ("90", 90), ("2s", 2), ("0.5s", 0.5), ("1m", 60), ("1.5h", 5400), (" 5m ", 300)],
)
def test_durations(written, seconds):
    assert read_seconds(written) == seconds


@pytest.mark.parametrize("written", ["", "s", "-1", "1d", "2 s", "1m30s", "soon", "1e3", "nan", "inf", ".5"])
def test_what_is_no_duration_is_named(written):
    with pytest.raises(EpigramError, match=f"--budget is a duration .*, not {re.escape(repr(written))}"):
        read_seconds(written)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--classes", "1"), "two classes at least"),
        (("--classes", "0"), "two classes at least"),
        (("--classes", "nowhere"), "auto, a number or a file"),
        (("--classes", "-3"), "auto, a number or a file"),
        (("--classes", "4", "--budget", "soon"), "--budget is a duration such as 60s, 5m or 1h"),
        (("--classes", "4", "--model", "kneser-ney"), "--classes is for log-linear models"),
        (("--classes", "4", "--class-contexts", "c1 q"), "'q' in the contexts 'c1 q' is no symbol"),
        (("--classes", "4", "--word-contexts", "c1;"), "empty tree"),
        (("--classes", "4", "--order", 1), "an order from 2 to 16, not 1"),
        (("--classes", "4", "--order", 0), "an order from 2 to 16, not 0"),
        (("--classes", "4", "--penalty", "l7"), "'l7' is not one of"),
        (("--classes", "4", "--solver", "adam"), "'adam' is not one of"),
        (("--classes", "4", "--strength", "much"), "auto or a number of at least 0, not 'much'"),
        (("--classes", "4", "--strength", "0"), "strength must be a finite number above 0"),
        (("--classes", "4", "--valid", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_bad_options_are_named(run, text, tmp_path, arguments, message):
    code, out, err = run("lm", "train", text, "-o", tmp_path / "m.epigram", *arguments)
    assert code == 2
    assert message in one_line(err)
    assert out == ""
    assert not (tmp_path / "m.epigram").exists()


@pytest.mark.parametrize(
    ("content", "message"), [("", "no words"), ("no tab here\n", ":1: expected class<TAB>word")]
)
def test_bad_class_files_are_named(run, text, tmp_path, content, message):
    (tmp_path / "classes").write_text(content)
    code, _, err = run("lm", "train", text, "-o", tmp_path / "m", "--classes", tmp_path / "classes", *FAST)
    assert code == 2
    assert message in one_line(err)


@pytest.mark.parametrize(("content", "message"), [(b"", "no words"), (b"a\nb \xff\n", ":2: invalid UTF-8")])
def test_bad_text_is_named(run, tmp_path, content, message):
    (tmp_path / "text").write_bytes(content)
    code, _, err = run("lm", "train", tmp_path / "text", "-o", tmp_path / "m", "--classes", 4, *FAST)
    assert code == 2
    assert message in one_line(err)


def test_eval_and_score_agree(run, model, text):
    shown = json.loads(run("lm", "eval", model, text, "--json")[1])
    assert (shown["tokens"], shown["sentences"], shown["oov"]) == (66, 12, 0)
    loaded = ClassFactoredLM.load(model)
    assert shown["perplexity"] == pytest.approx(loaded.perplexity(text), rel=1e-6)
    lines = run("lm", "score", model, text)[1].splitlines()
    assert len(lines) == 12
    first = json.loads(run("lm", "score", model, text, "--json")[1].splitlines()[0])
    assert first["score"] == pytest.approx(float(lines[0]), abs=1e-4)
    assert [p for _, p in first["words"]] == pytest.approx(
        loaded.word_scores(TEXT.splitlines()[0]).tolist(), abs=1e-5
    )


def test_next_and_sample(run, model):
    found = json.loads(run("lm", "next", model, "sat on", "-k", 2, "--json")[1])
    assert found[0]["word"] == "the"
    assert len(found) == 2
    assert "the" in run("lm", "next", model, "sat on")[1]
    same = [run("lm", "sample", model, "-n", 3, "--seed", 7)[1] for _ in range(2)]
    assert same[0] == same[1]
    assert len(same[0].splitlines()) == 3
    assert run("lm", "sample", model, "--context", "sat on the", "--seed", 1)[0] == 0


def test_explain_shows_both_parts(run, model):
    code, out, err = run("lm", "explain", model, "sat on the", "mat")
    assert code == 0, err
    assert out.count("P(mat | sat on the)") == 2
    for shown in ("c1=", "w1=the", "P so far", "(none)"):
        assert shown in out
    why = json.loads(run("lm", "explain", model, "sat on the", "mat", "--json")[1])
    parts = why["class_part"], why["word_part"]
    known = 1 - ClassFactoredLM.load(model).unknown_
    assert why["probability"] == pytest.approx(known * parts[0]["probability"] * parts[1]["probability"])
    for part in parts:
        assert part["terms"][-1][1]["probability"] == pytest.approx(part["probability"])
    found = json.loads(run("lm", "next", model, "sat on the", "-k", 20, "--json")[1])
    assert why["probability"] == pytest.approx({one["word"]: one["probability"] for one in found}["mat"])
    code, _, err = run("lm", "explain", model, "the", "zebra")
    assert code == 2
    assert "'zebra' is not in the vocabulary" in one_line(err)


def test_inspect_shows_parts_and_classes(run, model):
    shown = json.loads(run("inspect", model, "--json")[1])
    assert shown["settings"]["model"] == "factored"
    assert shown["settings"]["class_strength"]["strength"] > 0
    assert "cpu_seconds" not in shown["fit"]  # the same training, the same bytes
    total = sum(row["not zero"] for part in ("class", "word") for row in shown[f"weights of the {part} part"])
    assert total == shown["fit"]["nonzero"]
    assert shown["heaviest of the class part"]
    assert [row["class"] for row in shown["most frequent classes"]] == [1, 2, 3]
    assert "most frequent classes" in run("inspect", model)[1]


def test_mixing_without_an_output(run, model, text, tmp_path):
    other = tmp_path / "kn.epigram"
    run("lm", "train", text, "-o", other, "--model", "kneser-ney", "--order", 2)
    code, out, err = run("lm", "interpolate", model, other, "--valid", text, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert sum(record["weights"]) == pytest.approx(1)
    assert record["perplexity_valid"] <= min(record["perplexity_valid_alone"]) * (1 + 1e-9)
    code, out, err = run("lm", "interpolate", other, model, "--valid", text, "-o", tmp_path / "mix.arpa")
    assert code == 2
    assert out == ""
    assert "model.epigram: a class-factored model has no table of n-grams" in one_line(err)
    assert not (tmp_path / "mix.arpa").exists()


def test_export_and_pruning_say_why_not(run, model, tmp_path):
    for arguments in (
        ("export-arpa", model, tmp_path / "out.arpa"),
        ("prune", model, "-o", tmp_path / "out.epigram"),
        ("prune", model, "-o", tmp_path / "out.arpa", "--ngrams", 5),
    ):
        code, out, err = run("lm", *arguments)
        assert code == 2
        assert out == ""
        assert "model.epigram: a class-factored model has no table of n-grams" in one_line(err)
        assert "Traceback" not in err
    assert [path.name for path in tmp_path.glob("out*")] == []


def test_damaged_models_are_refused(run, model, text):
    content = model.read_bytes()
    for cut in (10, len(content) // 2, len(content) - 9):
        model.write_bytes(content[:cut])
        code, _, err = run("lm", "eval", model, text)
        assert code == 2
        assert "model.epigram" in one_line(err)
        assert run("inspect", model)[0] == 2


@pytest.mark.usefixtures("interrupted")
def test_interruption_keeps_what_was_learnt(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    code, out, _ = run("lm", "train", text, "-o", path, "--classes", "auto", "--order", 3, "--json")
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert run("lm", "eval", path, text)[0] == 0


def test_document_features_are_fitted_on_valid_text(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    train = ("lm", "train", text, "-o", path, "--classes", 4, *FAST, "--document")
    code, out, err = run(*train, "--valid", text, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["perplexity_valid"] < record["perplexity_valid_sentences"]
    shown = json.loads(run("lm", "eval", path, text, "--json")[1])
    assert shown["perplexity"] == pytest.approx(record["perplexity_valid"], rel=1e-4)
    assert "the text before" in run("lm", "explain", path, "the", "cat")[1]
    assert json.loads(run(*train, "--held-out", 0.4, "--json")[1])["perplexity_valid"] is None
    code, _, err = run("lm", "update", path, text)
    assert code == 2
    assert "a model with --document cannot go on" in err
    code, _, err = run("lm", "train", text, "-o", path, "--document")
    assert code == 2
    assert "--classes auto" in err


def test_arpa_by_approximation(run, model, text, tmp_path):
    other, arpa = tmp_path / "kn.epigram", tmp_path / "m.arpa"
    run("lm", "train", text, "-o", other, "--model", "kneser-ney", "--order", 3)
    code, out, err = run("lm", "export-arpa", model, arpa, "--ngrams", other, "--valid", text, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["perplexity"] == pytest.approx(record["perplexity_model"], rel=0.1)
    assert json.loads(run("lm", "eval", arpa, text, "--json")[1])["perplexity"] == pytest.approx(
        record["perplexity"], rel=1e-4
    )
    code, _, err = run("lm", "export-arpa", model, arpa)
    assert code == 2
    assert "--ngrams" in one_line(err)
