"""``epigram inspect`` on what is no model of ours: one sentence on standard error, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from epigram import ClassFactoredLM, CRFTagger, KneserNeyLM, LogLinearLM, NBest, Reranker, load
from epigram.compat.crfsuite.file import write_model
from epigram.datasets import sample
from epigram.storage import ModelFile
from in_process import Done, epigram

WHOLE = ModelFile("toy", {"settings": {}, "fit": {}}, {"w": np.arange(100.0)}).to_bytes()
NEWER = save(
    {"w": np.zeros(1)},
    {"epigram": json.dumps({"family": "tagger", "format": 99, "epigram": "42.0"})},
)
FILES = {
    "truncated in its weights": (WHOLE[:-8], "corrupt file: truncated, "),
    "truncated in its header": (WHOLE[:150], "truncated model file"),
    "empty": (b"", "empty file, not an epigram model"),
    "text": (b"He PRP B-NP\n" * 9, "not an epigram model file"),
    "a pickle": (
        b"\x80\x05\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07epigram\x94.",
        "not an epigram model file",
    ),
    "safetensors of others": (save({"w": np.zeros(1)}, {"format": "np"}), "not an epigram model file"),
    "newer": (NEWER, "written by a newer epigram (42.0); upgrade epigram to read it"),
    "a tagger without its header": (ModelFile("tagger", {}, {}).to_bytes(), "corrupt file: "),
    "a tagger with weights that do not fit": (
        ModelFile(
            "tagger",
            {"kind": "crf", "labels": ["A"], "template": None, "has_transitions": True},
            {"transition_pairs": np.array([[0, 7]]), "transition_weights": np.ones(1)},
        ).to_bytes(),
        "corrupt file: ",
    ),
    "unknown family": (WHOLE, "unknown family 'toy'; upgrade epigram to read it"),
}


def inspect(*arguments: str | Path) -> Done:
    return epigram("inspect", *arguments)


def assert_one_sentence(done: Done, path: Path, says: str) -> None:
    assert done.returncode == 2
    assert done.stdout == b""
    said = done.stderr.decode()
    assert said.startswith(f"epigram: {path}: {says}")
    assert said.count("\n") == 1


@pytest.mark.parametrize("kind", FILES)
def test_not_a_model(kind: str, tmp_path: Path) -> None:
    content, says = FILES[kind]
    path = tmp_path / "m.epigram"
    path.write_bytes(content)
    assert_one_sentence(inspect(path), path, says)


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.epigram"
    assert_one_sentence(inspect(path, "--json"), path, "cannot read: No such file or directory")


def test_folder(tmp_path: Path) -> None:
    assert_one_sentence(inspect(tmp_path), tmp_path, "cannot read: Is a directory")


def test_another_family_is_not_a_tagger(tmp_path: Path) -> None:
    path = tmp_path / "m.epigram"
    path.write_bytes(WHOLE)
    for words in (["eval", str(path), "-"], ["run", str(path)]):
        done = epigram("tag", *words, stdin=b"He PRP B-NP\n")
        assert_one_sentence(done, path, "holds a model of family 'toy', not a tagger")


def test_a_whole_model_is_shown(tmp_path: Path) -> None:
    from epigram import CRFTagger

    path = tmp_path / "m.epigram"
    tokens = [["w=the"], ["w=dog"], ["w=barks"]]
    CRFTagger(l1=0.01).fit([tokens] * 2, [["DT", "NN", "VB"]] * 2).save(path)
    done = inspect(path)
    assert done.returncode == 0
    assert done.stderr == b""
    for piece in ("tagger", "settings", "fit", "strongest features", "w=barks"):
        assert piece in done.stdout.decode()
    record = json.loads(inspect(path, "--json").stdout)
    assert record["family"] == "tagger"
    assert record["bytes"] == path.stat().st_size
    assert record["settings"]["l1"] == 0.01
    assert {"feature", "label", "weight"} <= record["strongest features"][0].keys()


def test_check_names_the_context_whose_distribution_does_not_sum_to_one(tmp_path: Path) -> None:
    path = tmp_path / "m.epigram"
    text = ["the cat sees the dog", "a dog sees the cat", "the dog"]
    KneserNeyLM(order=2).fit(text).save(path)
    done = epigram("inspect", path, "--check", "--json")
    assert done.returncode == 0, done.stderr
    [worst] = json.loads(done.stdout)["sums"]
    assert worst["sum"] == pytest.approx(1.0, abs=1e-9)
    model = load(path)
    node = model.state("sees")
    model.node_bow[node] += 5.0
    brute = {context: model.distribution(context).sum() for context in ("", "the", "sees", "a", "dog", "cat")}
    model.save(path)
    done = epigram("inspect", path, "--check")
    assert done.returncode == 2
    assert f"the distribution after 'sees' sums to {brute['sees']:.6g}, not 1".encode() in done.stderr
    assert brute["sees"] == max(brute.values())
    LogLinearLM(order=2, strength=0.1).fit(text).save(path)
    assert epigram("inspect", path, "--check").returncode == 0
    CRFTagger("U0:%x[0,0]\n").fit([["a"]], [["x"]]).save(path)
    done = epigram("inspect", path, "--check")
    assert done.returncode == 2
    assert b"distributions of language models" in done.stderr


TEXT = [" ".join(sentence) for sentence in sample.plain("train", 60)]


def rows(*words: object) -> list[list[str]]:
    done = epigram("inspect", *words, "--weights")
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.decode().removesuffix("\n").split("\n")]


def test_taggers(tmp_path: Path) -> None:
    X = [[["w=a"], ["w=b", "w=c"]], [["w=b"], ["w=a"]]]
    tagger = CRFTagger(l1=0.01).fit(X, [["A", "B"], ["B", "A"]])
    tagger.save(tmp_path / "m.epigram")
    (tmp_path / "m.crfsuite").write_bytes(write_model(tagger.model_))
    weights = tagger.model_.weights.values
    for name in ("m.epigram", "m.crfsuite"):
        head, *found = rows(tmp_path / name)
        assert head == ["attribute", "before", "label", "weight"]
        assert sorted(float(row[3]) for row in found if row[0]) == pytest.approx(
            sorted(weights.tolist()), abs=1e-5
        )
        assert len([row for row in found if not row[1]]) == len(weights)
        assert {(row[1], row[2]) for row in found if not row[0]} <= {("A", "B"), ("B", "A")}
    _, *chosen = rows(tmp_path / "m.epigram", "--label", "A", "--attribute", "w=[ab]")
    assert chosen
    assert {row[2] for row in chosen} == {"A"}
    assert {row[0] for row in chosen} <= {"w=a", "w=b"}
    done = epigram("inspect", tmp_path / "m.epigram", "--weights", "--format", "json")
    assert set(json.loads(done.stdout.decode().split("\n")[0])) == set(head)


def test_back_off_models_have_their_n_grams(tmp_path: Path) -> None:
    model = KneserNeyLM(order=3).fit(TEXT).backoff_
    model.save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["attribute", "label", "weight", "backoff"]
    assert len(found) == model.n_ngrams
    context, word, logp, _ = found[-1]
    state = model.start() if context.startswith("<s>") else model.state(())
    for one in context.replace("<s>", "").split():
        state, _ = model.advance(state, one)
    assert model.advance(state, word)[1] == pytest.approx(float(logp), abs=1e-4)


def test_log_linear_models(tmp_path: Path) -> None:
    model = LogLinearLM(order=2, penalty="l1").fit(TEXT)
    model.save(tmp_path / "m.epigram")
    _, *found = rows(tmp_path / "m.epigram")
    assert len(found) == pytest.approx(model.n_nonzero_, abs=3)


def test_class_factored_models(tmp_path: Path) -> None:
    ClassFactoredLM(classes=4).fit(TEXT).save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["part", "attribute", "label", "weight"]
    assert {row[0] for row in found} == {"class", "word"}


def test_rerankers(tmp_path: Path) -> None:
    record = {"reference": "a b", "candidates": [{"text": "a c", "score": -1}, {"text": "a b", "score": -2}]}
    model = Reranker(min_count=1).fit(NBest.from_lists([{**record, "id": str(k)} for k in range(6)]))
    model.save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["attribute", "weight"]
    assert len(found) == (model.weights_ != 0).sum()
    done = epigram("inspect", tmp_path / "m.epigram", "--weights", "--label", "x")
    assert (done.returncode, b"have no label" in done.stderr) == (2, True)
    done = epigram("inspect", tmp_path / "m.epigram", "--label", "x")
    assert (done.returncode, b"add that" in done.stderr) == (2, True)
