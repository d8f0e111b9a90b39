"""Our loss and our optimum against CRFsuite's: its own weights scored by us, and both run to convergence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from epigram import L1, L2, LBFGS, OWLQN
from epigram.chain.labels import encode_labels
from epigram.chain.layout import ChainWeights, WeightLayout, lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.seen_pairs import SeenPairs
from epigram.features.attributes import AttributeTable
from epigram.features.encoding import encode
from epigram.features.formats import read_columns
from epigram.features.sequences import Sequences
from epigram.features.template import Template

pycrfsuite = pytest.importorskip("pycrfsuite")

N_SENTENCES = 60


@dataclass
class Task:
    """The first sentences of CoNLL-2000, encoded, with the layout of CRFsuite's features: seen pairs."""

    sequences: Sequences
    labels: list[str]
    ids: np.ndarray
    layout: WeightLayout
    loss: ChainLoss


@pytest.fixture(scope="module")
def task(data: Path) -> Task:
    columns = read_columns(data / "conll2000" / "train.txt").take(np.arange(N_SENTENCES))
    observed, column = columns.split(-1)
    table = AttributeTable()
    sequences = encode(observed, Template.load("chunking"), table, grow=True)
    names, ids = encode_labels(column, sequences)
    layout = lay_out(SeenPairs.of(sequences, ids, len(names), len(table)), "seen")
    return Task(sequences, names.tolist(), ids, layout, ChainLoss(sequences, ids, layout))


def crfsuite(task: Task, folder: Path, settings: dict[str, float]) -> tuple[float, np.ndarray, int]:
    """CRFsuite's objective, its weights as ours, and how many features it had."""
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"max_iterations": 3000, "epsilon": 1e-6, "delta": 1e-7, **settings})
    s = task.sequences
    for k in range(s.n_sentences):
        span = range(int(s.sentence_ptr[k]), int(s.sentence_ptr[k + 1]))
        tokens = [[f"a{a}" for a in s.attributes[s.attribute_ptr[t] : s.attribute_ptr[t + 1]]] for t in span]
        trainer.append(tokens, [task.labels[task.ids[t]] for t in span])
    path = str(folder / "model.crfsuite")
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    index = {label: j for j, label in enumerate(task.labels)}
    found = [(int(a[1:]), index[label], w) for (a, label), w in info.state_features.items()]
    square = np.zeros((len(index), len(index)))
    for (before, after), w in info.transitions.items():
        square[index[before], index[after]] = w
    a, j, w = zip(*found, strict=True)
    none = np.empty(0, dtype=np.int32)
    states = np.array(a, dtype=np.int32), np.array(j, dtype=np.int32), np.array(w)
    full = task.layout.pack(ChainWeights(*states, square, none, none, none, np.empty(0)))
    return float(trainer.logparser.last_iteration["loss"]), full, int(trainer.logparser.featgen_num_features)


def test_the_features_are_the_same(task: Task, tmp_path: Path) -> None:
    _, _, n_features = crfsuite(task, tmp_path, {"c1": 1.0, "c2": 0.0, "max_iterations": 1})
    assert task.layout.n_features == n_features


@pytest.mark.parametrize(("c1", "c2"), [(1.0, 0.0), (0.0, 0.5)])
def test_crfsuites_weights_have_the_loss_it_says_and_ours_are_as_good(
    task: Task, tmp_path: Path, c1: float, c2: float
) -> None:
    theirs, full, _ = crfsuite(task, tmp_path, {"c1": c1, "c2": c2})
    w = task.layout.gather(full)
    assert np.count_nonzero(w) == np.count_nonzero(full)
    penalty = L1(c1) if c1 else L2(c2)
    g = np.empty_like(w)
    scored = task.loss.value_and_gradient(w, g) + penalty.value(w)
    assert scored == pytest.approx(theirs, rel=1e-6)
    solver = OWLQN(tolerance=1e-5) if c1 else LBFGS(tolerance=1e-6)
    ours = solver.solve(task.loss, penalty)  # type: ignore[arg-type]
    assert ours.reason == "converged"
    assert ours.objective == pytest.approx(theirs, rel=1e-4)
    assert ours.objective <= theirs * (1 + 1e-5)
    if c1:
        assert np.count_nonzero(ours.w) == pytest.approx(np.count_nonzero(w), rel=0.03)
