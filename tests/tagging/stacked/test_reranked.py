"""Rerankers of labellings: features against a reference implementation, files and commands."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epigram as library
from epigram import SGD, CRFTagger, MaxentTagger, RerankedTagger, SegmentTagger
from epigram.errors import ModelFileError
from epigram.features.columns import Columns
from epigram.rerank.learners import Softmax
from epigram.storage import ModelFile
from epigram.tagging.stacked.candidates import Labellings, Scheme
from epigram.tagging.stacked.cross_prediction import label_unseen
from epigram.tagging.stacked.labelling_features import features_of
from epigram.tagging.stacked.reranked import training_lists
from epigram.tagging.stacked.reranker import LabellingReranker
from in_process import epigram
from reference.global_features import errors_of, features

CHUNKS, WORDS = ["B-x", "B-y", "I-x", "I-y", "O"], ["A", "N", "V"]
TEMPLATE = "U0:%x[0,0]\nB\n"
FAST = SGD(passes=5, eta0=0.5)


def random_lists(labels: list[str], columns: int, seed: int) -> tuple[list[Any], list[list[list[int]]]]:
    """Sentences, and candidates for each, all of them different."""
    rng = random.Random(seed)
    sentences, lists = [], []
    for _ in range(8):
        n = rng.randint(1, 4)
        sentences.append(
            [tuple(rng.choice(["IL-2", "gene", "Of", "x"]) for _ in range(columns)) for _ in range(n)]
        )
        lists.append(
            [list(one) for one in {tuple(rng.randrange(len(labels)) for _ in range(n)) for _ in range(4)}]
        )
    return sentences, lists


def as_labellings(lists: list[list[list[int]]]) -> Labellings:
    return Labellings.of(
        [[(np.array(one, dtype=np.int32), -float(k)) for k, one in enumerate(found)] for found in lists]
    )


@pytest.mark.parametrize("labels", [CHUNKS, WORDS])
@pytest.mark.parametrize(("columns", "reach"), [(1, 0), (2, 2)])
def test_features_tell_candidates_apart_as_all_features_would(
    labels: list[str], columns: int, reach: int
) -> None:
    sentences, lists = random_lists(labels, columns, reach)
    found, scheme = as_labellings(lists), Scheme(labels)
    ours = [Counter[str]() for _ in range(found.n_candidates)]
    for distinguishing in features_of(found, Columns.from_rows(sentences), scheme, reach):
        for owner, part in zip(distinguishing.parts.owner, distinguishing.parts.number, strict=True):
            ours[owner].update(distinguishing.names[part])
    first = [[labels[j] for j in candidates[0]] for candidates in lists]
    for s, candidates in enumerate(lists):
        wanted = [features(s, [labels[j] for j in one], sentences, first, reach) for one in candidates]
        mine = ours[found.list_ptr[s] : found.list_ptr[s + 1]]
        for k in range(len(candidates)):
            names = wanted[k].keys() | wanted[0].keys() | mine[k].keys() | mine[0].keys()
            apart = {name: mine[k][name] - mine[0][name] for name in names}
            assert apart == {name: wanted[k][name] - wanted[0][name] for name in names}


def test_features_are_numbered_in_the_order_of_the_text() -> None:
    sentences, lists = random_lists(CHUNKS, 2, 3)
    found, scheme, columns = as_labellings(lists), Scheme(CHUNKS), Columns.from_rows(sentences)
    gold = np.concatenate([candidates[-1] for candidates in lists]).astype(np.int32)
    found_features = features_of(found, columns, scheme, 1)
    wanted = dict.fromkeys(name for some in found_features for names in some.names for name in names)
    assert training_lists(found, columns, scheme, gold, 1, min_count=1).names == list(wanted)


@pytest.mark.parametrize("labels", [CHUNKS, WORDS])
def test_errors_are_wrong_and_missing_chunks(labels: list[str]) -> None:
    _, lists = random_lists(labels, 1, 5)
    gold = [candidates[-1] for candidates in lists]
    found = Scheme(labels).errors(as_labellings(lists), np.concatenate(gold).astype(np.int32))
    names = [[[labels[j] for j in one] for one in candidates] for candidates in lists]
    assert found.tolist() == [errors_of(one, some[-1]) for some in names for one in some]


def task(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Names in quotes: a chain of labels cannot know, at the second word, whether a quote follows the last one."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        middle, closed = [rng.choice("abc") for _ in range(rng.randint(2, 4))], rng.random() < 0.5
        X.append(["say", *middle, "!" if closed else "?"])
        y.append(["O", *(["B-q", *["I-q"] * (len(middle) - 1)] if closed else ["O"] * len(middle)), "O"])
    return X, y


def reranked(X: Any, y: Any, **settings: Any) -> RerankedTagger:
    tagger = CRFTagger(TEMPLATE, l1=0.1, solver=FAST, constrain="iob2")
    return RerankedTagger(tagger, **{"k": 12, "folds": 3, **settings}).fit(X, y)


def test_features_of_whole_chunks_mend_what_the_chain_cannot_know() -> None:
    X, y = task(300, 0)
    tagger = reranked(X, y)
    new, answers = task(60, 1)
    before, after = tagger.tagger_.score(new, answers), tagger.score(new, answers)
    assert before < 0.8
    assert after > 0.95
    assert tagger.fit_["held_out_errors_after"] < tagger.fit_["held_out_errors_before"]


def test_candidates_come_from_taggers_that_have_not_seen_the_sentence() -> None:
    X, y = task(12, 2)
    columns, labels = Columns.from_rows(X), Columns.from_rows(y).columns[0]
    learnt = CRFTagger(TEMPLATE, l1=0.1, solver=FAST).fit(X, y)
    found = label_unseen([learnt], columns, labels, 3, folds=3)
    kept = [s for s in range(12) if s * 3 // 12 != 1]
    blind = CRFTagger(TEMPLATE, l1=0.1, solver=FAST).fit([X[s] for s in kept], [y[s] for s in kept])
    for s in range(4, 8):
        mine = range(found.list_ptr[s], found.list_ptr[s + 1])
        for c, (wanted, p) in zip(mine, blind.predict_nbest([X[s]], 3)[0], strict=True):
            assert [learnt.model_.labels[j] for j in found.labelling(c)] == wanted
            assert found.scores[c] == pytest.approx(np.log(p))
    part = label_unseen([learnt], columns, labels, 3, 3, lambda done, _: done == 1)
    assert len(part.list_ptr) - 1 == 4


@pytest.mark.parametrize("kind", [CRFTagger, SegmentTagger])
def test_without_weights_it_is_the_tagger(kind: Any) -> None:
    X, y = task(40, 3)
    tagger = kind(TEMPLATE, l1=0.1, solver=FAST).fit(X, y)
    X = [*X, []]
    columns, sequences = Columns.from_rows(X), tagger.model_.encode(X)
    for base_weight in (1.0, 0.3, 0.0):
        look = LabellingReranker({}, base_weight, 4, reach=1)
        np.testing.assert_array_equal(
            look.decode(tagger.model_, sequences, columns), tagger.model_.decode(sequences)
        )
        for k in (2, 7):
            ranked = look.ranked(tagger.model_, sequences, columns, k)
            assert [[p for _, p in found] for found in ranked] == [
                [p for _, p in found] for found in tagger.model_.n_best(sequences, k)
            ]


def test_a_file_holds_both_and_the_commands_read_it(tmp_path: Path) -> None:
    X, y = task(150, 4)
    template = tmp_path / "words.template"
    template.write_text(TEMPLATE)
    train, base, model = (tmp_path / name for name in ("train.txt", "base.epigram", "both.epigram"))
    train.write_text(
        "".join(
            "".join(f"{word}\t{label}\n" for word, label in zip(*rows, strict=True)) + "\n"
            for rows in zip(X, y, strict=True)
        )
    )
    options = ["--template", str(template), "--passes", "4", "--constrain", "iob2"]
    assert epigram("tag", "train", str(train), "-o", str(base), *options).returncode == 0
    done = epigram("tag", "rerank", str(base), str(train), "-o", str(model), "--folds", "2", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    loaded = library.load(model)
    assert isinstance(loaded, RerankedTagger)
    assert record["active_features"] == len(loaded.reranker_.weights) > 0
    assert RerankedTagger.from_bytes(loaded.to_bytes()).predict(X) == loaded.predict(X)
    assert loaded.to_bytes() == model.read_bytes()
    tagged = epigram("tag", "run", str(model), str(train)).stdout.decode()
    found = [[line.split("\t")[-1] for line in block.split("\n")] for block in tagged.strip().split("\n\n")]
    assert found == loaded.predict(X)
    scores = json.loads(epigram("tag", "eval", str(model), str(train), "--json").stdout)
    assert scores["accuracy"] == pytest.approx(loaded.score(X, y))
    why = json.loads(epigram("tag", "explain", str(model), str(train), "--token", "1", "--json").stdout)
    [told] = why["tokens"]
    assert sum(term["lift"] for term in told["terms"]) == pytest.approx(told["lead"])
    assert {"text", "types", "around"} & {term["feature"].split(" ")[0] for term in told["terms"]}
    assert b"reranker of" in epigram("inspect", str(model)).stdout
    assert b"\tq\t" in epigram("inspect", str(model), "--weights", "--attribute", "length*").stdout
    with pytest.raises(ModelFileError, match="holds a RerankedTagger"):
        CRFTagger.load(model)
    assert epigram("tag", "update", str(model), str(train)).returncode == 2
    nbest = epigram("tag", "run", str(model), str(train), "--nbest", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["nbest"][0]["labels"] for line in nbest] == loaded.predict(X)


@cache
def stored() -> bytes:
    return reranked(*task(60, 4)).to_bytes()


@pytest.mark.parametrize(
    ("field", "value"),
    [("k", 0), ("k", 10**9), ("reach", -1), ("base_weight", "x"), ("base_weight", float("inf")), ("k", None)],
)
def test_damaged_second_looks_are_refused(field: str, value: Any) -> None:
    file = ModelFile.from_bytes(stored())
    file.header["second_look"][field] = value
    with pytest.raises(ModelFileError):
        RerankedTagger.from_bytes(file.to_bytes())


def test_a_second_look_needs_its_arrays_and_a_tagger_that_has_labellings() -> None:
    file = ModelFile.from_bytes(stored())
    assert {"look.bytes", "look.lengths", "look.weights"} <= file.tensors.keys()
    weights = file.tensors["look.weights"]
    file.tensors["look.weights"] = weights[:-1]
    with pytest.raises(ModelFileError):
        RerankedTagger.from_bytes(file.to_bytes())
    file.tensors["look.weights"] = weights
    file.header["kind"] = "history"
    with pytest.raises(ModelFileError, match="reranker weights in a model"):
        RerankedTagger.from_bytes(file.to_bytes())


def test_explanations_sum_to_the_lead_in_score() -> None:
    X, y = task(80, 6)
    tagger = reranked(X, y)
    model, columns = tagger.tagger_.model_, Columns.from_rows(X[:6])
    found = Labellings.of(model.scored_n_best(model.encode(columns), tagger.k))
    scores = tagger.reranker_.scores(found, columns, Scheme(model.labels))
    for s in range(6):
        why = tagger.explain(X[s], 1)
        mine = list(range(found.list_ptr[s], found.list_ptr[s + 1]))
        rivals = [scores[c] for c in mine if model.labels[found.labelling(c)[1]] != why.label]
        assert why.labels == tuple(tagger.predict([X[s]])[0])
        assert why.lead == pytest.approx(max(scores[c] for c in mine) - max(rivals))
        assert why.lead == pytest.approx(sum(term.lift for term in why.terms))


def test_settings_that_mean_nothing_are_refused() -> None:
    X, y = task(10, 7)
    with pytest.raises(ValueError, match="k must be at least 1"):
        reranked(X, y, k=0)
    with pytest.raises(ValueError, match="reach must be at least 0"):
        reranked(X, y, reach=-1)
    with pytest.raises(ValueError, match="must be a CRFTagger or a SegmentTagger"):
        RerankedTagger(MaxentTagger(TEMPLATE)).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a template"):
        RerankedTagger(CRFTagger(l1=0.1, solver=FAST)).fit([[["w=a"]]] * 5, [["X"]] * 5)


def test_scikit_learn_clones_and_searches() -> None:
    base = pytest.importorskip("sklearn.base")
    model_selection = pytest.importorskip("sklearn.model_selection")
    X, y = task(40, 8)
    tagger = RerankedTagger(CRFTagger(TEMPLATE, l1=0.1, solver=FAST), learner=Softmax(steps=2), k=3, folds=2)
    copy = base.clone(tagger)
    assert copy.get_params()["tagger__l1"] == 0.1
    assert not hasattr(copy.fit(X, y).tagger, "model_")
    search = model_selection.GridSearchCV(tagger, {"k": [1, 4], "tagger__l1": [0.1]}, cv=2).fit(X, y)
    assert search.best_params_["k"] == 4
