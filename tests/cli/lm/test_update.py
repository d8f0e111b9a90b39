"""``epigram lm update``: a model file goes on training, atomically, and says what it gained."""

from __future__ import annotations

import json

import pytest

from epigram.storage import ModelFile

OLD = "the cat sat on the mat\nthe dog sat on the log\na cat saw the dog\nthe dog saw a cat\n" * 3
NEW = "the cat sat on the log\n\na yak saw the cat\nthe yak sat\n" * 4
STRENGTHS = ("--order", 3, "--strength", 0.2, "--depth-weight", 1.2, "--ridge", 0.02)


@pytest.fixture
def texts(tmp_path):
    for name, content in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text(content)
    return tmp_path / "old", tmp_path / "new"


@pytest.mark.parametrize(
    "more", [(), ("--penalty", "tree-linf"), ("--classes", 4, "--budget", 0), ("--bits", 8)]
)
def test_update_learns_the_new_text(run, texts, tmp_path, more):
    old, new = texts
    model, other = tmp_path / "m.epigram", tmp_path / "n.epigram"
    assert run("lm", "train", old, "-o", model, *STRENGTHS, *more, "--keep-text")[0] == 0
    before = model.read_bytes()
    code, out, err = run("lm", "update", model, new, "-o", other, "--json")
    assert code == 0, err
    record = json.loads(out)
    assert (record["sentences"], record["words"] - record["words_before"]) == (12, 1)
    assert record["perplexity_of_learnt_text"] < record["perplexity_before"]
    assert model.read_bytes() == before
    assert json.loads(run("lm", "eval", other, new, "--json")[1])["perplexity"] == pytest.approx(
        record["perplexity_of_learnt_text"], rel=0.02
    )
    # Again in place: the model in the file knows all text so far.
    code, out, _ = run("lm", "update", other, new, "--json")
    assert code == 0
    assert json.loads(out)["perplexity_before"] < record["perplexity_before"]


def test_update_for_people_and_what_it_refuses(run, texts, tmp_path):
    old, new = texts
    model, counts, empty = tmp_path / "m.epigram", tmp_path / "kn.epigram", tmp_path / "empty"
    run("lm", "train", old, "-o", model, *STRENGTHS)
    run("lm", "train", old, "-o", counts, "--model", "kneser-ney")
    empty.write_text("\n\n")
    assert "perplexity of learnt text" in run("lm", "update", model, new)[1]
    for arguments, message in (
        ((counts, new), "n-gram model cannot be updated"),
        ((model, empty), "no words to learn"),
        ((model, tmp_path / "missing"), "cannot read"),
        ((tmp_path / "missing", new), "cannot read"),
        ((model, new, "-o", tmp_path / "no" / "m"), "folder does not exist"),
    ):
        code, _, err = run("lm", "update", *arguments)
        assert code == 2
        assert message in err


@pytest.mark.parametrize("more", [(), ("--classes", 4, "--budget", 0)])
def test_a_file_holds_its_text_only_where_that_is_asked_for(run, texts, tmp_path, more):
    found = {}
    for option in ("--keep-text", "--no-text", None):
        path = tmp_path / f"{option}.epigram"
        given = () if option is None else (option,)
        assert run("lm", "train", texts[0], "-o", path, *STRENGTHS, *more, *given)[0] == 0
        found[option] = "text" in ModelFile.load(path).tensors
    assert found == {"--keep-text": True, "--no-text": False, None: False}
    # What an update learns stays out of a file without text too.
    code, out, err = run("lm", "update", path, texts[1], "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["perplexity_of_learnt_text"] < record["perplexity_before"]
    assert "text" not in ModelFile.load(path).tensors
