"""python-crfsuite's documented behaviour, of ours and, where installed, of the original; sklearn-crfsuite on ours."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from epigram.compat import pycrfsuite as ours
from reference.chain_data import features, part

ROWS, Y = part("train", 60)
X = features(ROWS)
HELD_OUT, GOLD = part("test", 30)
T = features(HELD_OUT)
ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]


@pytest.fixture(params=["ours", "theirs"])
def module(request: pytest.FixtureRequest) -> Any:
    return ours if request.param == "ours" else pytest.importorskip("pycrfsuite")


def trained(module: Any, path: Path, algorithm: str = "lbfgs", **params: Any) -> Any:
    trainer = module.Trainer(algorithm, {"max_iterations": 15, **params}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(path))
    return trainer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pycrfsuite") / "m.crfsuite"
    trained(ours, path, c1=0.05, c2=0.05)
    return path


def test_item_sequences(module: Any) -> None:
    mixed = {"a": "b", "n": 1.5, "t": True, "s": {"x": ["y"], "z": 2}}
    seq = module.ItemSequence([["foo", "bar"], mixed, {"e": {"q"}}])
    assert len(seq) == 3
    assert repr(seq) == "<ItemSequence of size 3>"
    assert seq.items() == [
        {"foo": 1.0, "bar": 1.0},
        {"a:b": 1.0, "n": 1.5, "t": 1.0, "s:x:y": 1.0, "s:z": 2.0},
        {"e:q": 1.0},
    ]
    assert module.ItemSequence(seq).items() == seq.items()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_settings_have_the_same_names_types_and_defaults(algorithm: str) -> None:
    theirs = pytest.importorskip("pycrfsuite").Trainer(algorithm)
    mine = ours.Trainer(algorithm)
    assert mine.params() == theirs.params()
    assert mine.get_params() == theirs.get_params()
    assert [type(v) for v in mine.get_params().values()] == [type(v) for v in theirs.get_params().values()]
    assert all(mine.help(name) for name in mine.params())


def test_settings_are_set_and_refused(module: Any) -> None:
    trainer = module.Trainer("pa", {"c": 2, "error_sensitive": False}, verbose=False)
    trainer.set("feature.possible_states", True)
    trainer.set("type", "2")
    found = [trainer.get(name) for name in ("c", "error_sensitive", "feature.possible_states", "type")]
    assert found == [2.0, False, True, 2]
    for wrong in (lambda: trainer.set("c1", 1), lambda: trainer.get("nope"), lambda: trainer.help("nope")):
        with pytest.raises(ValueError, match="Parameter not found"):
            wrong()
    with pytest.raises(ValueError, match="Bad arguments"):
        trainer.select("foo")
    trainer.select("AROW")
    assert "gamma" in trainer.params()


def test_what_is_appended_is_checked(module: Any) -> None:
    trainer = module.Trainer(verbose=False)
    with pytest.raises(ValueError, match="numbers of items and labels differ"):
        trainer.append([["a"], ["b"]], ["A"])
    for x, y in (([{"a": None}], ["A"]), ([["a"]], [3]), (5, ["A"]), ([[3]], ["A"])):
        with pytest.raises(TypeError):
            trainer.append(x, y)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_algorithms_learn_and_their_files_go_both_ways(algorithm: str, tmp_path: Path) -> None:
    trainer = trained(ours, tmp_path / "m", algorithm)
    tagger = ours.Tagger()
    tagger.open(str(tmp_path / "m"))
    found = [tagger.tag(x) for x in X]
    right = np.mean(
        [a == b for one, other in zip(found, Y, strict=True) for a, b in zip(one, other, strict=True)]
    )
    assert right > 0.95
    assert [entry["num"] for entry in trainer.logparser.iterations] == list(
        range(1, len(trainer.logparser.iterations) + 1)
    )
    assert trainer.logparser.last_iteration["feature_norm"] > 0
    original = pytest.importorskip("pycrfsuite").Tagger()
    original.open(str(tmp_path / "m"))
    assert [original.tag(x) for x in X] == found


@pytest.mark.parametrize("params", [{"c1": 0.1, "c2": 0.1}, {"c2": 0.5}, {"c1": 0.5, "c2": 0.0}])
def test_lbfgs_reaches_the_same_objective(params: dict[str, float], tmp_path: Path) -> None:
    module = pytest.importorskip("pycrfsuite")
    both = []
    for m in (ours, module):
        trainer = trained(m, tmp_path / "m", "lbfgs", max_iterations=300, **params)
        both.append(trainer.logparser.last_iteration)
    assert both[0]["loss"] == pytest.approx(both[1]["loss"], rel=2e-3)
    assert both[0]["loss"] <= both[1]["loss"] * 1.002


@pytest.mark.parametrize(
    "params",
    [
        {"feature.minfreq": 3},
        {"feature.possible_states": True},
        {"feature.possible_transitions": True},
        {"feature.minfreq": 2, "feature.possible_transitions": True},
    ],
)
def test_the_same_features_get_weights(params: dict[str, Any], tmp_path: Path) -> None:
    module = pytest.importorskip("pycrfsuite")
    numbers = [
        trained(m, tmp_path / "m", "lbfgs", **{"max_iterations": 1, **params}).logparser.featgen_num_features
        for m in (ours, module)
    ]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("params", [{}, {"feature.possible_states": True}, {"feature.minfreq": 1}])
def test_a_value_of_zero_makes_a_feature(params: dict[str, Any], tmp_path: Path) -> None:
    """Of an attribute with the label where it is 0: its weight is learnt where the attribute is not 0."""
    data = [
        ([{"a": True, "b": 0.0, "never": False}, {"a": False, "b": 2.0, "c": {"d": 0}}], ["X", "Y"]),
        ([{"a": False, "b": 1.5}, ["c:d", "e"]], ["Z", "X"]),
    ] * 3
    found = []
    for m in (ours, pytest.importorskip("pycrfsuite")):
        trainer = m.Trainer("lbfgs", {"c1": 0.0, "c2": 0.5, **params}, verbose=False)
        for k, (x, y) in enumerate(data):
            trainer.append(x, y, group=int(k > 3))
        trainer.append([{"f": False, "a": 1}], ["X"], group=1)
        trainer.train(str(tmp_path / "m"), holdout=1)
        tagger = m.Tagger()
        tagger.open(str(tmp_path / "m"))
        weights = {name: w for name, w in tagger.info().state_features.items() if abs(w) > 1e-9}
        found.append(
            (trainer.logparser.featgen_num_features, weights, trainer.logparser.last_iteration["loss"])
        )
    assert found[0][0] == found[1][0]
    assert found[0][1].keys() == found[1][1].keys()
    assert found[0][1] == pytest.approx(found[1][1], abs=0.01)
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-4)


def test_a_sequence_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    trainer = ours.Trainer("ap", {"max_iterations": 2}, verbose=False)
    with pytest.raises(TypeError):
        trainer.append([{"a": None}], ["NEW"])
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train(tmp_path / "m")
    tagger = ours.Tagger()
    tagger.open(tmp_path / "m")
    assert tagger.labels() == ["A", "B"]


def test_held_out_sequences_are_reported(module: Any, tmp_path: Path) -> None:
    trainer = module.Trainer("lbfgs", {"max_iterations": 3}, verbose=False)
    for k, (x, y) in enumerate(zip(X, Y, strict=True)):
        trainer.append(x, y, int(k >= 50))
    trainer.train(str(tmp_path / "m"), holdout=1)
    entry = trainer.logparser.last_iteration
    assert entry["num"] == 3
    assert 0.5 < entry["item_accuracy_float"] <= 1.0
    assert entry["instance_accuracy"].denominator in (1, 2, 5, 10)
    assert entry["scores"]["O"].ref > 0
    assert 0.0 < entry["avg_f1"] <= 1.0


def test_messages_and_their_events(module: Any, tmp_path: Path) -> None:
    said: list[str] = []

    class Quiet(module.BaseTrainer):  # type: ignore[misc, name-defined]
        def message(self, message: str) -> None:
            said.append(message)

    class Events(module.Trainer):  # type: ignore[misc, name-defined]
        seen: list[str] = []  # noqa: RUF012

        def message(self, message: str) -> None:
            super().message(message)

        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            self.seen.append(f"{info['num']} {'Loss' in log}")

        def on_start(self, log: str) -> None:
            self.seen.append("start")

        def on_end(self, log: str) -> None:
            self.seen.append("end")

        on_featgen_end = on_prepared = on_optimization_end = lambda self, log: None
        on_featgen_progress = lambda self, log, percent: None  # noqa: E731

    for kind in (Quiet, Events):
        trainer = kind("ap", {"max_iterations": 2})
        trainer.append(X[0], Y[0])
        trainer.append(X[1], Y[1])
        trainer.train(str(tmp_path / "m"))
    assert "type: CRF1d" in "".join(said)
    assert Events.seen == ["start", "1 True", "2 True", "end"]
    assert trainer.logparser.featgen_percent == 100

    class Stops(module.BaseTrainer):  # type: ignore[misc, name-defined]
        def message(self, message: str) -> None:
            raise KeyError("mine")

    trainer = Stops("ap")
    trainer.append(X[0], Y[0])
    with pytest.raises(KeyError, match="mine"):
        trainer.train(str(tmp_path / "m"))


def test_a_trainer_without_data_says_so(tmp_path: Path) -> None:
    trainer = ours.Trainer(verbose=False)
    trainer.append(X[0], Y[0])
    trainer.clear()
    with pytest.raises(ours.CRFSuiteError, match="append"):
        trainer.train(str(tmp_path / "m"))


def test_a_tagger_answers_about_its_sequence(module: Any, model: Path) -> None:
    tagger = module.Tagger()
    with tagger.open(str(model)):
        labels = tagger.tag(X[0])
        assert tagger.tag() == labels
        p = [[tagger.marginal(label, t) for label in tagger.labels()] for t in range(len(X[0]))]
        np.testing.assert_allclose(np.sum(p, axis=1), 1.0, atol=1e-9)
        assert 0.0 < tagger.probability(labels) <= 1.0
        tagger.set(module.ItemSequence(X[1]))
        assert tagger.tag() == tagger.tag(X[1])
        with pytest.raises(RuntimeError, match="zz"):
            tagger.marginal("zz", 0)
        with pytest.raises(ValueError, match="out of range"):
            tagger.marginal(labels[0], 99)
        with pytest.raises(ValueError, match="numbers of items and labels differ"):
            tagger.probability(["O"])
        assert tagger.tag([]) == []
        assert tagger.tag([{"word": "never-seen"}])[0] in tagger.labels()
    for call in (lambda: tagger.tag(X[0]), tagger.labels, lambda: tagger.marginal("O", 0)):
        with pytest.raises(ValueError, match="not opened"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_probabilities_are_those_of_the_original(model: Path) -> None:
    theirs, mine = pytest.importorskip("pycrfsuite").Tagger(), ours.Tagger()
    theirs.open(str(model))
    mine.open_inmemory(model.read_bytes())
    assert mine.labels() == theirs.labels()
    for x, y in zip(X[:20], Y, strict=False):
        for tagger in (mine, theirs):
            tagger.set(x)
        assert mine.viterbi() == theirs.tag()
        assert mine.probability(y) == pytest.approx(theirs.probability(y), rel=1e-6, abs=1e-12)
        for t in range(len(x)):
            for label in mine.labels():
                assert mine.marginal(label, t) == pytest.approx(theirs.marginal(label, t), abs=1e-9)


def test_weights_as_data_and_as_text(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, mine = pytest.importorskip("pycrfsuite").Tagger(), ours.Tagger()
    theirs.open(str(model))
    mine.open(model)
    a, b = mine.info(), theirs.info()
    assert (a.header, a.labels, a.attributes) == (b.header, b.labels, b.attributes)
    assert a.transitions == pytest.approx(b.transitions, abs=1e-6)
    assert a.state_features == pytest.approx(b.state_features, abs=1e-6)
    for name, tagger in (("mine", mine), ("theirs", theirs)):
        tagger.dump(str(tmp_path / name))
    lines = [sorted((tmp_path / name).read_text().split("\n")) for name in ("mine", "theirs")]
    assert [line for line in lines[0] if line] == [line for line in lines[1] if line]
    mine.dump()
    assert "STATE_FEATURES = {" in capsys.readouterr().out


def test_files_that_are_no_models(module: Any, tmp_path: Path) -> None:
    tagger = module.Tagger()
    with pytest.raises(OSError, match="No such file"):
        tagger.open(str(tmp_path / "none"))
    (tmp_path / "foreign").write_text("not a model at all")
    with pytest.raises(ValueError, match="foreign"):
        tagger.open(str(tmp_path / "foreign"))
    (tmp_path / "short").write_bytes(b"lCRF" + b"\0" * 20)
    with pytest.raises(ValueError, match="short"):
        tagger.open(str(tmp_path / "short"))
    with pytest.raises(ValueError, match=r"model|empty"):
        tagger.open_inmemory(b"")
    with pytest.raises(TypeError):
        tagger.open_inmemory("text")


def test_a_damaged_file_does_not_crash_ours(model: Path) -> None:
    with pytest.raises(ValueError, match="truncated"):
        ours.Tagger().open_inmemory(model.read_bytes()[:3000])  # the original ends the interpreter here


def test_training_goes_on_with_more_sequences(tmp_path: Path) -> None:
    trainer = ours.Trainer("ap", {"max_iterations": 3}, verbose=False)
    for x, y in zip(X[:20], Y, strict=False):
        trainer.append(x, y)
    trainer.train(tmp_path / "a")
    for x, y in zip(X[20:], Y[20:], strict=True):
        trainer.append(x, y)
    trainer.train(tmp_path / "b")
    assert trained(ours, tmp_path / "c", "ap", max_iterations=3)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_the_module_has_the_originals_names() -> None:
    theirs: ModuleType = pytest.importorskip("pycrfsuite")
    for name in ("ItemSequence", "BaseTrainer", "Trainer", "Tagger", "CRFSuiteError", "CRFSUITE_VERSION"):
        assert hasattr(ours, name)
        kind, mine = getattr(theirs, name), getattr(ours, name)
        public = [n for n in dir(kind) if not n.startswith("_")] if isinstance(kind, type) else []
        assert [n for n in public if not hasattr(mine, n) and n not in ("verbose", "args")] == []


def test_programs_that_import_the_original_get_ours_and_small_files(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    monkeypatch.setattr(ours.BaseTrainer, "small_files", False)
    ours.replace_original()
    module = importlib.import_module("pycrfsuite")
    trained(module, tmp_path / "m", c1=0.05, c2=0.05)
    assert (tmp_path / "m").stat().st_size < 0.5 * model.stat().st_size
    small, large = module.Tagger(), ours.Tagger()
    small.open(tmp_path / "m")
    large.open(model)
    assert [small.tag(x) for x in X] == [large.tag(x) for x in X]
    ours.replace_original(small_files=False)
    trained(module, tmp_path / "m", c1=0.05, c2=0.05)
    assert (tmp_path / "m").read_bytes()[:4] == b"lCRF"


@contextmanager
def imported_sklearn_crfsuite(replaced: bool) -> Iterator[Any]:
    """A fresh import of the package, on epigram or on python-crfsuite."""
    pytest.importorskip("sklearn_crfsuite")
    pytest.importorskip("sklearn")
    with patch.dict(sys.modules), patch.object(ours.BaseTrainer, "small_files", False):
        for name in list(sys.modules):
            if name.partition(".")[0] in ("sklearn_crfsuite", "pycrfsuite"):
                del sys.modules[name]
        if replaced:
            ours.replace_original()
        import sklearn_crfsuite
        import sklearn_crfsuite.metrics
        import sklearn_crfsuite.scorers

        yield sklearn_crfsuite


@pytest.fixture
def package() -> Iterator[Any]:
    with imported_sklearn_crfsuite(replaced=True) as module:
        yield module


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_sklearn_crfsuite_fit_predict_score(package: Any, algorithm: str) -> None:
    crf = package.CRF(algorithm=algorithm, max_iterations=12).fit(X, Y)
    assert isinstance(crf.tagger_, ours.Tagger)
    found = crf.predict(T)
    assert [len(one) for one in found] == [len(one) for one in GOLD]
    assert crf.score(T, GOLD) > 0.85
    assert crf.predict_single(T[0]) == list(found[0])
    assert len(crf.training_log_.iterations) == 12


def test_sklearn_crfsuite_fitted_attributes(package: Any) -> None:
    crf = package.CRF(c1=0.1, c2=0.1, max_iterations=20, all_possible_transitions=True).fit(X, Y)
    assert sorted(crf.classes_) == sorted({label for y in Y for label in y})
    assert crf.num_attributes_ == len(crf.attributes_)
    assert "word:the" in crf.attributes_
    assert {a for a, _ in crf.state_features_} <= set(crf.attributes_)
    assert all(pair[0] in crf.classes_ for pair in crf.transition_features_)
    assert crf.size_ > 1000
    assert sum(crf.predict_marginals_single(T[0])[0].values()) == pytest.approx(1.0)
    assert list(map(len, crf.predict_marginals(T[:3]))) == list(map(len, T[:3]))


def test_sklearn_crfsuite_weights_are_those_of_python_crfsuite() -> None:
    with imported_sklearn_crfsuite(replaced=False) as package:
        theirs = package.CRF(c2=0.3).fit(X, Y)
        weights, labels = theirs.state_features_, theirs.predict(T)
    with imported_sklearn_crfsuite(replaced=True) as package:
        mine = package.CRF(c2=0.3).fit(X, Y)
        assert set(mine.state_features_) == set(weights)
        assert mine.state_features_ == pytest.approx(weights, abs=0.02)
        assert list(mine.predict(T)) == list(labels)


def test_sklearn_crfsuite_held_out_data_and_log(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    crf = package.CRF(max_iterations=3, verbose=True).fit(X, Y, T, GOLD)
    assert 0.5 < crf.training_log_.last_iteration["item_accuracy_float"] <= 1.0
    printed = capsys.readouterr().out
    assert "Iter 3 " in printed
    assert "Support" in printed
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        package.CRF().fit(X, Y, T)


def test_sklearn_crfsuite_pickles_and_files(package: Any, tmp_path: Path) -> None:
    crf = package.CRF(max_iterations=5).fit(X, Y)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(T[0]) == crf.predict_single(T[0])
    assert again.classes_ == crf.classes_
    path = str(tmp_path / "m.crfsuite")
    stored = package.CRF(max_iterations=5, model_filename=path).fit(X, Y)
    assert package.CRF(model_filename=path).predict_single(T[0]) == stored.predict_single(T[0])


def test_random_search_with_the_packages_scorers(package: Any) -> None:
    from sklearn.model_selection import RandomizedSearchCV

    search = RandomizedSearchCV(
        package.CRF(max_iterations=8),
        {"c1": [0.0, 0.1, 0.5], "c2": [0.01, 0.1]},
        n_iter=3,
        cv=2,
        random_state=0,
        error_score="raise",
        scoring=package.scorers.flat_accuracy,
    ).fit(X, Y)
    assert set(search.best_params_) == {"c1", "c2"}
    found = search.predict(T)
    assert search.score(T, GOLD) == package.metrics.flat_accuracy_score(GOLD, found) > 0.8
