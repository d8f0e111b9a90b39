"""A language model in shards: the text, the loss and the optimum of one machine, for every penalty allowed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import Corpus, LogLinearLM, Vocabulary
from epigram.checkpoint import Checkpoint
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.lm.outofcore.encode import KIND, read_vocabulary, write_stream
from epigram.lm.outofcore.join import Joined
from epigram.lm.outofcore.loglinear import PENALTIES, fit_stream, solve_stream
from epigram.lm.outofcore.partition import Split
from epigram.lm.outofcore.shard import TreeShard
from epigram.outofcore import Here, Manifest
from epigram.outofcore.sharded import ShardLost, Shards

LINES = st.lists(
    st.lists(st.sampled_from(["a", "b", "ç", "d"]), max_size=5).map(" ".join), min_size=1, max_size=8
)
NUMBERS = {"strength": 0.3, "depth_weight": 1.3, "ridge": 0.05}
STRENGTH = Strength(**NUMBERS)


@given(LINES, st.integers(1, 30), st.integers(1, 2))
@settings(max_examples=20)
def test_any_cut_gives_the_stream_of_one_machine(lines: list[str], size: int, min_count: int) -> None:
    text = "\n".join(lines) + "\na b a"
    with TemporaryDirectory() as home:
        path = Path(home) / "text"
        path.write_text(text, "utf-8")
        manifest = write_stream([path], Path(home) / "s", min_count=min_count, partition_bytes=size)
        one = Corpus.read(path, min_count=min_count)
        assert read_vocabulary(manifest).words == one.vocabulary.words
        counts, stream = manifest.shared("counts", "stream")
        np.testing.assert_array_equal(stream, one.stream())
        np.testing.assert_array_equal(counts, np.bincount(one.stream()[1:], minlength=len(one.vocabulary)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lm")
    sentences = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 60)]
    (home / "text").write_text("\n".join(sentences) + "\n", "utf-8")
    write_stream([home / "text"], home / "shards", partition_bytes=1000)
    return home


def whole_loss(folder: Path, order: int) -> SuffixLoss:
    return SuffixLoss(ContextTree.grow(Positions.of(Corpus.read(folder / "text")), order))


@pytest.mark.parametrize(
    ("order", "k"),
    [(2, 1), (2, 7), (3, 2), (3, 40), (5, 7)],
)
def test_loss_and_gradient_are_those_of_the_whole(folder: Path, order: int, k: int) -> None:
    one, manifest = whole_loss(folder, order), Manifest.read(folder / "shards", KIND)
    split = Split.of(manifest, k, order, "elastic", STRENGTH, True)
    if k == 40 and order > 2:
        assert any(recipe.before is not None for recipe in split.recipes)
    shards = [TreeShard(recipe) for recipe in split.recipes]
    w = np.random.default_rng(0).normal(size=one.n_weights) * 0.3
    gradient, found = np.empty((2, one.n_weights))
    value = one.value_and_gradient(w, gradient)
    total, found[:] = 0.0, 0.0
    number = np.arange(1.0, one.n_weights + 1)
    met = np.zeros(one.n_weights)
    for shard in shards:
        at = (
            shard.tree.carry_over(one.tree, number).astype(int) - 1
        )  # the pair of the whole that each pair is
        own = np.empty(shard.loss.n_weights)
        total += shard.loss.value_and_gradient(w[at], own)
        np.add.at(found, at, own)
        met[at[shard.n_shared :]] += 1
    assert total == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(found, gradient, atol=1e-12 * max(1.0, np.abs(gradient).max()))
    assert met.max() == 1  # own weights belong to one shard
    assert np.count_nonzero(met) + split.shared.n_pairs == one.n_weights


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("tiny")
    sentences = [" ".join(token[0] for token in sentence[:5]) for sentence in sample.tagged("train", 4)]
    (home / "text").write_text("\n".join(sentences * 2) + "\n", "utf-8")
    assert write_stream([home / "text"], home / "shards").header["words"] < MORE_THAN_WORDS
    return home


MORE_THAN_WORDS = 25
EVERY_PENALTY = [(name, nonnegative) for name in PENALTIES for nonnegative in (True, False)]


@pytest.mark.parametrize("k", [1, 2, 7, MORE_THAN_WORDS])
@pytest.mark.parametrize(("penalty", "nonnegative"), EVERY_PENALTY)
def test_objective_and_gradient_are_those_of_one_machine(
    tiny: Path, penalty: str, nonnegative: bool, k: int
) -> None:
    """Loss, gradient and penalty at random weights."""
    one = whole_loss(tiny, 3)
    split = Split.of(Manifest.read(tiny / "shards", KIND), k, 3, penalty, STRENGTH, nonnegative)
    w = np.abs(np.random.default_rng(k).normal(size=one.n_weights) * 0.3)
    gradient, found, number = (
        np.empty(one.n_weights),
        np.zeros(one.n_weights),
        np.arange(1.0, one.n_weights + 1),
    )
    value, total = one.value_and_gradient(w, gradient), 0.0
    top = split.shared.carry_over(one.tree, number).astype(int) - 1
    norm = build_penalty(penalty, split.shared, STRENGTH, nonnegative)
    price = norm.value(w[top])
    for shard in map(TreeShard, split.recipes):
        at = shard.tree.carry_over(one.tree, number).astype(int) - 1
        vectors = shard.problem.vectors
        vectors["y"][:] = w[at]
        value_here, shared = shard.linearise(0.0, w[at[: shard.n_shared]], True)
        total += value_here
        np.add.at(found, at, np.append(shared, vectors["gradient"][shard.n_shared :]))
        price += shard.problem.penalty.value(w[at[shard.n_shared :]])
    assert total == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(found, gradient, atol=1e-12 * max(1.0, np.abs(gradient).max()))
    whole = build_penalty(penalty, one.tree, STRENGTH, nonnegative)
    assert price == pytest.approx(whole.value(w), rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 7, MORE_THAN_WORDS])
@pytest.mark.parametrize(("penalty", "nonnegative"), EVERY_PENALTY)
def test_the_optimum_is_that_of_one_machine(tiny: Path, penalty: str, nonnegative: bool, k: int) -> None:
    numbers = {name: value for name, value in NUMBERS.items() if name != "ridge" or penalty == "elastic"}
    settings = {"order": 3, "penalty": penalty, "nonnegative": nonnegative, "tolerance": 1e-12, **numbers}
    one = LogLinearLM(calibrate=False, **settings).fit(tiny / "text")
    many = fit_stream(LogLinearLM(**settings), Manifest.read(tiny / "shards", KIND), n_shards=k)
    assert one.reason_ == many.reason_ == "converged"
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-9)
    assert many.vocabulary_.words == one.vocabulary_.words
    text = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 20)]
    assert many.perplexity(text) == pytest.approx(one.perplexity(text), rel=1e-4)


def test_the_model_file_is_an_ordinary_one(folder: Path, tmp_path: Path) -> None:
    manifest = Manifest.read(folder / "shards", KIND)
    many = fit_stream(LogLinearLM(order=4, **NUMBERS), manifest, n_shards=9)
    again = fit_stream(LogLinearLM(order=4, **NUMBERS), manifest, Here(2), n_shards=9)
    many.save(tmp_path / "a", 6)
    again.save(tmp_path / "b", 6)
    solve_stream(LogLinearLM(order=4, **NUMBERS), manifest, n_shards=9).save(tmp_path / "c", 6)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    many.save(tmp_path / "a")
    loaded = LogLinearLM.load(tmp_path / "a")
    one = LogLinearLM(order=4, calibrate=False, **NUMBERS).fit(folder / "text")
    assert loaded.n_nonzero_ == pytest.approx(one.n_nonzero_, rel=2e-3)
    np.testing.assert_allclose(loaded.distribution("of the"), many.distribution("of the"), rtol=1e-6)
    loaded.partial_fit(["a new sentence of the text"])


@pytest.mark.parametrize(("order", "k"), [(2, 7), (3, 1), (3, 40), (5, 9), (5, 300)])
def test_joined_has_every_weight_and_spells_every_context(folder: Path, order: int, k: int) -> None:
    manifest = Manifest.read(folder / "shards", KIND)
    split = Split.of(manifest, k, order, "elastic", STRENGTH, True)
    shards = [TreeShard(recipe) for recipe in split.recipes]
    rng = np.random.default_rng(1)
    shared = rng.normal(size=split.shared.n_pairs)
    one = whole_loss(folder, order).tree
    expected = one.carry_over(split.shared, shared)
    for shard, places in zip(shards, split.places, strict=True):
        w = shard.problem.x
        w[: shard.n_shared] = 0.0
        own = w[shard.n_shared :]
        own[:] = rng.normal(size=own.size) * (rng.random(own.size) < 0.05)
        expected += one.carry_over(shard.tree, w)
        w[: shard.n_shared] = shared[places]
    joined = Joined.of(split, shared, (shard.kept() for shard in shards), folder)
    tree, w = joined.tree()
    np.testing.assert_array_equal(one.carry_over(tree, w), expected)
    assert np.count_nonzero(w) == np.count_nonzero(expected) == joined.n_nonzero
    # What one machine would keep of these weights, pair by pair.
    nodes, pairs = one.needed_parts(expected)
    assert (tree.n_contexts, tree.n_pairs) == (nodes.size, tree.n_targets + pairs.size)
    np.testing.assert_array_equal(tree.word[tree.n_targets :], one.word[pairs])
    np.testing.assert_array_equal(w[tree.n_targets :], expected[pairs])
    np.testing.assert_array_equal(tree.symbol, one.symbol[nodes])


class Forgetful(Here):
    """An engine that loses a shard before some questions, as a cluster does with a worker."""

    may_lose = True

    def __init__(self, *lost: int) -> None:
        super().__init__()
        self.lost, self.asked, self.restored = lost, 0, 0

    def ask(self, function: Any, handles: Any, pieces: Any, may_move: bool = True) -> Any:
        self.asked += 1
        self.restored += any(piece[2] == "restore" for piece in pieces)
        for handle in handles:
            if self.asked in self.lost:
                handle.__init__(handle.recipe)
                handle.turn = 0
                break
        return super().ask(function, handles, pieces)


@pytest.mark.parametrize("valid", [None, ["of the text", "a company said"]])
def test_a_lost_shard_changes_no_bit(folder: Path, valid: Any, tmp_path: Path) -> None:
    """Whether it is lost in a fit, in a search, while held-out text is scored, or while the model is put together."""
    manifest = Manifest.read(folder / "shards", KIND)
    numbers = NUMBERS if valid is None else {"depth_weight": 1.3, "ridge": 0.05}

    def fitted(engine: Here) -> bytes:
        model = LogLinearLM(order=3, max_iterations=5, **numbers)
        trials: list[Any] = []
        told = {"valid": valid, "on_trial": lambda trial: trials.append(trial) or len(trials) == 3}
        fit_stream(model, manifest, engine, 3, **told).save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    whole, counted = fitted(Here()), Forgetful()
    assert fitted(counted) == whole
    assert counted.restored == 0
    for lost in (*range(1, 14), *range(14, counted.asked + 1, 5), counted.asked):
        engine = Forgetful(lost, lost + 1)
        with Checkpoint(tmp_path / f"{lost}", every=0.0 if lost % 2 else np.inf):
            assert fitted(engine) == whole, f"lost before question {lost} of {counted.asked}"
        assert engine.restored >= (lost > 1)
    assert not list((folder / "shards" / "parts").iterdir())


def test_a_question_for_another_state_is_not_answered(folder: Path) -> None:
    split = Split.of(Manifest.read(folder / "shards", KIND), 2, 3, "elastic", STRENGTH, True)
    shards = Shards(Here(), [TreeShard(recipe) for recipe in split.recipes], split.places)
    shared = np.zeros(split.shared.n_pairs)
    first = shards.change("linearise", 0.0, shared, True)
    assert shards.read("sizes", False)[0].sum() == 0
    shards.turn -= 1  # as an engine that asks once more
    with pytest.raises(ShardLost):
        shards.change("linearise", 0.0, shared, True)
    shards.restore(None)
    assert shards.change("linearise", 0.0, shared, True)[0][0] == first[0][0]


def test_a_stored_shard_goes_on_with_the_strength_it_had(folder: Path, tmp_path: Path) -> None:
    split = Split.of(Manifest.read(folder / "shards", KIND), 2, 3, "elastic", STRENGTH, True)
    one, other = (TreeShard(split.recipes[0]) for _ in range(2))
    shared = np.zeros(one.n_shared)
    one.begin(Strength(0.1, 1.1, 0.2), True)
    for _ in range(2):
        one.linearise(0.3, shared, True)
        one.try_step(2.0, shared)
    assert one.store(tmp_path / "0") == ""
    other.restore(tmp_path / "0")
    answers = [[part.linearise(0.5, shared, False)[0], part.try_step(1.5, shared)] for part in (one, other)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": "auto"}, r"--strength"),
        ({"penalty": "tree-l2"}, "its groups span shards"),
        ({"order": 1}, "order of 2 or more"),
        ({"solver": "stochastic"}, "fista"),
    ],
)
def test_what_shards_cannot_do_is_said(folder: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_stream(LogLinearLM(**{**NUMBERS, **settings}), Manifest.read(folder / "shards", KIND))


def test_a_given_vocabulary_and_bad_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\nb a\n")
    manifest = write_stream([tmp_path / "text"], tmp_path / "s", vocabulary=Vocabulary(["b"]))
    one = Corpus.read(tmp_path / "text", Vocabulary(["b"]), training=True)
    assert read_vocabulary(manifest).words == one.vocabulary.words
    np.testing.assert_array_equal(manifest.shared("stream")[0], one.stream())
    (tmp_path / "text").write_bytes(b"a b\nc\nb \xff\n")
    with pytest.raises(InputError, match=r"text:3: invalid UTF-8"):
        write_stream([tmp_path / "text"], tmp_path / "s", partition_bytes=2)
    (tmp_path / "text").write_text("\n\n")
    with pytest.raises(InputError, match="no words"):
        write_stream([tmp_path / "text"], tmp_path / "s")
