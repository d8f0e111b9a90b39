"""``epigram lm train --classes`` and every command on the model it makes; what they say to bad input."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import epigram
from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM, load
from epigram.cli.lm.train import read_seconds
from epigram.errors import EpigramError, InputError, ModelFileError
from epigram.lm.corpus import Corpus
from epigram.lm.mixture import InterpolatedLM
from epigram.lm.ngram.arpa import read_arpa, write_arpa
from epigram.lm.score_report import KnownWords
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import Vocabulary

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


def test_the_best_mixture_says_what_it_chose(run, text, tmp_path):
    path = tmp_path / "m.epigram"
    code, out, err = run(
        "lm", "train", text, "-o", path, "--best", "--order", 2, "--budget", "0.1s", "--json"
    )
    assert code == 0, err
    record = json.loads(out)
    assert set(record["perplexity_valid_alone"]) == {"log-linear", "Kneser-Ney", "class-factored"}
    assert record["perplexity_valid"] <= record["perplexity_valid_default"]
    assert "of the default's" in one_line(err)
    assert "twice the --budget" in one_line(err)
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
        (("--budget", "5s"), "--budget is for --best and --classes"),
        (("--best", "--classes", "4"), "--best chooses models and settings itself"),
        (("--best", "--strength", "0.5"), "--best chooses models and settings itself"),
        (("--best", "--shards", "somewhere"), "--best reads the whole text"),
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
    assert "a model with --document cannot be updated" in err
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


TEXT_MODEL = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat saw the dog",
    "the dog saw a cat",
] * 4


def test_the_command_says_what_it_chose(run, tmp_path):
    text, model, arpa = tmp_path / "text", tmp_path / "m.epigram", tmp_path / "m.arpa"
    text.write_text("\n".join(TEXT_MODEL) + "\n")
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
    text.write_text("\n".join(TEXT_MODEL[:4]) + "\n")
    code, out, err = run("lm", "train", text, "-o", model, "--json", *asked)
    assert code == 0, err
    assert "shares" not in json.loads(out)
    assert isinstance(epigram.load(model), LogLinearLM)


def test_characters_and_back():
    chars = Tokenizer("chars")
    for line in ("a rose  is", "日本 語", "x"):
        assert chars.join(chars.cut(line)) == " ".join(line.split())
    assert chars.cut(" \t") == []
    assert Tokenizer.of("words") is None


def test_a_model_of_characters(run, tmp_path):
    text, pieces, model = tmp_path / "text", tmp_path / "pieces", tmp_path / "m.epigram"
    text.write_text("the cat sat\n\nthe mat\n" * 4)
    code, out, err = run("lm", "prepare", text, "-o", pieces, "--tokens", "chars", "--json")
    assert code == 0, err
    assert json.loads(out) == {"sentences": 8, "tokens": 4 * (11 + 7)}
    assert pieces.read_text().splitlines()[:3] == ["t h e ▁ c a t ▁ s a t", "", "t h e ▁ m a t"]
    assert run("lm", "train", pieces, "-o", model, "--model", "kneser-ney", "--order", 3)[0] == 0
    found = json.loads(run("lm", "next", model, "t h", "-k", 1, "--json")[1])
    assert found[0]["word"] == "e"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokens", "syllables"], "neither words, chars nor a file"),
        (["--tokens", "chars", "--names"], "only cuts the text"),
        (["--tokens", "bad.json"], "bad.json"),
    ],
)
def test_bad_cuts_are_named(run, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "text").write_text("a b\n")
    code, _, err = run("lm", "prepare", "text", "-o", "out", *options)
    assert code == 2
    assert message in err


def test_pieces_of_a_tokenizers_model(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="?"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    model.train_from_iterator(["the cat", "the mat"] * 5, tokenizers.trainers.BpeTrainer(vocab_size=30))
    path = tmp_path / "bpe.json"
    model.save(str(path))
    assert Tokenizer.of(path).join(Tokenizer.of(path).cut("the cat the mat")) == "the cat the mat"


def test_pieces_of_a_sentencepiece_model(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    text = tmp_path / "text"
    text.write_text("the cat sat\nthe mat sat\n" * 20)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "sp"),
        vocab_size=16,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    tokenizer = Tokenizer.of(tmp_path / "sp.model")
    assert tokenizer.join(tokenizer.cut("the cat sat")) == "the cat sat"
    (tmp_path / "bad.model").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"bad\.model"):
        Tokenizer.of(tmp_path / "bad.model")


LINES = ["the cat sat", "the mat", "a cat sat on the mat", "that cat"]
CHARS = Tokenizer("chars")


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("\n".join(LINES * 5) + "\n")
    return path


def by_hand(lines: list[str]) -> list[list[str]]:
    return [list(line.replace(" ", "▁")) for line in lines]


@pytest.mark.parametrize(
    "estimator",
    [
        KneserNeyLM(order=3),
        LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01),
        ClassFactoredLM(order=2, classes=3, budget=0),
    ],
)
def test_a_model_is_that_of_text_cut_by_hand_and_its_file_remembers(
    estimator, passage: Path, tmp_path: Path
) -> None:
    expected = type(estimator)(**estimator.get_params()).fit(by_hand(LINES * 5))
    model = estimator.fit(Corpus.read(passage, tokenizer=CHARS))
    estimator.save(tmp_path / "m.epigram")
    loaded = load(tmp_path / "m.epigram")
    wanted = expected.word_scores(by_hand(["the cat"])[0])
    for one in (model, loaded, pickle.loads(pickle.dumps(loaded))):
        assert one.vocabulary_.tokenizer == CHARS
        np.testing.assert_allclose(one.word_scores("the cat"), wanted, rtol=1e-5)
        np.testing.assert_array_equal(one.word_scores("the cat"), one.word_scores(by_hand(["the cat"])[0]))
        assert one.perplexity(passage) == one.perplexity(LINES * 5) == one.perplexity(by_hand(LINES * 5))
        assert one.next_words("<s> the ca", 1)[0][0] == "t"
        assert one.state("<s> th") == one.state(["<s>", "t", "h"])


def test_going_on_cuts_the_new_text_and_keeps_the_way(passage: Path) -> None:
    model = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01).fit(
        Corpus.read(passage, tokenizer=CHARS)
    )
    model.partial_fit(["the zoo"])
    assert "z" in model.vocabulary_
    assert "zoo" not in model.vocabulary_
    assert model.vocabulary_.tokenizer == CHARS
    more = Corpus.more(passage, Vocabulary([], CHARS))
    assert more.n_sentences == 20
    assert set(more.vocabulary.words[1:]) == set("".join(LINES).replace(" ", "▁"))


def test_a_mixture_has_the_way_of_its_parts(passage: Path, tmp_path: Path) -> None:
    corpus = Corpus.read(passage, tokenizer=CHARS)
    parts = [KneserNeyLM(order=n).fit(corpus) for n in (2, 3)]
    InterpolatedLM(parts, [0.5, 0.5]).save(tmp_path / "m.epigram")
    mixture = load(tmp_path / "m.epigram")
    assert mixture.perplexity(["the cat"]) == mixture.perplexity(by_hand(["the cat"]))
    with pytest.raises(InputError, match="different tokenizers"):
        InterpolatedLM([parts[0], KneserNeyLM(order=2).fit(LINES)], [0.5, 0.5])
    assert KnownWords(mixture).word_scores(["the", "cat"]).size == 8
    write_arpa(parts[1].backoff_, tmp_path / "m.arpa")  # has no place for it: text in pieces there
    assert read_arpa(tmp_path / "m.arpa").perplexity(by_hand(LINES)) == pytest.approx(
        parts[1].perplexity(LINES)
    )


def test_files_of_other_packages_are_in_the_model_file(passage: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(LINES, tokenizers.trainers.BpeTrainer(vocab_size=30, show_progress=False))
    tokenizer.save(str(tmp_path / "t.json"))
    pieces = Tokenizer.of(tmp_path / "t.json")
    assert pieces is not None
    KneserNeyLM(order=3).fit(Corpus.read(passage, tokenizer=pieces)).save(tmp_path / "m.epigram")
    (tmp_path / "t.json").unlink()
    model = load(tmp_path / "m.epigram")
    cut = tokenizer.encode("the cat sat").tokens
    assert len(cut) < 11
    assert list(model.vocabulary_.tokens("the cat sat")) == cut
    assert model.vocabulary_.join(cut) == "the cat sat"


def test_every_command_cuts(run, passage: Path, tmp_path: Path) -> None:
    model, general, words = tmp_path / "m", tmp_path / "g", tmp_path / "w"
    kind = ("--model", "kneser-ney", "--order", 3)
    assert run("lm", "train", passage, "-o", model, *kind, "--tokens", "chars")[0] == 0
    assert (
        run(
            "lm",
            "train",
            passage,
            "-o",
            general,
            "--model",
            "kneser-ney",
            "--order",
            2,
            "--tokens",
            "chars",
        )[0]
        == 0
    )
    assert run("lm", "train", passage, "-o", words, *kind)[0] == 0
    whole = json.loads(run("lm", "eval", model, passage, "--unknown", "--json")[1])
    assert (whole["tokens"], whole["oov"], whole["unknown"]) == (5 * sum(map(len, LINES)), 0, [])
    assert json.loads(run("lm", "next", model, "the ca", "-k", 1, "--json")[1])[0]["word"] == "t"
    scored = [json.loads(line) for line in run("lm", "score", model, passage, "--json")[1].splitlines()]
    assert [word for word, _ in scored[1]["words"]] == [*"the▁mat", "</s>"]
    assert " " in run("lm", "sample", model, "-n", 9, "--seed", 1)[1]
    assert "▁" not in run("lm", "sample", model, "-n", 9, "--seed", 1)[1]
    assert "text is cut into" in run("inspect", model)[1]
    assert "text is cut into" not in run("inspect", words)[1]
    filtering = ("filter", passage, "-o", tmp_path / "kept.txt", "--model", model, "--score", "", "--against")
    assert run(*filtering, general, "--keep", 0.25)[0] == 0
    kept = (tmp_path / "kept.txt").read_text().splitlines()
    assert len(kept) >= 5
    assert set(kept) <= set(LINES)
    code, _, err = run(*filtering, words)
    assert code == 2
    assert "different ways" in err
    lists = tmp_path / "lists.jsonl"
    lists.write_text(
        '{"candidates": [{"text": "tha cet", "score": 0}, {"text": "the cat", "score": -0.1}]}\n'
    )
    best = json.loads(run("lm", "score", model, lists, "--nbest")[1])["candidates"][0]
    assert best["text" if "text" in best else "tokens"] in (
        "the cat",
        ["the", "cat"],
    )


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ModelFileError, match="unknown kind of tokenizer"):
        Tokenizer.from_bytes(b"syllables\n")
    with pytest.raises(InputError, match=r"cannot be read|needs the package"):
        Tokenizer.from_bytes(b"tokenizers\nnothing").cut("a")
