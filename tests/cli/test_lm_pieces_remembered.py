"""A model of characters or other pieces knows how text is cut: from its file, in mixtures, and in every command."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM, load
from epigram.errors import InputError, ModelFileError
from epigram.lm.corpus import Corpus
from epigram.lm.mixture import InterpolatedLM
from epigram.lm.ngram.arpa import read_arpa, write_arpa
from epigram.lm.score_report import KnownWords
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import Vocabulary

LINES = ["the cat sat", "the mat", "a cat sat on the mat", "that cat"]
CHARS = Tokenizer("chars")


@pytest.fixture
def text(tmp_path: Path) -> Path:
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
    estimator, text: Path, tmp_path: Path
) -> None:
    expected = type(estimator)(**estimator.get_params()).fit(by_hand(LINES * 5))
    model = estimator.fit(Corpus.read(text, tokenizer=CHARS))
    estimator.save(tmp_path / "m.epigram")
    loaded = load(tmp_path / "m.epigram")
    wanted = expected.word_scores(by_hand(["the cat"])[0])
    for one in (model, loaded, pickle.loads(pickle.dumps(loaded))):
        assert one.vocabulary_.tokenizer == CHARS
        np.testing.assert_allclose(one.word_scores("the cat"), wanted, rtol=1e-5)
        np.testing.assert_array_equal(one.word_scores("the cat"), one.word_scores(by_hand(["the cat"])[0]))
        assert one.perplexity(text) == one.perplexity(LINES * 5) == one.perplexity(by_hand(LINES * 5))
        assert one.next_words("<s> the ca", 1)[0][0] == "t"
        assert one.state("<s> th") == one.state(["<s>", "t", "h"])


def test_going_on_cuts_the_new_text_and_keeps_the_way(text: Path) -> None:
    model = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01).fit(
        Corpus.read(text, tokenizer=CHARS)
    )
    model.partial_fit(["the zoo"])
    assert "z" in model.vocabulary_
    assert "zoo" not in model.vocabulary_
    assert model.vocabulary_.tokenizer == CHARS
    more = Corpus.more(text, Vocabulary([], CHARS))
    assert more.n_sentences == 20
    assert set(more.vocabulary.words[1:]) == set("".join(LINES).replace(" ", "▁"))


def test_a_mixture_has_the_way_of_its_parts(text: Path, tmp_path: Path) -> None:
    corpus = Corpus.read(text, tokenizer=CHARS)
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


def test_files_of_other_packages_are_in_the_model_file(text: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(LINES, tokenizers.trainers.BpeTrainer(vocab_size=30, show_progress=False))
    tokenizer.save(str(tmp_path / "t.json"))
    pieces = Tokenizer.of(tmp_path / "t.json")
    assert pieces is not None
    KneserNeyLM(order=3).fit(Corpus.read(text, tokenizer=pieces)).save(tmp_path / "m.epigram")
    (tmp_path / "t.json").unlink()
    model = load(tmp_path / "m.epigram")
    cut = tokenizer.encode("the cat sat").tokens
    assert len(cut) < 11
    assert list(model.vocabulary_.tokens("the cat sat")) == cut
    assert model.vocabulary_.join(cut) == "the cat sat"


def test_every_command_cuts(run, text: Path, tmp_path: Path) -> None:
    model, general, words = tmp_path / "m", tmp_path / "g", tmp_path / "w"
    kind = ("--model", "kneser-ney", "--order", 3)
    assert run("lm", "train", text, "-o", model, *kind, "--tokens", "chars")[0] == 0
    assert (
        run("lm", "train", text, "-o", general, "--model", "kneser-ney", "--order", 2, "--tokens", "chars")[0]
        == 0
    )
    assert run("lm", "train", text, "-o", words, *kind)[0] == 0
    whole = json.loads(run("lm", "eval", model, text, "--unknown", "--json")[1])
    assert (whole["tokens"], whole["oov"], whole["unknown"]) == (5 * sum(map(len, LINES)), 0, [])
    assert json.loads(run("lm", "next", model, "the ca", "-k", 1, "--json")[1])[0]["word"] == "t"
    scored = [json.loads(line) for line in run("lm", "score", model, text, "--json")[1].splitlines()]
    assert [word for word, _ in scored[1]["words"]] == [*"the▁mat", "</s>"]
    assert " " in run("lm", "sample", model, "-n", 9, "--seed", 1)[1]
    assert "▁" not in run("lm", "sample", model, "-n", 9, "--seed", 1)[1]
    assert "text is cut into" in run("inspect", model)[1]
    assert "text is cut into" not in run("inspect", words)[1]
    kept = run("lm", "filter", model, text, "--keep", 0.25, "--against", general)[1].splitlines()
    assert len(kept) == 5
    assert set(kept) <= set(LINES)
    code, _, err = run("lm", "filter", model, text, "--keep", 0.5, "--against", words)
    assert code == 2
    assert "another way" in err
    lists = tmp_path / "lists.jsonl"
    lists.write_text(
        '{"candidates": [{"text": "tha cet", "score": 0}, {"text": "the cat", "score": -0.1}]}\n'
    )
    best = json.loads(run("lm", "score", model, lists, "--nbest")[1])["candidates"][0]
    assert best["text" if "text" in best else "tokens"] in ("the cat", ["the", "cat"])


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ModelFileError, match="unknown kind of tokenizer"):
        Tokenizer.from_bytes(b"syllables\n")
    with pytest.raises(InputError, match=r"cannot be read|needs the package"):
        Tokenizer.from_bytes(b"tokenizers\nnothing").cut("a")
