"""CRFTagger: labels the tokens of sentences by a linear-chain CRF. Lafferty et al. 2001; Tsuruoka et al. 2009."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Floats, Penalty, Solver
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.constraints import allowed_ends, allowed_transitions, check_permitted
from epigram.tagging.corpus import LabelIndex, Labels
from epigram.tagging.estimator import SentenceEstimator
from epigram.tagging.model import Allowed
from epigram.tagging.partial_labels import check_possible
from epigram.tagging.problem import (
    Listener,
    Samples,
    Shape,
    checked_weights,
    class_weights,
    product,
    sentence_weights,
)
from epigram.tagging.segment_decoding import NoLabelling
from epigram.tagging.template import Template

if TYPE_CHECKING:
    from epigram.scale.engine import Engine
    from epigram.tagging.explain import Explanation
    from epigram.tagging.shards import TaggerShards


class CRFTagger(SentenceEstimator):
    """Labels the tokens of sentences by a linear-chain conditional random field, with scikit-learn's interface.

    Parameters
    ----------
    template : a CRF++ template (text, file name, or one of ``"chunking"``, ``"ner"``, ``"pos"``) for sentences
        given as rows of columns; None for sentences given as features (a dict or a list of strings a token).
    l1, l2 : strengths of ``l1 * sum |w|`` and ``l2 * sum w^2``; the objective is a sum over sentences. ``l1="auto"``
        chooses it on ``dev``, or on a tenth of the sentences (:mod:`epigram.tagging.strength`).
    penalty : an object in place of l1 and l2, such as ``L1(1.0)``, ``ElasticNet(1.0, 0.5)`` or ``L1Ball(500.0)``.
    solver : an object such as ``SGD(passes=10)``, or one of ``"sgd"``, ``"adagrad"``, ``"projected"``, ``"owlqn"``,
        ``"lbfgs"``, ``"fista"``; by default what fits the penalty: SGD with cumulative penalty for l1, OWL-QN or
        L-BFGS with l2, projected SGD for a ball, FISTA for anything else.
    pairs : ``"seen"`` gives weights to (feature, label) pairs of the training data only, ``"all"`` to all.
    min_count : features met less often are left out.
    constrain : ``"iob2"``, ``"iob1"``, ``"ioe2"``, ``"bioes"`` or a list of permitted label pairs, in training
        and decoding.
    order : 2 gives weights to label triples too: a label then depends on the two before it.
    class_weight : dict or ``"balanced"``; a sentence weighs the mean weight of its labels.
    patience : with a held-out set, stop after so many iterations without a better score.
    threads : for OWL-QN, L-BFGS and decoding.
    random_state : seed of the default solver.

    Attributes
    ----------
    classes_ : the labels, sorted.
    model_ : the trained :class:`~epigram.tagging.model.ChainModel`.
    history_ : one dict an iteration: objective, nonzero, seconds, dev_score.
    n_features_ : number of weights that could have become non-zero.

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=barks"]], [["w=a"], ["w=cat"], ["w=sleeps"]]]
    >>> y = [["DT", "NN", "VB"], ["DT", "NN", "VB"]]
    >>> tagger = CRFTagger(l1=0.01).fit(X, y)
    >>> tagger.predict([[["w=the"], ["w=cat"], ["w=barks"]]])
    [['DT', 'NN', 'VB']]
    """

    _takes_sets = True

    def __init__(
        self,
        template: str | PathLike[str] | Template | None = None,
        *,
        l1: float | str = 1.0,
        l2: float = 0.0,
        penalty: Penalty | None = None,
        solver: str | Solver | None = None,
        pairs: str = "seen",
        min_count: int = 1,
        constrain: str | Iterable[tuple[str, str]] | None = None,
        order: int = 1,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int | None = None,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.template = template
        self.l1 = l1
        self.l2 = l2
        self.penalty = penalty
        self.solver = solver
        self.pairs = pairs
        self.min_count = min_count
        self.constrain = constrain
        self.order = order
        self.class_weight = class_weight
        self.patience = patience
        self.threads = threads
        self.random_state = random_state

    def _samples(
        self,
        X: Any,
        y: Labels,
        table: AttributeTable,
        index: LabelIndex,
        classes: Sequence[Any] | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Samples:
        read = self._read(X, y, table, index, classes)
        template, allowed, ends = read.template, None, None
        if self.constrain is not None:
            names = read.classes.tolist()
            allowed, ends = allowed_transitions(self.constrain, names), allowed_ends(self.constrain, names)
            check_permitted(read.sequences, read.labels, read.classes, allowed, ends)
            if allowed is not None and read.sets:
                check_possible(read.sequences, read.labels, read.sets, allowed, ends)
        bare, chained = (True, True) if template is None else (template.transitions, template.has_transitions)
        if self.order not in (1, 2) or (self.order == 2 and not chained):
            raise ValueError(f"order must be 1, or 2 for a template with a B line, not {self.order!r}.")
        if self.order == 2 and read.sets:
            raise InputError("labels that are known in part are for order=1")
        shape = Shape(self.pairs, chained, allowed, bare, self.order)
        weights = checked_weights(sample_weight, read.sequences.n_sentences)
        by_class = class_weights(self.class_weight, read.labels, read.classes)
        if by_class is not None:
            weights = product(weights, sentence_weights(by_class, read.sequences))
        return replace(read, shape=shape, weights=weights, ends=ends)

    def fit_shards(
        self,
        shards: str | PathLike[str] | TaggerShards,
        *,
        engine: Engine | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train on a folder of shards, which may be larger than memory (:mod:`epigram.tagging.sharding`).

        The folder has its own template, ``min_count`` and ``pairs``. On a cluster (``engine``) the weights have the
        same bits as here, whatever the number of workers.

        Parameters
        ----------
        shards : the folder.
        engine : where the shards are worked on; by default ``threads`` threads of this process.
        dev, callback : as for :meth:`fit`; ``l1="auto"`` is chosen on ``dev``, by SGD on this machine.
        """
        from epigram.tagging.shards import TaggerShards, fit_shards

        if self.order != 1:
            raise ValueError(f"shards are for order=1, not {self.order!r}; use fit for label triples.")
        opened = shards if isinstance(shards, TaggerShards) else TaggerShards.open(shards)
        trained, chosen = fit_shards(self, opened, engine, dev, callback)
        model = trained.samples.model(trained.layout, trained.result.w, trained.squares)
        self._keep(trained.samples, model, {**trained.report(), **chosen})
        self.history_, self._state = trained.history, None
        return self

    def predict(self, X: Any, allowed: Allowed | None = None) -> list[list[str]]:
        """The best labels of each sentence.

        ``allowed`` may give, for each sentence, for each token, the labels to choose from (None: all).
        """
        sequences = self._encode(X)
        return self.named_labels(self.model_.decode(sequences, allowed, self.threads), sequences)

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[list[dict[str, float]]]:
        """p(label) of each token, as dicts; ``allowed`` as for :meth:`predict`."""
        sequences, names = self._encode(X), self.model_.labels
        nodes, _, _ = self.model_.marginals(sequences, allowed)
        flat = [dict(zip(names, row, strict=True)) for row in nodes.tolist()]
        ptr = sequences.word_ptr.tolist()
        return [flat[a:b] for a, b in pairwise(ptr)]

    def marginals(self, X: Any, allowed: Allowed | None = None) -> list[tuple[Floats, Floats]]:
        """For each sentence of n tokens, p(label) as (n, L) and p(label before, label) as (n - 1, L, L)."""
        sequences = self._encode(X)
        nodes, edges, _ = self.model_.marginals(sequences, allowed, with_edges=True)
        bounds = zip(sequences.sentence_ptr[:-1].tolist(), sequences.sentence_ptr[1:].tolist(), strict=True)
        return [(nodes[a:b], edges[a + 1 : b]) for a, b in bounds]

    def predict_nbest(
        self, X: Any, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[list[str], float]]]:
        """The k best labellings of each sentence with their probabilities; fewer where there are fewer."""
        names = self.fitted_model().labels
        return [
            [([names[j] for j in labels.tolist()], p) for labels, p in sentence]
            for sentence in self.model_.n_best(self._encode(X), k, allowed)
        ]

    def confidence(self, X: Any, spans: Sequence[Sequence[tuple[int, Sequence[str]]]]) -> list[list[float]]:
        """Probability that a run of tokens has exactly these labels.

        ``spans`` gives for each sentence pairs (first token, labels), for instance ``(2, ["B-NP", "I-NP"])``.
        """
        sequences = self._encode(X)
        if len(spans) != sequences.n_sentences:
            raise InputError(f"{len(spans)} lists of spans for {sequences.n_sentences} sentences")
        result = []
        for s, wanted in enumerate(spans):
            one = sequences.take([s])
            _, _, whole = self.model_.marginals(one)
            found = []
            for first, labels in wanted:
                fixed: list[Iterable[str] | None] = [None] * int(one.word_lengths.sum())
                if first < 0 or first + len(labels) > len(fixed):
                    raise InputError(f"span {first, labels!r} of sentence {s} leaves its {len(fixed)} tokens")
                fixed[first : first + len(labels)] = [[label] for label in labels]
                try:
                    _, _, part = self.model_.marginals(one, [fixed])
                except NoLabelling:
                    found.append(0.0)
                else:
                    found.append(min(1.0, float(np.exp(part[0] - whole[0]))))
            result.append(found)
        return result

    def explain(self, sentence: Any, token: int) -> Explanation:
        """The weights that speak for a token's label against the runner-up (:mod:`epigram.tagging.explain`).

        Examples
        --------
        >>> tagger = CRFTagger(l1=0.01).fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
        >>> why = tagger.explain([["w=a"], ["w=b"]], 0)
        >>> why.label, why.other, sorted({term.feature for term in why.terms if term.token == 0})
        ('X', 'Y', ['w=a'])
        """
        from epigram.tagging.explain import explain

        return explain(self.fitted_model(), self._encode([sentence]), token)
