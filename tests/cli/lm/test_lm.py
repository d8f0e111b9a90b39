"""``epigram lm``: every command on a small text, and what it says to bad input."""

from __future__ import annotations

import gzip
import json
import math
import sys

import numpy as np
import pytest

from epigram import LogLinearLM

TEXT = "the cat sat on the mat\nthe dog sat on the log\na cat saw the dog\nthe dog saw a cat\n" * 3


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    return path


@pytest.fixture
def model(run, text, tmp_path):
    path = tmp_path / "model.epigram"
    code, _, err = run(
        "lm",
        "train",
        text,
        "-o",
        path,
        "--order",
        3,
        "--strength",
        0.2,
        "--depth-weight",
        1.2,
        "--ridge",
        0.02,
    )
    assert code == 0, err
    return path


def test_train_reports_and_auto_chooses(run, text, tmp_path):
    plot = tmp_path / "plot.png"
    code, out, err = run(
        "lm", "train", text, "-o", tmp_path / "m.epigram", "--order", 3, "--penalty", "tree-linf",
        "--valid", text, "--json", "--plot", plot, "--bits", 8, "--threads", 2,
    )  # fmt: skip
    record = json.loads(out)
    assert code == 0, err
    for name in (
        "perplexity_valid", "parameters", "nonzero", "trie_nodes", "tree_nodes", "iterations", "objective",
        "cpu_seconds",
    ):  # fmt: skip
        assert record[name] is not None
    assert record["trials"] > 1
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize("kind", ["kneser-ney", "modified-kneser-ney"])
def test_kneser_ney_goes_the_same_way(run, text, tmp_path, kind):
    path = tmp_path / "kn.epigram"
    code, out, err = run("lm", "train", text, "-o", path, "--model", kind, "--valid", text, "--json")
    assert code == 0, err
    _, shown, _ = run("lm", "eval", path, text, "--json")
    assert json.loads(shown)["perplexity"] == pytest.approx(json.loads(out)["perplexity_valid"], rel=1e-5)


def test_eval_of_a_model_and_of_its_arpa_agree(run, model, text, tmp_path):
    arpa = tmp_path / "model.arpa.gz"
    assert run("lm", "export-arpa", model, arpa)[0] == 0
    ours, theirs = (json.loads(run("lm", "eval", path, text, "--json")[1]) for path in (model, arpa))
    assert ours["perplexity"] == pytest.approx(theirs["perplexity"], rel=1e-4)
    assert ours["tokens"] == 12 * 22 // 4
    assert ours["oov"] == 0
    assert ours["words_per_second"] > 0


def test_queries(run, model, text):
    found = json.loads(run("lm", "next", model, "sat on", "-k", 2, "--json")[1])
    assert found[0]["word"] == "the"
    assert len(found) == 2
    assert "the" in run("lm", "next", model, "sat on")[1]
    lines = run("lm", "score", model, text)[1].splitlines()
    assert len(lines) == 12
    first = json.loads(run("lm", "score", model, text, "--json")[1].splitlines()[0])
    assert first["score"] == pytest.approx(float(lines[0]), abs=1e-4)
    assert [word for word, _ in first["words"]][-1] == "</s>"
    same = [run("lm", "sample", model, "-n", 3, "--seed", 7)[1] for _ in range(2)]
    assert same[0] == same[1]
    assert len(same[0].splitlines()) == 3
    why = json.loads(run("lm", "explain", model, "sat on the", "mat", "--json")[1])
    assert why["terms"][-1]["probability"] == pytest.approx(why["probability"])
    assert "on the" in run("lm", "explain", model, "sat on the", "mat")[1]


def test_mixing_and_pruning(run, model, text, tmp_path):
    other = tmp_path / "kn.epigram"
    run("lm", "train", text, "-o", other, "--model", "kneser-ney", "--order", 2)
    mixed = tmp_path / "mixed.arpa"
    code, out, err = run("lm", "interpolate", model, other, "--valid", text, "-o", mixed, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["perplexity_valid"] <= min(record["perplexity_valid_alone"]) * (1 + 1e-9)
    code, out, err = run("lm", "prune", model, "-o", tmp_path / "small.epigram", "--ngrams", 20, "--json")
    assert code == 0, err
    assert json.loads(out)["ngrams"] == 20
    assert run("lm", "eval", tmp_path / "small.epigram", text)[0] == 0
    assert run("lm", "explain", tmp_path / "small.epigram", "the", "cat")[0] == 2


def test_a_mixture_with_a_cache_is_written_and_explained(run, model, text, tmp_path):
    other, mixed = tmp_path / "kn.epigram", tmp_path / "mixed.epigram"
    run("lm", "train", text, "-o", other, "--model", "kneser-ney", "--order", 2)
    mixing = ("lm", "interpolate", model, other, "--valid", text, "--cache", 5)
    code, out, err = run(*mixing, "-o", mixed, "--json")
    assert code == 0, err
    shown = json.loads(run("lm", "eval", mixed, text, "--json")[1])
    assert shown["perplexity"] == pytest.approx(json.loads(out)["perplexity_valid"], rel=1e-6)
    reasons = run("lm", "explain", mixed, "the", "cat")[1]
    assert "cache" in reasons
    assert "model 0" in reasons
    alone = json.loads(run("lm", "interpolate", model, "--valid", text, "--cache", 5, "--json")[1])
    assert len(alone["perplexity_valid_alone"]) == 1
    for wrong in (("-o", tmp_path / "x.arpa"), ("--merge", "-o", mixed)):
        code, _, err = run(*mixing, *wrong)
        assert code == 2
        assert "a cache is no back-off model" in err


def test_inspect_shows_weights_per_depth(run, model):
    shown = json.loads(run("inspect", model, "--json")[1])
    assert [row["context words"] for row in shown["weights"]] == [0, 1, 2]
    assert len(shown["heaviest contexts"]) == 10


def test_vocabulary_limits(run, text, tmp_path):
    words = tmp_path / "words"
    words.write_text("the\ncat\n")
    path = tmp_path / "m.epigram"
    given = ("--strength", 0.2, "--depth-weight", 1, "--ridge", 0.1, "--json")
    assert json.loads(run("lm", "train", text, "-o", path, "--vocab", words, *given)[1])["words"] == 4
    assert json.loads(run("lm", "train", text, "-o", path, "--min-count", 6, *given)[1])["words"] < 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strength", "0"), "strength must be a finite number above 0"),
        (("--strength", "inf"), "--strength is auto or a number of at least 0"),
        (("--strength", "much"), "auto or a number"),
        (("--penalty", "l7"), "'l7' is not one of"),
        (("--model", "neural"), "'neural' is not one of"),
        (("--solver", "adam"), "'adam' is not one of"),
        (("--valid", "nowhere.txt"), "nowhere.txt"),
        (("--vocab", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_bad_options_are_named(run, text, tmp_path, arguments, message):
    code, _, err = run("lm", "train", text, "-o", tmp_path / "m.epigram", *arguments)
    assert code == 2
    assert message in err


def test_pruning_is_for_kneser_ney(run, text, tmp_path):
    code, _, err = run("lm", "train", text, "-o", tmp_path / "m", "--prune", "0,1")
    assert code == 2
    assert "--prune has no meaning with --model loglinear" in err


def test_a_plot_that_cannot_be_drawn_is_refused_before_training(run, text, tmp_path, monkeypatch):
    train = ("lm", "train", text, "-o", tmp_path / "m.epigram", "--plot")
    assert "name it so" in run(*train, tmp_path / "p.txt")[2]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = run(*train, tmp_path / "p.png")
    assert code == 2
    assert "plots need matplotlib" in err
    assert not (tmp_path / "m.epigram").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "no words"), (b"\n \n", "no words"), (b"good\nbad \xff\n", ":2: invalid UTF-8")],
)
def test_bad_text_is_named(run, tmp_path, content, message):
    path = tmp_path / "text"
    path.write_bytes(content)
    code, _, err = run("lm", "train", path, "-o", tmp_path / "m.epigram")
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 a\n-1 b\n\n\\end\\\n", ""),
        ("\\data\\\nngram 1=1\n\n\\1-grams:\nnan a\n\n\\end\\\n", ""),
        ("not a model", "not an epigram model"),
    ],
)
def test_broken_models_are_refused(run, text, tmp_path, content, message):
    path = tmp_path / "broken.arpa"
    path.write_text(content)
    code, _, err = run("lm", "eval", path, text)
    assert code == 2
    assert message in err
    assert "broken.arpa" in err


@pytest.mark.usefixtures("interrupted")
def test_interruption_keeps_what_was_learnt(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    code, out, _ = run("lm", "train", text, "-o", path, "--json")
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert run("lm", "eval", path, text)[0] == 0


def test_settings_of_algorithm_1(run, text, tmp_path):
    path, strength = tmp_path / "m.epigram", ["--strength", 0.2, "--depth-weight", 1.2, "--ridge", 0.02]
    train = ["lm", "train", text, "-o", path, "--order", 3, *strength, "--json"]
    options = ["--passes", 2, "--batch-size", 5, "--lipschitz", 20, "--mu", 0.1, "--seed", 7]
    code, out, err = run(*train, "--solver", "stochastic", *options)
    assert code == 0, err
    assert json.loads(out)["iterations"] == 2
    solver = LogLinearLM.load(path).solver
    assert (solver.batch_size, solver.lipschitz, solver.mu, solver.seed) == (5, 20.0, 0.1, 7)
    code, out, _ = run(*train, "--solver", "stochastic", "--tolerance", 0.5)
    assert (code, json.loads(out)["stopped"]) == (0, "converged")
    for wrong, said in (
        (["--passes", 3], "--passes: for --solver stochastic only"),
        (["--solver", "stochastic", "--max-iterations", 3], "how many passes with --passes"),
        (["--solver", "stochastic", "--mu", 0], "mu must be 'auto' or a positive number"),
    ):
        code, _, err = run(*train, *wrong)
        assert code == 2
        assert said in err


def test_where_a_model_is_surprised(run, model, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("the cat sat\n\nthe zebra zebra saw mat log\na dog\n", encoding="utf-8")
    code, out, err = run("lm", "eval", model, other, "--by", "sentence", "--unknown", "-k", 2, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["unknown"] == [{"word": "zebra", "count": 2}]
    shown = record["sentences"]
    assert shown[0]["perplexity"] >= shown[1]["perplexity"]
    scores = [float(line) for line in run("lm", "score", model, other)[1].split()]
    for row in shown:
        scored = len(row["sentence"].split()) + 1
        assert math.log(row["perplexity"]) == pytest.approx(-scores[row["number"] - 1] / scored, rel=1e-5)
    assert [row["oov"] for row in shown if "zebra" in row["sentence"]] in ([], [2])
    words = json.loads(run("lm", "eval", model, other, "--by", "word", "-k", 99, "--json")[1])["words"]
    bits = -sum(scores) / math.log(2)
    assert sum(row["count"] * row["bits"] for row in words) == pytest.approx(bits, rel=1e-5)
    assert {row["word"]: row["count"] for row in words}["</s>"] == 3
    assert "zebra" in run("lm", "eval", model, other, "--unknown")[1]


def test_filtering_a_text_by_perplexity(run, model, text, tmp_path):
    mixed = tmp_path / "mixed.txt"
    mixed.write_text(
        "the cat sat on the mat\n\nmat log log mat\nthe dog sat\nlog saw on a\n", encoding="utf-8"
    )
    out = tmp_path / "kept.txt"

    def kept(model, *options):
        code, said, err = run("filter", mixed, "-o", out, "--model", model, "--score", "", *options)
        assert code == 0, err
        return out.read_text(), said

    lines, said = kept(model, "--keep", 0.5, "--json")
    assert lines == "the cat sat on the mat\nthe dog sat\n"
    assert json.loads(said)["kept"] == 2
    odd = tmp_path / "odd.epigram"
    run("lm", "train", mixed, "-o", odd, "--model", "kneser-ney", "--order", 2)
    assert kept(odd, "--keep", 0.25, "--against", model)[0] in ("mat log log mat\n", "log saw on a\n")
    code, _, err = run("lm", "filter", model, mixed)
    assert code == 2
    assert "epigram filter TEXT -o OUT --model MODEL" in err


def test_nbest_lists_are_sorted_by_both_scores(run, model, tmp_path):
    lists = tmp_path / "lists"
    lists.write_text(
        "7 ||| a the on ||| d= 1 ||| -1\n7 ||| the cat sat ||| d= 2 ||| -1.5\n7 ||| the zebra sat ||| d= 3 ||| -1\n"
    )
    code, out, err = run("lm", "score", model, lists, "--nbest", "--weight", 0.5)
    assert code == 0, err
    (record,) = [json.loads(line) for line in out.splitlines()]
    loaded = LogLinearLM.load(model)
    likely = float(loaded.word_scores("the cat sat").sum())
    best = record["candidates"][0]
    assert best["tokens"] == ["the", "cat", "sat"]
    assert best["score"] == pytest.approx(-1.5 + 0.5 * likely)
    assert best["features"]["lm"] == pytest.approx(likely)
    strange = next(c for c in record["candidates"] if "zebra" in c["tokens"])
    known = np.delete(loaded.word_scores("the zebra sat"), 1).sum()
    assert strange["score"] == pytest.approx(-1 + 0.5 * (known - 10))


def test_ngrams_are_dropped_by_a_count_for_each_order(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    train = ("lm", "train", text, "-o", path, "--model", "modified-kneser-ney", "--order", 3, "--json")
    sizes = [
        json.loads(run(*train, "--prune", given)[1])["parameters"] for given in ("0", "3", "0,3", "0,3,3")
    ]
    assert sizes[0] > sizes[1] > sizes[2] == sizes[3]
    for wrong in ("0,x", "-1", "2,1"):
        code, _, err = run(*train, f"--prune={wrong}")
        assert code == 2
        assert "prune" in err


def test_unknown_words_count_unless_the_model_is_closed(run, text, tmp_path):
    good = ["the dog sat on the mat", "a cat saw the log", "the cat sat"]
    mixed, models = tmp_path / "mixed.txt", {}
    mixed.write_text("\n".join([*good, "xkcd qwrt zxcv bnm", "hjkl wrtp", "vbnm kjhg"]) + "\n")
    for name, options in (("open", []), ("closed", ["--closed"])):
        models[name] = tmp_path / name
        train = ("lm", "train", text, "-o", models[name], "--model", "modified-kneser-ney", "--order", 2)
        assert run(*train, *options)[0] == 0
    out = tmp_path / "kept.txt"
    filtering = ("filter", mixed, "-o", out, "--keep", 0.5, "--score", "", "--model")
    assert run(*filtering, models["open"])[0] == 0
    assert out.read_text().splitlines() == good
    _, _, err = run(*filtering, models["closed"])
    assert out.read_text().splitlines() != good
    assert "closed: 8 of 28 words are left out of the scores" in " ".join(err.split())
    scores = {name: run("lm", "score", path, mixed)[1].split() for name, path in models.items()}
    assert float(scores["open"][3]) < float(scores["closed"][3])
    _, out, err = run("lm", "eval", models["open"], mixed, "--json")
    record = json.loads(out)
    assert list(record)[:2] == ["perplexity", "perplexity_with_unknown"]
    assert record["perplexity"] < record["perplexity_with_unknown"]
    assert "8 of 22 words are unknown to the model" in " ".join(err.split())
    assert run("--strict", "lm", "eval", models["open"], mixed)[0] == 2
    assert "perplexity_with_unknown" not in json.loads(
        run("lm", "eval", models["closed"], mixed, "--json")[1]
    )
    assert "have a probability (open)" in run("inspect", models["open"])[1]
    assert "have none (closed)" in run("inspect", models["closed"])[1]


@pytest.mark.parametrize("options", [[], ["--model", "kneser-ney"], ["--classes", "3", "--budget", "0"]])
def test_held_out_text_that_was_learnt_is_named(run, text, tmp_path, options):
    model, other = tmp_path / "m.epigram", tmp_path / "other.txt"
    other.write_text("the log saw a mat\nthe cat sat on a dog\n")
    train = ("lm", "train", text, "-o", model, "--order", 2, *options)
    code, _, err = run(*train, "--valid", text)
    assert code == 0
    assert "text that the model learns" in " ".join(err.split())
    code, _, err = run(*train, "--valid", other)
    assert (code, "warning" in err) == (0, False)
    assert "this is the text that the model was trained on" in run("lm", "eval", model, text)[2]
    assert "warning" not in run("lm", "eval", model, other)[2]
