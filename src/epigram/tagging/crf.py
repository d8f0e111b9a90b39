"""CRFTagger: a linear-chain CRF with scikit-learn's manners. Lafferty et al. 2001; Tsuruoka et al. 2009."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.estimator import Estimator
from epigram.protocols import Floats, Ints, Solver
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.constraints import allowed_ends, allowed_transitions, check_permitted
from epigram.tagging.estimator import (
    Labels,
    SavableMixin,
    SentenceInputMixin,
    dev_scorer,
    encode_labels,
    has_transitions,
    load_template,
    split_labels,
    token_accuracy,
)
from epigram.tagging.explain import Explanation, explain
from epigram.tagging.layout import WeightLayout
from epigram.tagging.model import Allowed, ChainModel, NoLabelling, encode_sentences
from epigram.tagging.online import Growth, Online, online_of
from epigram.tagging.sequences import Sequences
from epigram.tagging.template import Template
from epigram.tagging.training import (
    Listener,
    checked_weights,
    class_weights,
    renumber,
    sentence_weights,
    train,
)

if TYPE_CHECKING:
    from epigram.scale.checkpoint import Checkpoint
    from epigram.scale.engine import Engine
    from epigram.tagging.shards import TaggerShards


class CRFTagger(SentenceInputMixin, SavableMixin, Estimator):
    """Linear-chain conditional random field.

    Parameters
    ----------
    template : a CRF++ template (text, file name, or one of ``"chunking"``, ``"ner"``, ``"pos"``) for sentences
        given as rows of columns; None for sentences given as features (a dict or a list of strings a token).
    l1, l2 : strengths of ``l1 * sum |w|`` and ``l2 * sum w^2``; the objective is a sum over sentences.
    solver : ``SGD``, ``AdaGrad``, ``OWLQN``, ``LBFGS`` or, with l1 = 0, ``ProjectedSGD`` object; by default SGD with
        cumulative penalty for a pure l1 penalty, OWL-QN or L-BFGS otherwise.
    pairs : ``"seen"`` gives weights to (feature, label) pairs of the training data only, ``"all"`` to all.
    min_count : features met less often are left out.
    constrain : ``"iob2"``, ``"iob1"``, ``"ioe2"``, ``"bioes"`` or a list of permitted label pairs, in training
        and decoding.
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

    def __init__(
        self,
        template: str | PathLike[str] | Template | None = None,
        *,
        l1: float = 1.0,
        l2: float = 0.0,
        solver: Solver | None = None,
        pairs: str = "seen",
        min_count: int = 1,
        constrain: str | Iterable[tuple[str, str]] | None = None,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int | None = None,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.template = template
        self.l1 = l1
        self.l2 = l2
        self.solver = solver
        self.pairs = pairs
        self.min_count = min_count
        self.constrain = constrain
        self.class_weight = class_weight
        self.patience = patience
        self.threads = threads
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Labels,
        sample_weight: npt.ArrayLike | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sentences; any iterable (generators are streamed), or :class:`Columns`.
        y : a list of labels per sentence, or a :class:`Column`.
        sample_weight : one weight per sentence.
        dev : held-out sentences and labels; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        template = load_template(self.template)
        table = AttributeTable()
        sequences = encode_sentences(X, template, table, grow=True)
        classes, labels = encode_labels(y, sequences)
        allowed = allowed_transitions(self.constrain, classes.tolist())
        ends = allowed_ends(self.constrain, classes.tolist())
        check_permitted(sequences, labels, classes, allowed, ends)
        sequences = renumber(sequences, table, self.min_count)
        trained = train(
            sequences,
            labels,
            len(classes),
            len(table),
            l1=self.l1,
            l2=self.l2,
            solver=self.solver,
            pairs=self.pairs,
            has_transitions=has_transitions(template),
            bare=template is None or template.transitions,
            allowed=allowed,
            weights=self._weights(sequences, labels, classes, sample_weight),
            threads=self.threads,
            random_state=self.random_state,
            scorer=None if dev is None else dev_scorer(dev, template, table, classes, self._decode, ends),
            patience=self.patience,
            listener=callback,
        )
        self._finish(template, table, classes, trained.layout, trained.w, trained.squares, ends)
        self.history_ = trained.history
        self.fit_ = trained.report(sentences=sequences.n_sentences, tokens=sequences.n_tokens)
        self._online = Online.of_fit(self, trained, table, classes)
        return self

    def fit_shards(
        self,
        shards: str | PathLike[str] | TaggerShards,
        *,
        engine: Engine | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Train on a folder of shards, which may be larger than memory (:mod:`epigram.tagging.sharding`).

        The folder has its own template, ``min_count`` and ``pairs``. On a cluster (``engine``) the weights have the
        same bits as here, whatever the number of workers.

        Parameters
        ----------
        shards : the folder.
        engine : where the shards are worked on; by default ``threads`` threads of this process.
        dev, callback : as for :meth:`fit`.
        checkpoint : saves the weights on the way, and starts from saved ones.
        """
        from epigram.tagging.shards import TaggerShards, fit_shards

        opened = shards if isinstance(shards, TaggerShards) else TaggerShards.open(shards)
        trained, table, ends = fit_shards(self, opened, engine, dev, callback, checkpoint)
        classes = np.array(opened.classes, dtype=object)
        self._finish(opened.template, table, classes, trained.layout, trained.w, trained.squares, ends)
        self.history_ = trained.history
        header = opened.manifest.header
        self.fit_ = trained.report(sentences=header["sentences"], tokens=header["tokens"])
        self._online = None
        return self

    def partial_fit(
        self,
        X: Any,
        y: Labels,
        classes: Sequence[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from more sentences, after ``fit``, ``load`` or other calls; new features and labels are welcome.

        What was learnt before keeps its weight: each weight has a rate of its own, which falls with what it has
        learnt, and ``l1`` and ``l2`` are the strengths for all sentences so far, as in :meth:`fit`. ``solver``,
        ``min_count`` and ``patience`` have no meaning here. See :mod:`epigram.tagging.online`.
        """
        template = load_template(self.template)
        online = online_of(self)
        sequences = encode_sentences(X, template, online.table, grow=True)
        found, labels = encode_labels(y, sequences)
        online.add_classes([*found.tolist(), *(() if classes is None else map(str, classes))])
        labels = np.array([online.index[name] for name in found.tolist()], dtype=np.int32)[labels]
        everyone = np.array(list(online.index), dtype=object)
        allowed = allowed_transitions(self.constrain, everyone.tolist())
        ends = allowed_ends(self.constrain, everyone.tolist())
        check_permitted(sequences, labels, everyone, allowed, ends)
        weights = self._weights(sequences, labels, everyone, sample_weight)
        bare = template is None or template.transitions
        growth = Growth(self.pairs, has_transitions(template), bare, allowed)
        layout, w, squares = online.learn(sequences, labels, weights, growth, self.l1, self.l2)
        self._finish(template, online.table, everyone, layout, w, squares, ends)
        self.history_, self.fit_ = [], online.report()
        self._online = online
        return self

    def _finish(
        self,
        template: Template | None,
        table: AttributeTable,
        classes: npt.NDArray[Any],
        layout: WeightLayout,
        w: Floats,
        squares: Floats,
        ends: npt.NDArray[np.bool_] | None,
    ) -> None:
        order = np.argsort(classes.astype(str), kind="stable")
        self.model_ = ChainModel.compact(classes.tolist(), template, table, layout, w, ends, order, squares)
        self.classes_ = classes[order]
        self.n_features_ = layout.n_features

    def _weights(
        self, sequences: Sequences, labels: Ints, classes: npt.NDArray[Any], given: npt.ArrayLike | None
    ) -> Floats | None:
        per_class = class_weights(self.class_weight, labels, classes)
        weights = checked_weights(given, sequences.n_sentences)
        if per_class is None:
            return weights
        by_class = sentence_weights(per_class[labels], sequences.sentence_ptr)
        return by_class if weights is None else weights * by_class

    def predict(self, X: Any, allowed: Allowed | None = None) -> list[list[str]]:
        """The best labels of each sentence.

        ``allowed`` may give, for each sentence, for each token, the labels to choose from (None: all).
        """
        sequences = self._encode(X)
        return split_labels(
            self.model_.decode(sequences, allowed, self.threads), sequences, self.model_.labels
        )

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[list[dict[str, float]]]:
        """p(label) of each token, as dicts; ``allowed`` as for :meth:`predict`."""
        return [
            [dict(zip(self.model_.labels, row, strict=True)) for row in nodes.tolist()]
            for nodes, _ in self.marginals(X, allowed)
        ]

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
        names = self._check().labels
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
                fixed: list[Iterable[str] | None] = [None] * int(one.n_tokens)
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
        return explain(self._check(), self._encode([sentence]), token)

    def score(self, X: Any, y: Labels, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of the tokens that get the right label; ``sample_weight`` is one weight per sentence."""
        sequences = self._encode(X)
        return token_accuracy(self.model_, self._decode(self.model_, sequences), y, sequences, sample_weight)

    def _decode(self, model: ChainModel, sequences: Sequences) -> Ints:
        return model.decode(sequences, None, self.threads)

    def _encode(self, X: Any) -> Sequences:
        return self._check().encode(X)
