"""Chains of second order against every labelling written down, against first order, and with every solver."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from epigram import OWLQN, SGD, AdaGrad, CRFTagger, ElasticNet, L1Ball
from epigram.errors import InputError, ModelFileError
from epigram.storage import load
from epigram.tagging.storage import from_model_file, to_model_file
from in_process import epigram
from reference.second_order import TripleChain, chain_of, sentences_of

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB0:%x[0,0]\n"
LABELS = ["O", "B-x", "I-x"]
Rows = list[list[list[str]]]


def corpus(n: int, seed: int) -> tuple[Rows, list[list[str]]]:
    """Labels that depend on the two before them; lengths from one token on."""
    rng = random.Random(seed)
    X: Rows = []
    y: list[list[str]] = []
    for _ in range(n):
        labels: list[str] = []
        for _ in range(rng.randint(1, 5)):
            inside = bool(labels) and labels[-1] != "O" and labels[-2:-1] != ["I-x"]
            labels.append(rng.choice(["I-x", "I-x", "O"] if inside else ["O", "B-x"]))
        X.append([[rng.choice("abc")] for _ in labels])
        y.append(labels)
    return X, y


def random_problem(
    seed: int, scale: float = 1.0, **settings: Any
) -> tuple[Any, np.ndarray, Rows, list[list[str]]]:
    X, y = corpus(6, seed)
    problem = CRFTagger(TEMPLATE, order=2, **settings).problem(X, y)
    return problem, np.random.default_rng(seed).normal(0.0, scale, size=problem.loss.n_weights), X, y


def by_hand(problem: Any, w: np.ndarray, X: Rows, y: list[list[str]]) -> float:
    model = problem.model(w)
    chain = chain_of(model)
    total = 0.0
    for sentence, labels in zip(sentences_of(model, X), y, strict=True):
        answer = tuple(model.labels.index(label) for label in labels)
        total += chain.log_z(sentence) - chain.score(sentence, answer)
    return total


@pytest.mark.parametrize(("seed", "settings"), [(0, {}), (1, {"constrain": "iob2"}), (2, {"pairs": "all"})])
def test_loss_and_gradient_equal_brute_force(seed: int, settings: dict[str, Any]) -> None:
    problem, w, X, y = random_problem(seed, **settings)
    assert len(problem.layout.triples) > 3
    gradient = np.empty_like(w)
    assert problem.loss.value_and_gradient(w, gradient) == pytest.approx(by_hand(problem, w, X, y), abs=1e-9)
    some = np.random.default_rng(seed).choice(len(w) - 5, 6, replace=False)
    for k in (*some, *range(len(w) - 5, len(w))):  # the last are triples
        step = np.zeros_like(w)
        step[k] = 1e-5
        slope = (by_hand(problem, w + step, X, y) - by_hand(problem, w - step, X, y)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


def decoded_by_hand(
    model: Any, chain: TripleChain, X: Rows, allowed: list[list[set[int] | None]] | None
) -> list[tuple[float, list[Any], np.ndarray, np.ndarray]]:
    """Of each sentence log Z, the best labellings, and the probabilities of labels and of pairs."""
    found = []
    for s, sentence in enumerate(sentences_of(model, X)):
        free = None if allowed is None else allowed[s]
        n, L = len(sentence.tokens), chain.n_labels
        nodes, edges = np.zeros((n, L)), np.zeros((n, L, L))
        for y, p in chain.distribution(sentence, free).items():
            for t, label in enumerate(y):
                nodes[t, label] += p
                if t:
                    edges[t, y[t - 1], label] += p
        found.append((chain.log_z(sentence, free), chain.k_best(sentence, 6, free), nodes, edges))
    return found


@pytest.mark.parametrize("scale", [1.0, 25.0])  # with large weights, sums nearly cancel
@pytest.mark.parametrize("masked", [False, True])
def test_decoding_equals_brute_force(scale: float, masked: bool) -> None:
    problem, w, X, _ = random_problem(7, scale)
    model = problem.model(w)
    free: list[list[set[int] | None]] | None = None
    names = None
    if masked:
        free = [[{0, 2} if t % 2 else None for t in range(len(rows))] for rows in X]
        names = [[None if one is None else [model.labels[j] for j in one] for one in rows] for rows in free]
    sequences = model.encode([*X, []])
    names = None if names is None else [*names, []]
    nodes, edges, log_z = model.marginals(sequences, names, with_edges=True)
    lists, best = model.n_best(sequences, 6, names), model.decode(sequences, names)
    at = 0
    for s, (z, wanted, node, edge) in enumerate(decoded_by_hand(model, chain_of(model), X, free)):
        n = len(X[s])
        assert log_z[s] == pytest.approx(z, abs=1e-8)
        assert [tuple(labels.tolist()) for labels, _ in lists[s]] == [labels for labels, _ in wanted]
        assert [p for _, p in lists[s]] == pytest.approx([p for _, p in wanted], rel=1e-7)
        assert tuple(best[at : at + n].tolist()) == wanted[0][0]
        np.testing.assert_allclose(nodes[at : at + n], node, atol=1e-8)
        np.testing.assert_allclose(edges[at + 1 : at + n], edge[1:], atol=1e-8)
        at += n
    assert lists[-1] == []


def test_without_triples_it_is_the_chain_of_first_order() -> None:
    X, y = corpus(20, 3)
    first, second = (CRFTagger(TEMPLATE, order=order).problem(X, y) for order in (1, 2))
    n = first.loss.n_weights
    assert second.loss.n_weights == n + len(second.layout.triples)
    w = np.zeros(second.loss.n_weights)
    w[:n] = np.random.default_rng(0).normal(size=n)
    gradients = np.empty(n), np.empty(len(w))
    values = (
        first.loss.value_and_gradient(w[:n].copy(), gradients[0]),
        second.loss.value_and_gradient(w, gradients[1]),
    )
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    np.testing.assert_allclose(gradients[0], gradients[1][:n], atol=1e-9)
    assert not len(second.model(w).layout.triples)


@pytest.mark.parametrize(
    "settings",
    [
        {"l1": 0.1, "solver": OWLQN()},
        {"l2": 0.1, "l1": 0.0},
        {"penalty": ElasticNet(0.05, 0.05)},
        {"l1": 0.1, "solver": SGD(passes=60)},
        {"l1": 0.1, "solver": SGD("lazy", passes=60, batch_size=3)},
        {"l1": 0.1, "solver": AdaGrad(passes=60)},
        {"penalty": L1Ball(60.0)},
    ],
)  # fmt: skip
def test_every_solver_learns_what_first_order_cannot(settings: dict[str, Any]) -> None:
    X = [[["a"]] * 9, [["a"]] * 8] * 3
    y = [["p", "p", "q"] * 3, ["p", "p", "q"] * 2 + ["p", "p"]] * 3  # after p comes p or q, by what is before
    tagger = CRFTagger("U0:%x[0,0]\nB\n", order=2, **settings).fit(X, y)
    predicted = tagger.predict(X, [[[labels[0]], [labels[1]], *[None] * (len(labels) - 2)] for labels in y])
    assert predicted == y
    weaker = CRFTagger("U0:%x[0,0]\nB\n", **settings).fit(X, y)
    assert weaker.fit_["objective"] > tagger.fit_["objective"]


def test_model_file_explanation_and_learning_on(tmp_path: Any) -> None:
    X, y = corpus(60, 5)
    tagger = CRFTagger(TEMPLATE, order=2, l1=0.05).fit(X, y)
    assert len(tagger.model_.weights.triples)
    path = tmp_path / "second.epigram"
    tagger.save(path)
    again = load(path)
    assert again.order == 2
    assert again.predict(X) == tagger.predict(X)
    assert again.to_bytes() == CRFTagger.from_bytes(tagger.to_bytes()).to_bytes()
    why = again.explain(X[0], 0)
    names = again.model_
    scores = {
        kind: chain_of(names).score(
            sentences_of(names, X[:1])[0], tuple(names.labels.index(label) for label in labels)
        )
        for kind, labels in (("best", why.labels), ("other", why.other_labels))
    }
    assert why.lead == pytest.approx(scores["best"] - scores["other"], abs=1e-6)
    more = corpus(30, 6)
    again.partial_fit(*more)
    assert len(again.model_.weights.triples)
    assert again.score(*more) >= tagger.score(*more) - 0.05


def test_no_labelling_and_wrong_orders_are_said() -> None:
    X, y = corpus(20, 4)
    tagger = CRFTagger(TEMPLATE, order=2, l1=0.01, constrain="iob2").fit(X, y)
    with pytest.raises(InputError, match="no labelling"):
        tagger.predict([[["a"]] * 3], [[["O"], ["I-x"], None]])
    with pytest.raises(ValueError, match="order must be 1"):
        CRFTagger(TEMPLATE, order=3).fit(X, y)
    with pytest.raises(ValueError, match="order must be 1"):
        CRFTagger("U0:%x[0,0]\n", order=2).fit(X, y)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("triples", lambda t: np.concatenate([t[:1], t[:-1]])),  # one twice
        ("triples", lambda t: t + 200),  # no such label
        ("triple_weights", lambda t: t[:-1]),
        ("triple_weights", lambda t: t * np.nan),
    ],
)
def test_damaged_triples_are_refused(name: str, spoil: Any) -> None:
    tagger = CRFTagger(TEMPLATE, order=2, l1=0.01).fit(*corpus(20, 8))
    file = to_model_file(tagger)
    assert from_model_file(file).predict([[["a"], ["b"]]]) == tagger.predict([[["a"], ["b"]]])
    file.tensors[name] = spoil(file.tensors[name])
    with pytest.raises(ModelFileError):
        from_model_file(file)


def test_the_command_trains_and_shows_triples(tmp_path: Any) -> None:
    X, y = corpus(40, 9)
    rows = ["".join(f"{w[0]} {label}\n" for w, label in zip(*s, strict=True)) for s in zip(X, y, strict=True)]
    (tmp_path / "train").write_text("\n".join(rows))
    model = tmp_path / "second.epigram"
    options = ("--order", "2", "--template", "ner", "--l1", "0.05", "--passes", "5", "--json")
    done = epigram("tag", "train", tmp_path / "train", "-o", model, *options)
    assert done.returncode == 0, done.stderr
    assert len(CRFTagger.load(model).model_.weights.triples)
    assert b"strongest label triples" in epigram("inspect", model).stdout
    wrong = epigram("tag", "train", tmp_path / "train", "-o", model, "--order", "2", "--model", "history")
    assert wrong.returncode == 2
    assert b"--order has no meaning with --model history" in wrong.stderr
