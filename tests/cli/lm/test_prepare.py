"""Prepared text: each step by its stated rule, other text by the same decisions, the command and its files."""

from __future__ import annotations

import gzip
import json

import pytest

from epigram.errors import InputError
from epigram.lm.normalise import Preparation, Replaced

TEXT = [
    "On Monday Mr Smith paid $1,200.50 , or 3% , in Boston .",
    "Boston paid Smith on Monday . The rose paid .",
    "Rose and rose paid 1/2 in 1988-89 , I said . I'm on it , and I'm in it .",
]


def prepare(text, like=None, **settings):
    how = Preparation.learn(text, **settings) if like is None else like
    return list(how.apply(text)), how


def text_of(sentences):
    return [" ".join(words) for words in sentences]


def test_numbers_rare_words_and_case():
    words, how = prepare(TEXT)
    assert text_of(words) == [
        "on monday <unk> smith paid #n , <unk> #n , in boston .",
        "boston paid smith on monday . <unk> rose paid .",
        "rose and rose paid #n in #n , <unk> <unk> . i'm on it , and i'm in it .",
    ]
    assert how.counts["rose"] == 3
    assert "1/2" not in how.counts


def test_names_are_capitalised_inside_a_sentence_and_never_in_lower_case():
    how = Preparation.learn(TEXT, names=True)
    assert how.proper_nouns == {"Monday", "Mr", "Smith", "Boston"}
    replaced = Replaced()
    assert text_of(how.apply(TEXT, replaced))[1] == "<name> paid <name> on <name> . <unk> rose paid ."
    assert (replaced.sentences, replaced.numbers, replaced.names, replaced.rare) == (3, 4, 7, 4)
    assert replaced.tokens == sum(len(line.split()) for line in TEXT)


def test_other_text_is_prepared_by_the_same_decisions():
    how = Preparation.learn(TEXT, names=True)
    found = text_of(how.apply(["Boston and Chicago paid", "Chicago paid 7", "The The Rose", "I said so"]))
    # Chicago at the start of a line may be any word; inside it is a new proper noun; the, Rose and I are known.
    assert found == ["<name> and <name> paid", "<unk> paid #n", "<unk> <unk> rose", "<unk> <unk> <unk>"]


def test_applying_what_was_learnt_to_the_same_text_or_to_its_result_changes_nothing_more():
    for settings in ({}, {"names": True}, {"names": True, "lower": False}, {"split": True, "names": True}):
        words, how = prepare(TEXT, **settings)
        assert list(how.apply(TEXT)) == words
        assert prepare(TEXT, like=how)[0] == words
        again = list(how.apply(words))
        assert again == words


@pytest.mark.parametrize(
    ("written", "pieces"),
    [
        ('He said, "No."', ["he", "said", ",", '"', "no", ".", '"']),
        ("don't stop-gap U.S. rules...", ["don't", "stop-gap", "u.s.", "rules", "..."]),
        ("(the 19-year-old's $5.00; 7,000%)", ["(", "the", "19-year-old's", "#n", ";", "#n", ")"]),
        ("x <unk> y #n <name>", ["x", "<unk>", "y", "#n", "<name>"]),
        ("日本語。no", ["日本語", "。", "no"]),
    ],
)
def test_punctuation_is_split_off(written, pieces):
    assert prepare([written], split=True, min_count=1)[0] == [pieces]


@pytest.mark.parametrize("token", ["7", "-7", "+1.5", "$1,200.50", "3%", "10:30", "1988-89", "1/2", "٣"])
def test_what_is_a_number(token):
    assert prepare([token], min_count=1)[0] == [["#n"]]
    assert prepare([token], min_count=1, numbers=False)[0] == [[token]]


@pytest.mark.parametrize("token", ["1st", "b2", "-", "$", "19-year-old", "1.", "x-1"])
def test_what_is_none(token):
    assert prepare([token], min_count=1)[0] == [[token]]


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="min_count must be at least 1, not 0"):
        Preparation.learn(TEXT, min_count=0)


def test_the_file_keeps_settings_and_decisions(tmp_path):
    how = Preparation.learn(TEXT, names=True, split=True, lower=False, min_count=3)
    how.write(tmp_path / "words.json")
    assert Preparation.read(tmp_path / "words.json") == how
    for content in ("{}", "[]", "not json", '{"epigram": "other"}', '{"epigram": "preparation", "x": 1}'):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(InputError, match="not a file of"):
            Preparation.read(tmp_path / "bad")


def test_command_prepares_training_and_test_text(run, tmp_path):
    train, test, words = tmp_path / "train.gz", tmp_path / "test", tmp_path / "words.json"
    train.write_bytes(gzip.compress("\n".join(TEXT).encode()))
    test.write_text("Boston paid 9 in Rome\n\n")
    out = tmp_path / "out.gz"
    code, printed, err = run("lm", "prepare", train, "-o", out, "--names", "--save", words, "--json")
    assert code == 0, err
    record = json.loads(printed)
    assert record["names_replaced"] == 7
    assert record["numbers_replaced"] == 4
    assert record["rare_words_replaced"] == 4
    assert record["sentences"] == 3
    assert gzip.decompress(out.read_bytes()).decode().splitlines() == text_of(prepare(TEXT, names=True)[0])
    code, printed, err = run("lm", "prepare", test, "-o", tmp_path / "t", "--like", words)
    assert code == 0, err
    assert (tmp_path / "t").read_text() == "<name> paid #n in <name>\n"
    assert "names replaced" in printed


def test_command_refuses_what_does_not_fit(run, tmp_path):
    text = tmp_path / "text"
    text.write_text("a b\n")
    (tmp_path / "empty").write_text("\n\n")
    for arguments, message in (
        ((text, "-o", "-", "--json"), "leave out --json"),
        ((text, "-o", tmp_path / "o", "--like", tmp_path / "x", "--names"), "--like has its own settings"),
        ((tmp_path / "empty", "-o", tmp_path / "o"), "no words"),
        ((text, "-o", tmp_path / "o", "--like", text), "not a file of"),
    ):
        code, _, err = run("lm", "prepare", *arguments)
        assert code == 2
        assert message in err
    assert not (tmp_path / "o").exists()
