"""Text in pieces: characters, and models of other packages where they are installed."""

import json

import pytest

from epigram.errors import InputError
from epigram.lm.tokenizer import Tokenizer


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
