"""CRFTagger: what it takes, what it gives back, and scikit-learn's manners."""

from __future__ import annotations

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from epigram import L1, LBFGS, OWLQN, SGD, CRFTagger
from epigram.chain.metrics import evaluate
from epigram.errors import DivergenceError, InputError
from epigram.features.columns import Columns
from reference.chain_data import TEMPLATE, features, part

ROWS, LABELS = part("train", 120)
TEST_ROWS, TEST_LABELS = part("test", 40)
FAST = SGD(passes=8, eta0=0.5)


@pytest.fixture(scope="module")
def tagger() -> CRFTagger:
    return CRFTagger(TEMPLATE, l1=0.3, solver=FAST).fit(ROWS, LABELS)


def settings(**changes: Any) -> CRFTagger:
    return CRFTagger(TEMPLATE, **{"l1": 0.3, "solver": FAST, **changes})


@pytest.mark.parametrize(
    ("l1", "l2", "solver"),
    [
        (0.3, 0.0, None),
        (0.3, 0.0, SGD(passes=8, eta0=0.5)),
        (0.3, 0.0, OWLQN()),
        (0.1, 0.1, None),
        (0.0, 0.3, None),
        (0.0, 0.3, LBFGS()),
    ],
)
def test_every_solver_learns(l1: float, l2: float, solver: Any) -> None:
    tagger = CRFTagger(TEMPLATE, l1=l1, l2=l2, solver=solver).fit(ROWS, LABELS)
    assert tagger.score(TEST_ROWS, TEST_LABELS) > 0.9
    assert tagger.classes_.tolist() == sorted({label for y in LABELS for label in y})


@pytest.mark.parametrize("solver", [SGD(passes=5, eta0=0.5), OWLQN(max_iterations=20)])
def test_all_forms_of_input_are_one(solver: Any) -> None:
    """Rows, a generator of rows, columns; labels as lists and as a column."""
    columns = Columns.from_rows(
        [[(*row, y) for row, y in zip(*one, strict=True)] for one in zip(ROWS, LABELS, strict=True)]
    )
    observed, column = columns.split(-1)
    inputs: list[tuple[Any, Any]] = [
        (ROWS, LABELS),
        ((list(row) for row in ROWS), (iter(y) for y in LABELS)),
        (observed, column),
        (observed, LABELS),
    ]
    models = [CRFTagger(TEMPLATE, l1=0.3, solver=solver).fit(X, y).model_ for X, y in inputs]
    for model in models[1:]:
        assert model.w.tobytes() == models[0].w.tobytes()
        assert model.labels == models[0].labels


def test_features_and_templates_meet_in_one_objective() -> None:
    """The template's expansions, handed over as lists of strings and as dicts, give the template's model."""
    from epigram.features.template import Template

    template = Template.parse(TEMPLATE)
    columns = Columns.from_rows(ROWS)
    names: list[list[list[str]]] = []
    t = 0
    for sentence in ROWS:
        names.append([list(template.expand(columns, t + k, template.nodes)) for k in range(len(sentence))])
        t += len(sentence)
    as_dicts = [[dict.fromkeys(token, 1.0) for token in sentence] for sentence in names]
    models = [
        CRFTagger(form, l1=0.3, solver=OWLQN(tolerance=1e-6)).fit(X[:30], LABELS[:30])
        for form, X in ((TEMPLATE, ROWS), (None, names), (None, as_dicts))
    ]
    for other in models[1:]:
        assert other.fit_["objective"] == pytest.approx(models[0].fit_["objective"], rel=1e-7)
        assert other.n_features_ == models[0].n_features_


def test_real_values_count() -> None:
    X = [[{"x": 2.0}], [{"x": -1.5}], [{"x": 0.5}], [{"x": -0.2}]]
    y = [["pos"], ["neg"], ["pos"], ["neg"]]
    tagger = CRFTagger(l1=0.01, solver=OWLQN()).fit(X, y)
    assert tagger.predict([[{"x": 0.1}, {"x": -3.0}]]) == [["pos", "neg"]]
    near, far = (one[0]["pos"] for one in tagger.predict_marginals([[{"x": 0.1}], [{"x": 3.0}]]))
    assert 0.5 < near < far


def test_b_templates_look_at_the_observation() -> None:
    """Whether the label repeats depends on the cell: only a weight on (cell, label pair) can say so."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(40):
        cells = rng.choice(["same", "flip"], size=8)
        labels = ["a"]
        for cell in cells[1:]:
            labels.append(labels[-1] if cell == "same" else "ba"["ab".index(labels[-1])])
        X.append([(str(cell), "start" if t == 0 else "-") for t, cell in enumerate(cells)])
        y.append(labels)
    bare = "U0:%x[0,0]\nU1:%x[0,1]\nB\n"
    observed = bare + "B1:%x[0,0]\n"
    scores = {
        text: CRFTagger(text, l1=0.05, solver=OWLQN()).fit(X, y).score(X, y) for text in (bare, observed)
    }
    assert scores[observed] == 1.0
    assert scores[bare] < 0.9
    only = CRFTagger("U0:%x[0,0]\nU1:%x[0,1]\nB1:%x[0,0]\n", l1=0.05, solver=OWLQN()).fit(X, y)
    assert only.score(X, y) == 1.0
    assert not only.model_.weights.transitions.any()


def test_a_template_without_b_labels_tokens_one_by_one() -> None:
    tagger = CRFTagger("U0:%x[0,0]\n", l1=0.1, solver=FAST).fit(ROWS, LABELS)
    together = tagger.predict([ROWS[0]])[0]
    apart = [tagger.predict([[row]])[0][0] for row in ROWS[0]]
    assert together == apart
    nodes, edges = tagger.marginals([ROWS[0]])[0]
    np.testing.assert_allclose(edges, nodes[:-1, :, None] * nodes[1:, None, :])


def test_seed_decides_the_bits() -> None:
    a, b, c = (
        CRFTagger(TEMPLATE, l1=0.3, random_state=seed, solver=SGD(passes=3, eta0=0.5, random_state=seed))
        .fit(ROWS, LABELS)
        .to_bytes()
        for seed in (1, 1, 2)
    )
    weights = [CRFTagger.from_bytes(content).model_.w.tobytes() for content in (a, b, c)]
    assert weights[0] == weights[1] != weights[2]


def test_random_state_is_the_default_solvers_seed() -> None:
    first, same, other = (
        CRFTagger(TEMPLATE, l1=0.3, random_state=seed).fit(ROWS[:20], LABELS[:20]).model_.w
        for seed in (3, 3, 4)
    )
    assert first.tobytes() == same.tobytes()
    assert first.tobytes() != other.tobytes()


def test_sample_weight_of_two_is_the_sentence_twice() -> None:
    weights = np.ones(30)
    weights[:10] = 2.0
    solver = OWLQN(tolerance=1e-6)
    weighted = settings(solver=solver).fit(ROWS[:30], LABELS[:30], sample_weight=weights)
    doubled = settings(solver=solver).fit(ROWS[:30] + ROWS[:10], LABELS[:30] + LABELS[:10])
    assert weighted.fit_["objective"] == pytest.approx(doubled.fit_["objective"], rel=1e-6)
    ours, theirs = weighted.marginals(TEST_ROWS), doubled.marginals(TEST_ROWS)
    for (nodes, _), (others, _) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(nodes, others, atol=1e-3)


def test_a_sentence_of_weight_zero_is_not_there() -> None:
    """With pairs="all" on features that the others have too, or it would bring weights along."""
    X = [[{"x": 1.0, "y": 0.5}], [{"x": -1.0, "y": 0.3}], [{"x": 0.4}], [{"y": 2.0}]]
    y = [["a"], ["b"], ["b"], ["a"]]
    solver = OWLQN(tolerance=1e-8)
    weighted = CRFTagger(l1=0.1, pairs="all", solver=solver).fit(X, y, sample_weight=[1.0, 1.0, 1.0, 0.0])
    fewer = CRFTagger(l1=0.1, pairs="all", solver=solver).fit(X[:3], y[:3])
    assert weighted.fit_["objective"] == pytest.approx(fewer.fit_["objective"], rel=1e-9)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\), not \(120,\)"),
        (-np.ones(120), "must be finite and not negative"),
        (np.full(120, np.nan), "must be finite and not negative"),
        (np.zeros(120), "zero for every sample"),
    ],
)
def test_bad_sample_weights_are_named(weights: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        settings().fit(ROWS, LABELS, sample_weight=weights)


def test_class_weight_pulls_towards_a_label() -> None:
    X = [[["x"]]] * 10
    y = [["common"]] * 7 + [["rare"]] * 3

    def share(class_weight: Any) -> float:
        fitted = CRFTagger(l1=1e-3, class_weight=class_weight, solver=OWLQN(tolerance=1e-7)).fit(X, y)
        return float(fitted.predict_marginals([[["x"]]])[0][0]["rare"])

    assert share(None) == pytest.approx(0.3, abs=1e-3)
    assert share("balanced") == pytest.approx(0.5, abs=1e-3)
    assert share({"rare": 7.0, "common": 3.0}) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict, not 3"):
        share(3)


def test_min_count_and_pairs_change_the_number_of_features() -> None:
    counts = {
        (pairs, least): settings(pairs=pairs, min_count=least, solver=SGD(passes=1, eta0=0.1))
        .fit(ROWS, LABELS)
        .n_features_
        for pairs in ("seen", "all")
        for least in (1, 3)
    }
    assert counts["seen", 3] < counts["seen", 1] < counts["all", 1]
    assert counts["all", 3] < counts["all", 1]
    n_labels = len({label for y in LABELS for label in y})
    assert counts["all", 1] % n_labels == 0
    everything_dropped = settings(min_count=10**6).fit(ROWS, LABELS)
    assert len(everything_dropped.predict(TEST_ROWS)) == len(TEST_ROWS)


def test_history_is_data_and_callback_stops() -> None:
    entries: list[dict[str, Any]] = []

    def listen(entry: dict[str, Any]) -> bool:
        entries.append(entry)
        return len(entries) == 3

    tagger = settings().fit(ROWS, LABELS, dev=(TEST_ROWS, TEST_LABELS), callback=listen)
    assert tagger.history_ == entries
    assert tagger.fit_["stopped"] == "callback"
    assert [entry["iteration"] for entry in entries] == [1, 2, 3]
    assert set(entries[0]) == {"iteration", "objective", "nonzero", "seconds", "dev_score"}
    assert all(0 < entry["dev_score"] <= 1 for entry in entries)
    assert entries[0]["seconds"] < entries[-1]["seconds"]


def test_the_best_weights_on_held_out_sentences_are_kept() -> None:
    seen: list[float] = []
    tagger = settings(solver=SGD(passes=10, eta0=2.0)).fit(
        ROWS[:15],
        LABELS[:15],
        dev=(TEST_ROWS, TEST_LABELS),
        callback=lambda entry: seen.append(entry["dev_score"]),
    )
    report = evaluate(TEST_LABELS, tagger.predict(TEST_ROWS))
    assert report.overall.f1 == pytest.approx(max(seen))


def test_early_stopping_waits_for_patience() -> None:
    scores: list[float] = []
    tagger = settings(patience=2, solver=SGD(passes=60, eta0=0.5)).fit(
        ROWS[:30], LABELS[:30], dev=(TEST_ROWS, TEST_LABELS), callback=lambda e: scores.append(e["dev_score"])
    )
    best = int(np.argmax(scores))
    assert len(scores) < 60
    assert len(scores) == best + 1 + 2
    assert tagger.fit_["stopped"] == "callback"
    assert tagger.fit_["iterations"] == len(scores)
    assert evaluate(TEST_LABELS, tagger.predict(TEST_ROWS)).overall.f1 == pytest.approx(scores[best])


def test_fit_tells_the_objective_of_the_weights_it_kept() -> None:
    from epigram.chain.labels import encode_labels
    from epigram.chain.layout import lay_out
    from epigram.chain.loss import ChainLoss
    from epigram.chain.seen_pairs import SeenPairs
    from epigram.features.attributes import AttributeTable
    from epigram.features.encoding import encode_sentences
    from epigram.features.template import Template

    tagger = settings(patience=1, solver=SGD(passes=30, eta0=1.0)).fit(
        ROWS[:30], LABELS[:30], dev=(TEST_ROWS, TEST_LABELS)
    )
    table = AttributeTable()
    sequences = encode_sentences(ROWS[:30], Template.parse(TEMPLATE), table, grow=True)
    _, ids = encode_labels(LABELS[:30], sequences)
    layout = lay_out(SeenPairs.of(sequences, ids, len(tagger.classes_), len(table)), "seen")
    model = tagger.model_
    old_ids = table.look_up(model.table.fingerprints)
    w = layout.gather(layout.pack(model.weights.renumber(old_ids)))
    value = ChainLoss(sequences, ids, layout).value_and_gradient(w, np.empty_like(w))
    assert tagger.fit_["objective"] == pytest.approx(value + L1(0.3).value(w))


def test_marginals_agree_with_each_other(tagger: CRFTagger) -> None:
    for (nodes, edges), dicts, sentence in zip(
        tagger.marginals(TEST_ROWS), tagger.predict_marginals(TEST_ROWS), TEST_ROWS, strict=True
    ):
        n, L = len(sentence), len(tagger.classes_)
        assert nodes.shape == (n, L)
        assert edges.shape == (n - 1, L, L)
        np.testing.assert_allclose(nodes.sum(axis=1), 1.0)
        np.testing.assert_allclose(edges.sum(axis=1), nodes[1:], atol=1e-12)
        np.testing.assert_allclose(edges.sum(axis=2), nodes[:-1], atol=1e-12)
        assert [list(token.values()) for token in dicts] == nodes.tolist()
        assert list(dicts[0]) == tagger.classes_.tolist()


def test_nbest_begins_with_the_prediction(tagger: CRFTagger) -> None:
    for best, lists in zip(tagger.predict(TEST_ROWS), tagger.predict_nbest(TEST_ROWS, 4), strict=True):
        assert lists[0][0] == best
        chances = [p for _, p in lists]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1.0 + 1e-9
        assert len({tuple(labels) for labels, _ in lists}) == len(lists) == 4


def test_confidence_is_the_share_of_labellings_with_the_span(tagger: CRFTagger) -> None:
    short = [sentence[:3] for sentence in TEST_ROWS[:5]]
    everything = tagger.predict_nbest(short, len(tagger.classes_) ** 3)
    spans = [[(1, labels[0][0][1:3]), (0, [labels[0][0][0]]), (0, labels[0][0])] for labels in everything]
    found = tagger.confidence(short, spans)
    for lists, wanted, chances in zip(everything, spans, found, strict=True):
        assert sum(p for _, p in lists) == pytest.approx(1.0)
        for (first, labels), chance in zip(wanted, chances, strict=True):
            same = sum(p for y, p in lists if y[first : first + len(labels)] == labels)
            assert chance == pytest.approx(same)
    nodes, _ = tagger.marginals(short)[0]
    single = tagger.confidence(short[:1], [[(0, [label]) for label in tagger.classes_]])[0]
    np.testing.assert_allclose(single, nodes[0], atol=1e-12)
    with pytest.raises(InputError, match="leaves its 3 tokens"):
        tagger.confidence(short[:1], [[(2, ["O", "O"])]])
    with pytest.raises(InputError, match="0 lists of spans for 1 sentences"):
        tagger.confidence(short[:1], [])


def test_partly_known_answers_are_kept(tagger: CRFTagger) -> None:
    free = tagger.predict(TEST_ROWS)
    known = [[None] * len(y) for y in TEST_LABELS]
    assert tagger.predict(TEST_ROWS, allowed=known) == free
    rng = np.random.default_rng(0)
    allowed: list[Any] = [[[label] if rng.random() < 0.5 else None for label in y] for y in TEST_LABELS]
    given = tagger.predict(TEST_ROWS, allowed=allowed)
    for tokens, labels in zip(allowed, given, strict=True):
        for choices, label in zip(tokens, labels, strict=True):
            assert choices is None or label in choices
    assert tagger.predict_nbest(TEST_ROWS[:1], 1, allowed=allowed[:1])[0][0][0] == given[0]
    for nodes, _ in tagger.marginals(TEST_ROWS[:1], allowed=[[["O"]] * len(TEST_ROWS[0])]):
        np.testing.assert_allclose(nodes[:, tagger.classes_.tolist().index("O")], 1.0)


def test_constraints_hold_in_training_and_decoding() -> None:
    tagger = settings(constrain="iob2", solver=SGD(passes=1, eta0=0.05)).fit(ROWS[:10], LABELS[:10])
    for lists in tagger.predict_nbest(TEST_ROWS[:10], 20):
        for labels, _ in lists:
            for before, label in zip(["O", *labels], labels, strict=False):
                assert not label.startswith("I-") or before[2:] == label[2:]
    pairs = {(a, b) for y in LABELS for a, b in itertools.pairwise(y)}
    listed = settings(constrain=sorted(pairs)).fit(ROWS, LABELS)
    for labels in listed.predict(TEST_ROWS):
        assert all(pair in pairs for pair in itertools.pairwise(labels))
    nodes_sum = sum(p for _, p in listed.predict_nbest([TEST_ROWS[0][:2]], 500)[0])
    assert nodes_sum == pytest.approx(1.0)
    again = CRFTagger.from_bytes(tagger.to_bytes())
    assert again.predict(TEST_ROWS) == tagger.predict(TEST_ROWS)
    assert CRFTagger.from_bytes(listed.to_bytes()).constrain == sorted(pairs)
    with pytest.raises(InputError, match="is forbidden by constrain"):
        settings(constrain=[("O", "O")] + [(a, b) for a, b in pairs if a != "B-NP"]).fit(ROWS, LABELS)


def test_unfitted_taggers_say_so() -> None:
    empty = CRFTagger()
    for ask in (
        empty.predict,
        empty.marginals,
        empty.predict_marginals,
        empty.predict_nbest,
        lambda X: empty.score(X, []),
        lambda X: empty.confidence(X, []),
        lambda X: empty.to_bytes(),
    ):
        with pytest.raises(NotFittedError):
            ask([])  # type: ignore[operator]


def test_odd_sentences_are_answered(tagger: CRFTagger) -> None:
    assert tagger.predict([]) == []
    assert tagger.predict([[]]) == [[]]
    assert tagger.predict_nbest([[]]) == [[]]
    assert tagger.predict_marginals([[]]) == [[]]
    ((nodes, edges),) = tagger.marginals([[]])
    assert (nodes.shape[0], edges.shape[0]) == (0, 0)
    unknown = [[("qqqq", "??"), ("zzzz", "!!")]]
    assert len(tagger.predict(unknown)[0]) == 2
    assert tagger.predict([[], ROWS[0], []])[1] == tagger.predict([ROWS[0]])[0]
    assert tagger.score([], []) == 0.0
    assert tagger.score(ROWS[:1], [["nowhere"] * len(ROWS[0])]) == 0.0


def test_a_sentence_of_ten_thousand_tokens(tagger: CRFTagger) -> None:
    rows = [row for sentence in ROWS for row in sentence]
    long = [(rows * (10_000 // len(rows) + 1))[:10_000]]
    labels = tagger.predict(long)[0]
    assert len(labels) == 10_000
    nodes, _, log_z = tagger.model_.marginals(tagger.model_.encode(long))
    np.testing.assert_allclose(nodes.sum(axis=1), 1.0)
    assert np.isfinite(log_z).all()
    assert tagger.predict_nbest(long, 2)[0][0][0] == labels
    settings(solver=SGD(passes=1, eta0=0.1)).fit(long, [labels])


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (ROWS[:2], LABELS[:1], "1 lists of labels for 2 sentences"),
        (ROWS[:1], [LABELS[0][:-1]], "sentence 0 has .* tokens, but .* labels"),
        ([], [], "no tokens to train on"),
        ([[], []], [[], []], "no tokens to train on"),
        (ROWS[:1], None, "y is None"),
    ],
)
def test_bad_training_input_is_named(X: Any, y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        settings().fit(X, y)


def test_bad_features_are_named() -> None:
    tagger = CRFTagger(l1=0.1, solver=FAST)
    for bad in ("a string", 3.0, {"x": object()}, {"x": float("nan")}):
        with pytest.raises(InputError, match="sentence 0, token 0"):
            tagger.fit([[bad]], [["a"]])
    with pytest.raises(InputError, match="columns need a template"):
        tagger.fit(Columns.from_rows(ROWS), LABELS)
    with pytest.raises(ValueError, match="pairs must be 'seen' or 'all', not 'some'"):
        CRFTagger(pairs="some").fit([[["x"]]], [["a"]])


def test_training_survives_empty_sentences() -> None:
    tagger = settings().fit([[], *ROWS, []], [[], *LABELS, []])
    assert tagger.score(TEST_ROWS, TEST_LABELS) > 0.9
    settings(solver=OWLQN(max_iterations=3)).fit([[], *ROWS, []], [[], *LABELS, []])


def test_one_label_is_a_model_too() -> None:
    tagger = CRFTagger(l1=0.1, solver=FAST).fit([[["x"], ["y"]]], [["a", "a"]])
    assert tagger.predict([[["z"], ["x"]]]) == [["a", "a"]]
    assert tagger.predict_nbest([[["z"]]], 3) == [[(["a"], 1.0)]]


def test_threads_share_one_model(tagger: CRFTagger) -> None:
    def work(k: int) -> Any:
        return (
            tagger.predict(TEST_ROWS[k : k + 10]),
            tagger.predict_nbest(TEST_ROWS[k : k + 10], 3),
            [nodes.tobytes() for nodes, _ in tagger.marginals(TEST_ROWS[k : k + 10])],
        )

    starts = [0, 10, 20, 30] * 4
    alone = {k: work(k) for k in set(starts)}
    with ThreadPoolExecutor(8) as pool:
        for k, found in zip(starts, pool.map(work, starts), strict=True):
            assert found == alone[k]


def test_threads_of_one_call_change_nothing(tagger: CRFTagger) -> None:
    many = clone(tagger).set_params(threads=3)
    many.model_, many.classes_ = tagger.model_, tagger.classes_
    assert many.predict(TEST_ROWS) == tagger.predict(TEST_ROWS)


def test_clone_pickle_and_parameters(tagger: CRFTagger) -> None:
    copied = clone(tagger)
    assert not hasattr(copied, "model_")
    assert copied.get_params()["l1"] == 0.3
    assert copied.fit(ROWS, LABELS).model_.w.tobytes() == tagger.model_.w.tobytes()
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(TEST_ROWS) == tagger.predict(TEST_ROWS)
    assert again.history_ == tagger.history_
    assert again.model_.w.tobytes() == tagger.model_.w.tobytes()


def test_grid_search_and_cross_validation_over_sentences() -> None:
    search = GridSearchCV(
        settings(solver=SGD(passes=3, eta0=0.5)), {"l1": [0.3, 500.0], "pairs": ["seen", "all"]}, cv=2
    ).fit(ROWS, LABELS)
    assert search.best_params_["l1"] == 0.3
    assert search.best_estimator_.score(TEST_ROWS, TEST_LABELS) > 0.8
    scores = cross_val_score(settings(), ROWS, LABELS, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.8
    dicts = features(ROWS)
    assert cross_val_score(CRFTagger(l1=0.3, solver=FAST), dicts, LABELS, cv=3).min() > 0.8

    with pytest.raises(
        ValueError, match="inhomogeneous"
    ):  # scikit-learn stacks predictions: ragged ones do not stack
        cross_val_predict(settings(), ROWS, LABELS, cv=3)


def test_an_unseen_label_in_the_held_out_set_is_only_a_mistake() -> None:
    odd = [["B-NEW"] * len(y) for y in TEST_LABELS[:3]]
    tagger = settings(solver=SGD(passes=2, eta0=0.5)).fit(ROWS, LABELS, dev=(TEST_ROWS[:3], odd))
    assert tagger.history_[0]["dev_score"] == 0.0
    with pytest.raises(InputError, match="held-out set has no tokens"):
        settings().fit(ROWS, LABELS, dev=([], []))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_beyond_all_measure_do_not_crash() -> None:
    X: Any = [[{"x": 1.0}, {"x": -1.0}]] * 3
    fitted = CRFTagger(l1=0.01, solver=FAST).fit(X, [["a", "b"]] * 3)
    for value in (1e30, -1e300, 1.7e308):
        huge = [[{"x": value}] * 5]
        assert len(fitted.predict(huge)[0]) == 5
        for probabilities in (fitted.marginals, fitted.predict_nbest):
            if value < 1e308:
                probabilities(huge)
                continue
            with pytest.raises(InputError, match="no probabilities"):
                probabilities(huge)
    with pytest.raises(DivergenceError, match="training diverged"):
        CRFTagger(l1=0.0, solver=SGD(passes=3, eta0=1e300)).fit(
            [[{"x": 1e200}, {"x": -1e250}]] * 3, [["a", "b"]] * 3
        )
