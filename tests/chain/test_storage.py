"""Taggers in files: everything comes back, damage is a sentence and never a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import LBFGS, OWLQN, SGD, CRFTagger, MaxentClassifier, MaxentTagger
from epigram.errors import ModelFileError
from epigram.storage import ModelFile
from epigram.storage.file import describe, load
from epigram.tagging.storage import from_model_file, to_model_file
from reference.chain_data import TEMPLATE, features, part

ROWS, LABELS = part("train", 60)
TEST_ROWS, _ = part("test", 20)
FAST = SGD(passes=4, eta0=0.5)
EDGES = TEMPLATE + "B1:%x[0,1]\n"


NAMES = sorted({label for sentence in LABELS for label in sentence})


def crf(**settings: Any) -> CRFTagger:
    return CRFTagger(**{"template": TEMPLATE, "l1": 0.3, "solver": FAST, **settings}).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"template": EDGES},
        {"template": "U0:%x[0,0]\n"},
        {"constrain": "iob2"},
        {"constrain": [(a, b) for a in NAMES for b in NAMES]},
        {"class_weight": {"O": 2.0}},
        {"l1": np.float64(0.25), "threads": np.int64(2)},
        {"l1": 0.0, "l2": 0.5, "solver": LBFGS(max_iterations=5), "pairs": "all"},
    ],
    ids=lambda settings: ", ".join(settings) or "defaults",
)
def test_a_tagger_comes_back(settings: dict[str, Any], tmp_path: Path) -> None:
    tagger = crf(**settings)
    path = tmp_path / "model.epigram"
    tagger.save(path)
    for again in (CRFTagger.load(path), load(path), CRFTagger.from_bytes(path.read_bytes())):
        assert again.predict(TEST_ROWS) == tagger.predict(TEST_ROWS)
        for (ours, our_edges), (theirs, their_edges) in zip(
            again.marginals(TEST_ROWS), tagger.marginals(TEST_ROWS), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
            np.testing.assert_allclose(our_edges, their_edges, atol=1e-5)
        assert again.classes_.tolist() == tagger.classes_.tolist()
        assert [entry | {"seconds": 0} for entry in again.history_] == [
            entry | {"seconds": 0} for entry in tagger.history_
        ]
        assert again.fit_ == tagger.fit_
        assert again.n_features_ == tagger.n_features_
        ours_settings, their_settings = again.get_params(), tagger.get_params()
        assert type(ours_settings.pop("solver")) is type(their_settings.pop("solver"))
        assert ours_settings == their_settings
        assert vars(again.solver) == vars(tagger.solver)
        assert again.to_bytes() == path.read_bytes()


def test_templates_come_back_by_name_or_by_text(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(TEMPLATE)
    for given, expected in (
        ("chunking", "chunking"),
        (TEMPLATE, TEMPLATE),
        (path, TEMPLATE),
        (str(path), TEMPLATE),
    ):
        again = CRFTagger.from_bytes(crf(template=given).to_bytes())
        assert getattr(again.template, "text", again.template) == expected
        assert CRFTagger.from_bytes(again.to_bytes()).predict(TEST_ROWS) == again.predict(TEST_ROWS)


def test_features_by_name_come_back() -> None:
    X = features(ROWS)
    tagger = CRFTagger(l1=0.3, solver=FAST).fit(X, LABELS)
    again = CRFTagger.from_bytes(tagger.to_bytes())
    assert again.template is None
    assert again.predict(X) == tagger.predict(X)


def test_only_what_is_not_zero_is_stored() -> None:
    strong, weak = crf(l1=3.0), crf(l1=0.01)
    assert len(strong.to_bytes()) < len(weak.to_bytes())
    names = strong.model_.table.names(range(len(strong.model_.table)))
    content = strong.to_bytes()
    unused = {f"U0:{word}" for sentence in ROWS for word, _ in sentence} - set(names)
    assert unused
    assert not any(f"{name}U".encode() in content for name in unused)


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "model.epigram"
    crf().save(path)
    with pytest.raises(ModelFileError, match="holds a CRFTagger, not a MaxentTagger"):
        MaxentTagger.load(path)
    MaxentClassifier().fit([["a"], ["b"]], [0, 1]).save(path)
    with pytest.raises(ModelFileError, match="holds a MaxentClassifier, not a CRFTagger"):
        CRFTagger.load(path)
    assert load(path).predict([["a"]]).tolist() == [0]


def test_inspection_shows_what_is_inside(tmp_path: Path) -> None:
    path = tmp_path / "model.epigram"
    tagger = crf()
    tagger.save(path)
    _, sections = describe(path)
    size, states, transitions = sections
    assert size.records()[0]["active weights"] == tagger.fit_["active_features"]
    assert size.records()[0]["possible weights"] == tagger.n_features_
    assert {row["label"] for row in states.records()} <= set(tagger.classes_)
    weights = [abs(row["weight"]) for row in transitions.records()]
    assert weights == sorted(weights, reverse=True)


def broken(change: Any) -> bytes:
    file = to_model_file(crf(template=EDGES))
    change(file)
    return file.to_bytes()


def put(name: str, value: Any) -> Any:
    return lambda file: file.tensors.__setitem__(name, value(file.tensors[name]))


@pytest.mark.parametrize(
    "change",
    [
        put("state_labels", lambda t: t + 100),
        put("state_labels", lambda t: t[:-1]),
        put("state_weights", lambda t: t[:-1]),
        put("state_counts", lambda t: t + 1),
        put("state_counts", lambda t: t[:-1]),
        put("transition_pairs", lambda t: t + 1000),
        put("transition_weights", lambda t: t[:-1]),
        put("edge_attributes", lambda t: t + 10**6),
        put("edge_pairs", lambda t: t + 500),
        put("edge_weights", lambda t: t[:-1]),
        put("names", lambda t: np.full_like(t, 255)),
        lambda file: file.tensors.pop("state_labels"),
        lambda file: file.tensors.__setitem__("forbidden_ends", np.ones((2, 1), dtype=np.uint8)),
        lambda file: file.header.__setitem__("labels", file.header["labels"][:1]),
        lambda file: file.header.__setitem__("labels", []),
        lambda file: file.header.__setitem__("kind", "hmm"),
        lambda file: file.header.__setitem__("template", "nonsense"),
        lambda file: file.header.pop("labels"),
        lambda file: file.header.pop("settings"),
        lambda file: file.header.__setitem__("has_transitions", False),
    ],
)
def test_damage_is_a_sentence(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.epigram"
    path.write_bytes(broken(change))
    with pytest.raises(ModelFileError, match="model"):
        load(path)
    with pytest.raises(ModelFileError):
        CRFTagger.from_bytes(path.read_bytes())


def test_bytes_cut_or_changed_never_crash() -> None:
    """Every file that still loads can be used; all others are refused with a sentence."""
    content = crf(template=EDGES).to_bytes()
    rng = np.random.default_rng(0)
    for n in rng.integers(0, len(content), size=20).tolist():
        with pytest.raises(ModelFileError):
            CRFTagger.from_bytes(content[:n])
    header = int.from_bytes(content[:8], "little") + 8
    for at in rng.integers(header, len(content), size=60).tolist():
        damaged = bytearray(content)
        damaged[at] ^= int(rng.integers(1, 256))
        try:
            tagger = CRFTagger.from_bytes(bytes(damaged))
        except ModelFileError:
            continue
        assert len(tagger.predict(TEST_ROWS)) == len(TEST_ROWS)


def test_a_solver_of_another_program_becomes_the_default() -> None:
    file = to_model_file(crf())
    for written in ({"name": "Adam"}, {"name": "SGD", "momentum": 0.9}, {"name": "os"}):
        file.header["settings"]["solver"] = written
        assert from_model_file(ModelFile.from_bytes(file.to_bytes())).solver is None
    file.header["settings"]["solver"] = {"name": "OWLQN", "memory": 4}
    solver = from_model_file(ModelFile.from_bytes(file.to_bytes())).solver
    assert isinstance(solver, OWLQN)
    assert solver.memory == 4


def test_weights_are_stored_to_single_precision() -> None:
    tagger = crf()
    again = CRFTagger.from_bytes(tagger.to_bytes())
    mine, theirs = tagger.model_.weights.values, again.model_.weights.values
    np.testing.assert_array_equal(np.sort(mine.astype(np.float32)), np.sort(theirs.astype(np.float32)))


def test_the_same_training_gives_the_same_bytes() -> None:
    X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    one, other = (CRFTagger("U:%x[0,0]\nB\n", l1=0.01).fit(X, y).to_bytes() for _ in range(2))
    assert one == other
