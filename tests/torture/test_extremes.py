"""Data and settings at the edge: an error that says what to change, or a model whose numbers are finite."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.chain import layout
from epigram.datasets.sample import BACKGROUND, plain, tagged
from epigram.errors import DivergenceError, InputError
from epigram.features.template import Template
from epigram.ime.converter import KanaKanjiConverter
from epigram.lm import ClassFactoredLM, KneserNeyLM, LogLinearLM
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.parsing import DependencyParser, TreeTagger
from epigram.penalties import L1Ball
from epigram.rerank import BLasso, NBest, Reranker
from epigram.solvers import FISTA, OWLQN, SGD
from epigram.storage import load
from epigram.tagging import CRFTagger, MaxentClassifier

Y = [["X", "Y"]] * 3
HALF = "\ud800"


def values(value: float) -> list[Any]:
    return [[{"a": value}, {"b": 1.0}]] * 3


def scored(score: float) -> list[dict[str, Any]]:
    one = {"text": "b", "score": score, "features": {"f": score}}
    other = {"text": "a", "score": -1.0, "features": {"f": 1.0}}
    return [{"id": "1", "reference": "a", "candidates": [one, other]}] * 4


@pytest.mark.parametrize("value", [1e150, 1e308, 1e-300, -1e200])
@pytest.mark.parametrize("solver", [SGD(passes=3), OWLQN(max_iterations=20)])
def test_extreme_values_of_features(tmp_path: Path, value: float, solver: Any) -> None:
    try:
        tagger = CRFTagger(l1=0.1, solver=solver).fit(values(value), Y)
        tagger.save(tmp_path / "m")
    except DivergenceError:
        assert not (tmp_path / "m").exists()
        return
    loaded = CRFTagger.load(tmp_path / "m")
    for probabilities in loaded.predict_marginals(values(value)[:1])[0]:
        assert sum(probabilities.values()) == pytest.approx(1.0)
    assert np.isfinite(loaded.fit_["objective"])


def test_extreme_values_when_predicting() -> None:
    tagger = CRFTagger(l1=0.01).fit(values(1.0), Y)
    found = tagger.predict_marginals([[{"a": 1e300}, {"b": -1e300}]])[0]
    assert all(np.isfinite(list(probabilities.values())).all() for probabilities in found)
    for value in (float("inf"), float("nan")):
        with pytest.raises(InputError, match="values are finite"):
            tagger.predict([[{"a": value}]])
    classifier = MaxentClassifier(l1=0.01).fit([{"a": 1e200}, {"b": 1.0}], ["x", "y"])
    assert np.isfinite(classifier.predict_proba([{"a": 1e200}])).all()


def test_weights_beyond_what_exponentials_hold() -> None:
    """Their loss is a number, at least 0, or infinite, so that a solver steps back from there."""
    rows = tagged("train", 60)
    X, y = ([[token[a:b] for token in sentence] for sentence in rows] for a, b in ((0, 2), (2, 3)))
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,1]\nB\n")
    labels = [[token[0] for token in sentence] for sentence in y]
    loss, rng = CRFTagger(template).problem(X, labels).loss, np.random.default_rng(0)
    gradient, infinite = np.empty(loss.n_weights), 0
    for scale in (500.0, 1e3, 3e3, 1e4, 1e6):
        for _ in range(6):
            w = np.zeros(loss.n_weights)
            w[rng.choice(loss.n_weights, 30)] = rng.normal(size=30) * scale
            value = loss.value_and_gradient(w, gradient)
            assert value >= 0.0
            assert np.isfinite(gradient).all()
            infinite += np.isinf(value)
    assert 0 < infinite < 20
    result = FISTA(max_iterations=30).solve(loss, L1Ball(5000.0))
    assert 0.0 <= result.objective < 0.2 * loss.value_and_gradient(np.zeros(loss.n_weights), gradient)


def test_extreme_settings() -> None:
    with pytest.raises(ValueError, match="eta0 must be 'auto' or a positive number, not inf"):
        CRFTagger(l1=0.1, solver=SGD(eta0=float("inf"))).fit(values(1.0), Y)
    for rate in (1e20, 1e300):
        with pytest.raises(DivergenceError, match="a lower eta0"):
            CRFTagger(l1=0.1, solver=SGD(eta0=rate)).fit(values(1.0), Y)
    for strength in (float("inf"), float("nan"), -1.0):
        with pytest.raises(ValueError, match="l1 must be finite and >= 0"):
            CRFTagger(l1=strength).fit(values(1.0), Y)
        with pytest.raises(InputError, match="strength must be a finite number above 0"):
            LogLinearLM(order=2, strength=strength).fit(["a b"] * 4)
    assert CRFTagger(l1=1e308).fit(values(1.0), Y).fit_["active_features"] == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CRFTagger().fit(3, Y), "X must be an iterable of sentences, not 3"),
        (lambda: CRFTagger().fit([3], Y[:1]), "sentence 0 must be an iterable of tokens, not 3"),
        (lambda: CRFTagger().fit(values(1.0), 3), "y must be an iterable of lists of labels, not 3"),
        (lambda: CRFTagger().fit(values(1.0), [3]), r"y\[0\] must be an iterable of labels, not 3"),
        (
            lambda: CRFTagger(threads="two").fit(values(1.0), Y),
            "threads must be a whole number >= 1, not 'two'",
        ),
        (lambda: CRFTagger(threads=0).fit(values(1.0), Y), "threads must be a whole number >= 1, not 0"),
        (lambda: MaxentClassifier().fit(3, ["x"]), "X must be an iterable of samples, not 3"),
        (lambda: TreeTagger().fit(3, Y), "X must be an iterable of trees, not 3"),
        (lambda: DependencyParser().fit([["a"]], 3), "y must be an iterable of trees, not 3"),
        (lambda: Reranker().fit(3), "training lists must be an iterable of lists, not 3"),
        (lambda: KneserNeyLM().fit(3), "sentences must be an iterable of sentences, not 3"),
        (lambda: LogLinearLM().fit([3]), "sentence 0 must be a text or a list of words, not 3"),
        (lambda: LogLinearLM(order="5").fit(["a b"] * 4), "order .* must be a whole number >= 0, not '5'"),
        (lambda: KneserNeyLM(order="5").fit(["a b"]), "order must be a whole number >= 1, not '5'"),
        (lambda: load(3), "path must be the path of a model file, not 3"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize("score", [1e308, -1e308, 1e200])
def test_extreme_scores_of_candidates(tmp_path: Path, score: float) -> None:
    lists = NBest.from_lists(scored(score))
    try:
        Reranker(BLasso(steps=20), min_count=1).fit(lists).save(tmp_path / "m")
    except DivergenceError:
        return
    assert Reranker.load(tmp_path / "m").predict(lists).shape == (4,)


@pytest.mark.parametrize("penalty", ["elastic", "l1", "tree-linf"])
@pytest.mark.parametrize("text", ["a " * 2000, "a b " * 1000])
def test_texts_that_repeat_themselves_make_deep_trees(text: str, penalty: str) -> None:
    model = LogLinearLM(order=0, penalty=penalty, strength=0.3, ridge=0.1, depth_weight=1.3, max_iterations=2)
    model.fit([text])
    assert np.isfinite(model.perplexity(["a b a b" if "b" in text else "a a"]))
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("text", [["a " * 60_000], ["a b " * 30_000], ["a b c a c b d " * 8000] * 2])
@pytest.mark.parametrize("collapse", [False, True])
def test_unbounded_contexts_of_any_text_are_linear_in_it(text: list[str], collapse: bool) -> None:
    """Each of these has over 10^9 symbols of contexts: without a limit this test does not end."""
    positions = Positions.of(Corpus.of(text))
    tree = ContextTree.grow(positions, 0, collapse)
    assert tree.order == positions.largest_order() > 50
    assert tree.depth.max() == tree.order - 1
    assert tree.n_positions == positions.target.size


def test_the_largest_order_is_the_last_that_fits() -> None:
    positions = Positions.of(Corpus.of(["a " * 3000, "b " * 40, "c"]))
    most = max(50 * positions.length.size, 1 << 20)
    order = positions.largest_order()
    looked_at = [np.minimum(positions.length, depth).sum() for depth in (order - 1, order)]
    assert looked_at[0] <= most < looked_at[1]
    sentences = Positions.of(Corpus.of(["a b " * 45] * 1000))
    assert sentences.largest_order() == 0


def test_more_text_joins_a_tree_of_limited_depth() -> None:
    numbers: dict[str, Any] = {"strength": 0.3, "ridge": 0.1, "depth_weight": 1.3, "max_iterations": 2}
    model = LogLinearLM(order=0, **numbers).fit(["a b " * 1500])
    assert 1 < model.tree_.order < 1500
    model.partial_fit(["a b " * 1500])
    assert model.tree_.order == LogLinearLM(order=0, **numbers).fit(["a b " * 1500] * 2).tree_.order
    assert np.isfinite(model.perplexity(["a b a"]))


def test_a_text_twice_over() -> None:
    text = [" ".join(words) for words in plain("train", 60)]
    model = LogLinearLM(order=0, strength=0.3, ridge=0.1, depth_weight=1.2, max_iterations=2).fit(text * 2)
    assert np.isfinite(model.perplexity(text[:3]))


def test_many_labels() -> None:
    """One-token sentences have no pairs of labels, which would be a million for each."""
    n = 1000
    X, y = [[[f"w={k}"]] for k in range(n)], [[f"L{k}"] for k in range(n)]
    tagger = CRFTagger(l1=0.01, solver=SGD(passes=1, eta0=0.5)).fit(X, y)
    assert tagger.predict(X[:2]) == y[:2]
    assert len(tagger.predict_marginals(X[:2])[1][0]) == n


def test_sentences_too_long_for_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = [[["w=a"], ["w=b"]]] * 3, [["X", "Y"]] * 3
    tagger = CRFTagger("U0:%x[0,0]\nB1:%x[0,0]\nB\n", l1=0.01).fit([[["a"], ["b"]]] * 3, y)
    monkeypatch.setattr(layout, "SMALL", 0)
    monkeypatch.setattr(layout, "available", lambda: 50_000)
    long = [["a"], ["b"]] * 1000
    assert tagger.predict([long[:10]])
    said = r"a sentence of 2,000 tokens, with 2 labels and 1,000 tokens .* needs .*; cut it into shorter ones"
    for ask in (tagger.predict, tagger.predict_marginals):
        with pytest.raises(InputError, match=said):
            ask([long])
    with pytest.raises(InputError, match=r"a sentence of 2,000 tokens, with 2 labels needs"):
        CRFTagger(l1=0.01).fit([*X, X[0] * 1000], [*y, y[0] * 1000])
    with pytest.raises(InputError, match=r"pairs of 2 labels at 2,000 tokens .* fewer sentences"):
        tagger.marginals([long[:10]] * 200)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: CRFTagger().fit(values(1.0), [[HALF, "Y"]] * 3),
        lambda: CRFTagger().fit([[[HALF]]], [["Y"]]),
        lambda: KneserNeyLM(order=2).fit([f"a {HALF}"]),
        lambda: LogLinearLM(order=2).fit([f"a {HALF}"]),
        lambda: NBest.from_lists([{"reference": "a", "candidates": [{"text": HALF, "score": 0.0}]}]),
        lambda: KanaKanjiConverter.build([f"橋/はし {HALF}/は"]),
    ],
)
def test_half_a_character_is_refused_before_any_work(fit: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match=r"half a character|not Unicode text"):
        fit()


def test_what_a_line_of_a_template_makes_is_bounded() -> None:
    wide = "U0:%x[0,0|substrings:20]/%x[1,0|substrings:20]/%x[-1,0|substrings:20]\n"
    X, y = [[["abc" * 30], ["bcd" * 30], ["cde" * 30]]], [["A", "B", "A"]]
    with pytest.raises(InputError, match=r"template:1: makes .* attributes of one token, more than 20,000"):
        CRFTagger(wide).fit(X, y)
    narrow = "U0:%x[0,0|substrings:3]/%x[1,0|substrings:3]\n"
    assert CRFTagger(narrow, l1=0.01).fit(X, y).predict(X) == y
    # Of neighbours in two sentences no product is made.
    pair = "U0:%x[0,0|substrings:200]/%x[1,0|substrings:200]\n"
    apart = ["".join(map(chr, range(97 + 40 * k, 137 + 40 * k))) for k in range(2)]
    CRFTagger(pair, l1=0.01, solver=SGD(passes=1, eta0=0.1)).fit([[[word]] for word in apart], [["A"], ["B"]])
    with pytest.raises(InputError, match="attributes of one token"):
        CRFTagger(pair).fit([[[word] for word in apart]], [["A", "B"]])
    with pytest.raises(InputError, match="substrings:99 makes more than 20,000 values"):
        CRFTagger("U0:%x[0,0|substrings:99]\n").fit([[["ab" * 100_000]]], [["A"]])


SAVES = """
import sys
sys.path.insert(0, {here!r})
from test_extremes import save_all
save_all(sys.argv[1])
"""


def save_all(folder: str) -> None:
    """A model of every family."""
    sentences = tagged("train", 20)
    X, y = [[token[:2] for token in s] for s in sentences], [[token[2] for token in s] for s in sentences]
    text = [" ".join(words) for words in plain("train", 25)]
    target = Path(folder)
    CRFTagger("U0:%x[0,0]\nB\n", solver=SGD(passes=2)).fit(X, y).save(target / "crf")
    KneserNeyLM(order=3).fit(text).save(target / "kn")
    LogLinearLM(order=2, strength=0.3, ridge=0.1, depth_weight=1.2).fit(text).save(target / "ll")
    factored = ClassFactoredLM(classes=4, max_iterations=3, order=2, budget=0.0, threads=2)
    factored.fit(text).save(target / "cf")
    Reranker(BLasso(steps=20), min_count=1).fit(NBest.from_lists(scored(-2.0))).save(target / "rr")
    KanaKanjiConverter.build(BACKGROUND).save(target / "ime")


def test_the_same_training_gives_the_same_bytes(tmp_path: Path) -> None:
    """Whatever Python's hashes are."""
    found = []
    for seed in ("1", "12345"):
        folder = tmp_path / seed
        folder.mkdir()
        code = SAVES.format(here=str(Path(__file__).parent))
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []


def on_a_terminal(*words: str) -> bytes:
    """What a command shows on a terminal of its own."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "epigram", *words]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(master)
    assert process.wait() == 0, shown
    return shown


def test_data_does_not_drive_the_terminal(tmp_path: Path) -> None:
    """A feature, a label and a text with escapes in them: spelled out on a terminal, left alone in a pipe."""
    evil = "\x1b]0;owned\x07\x9b31m"
    X, y = [[[evil], ["b"]]], [["A", "B"]]
    CRFTagger("U0:%x[0,0]\n", l1=0.001).fit(X, y).save(tmp_path / "m")
    (tmp_path / "text").write_text(f"{evil}\nb\n\n")
    echo = ("tag", "run", str(tmp_path / "m"), str(tmp_path / "text"), "--format", "conll")
    for words in (("inspect", str(tmp_path / "m"), "--weights"), ("inspect", str(tmp_path / "m")), echo):
        shown = on_a_terminal(*words)
        assert b"owned" in shown
        assert b"\x1b]0;" not in shown
        assert "\x9b".encode() not in shown
        assert b"\\x1b]0;owned" in shown
    piped = subprocess.run([sys.executable, "-m", "epigram", *echo], capture_output=True, check=True)
    assert evil.encode() in piped.stdout
