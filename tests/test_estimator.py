"""One rule for the input of all estimators: paths are read, strings are split or refused, file names are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import (
    ClassFactoredLM,
    CRFTagger,
    KanaKanjiConverter,
    KneserNeyLM,
    LogLinearLM,
    MaxentClassifier,
    MaxentTagger,
    Reranker,
)
from epigram.datasets import sample
from epigram.datasets.sample import BACKGROUND, DOMAIN
from epigram.errors import InputError
from epigram.parsing import DependencyParser, TreeTagger
from epigram.parsing.treebank import read_treebank
from epigram.tagging import RerankedTagger, evaluate, read_columns

TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1]\nB\n"
LISTS = [
    {
        "id": str(k),
        "reference": "a b",
        "candidates": [{"text": "a c", "score": 1.0}, {"text": "a b", "score": 0.5}],
    }
    for k in range(4)
]


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("chunks") / "train.txt"
    file.write_text(sample.columns("train", 60), "utf-8")
    return file


@pytest.fixture(scope="module")
def tagger(chunks: Path) -> CRFTagger:
    return CRFTagger(TEMPLATE, l1=0.3).fit(*read_columns(chunks).split(-1))


def test_what_read_columns_gives_is_a_sequence_of_sentences(chunks: Path, tagger: CRFTagger) -> None:
    X, y = read_columns(chunks).split(-1)
    assert len(X) == len(y) == 60
    assert [[row[0] for row in sentence] for sentence in X] == [
        [word for word, _, _ in sentence] for sentence in sample.tagged("train", 60)
    ]
    assert X[-1] == list(X)[59]
    assert y[3] == list(y)[3] == [chunk for _, _, chunk in sample.tagged("train", 60)[3]]
    with pytest.raises(IndexError):
        X[60]
    predicted = tagger.predict(X)
    assert predicted == tagger.predict(list(X)) == tagger.predict([X[s] for s in range(60)])
    assert evaluate(y, predicted).accuracy == evaluate(list(y), predicted).accuracy > 0.9
    assert tagger.explain(X[0], 1).label == predicted[0][1]
    assert CRFTagger(TEMPLATE, l1=0.3).fit(list(X), list(y)).to_bytes() == tagger.to_bytes()


def test_taggers_read_paths(chunks: Path, tagger: CRFTagger, tmp_path: Path) -> None:
    X = read_columns(chunks).split(-1)[0]
    from_file = CRFTagger(TEMPLATE, l1=0.3).fit(chunks)
    assert from_file.predict(chunks) == tagger.predict(X) == from_file.predict(X)
    from_file.save(tmp_path / "model")
    assert CRFTagger.load(tmp_path / "model").predict(chunks) == tagger.predict(X)
    second = RerankedTagger(CRFTagger(TEMPLATE, l1=0.3), k=2, folds=2)
    assert second.fit(chunks).predict(chunks) == second.predict(X)
    trees = tmp_path / "train.conllu"
    trees.write_text(sample.treebank("train", 60), "utf-8")
    by_trees = MaxentTagger("U0:%x[0,0]\n", l1=0.3).fit(trees)
    assert {"NOUN", "DET"} <= set(by_trees.classes_)
    assert (
        by_trees.predict(trees)[0]
        == by_trees.predict([[word for word, _, _ in sample.tagged("train", 60)[0]]])[0]
    )


def test_parsers_read_paths(tmp_path: Path) -> None:
    trees = tmp_path / "train.conllu"
    trees.write_text(sample.treebank("train", 60), "utf-8")
    bank = read_treebank(trees)
    parser = DependencyParser()
    assert parser.fit(trees).predict(trees) == parser.predict(bank)
    labels = TreeTagger("U0:%x[0,0]\nB\n", l1=0.3).fit(trees)
    assert labels.predict(trees) == labels.predict(bank.trees())
    assert labels.score(trees, bank.relations()) > 0.5


@pytest.mark.parametrize("X", ["IL-2 gene", ["IL-2 gene expression"], [["a"], "gene"]])
@pytest.mark.parametrize("method", ["predict", "predict_marginals", "fit"])
@pytest.mark.parametrize("template", ["U0:%x[0,0]\nB\n", None])
def test_strings_are_not_cut_into_characters(template: str | None, method: str, X: Any) -> None:
    rows = [["a", "b"]] if template else [[["a"], ["b"]]]
    tagger = CRFTagger(template, l1=0.01).fit(rows, [["A", "B"]])
    if not isinstance(X, str) and isinstance(X[0], list):
        X = [rows[0], X[1]]
    with pytest.raises(InputError, match=r"string .*split") as error:
        tagger.fit(X, [["A"]]) if method == "fit" else getattr(tagger, method)(X)
    assert "gene" in str(error.value)


def test_other_taggers_refuse_strings(chunks: Path) -> None:
    X, y = read_columns(chunks).split(-1)
    words = [[row[0] for row in sentence] for sentence in X]
    with pytest.raises(InputError, match="string 'NNP'"):
        CRFTagger("U0:%x[0,0]\n").fit([["a", "b", "c"]], ["NNP"])
    second = RerankedTagger(CRFTagger("U0:%x[0,0]\nB\n", l1=0.3), k=2, folds=2).fit(words, list(y))
    parser = DependencyParser().fit([[("a", "D", "D"), ("b", "N", "N")]] * 3, [[(2, "det"), (0, "root")]] * 3)
    for one in (second, parser, MaxentTagger("U0:%x[0,0]\n", l1=0.3).fit(words, list(y))):
        for wrong in ("a text", ["a text"]):
            with pytest.raises(InputError, match="string 'a text'"):
                one.predict(wrong)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (["free money now"], ["spam"], "sample 0 is a text, 'free money now'; give a list of its words"),
        ("free money", ["spam"], "X is the string"),
        ([["free"], ["noon"]], ["spam", None], r"y\[1\] is None"),
        (np.eye(2), np.array(["spam", None], dtype=object), r"y\[1\] is None"),
        (
            [["free"], ["noon"]],
            [["spam", "ad"], ["ham"]],
            r"y\[0\] is \['spam', 'ad'\]; a sample has one class",
        ),
        (np.eye(2), [("spam", "ad"), ("ham", "ad")], "a sample has one class"),
    ],
)
def test_the_classifier_names_the_mistake(X: Any, y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        MaxentClassifier().fit(X, y)


@pytest.mark.parametrize("model", [LogLinearLM(order=2), KneserNeyLM(order=2), ClassFactoredLM(order=2)])
def test_language_models_take_paths_strings_and_tokens(tmp_path: Path, model: Any) -> None:
    lines = ["a rose is a rose", "a rose is", "is a tulip"] * 4
    file = tmp_path / "train.txt"
    file.write_text("\n".join(lines), "utf-8")
    fitted = [model.fit(given).perplexity(file) for given in (file, lines, [line.split() for line in lines])]
    assert len(set(fitted)) == 1
    for method in (model.fit, model.perplexity):
        with pytest.raises(InputError, match=r"pathlib\.Path\('.*train\.txt'\)"):
            method([str(file)])
        with pytest.raises(InputError, match="not one string"):
            method(str(file))
    if hasattr(model, "partial_fit"):
        with pytest.raises(InputError, match=r"pathlib\.Path"):
            model.partial_fit([str(file)])


def test_converters_take_paths_strings_and_tokens(tmp_path: Path) -> None:
    file = tmp_path / "background.txt"
    file.write_text("\n".join(BACKGROUND), "utf-8")
    domain = tmp_path / "domain.txt"
    domain.write_text("\n".join(DOMAIN), "utf-8")
    built = [
        KanaKanjiConverter.build(given)
        for given in (file, [file], BACKGROUND, [line.split() for line in BACKGROUND])
    ]
    assert len({converter.best("はしをわたる").score for converter in built}) == 1
    for dev in (None, DOMAIN[-2:]):
        adapted = [
            built[0].adapt(given, None if dev is None else own)
            for given, own in (
                (domain, dev),
                (DOMAIN, dev),
                ([line.split() for line in DOMAIN], [x.split() for x in dev or ()]),
            )
        ]
        assert len({converter.best("もでるをまなぶ").score for converter in adapted}) == 1
    for wrong, said in ((str(file), "is the string"), ([str(file)], r"pathlib\.Path")):
        with pytest.raises(InputError, match=said):
            built[0].adapt(wrong)
        with pytest.raises(InputError, match=said):
            KanaKanjiConverter.build(wrong)


def test_rerankers_take_paths_and_lists(tmp_path: Path) -> None:
    file = tmp_path / "lists.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in LISTS), "utf-8")
    by_file, by_lists = Reranker().fit(file), Reranker().fit(LISTS)
    assert by_file.predict(file).tolist() == by_lists.predict(LISTS).tolist()
    for wrong, said in ((str(file), "is the string"), ([str(file)], r"pathlib\.Path")):
        with pytest.raises(InputError, match=said):
            Reranker().fit(wrong)
