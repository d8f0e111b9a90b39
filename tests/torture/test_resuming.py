"""A training that dies and goes on from its checkpoint ends in the same bytes as one that nobody stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from epigram import AROW, L2SGD, AveragedPerceptron, PassiveAggressive
from epigram.checkpoint import Checkpoint, Tape, noted, piece
from epigram.datasets.sample import BACKGROUND, plain, tagged
from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.lexicon.wordlist import WordList
from epigram.lm import ClassFactoredLM, LogLinearLM
from epigram.lm.loglinear.penalties import Strength
from epigram.lm.outofcore import loglinear
from epigram.lm.outofcore.encode import write_stream
from epigram.outofcore.engine import Here
from epigram.parsing import DependencyParser
from epigram.rerank import BLasso, Boosting, Lasso, NBest, Perceptron, Reranker
from epigram.solvers import FISTA, LBFGS, SGD, AdaGrad, StochasticProximal
from epigram.storage import load
from epigram.tagging import CRFTagger

SENTENCES = tagged("train", 30)
X = [[token[:2] for token in s] for s in SENTENCES]
Y = [[token[2] for token in s] for s in SENTENCES]
TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1]\nB\n"
TEXT = [" ".join(words) for words in plain("train", 40)]
HEARD = [
    {
        "reference": " ".join(words),
        "candidates": [
            {"text": " ".join([*words[:-1], words[0]]), "score": -1.0 - k % 3},
            {"text": " ".join(words), "score": -1.5},
            {"text": " ".join(words[1:]), "score": -1.2},
        ],
    }
    for k, words in enumerate(plain("train", 60))
]


GIVEN = Strength(0.3, 1.2, 0.1)


class Killed(Exception):
    """Stands for the end of the process."""


class Dying(Checkpoint):
    """Notes every step; the process dies just after the so-many-th."""

    lives = 10**9

    def write(self) -> None:
        super().write()
        self.lives -= 1
        if self.lives == 0:
            raise Killed


def tag(**options: Any) -> Callable[[Path], Any]:
    dev = (X[:5], Y[:5]) if options.pop("dev", False) else None
    return lambda path: CRFTagger(TEMPLATE, **options).fit(X, Y, dev=dev).save(path)


def language_model(kind: Any, **options: Any) -> Callable[[Path], Any]:
    return lambda path: kind(**options).fit(TEXT).save(path)


def reranker(learner: Any) -> Callable[[Path], Any]:
    return lambda path: Reranker(learner, min_count=1).fit(NBest.from_lists(HEARD)).save(path)


def in_shards(fit: Any, kind: Any, **options: Any) -> Callable[[Path], Any]:
    def train(path: Path) -> None:
        text = path.with_name("text")
        text.write_text("\n".join(TEXT))
        manifest = write_stream([text], path.with_name("words"))
        fit(kind(**options), manifest, n_shards=3).save(path)

    return train


def parser(path: Path) -> None:
    words = [("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]
    heads = [(2, "det"), (3, "nsubj"), (0, "root")]
    one = DependencyParser(l1=0.01, min_count=1, order=3)
    one.fit([words] * 3, [heads] * 3, dev=([words], [heads])).save(path)


def build(path: Path) -> None:
    KanaKanjiConverter.build(BACKGROUND, WordList.of(["橋/はし"])).save(path)


def adapt(path: Path) -> None:
    converter = KanaKanjiConverter.build(BACKGROUND)
    text = [line.split() for line in BACKGROUND[:12]]
    converter.adapt(text, method="map-kn+blasso", steps=700, eps=0.1, theta=0.0).save(path)


TRAINERS: dict[str, Callable[[Path], Any]] = {
    "sgd": tag(l1=0.5, solver=SGD(passes=2), dev=True),
    "sgd until settled, patient": tag(l1=0.5, solver=SGD(passes="auto", eta0=0.3), dev=True, patience=2),
    "sgd, no dial": tag(l1=0.5, solver=SGD(passes="auto")),
    "l1 auto": tag(l1="auto", solver=SGD(passes=2, eta0=0.2)),
    "adagrad": tag(l1=0.5, solver=AdaGrad(passes=3)),
    "owlqn": tag(l1=0.5, l2=0.1, dev=True),
    "lbfgs": tag(l1=0.0, l2=1.0, solver=LBFGS(memory=3, max_iterations=15, threads=2)),
    "fista": tag(l1=0.5, solver=FISTA(max_iterations=15)),
    "l2sgd": tag(l1=0.0, l2=0.1, solver=L2SGD(passes=4)),
    "perceptron": tag(l1=0.0, solver=AveragedPerceptron(passes=4)),
    "passive": tag(l1=0.0, solver=PassiveAggressive(passes=4)),
    "arow": tag(l1=0.0, solver=AROW(passes=4)),
    "parser": parser,
    "log-linear": language_model(LogLinearLM, order=2, penalty="l1", depth_weight=1.0, max_iterations=6),
    "log-linear, few weights": language_model(
        LogLinearLM, order=3, strength=0.3, ridge=0.1, depth_weight=1.2, max_weights=100, max_iterations=9
    ),
    "log-linear, stochastic": language_model(
        LogLinearLM, order=2, strength=0.3, penalty="l1", depth_weight=1.0,
        solver=StochasticProximal(batch_size=20, passes=4),
    ),
    "few classes": language_model(
        ClassFactoredLM, order=2, classes=3, max_iterations=2, budget=0.0, class_strength=GIVEN, word_strength=GIVEN
    ),
    "classes": language_model(ClassFactoredLM, order=2, classes=8, max_iterations=1, budget=1e6, penalty="l1"),
    "number of classes": language_model(
        ClassFactoredLM, order=2, max_iterations=3, budget=1e6, class_strength=GIVEN, word_strength=GIVEN
    ),
    "shards": in_shards(
        loglinear.fit_stream, LogLinearLM, order=3, strength=0.3, ridge=0.1, depth_weight=1.2, max_iterations=7
    ),
    "blasso": reranker(BLasso(eps=0.01, theta=0.0, steps=1500)),
    "boosting, tuned": reranker(Boosting(steps=40)),
    "lasso": reranker(Lasso(steps=4)),
    "rank perceptron": reranker(Perceptron(steps=4, rate=1.0)),
    "build": build,
    "adapt": adapt,
}  # fmt: skip


SLOW = (
    "number of classes", "l1 auto", "lasso", "classes", "sgd",
    "log-linear, few weights", "log-linear, stochastic",
)  # fmt: skip


def deaths(n_writes: int) -> list[int]:
    """The first, the last and some writes between."""
    return sorted({1, n_writes // 2, n_writes})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TRAINERS]
)
def test_killed_at_any_step_it_goes_on_to_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda opened: None)  # the machine does not die, and there are thousands
    train, whole, model = TRAINERS[name], tmp_path / "whole", tmp_path / "model"
    train(whole)
    with Dying(tmp_path / "counted", every=0.0) as counted:
        train(model)
    assert model.read_bytes() == whole.read_bytes()
    n_writes = 10**9 - counted.lives
    assert n_writes >= 1
    for at in deaths(n_writes):
        first, second = (Dying(tmp_path / f"{at}", every=0.0, resume=k > 0) for k in range(2))
        first.lives, second.lives = at, max(1, (n_writes - at) // 2)
        for run in (first, second):
            with suppress(Killed), run:
                train(model)
        model.unlink()
        with Checkpoint(first.path, every=1000.0, resume=True):
            train(model)
        assert model.read_bytes() == whole.read_bytes(), f"killed after write {at} of {n_writes}"


class Forgetful(Here):
    """An engine that loses a shard now and then, and makes it again from its recipe."""

    may_lose = True
    asked = 0

    def make(self, function: Callable[[Any], Any], recipes: Sequence[Any]) -> list[Any]:
        self.recipes, self.things = (
            [(function, recipe) for recipe in recipes],
            super().make(function, recipes),
        )
        return list(range(len(recipes)))

    def ask(
        self,
        function: Callable[[Any, Any], Any],
        handles: Sequence[Any],
        pieces: Sequence[Any],
        may_move: bool = True,
    ) -> list[Any]:
        self.asked += 1
        if self.asked in (4, 11, 30):
            lost = self.asked % len(self.things)
            make, recipe = self.recipes[lost]
            self.things[lost] = make(recipe)
        return super().ask(function, [self.things[k] for k in handles], pieces)


def test_a_lost_shard_starts_from_the_checkpoint_too(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(TEXT))
    manifest = write_stream([text], tmp_path / "words")

    def fitted(engine: Here) -> bytes:
        model = LogLinearLM(order=3, strength=0.3, ridge=0.1, depth_weight=1.2, max_iterations=12)
        loglinear.fit_stream(model, manifest, engine, 3).save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    whole = fitted(Here())
    assert fitted(Forgetful()) == whole
    with Checkpoint(tmp_path / "state", every=0.0) as saved:
        assert fitted(Forgetful()) == whole
    for last in saved.folder.iterdir():
        (last / "00001.npz").write_bytes(b"")
    with (
        pytest.raises(InputError, match=r"corrupt checkpoint of a shard .*leave out --resume"),
        Checkpoint(saved.path, resume=True),
    ):
        fitted(Here())
    saved.remove()
    assert not saved.folder.exists()


def test_a_full_disk_ends_the_checkpoints_of_shards(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "state.parts").write_text("a file where the folder would be")
    with Checkpoint(tmp_path / "state", every=0.0, complain=said.append):
        TRAINERS["shards"](tmp_path / "model")
    assert len(said) == 1
    assert "goes on without a checkpoint" in said[0]
    assert load(tmp_path / "model") is not None


@pytest.mark.parametrize("name", ["sgd", "owlqn", "log-linear", "few classes", "blasso"])
def test_a_user_who_stops_it_gets_a_model_and_can_go_on(name: str, tmp_path: Path) -> None:
    """The third step is the last; going on from there ends as if nobody had stopped it."""
    steps: dict[str, Callable[[Any], Any]] = {
        "sgd": lambda told: CRFTagger(TEMPLATE, l1=0.5, solver=SGD(passes=8, eta0=0.2)).fit(
            X, Y, callback=told
        ),
        "owlqn": lambda told: CRFTagger(TEMPLATE, l1=0.5, l2=0.1).fit(X, Y, callback=told),
        "log-linear": lambda told: LogLinearLM(order=2, penalty="l1", depth_weight=1.0, max_iterations=6).fit(
            TEXT, callback=told
        ),
        "few classes": lambda told: ClassFactoredLM(
            order=2, classes=3, max_iterations=4, budget=0.0, class_strength=GIVEN, word_strength=GIVEN
        ).fit(TEXT, callback=told),
        "blasso": lambda told: Reranker(BLasso(eps=0.01, theta=0.0, steps=2500), min_count=1).fit(
            NBest.from_lists(HEARD), callback=told
        ),
    }
    steps[name](None).save(tmp_path / "whole")
    heard = 0
    with Checkpoint(tmp_path / "state") as saved:

        def told(_: Any) -> bool:
            nonlocal heard
            heard += 1
            saved.interrupted = heard >= 3
            return saved.interrupted

        steps[name](told).save(tmp_path / "stopped")
    assert saved.path.exists()
    assert load(tmp_path / "stopped") is not None
    with Checkpoint(saved.path, resume=True):
        steps[name](None).save(tmp_path / "resumed")
    whole = (tmp_path / "whole").read_bytes()
    assert (tmp_path / "resumed").read_bytes() == whole != (tmp_path / "stopped").read_bytes()


def test_patience_that_ends_a_fit_ends_it_for_ever(tmp_path: Path) -> None:
    """A user who asks to stop in the very pass in which patience is over changes nothing."""

    def fit(told: Any = None) -> bytes:
        solver = SGD(passes=40, eta0=0.3)
        tagger = CRFTagger(TEMPLATE, l1=0.5, solver=solver, patience=2)
        return tagger.fit(X, Y, dev=(X[:5], Y[:5]), callback=told).to_bytes()

    passes: list[Any] = []
    whole = fit(passes.append)
    with Checkpoint(tmp_path / "state", every=0.0) as saved:

        def told(entry: dict[str, Any]) -> bool:
            saved.interrupted = entry["iteration"] == len(passes)
            return saved.interrupted

        assert fit(told) == whole
    with Checkpoint(saved.path, resume=True):
        assert fit() == whole


def test_what_cannot_be_gone_on_from_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state"

    def save(name: str, subject: str = "a text", **options: Any) -> float:
        with Checkpoint(path, subject, 0.0, **options):
            return noted(name, lambda: 1.5)

    save("seconds")
    assert save("seconds", resume=True) == 1.5
    with pytest.raises(InputError, match="other data, settings or version"):
        save("seconds", "another text", resume=True)
    with pytest.raises(InputError, match="saved by another training"):
        save("minutes", resume=True)
    content = path.read_bytes()
    for spoilt in (b"", b"PK nonsense", content[:-30], content.replace(b"seconds", b"sexonds")):
        path.write_bytes(spoilt)
        with pytest.raises(InputError, match="not a checkpoint, or corrupt"):
            save("seconds", resume=True)


def test_a_full_disk_ends_checkpoints_not_training(tmp_path: Path) -> None:
    said: list[str] = []
    with Checkpoint(tmp_path / "nowhere" / "state", every=0.0, complain=said.append):
        assert [noted("a", lambda: 1), noted("b", lambda: 2)] == [1, 2]
    assert len(said) == 1
    assert "goes on without a checkpoint" in said[0]


def test_a_piece_that_fails_leaves_nothing_behind() -> None:
    with Tape() as tape, suppress(ZeroDivisionError), piece("outer") as outer:
        with suppress(KeyError), piece("inner") as inner:
            inner.save({"at": 1}, always=True)
            raise KeyError
        noted("after", lambda: 2)
        outer.save({"at": 2}, always=True)
        assert list(tape.entries) == ["0"]
        raise ZeroDivisionError
    assert not tape.entries
