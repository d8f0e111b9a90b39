"""DependencyParser: projective dependency trees by a log-linear model of arcs, and relations by a tree CRF.

p(tree, relations | sentence) = p(tree) p(relations | tree). The first is a model of arcs normalised over all
projective trees with one root (McDonald, Crammer and Pereira 2005 has the features, Eisner 1996 the algorithm); the
second is a :class:`~epigram.parsing.TreeTagger`, which sees the tree and ties each relation to that of the head. Both
are compact by l1 and trained by the solvers of everything else. Training trees that are not projective are made so
for the arcs (:mod:`epigram.parsing.projective`), counted, and left as they are for the relations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.parsing.arc_features import Known, encode_arcs, learn_features, locate
from epigram.parsing.arc_loss import ArcLoss, SiblingLoss
from epigram.parsing.arc_model import Allowed, ArcModel, Pruner
from epigram.parsing.conllu import Treebank
from epigram.parsing.explain import HeadExplanation, explain_head
from epigram.parsing.forest_loss import ForestLoss, encode_parts
from epigram.parsing.gold import Gold, gold_of, observed
from epigram.parsing.part_features import part_slots
from epigram.parsing.projective import projectivised
from epigram.parsing.surroundings import surroundings, usual_template
from epigram.parsing.tagger import TreeTagger
from epigram.parsing.templates import BY_CLASS, BY_FEATURES, SMALL, USUAL, ArcTemplate
from epigram.parsing.words import Words, with_classes
from epigram.penalties.separable import L1
from epigram.protocols import Estimator, Floats, Ints, Penalty, Solver, check_fitted
from epigram.solvers.sgd import SGD
from epigram.tagging.formats import Columns
from epigram.tagging.lexicon import Lexicon
from epigram.tagging.model import Allowed as AllowedLabels
from epigram.tagging.problem import Listener, Scorer, Watch, checked_weights, penalty_of, solver_of

Arc = tuple[int, str]
DECODINGS = ("best", "mbr")
STRENGTH, PASSES, RATE = 1.2, 12, 0.1
SLOW_RATE, TRAVEL = 0.03, 60.0
LABEL_SHARE = 0.8  # l1 of relations by that of arcs
UPDATES, UPDATE_RATE = 3, 0.0125  # of partial_fit
PRUNER_PASSES, PRUNER_L1 = 4, 3.0


class DependencyParser(Estimator):
    """Parses sentences into labelled projective dependency trees, with scikit-learn's interface.

    A sentence is a list of rows (word, coarse tag, fine tag and, if there are, morphological features); a tree a list
    of pairs (head, relation), where heads count words from 1 and 0 is the root. :class:`~epigram.parsing.Treebank`
    stands for both.

    Parameters
    ----------
    template : features of arcs (:mod:`epigram.parsing.templates`); None for the usual ones.
    label_template : features of relations, a CRF++ template over the columns of
        :mod:`epigram.parsing.surroundings`; None for the usual ones.
    l1, l2, penalty, solver : of the arcs, as for :class:`~epigram.tagging.CRFTagger`; by default SGD with cumulative
        penalty.
    label_l1 : strength of the penalty of relations; 0.8 times that of the arcs if None.
    min_count : features of the trees' arcs that are met less often are left out.
    often : features met so often on any arc get a weight too; None for none.
    classes : a file of word classes (:mod:`epigram.tagging.lexicon`), kept in the model. The class of a word is a
        column after those of the sentences; the usual template then has lines for it.
    observed : the columns of a treebank that are looked at, in this order; rows have them as they are.
    order : 3 with the template's features of grandparents and siblings, 2 with those of siblings, 1 with arcs alone.
    prune : of order 3, arcs whose probability by a small model of first order is below this share of that of the
        word's likeliest head are in no tree; 0 keeps all arcs, in time that grows with the fourth power of the length.
    constrain : the permitted pairs (relation of the head, relation), in training and prediction; None for all.
    decoding : ``"mbr"``, the tree with most arcs to be expected right, or ``"best"``, the best tree.
    patience : with a held-out set, stop after so many iterations without a better score.
    threads : for OWL-QN, L-BFGS and parsing.
    random_state : seed of the default solver.

    Attributes
    ----------
    arcs_ : the trained :class:`~epigram.parsing.arc_model.ArcModel`.
    labels_ : the trained :class:`~epigram.parsing.TreeTagger` of relations.
    classes_ : the relations, sorted.
    history_ : one dict an iteration: stage (arcs or labels), objective, nonzero, seconds, dev_score.
    fit_ : what the fit ended with, and what it was trained on.

    Examples
    --------
    >>> X = [[("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]] * 3
    >>> y = [[(2, "det"), (3, "nsubj"), (0, "root")]] * 3
    >>> parser = DependencyParser(l1=0.01, min_count=1).fit(X, y)
    >>> parser.predict([[("a", "DET", "DT"), ("cat", "NOUN", "NN"), ("barks", "VERB", "VBZ")]])
    [[(2, 'det'), (3, 'nsubj'), (0, 'root')]]
    """

    arcs_: ArcModel
    labels_: TreeTagger

    def __init__(
        self,
        template: str | ArcTemplate | None = None,
        *,
        label_template: str | None = None,
        l1: float = STRENGTH,
        l2: float = 0.0,
        penalty: Penalty | None = None,
        solver: str | Solver | None = None,
        label_l1: float | None = None,
        min_count: int = 2,
        often: int | None = 40,
        classes: str | PathLike[str] | None = None,
        observed: str = "form,upos,xpos,feats",
        order: int = 3,
        prune: float = 0.003,
        constrain: Iterable[tuple[str, str]] | None = None,
        decoding: str = "mbr",
        patience: int | None = None,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.template = template
        self.label_template = label_template
        self.l1 = l1
        self.l2 = l2
        self.penalty = penalty
        self.solver = solver
        self.label_l1 = label_l1
        self.min_count = min_count
        self.often = often
        self.classes = classes
        self.observed = observed
        self.order = order
        self.prune = prune
        self.constrain = constrain
        self.decoding = decoding
        self.patience = patience
        self.threads = threads
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        dev: Any = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sentences, or a :class:`~epigram.parsing.Treebank`, which has y.
        y : for each sentence a list of (head, relation).
        sample_weight : one weight per sentence.
        dev : held-out sentences and trees, as (X, y) or a treebank; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        gold = self._gold(X, y)
        weights = checked_weights(sample_weight, gold.columns.n_sentences)
        held_out = None if dev is None else self._gold(*(dev if isinstance(dev, tuple) else (dev, None)))
        arcs = self._fit_arcs(gold, weights, held_out, callback)
        labels = self._fit_labels(gold, weights, held_out, callback)
        self.classes_ = self.labels_.classes_
        self.n_features_ = arcs["features"] + labels["features"]
        self.fit_ = {
            **arcs,
            "features": self.n_features_,
            "label_weights": labels["active_features"],
            "active_features": arcs["arc_weights"] + labels["active_features"],
        }
        return self

    def _fit_arcs(
        self, gold: Gold, weights: Floats | None, held_out: Gold | None, callback: Listener | None
    ) -> dict[str, Any]:
        classes = None if self.classes is None else Lexicon.read(f"class:{self.classes}")
        template = _arc_template(self.template, self.order, gold.columns, classes is not None)
        heads, n_lifted, n_arcs = projectivised(gold.heads, gold.columns.sentence_ptr)
        words = Words.of(with_classes(gold.columns, classes), template.n_columns)
        if not gold.columns.n_tokens:
            raise InputError("no words to train on")
        pruner = self._pruner(words, heads, template, weights)
        known = learn_features(words, heads, template, self.min_count, self.often)
        table, loss = known.table, _loss(words, heads, template, known, pruner, weights, self.threads)
        penalty = penalty_of(self.penalty, self.l1, self.l2)
        scorer = None if held_out is None else _arc_scorer(held_out, template, known, classes, pruner)
        watch = Watch(scorer, self.patience, _staged("arcs", callback))
        result = watch.solve(self._solver(self.solver, penalty, usual_rate(loss.n_samples)), loss, penalty)
        if watch.best_w is not None:
            result = replace(result, w=watch.best_w)
        kept = np.flatnonzero(result.w)
        new_ids = np.full(len(table), -1, dtype=np.int32)
        new_ids[kept] = np.arange(len(kept), dtype=np.int32)
        n_features = len(table)
        table.renumber(new_ids)
        places = locate(words, heads, template, table)
        self.arcs_ = ArcModel.of_places(template, words, *places, result.w[kept], classes, pruner)
        self.history_ = [{"stage": "arcs", **entry} for entry in watch.history]
        return {
            "iterations": result.iterations,
            "stopped": result.reason,
            "objective": result.objective,
            "features": n_features,
            "arc_weights": self.arcs_.n_weights,
            "sentences": gold.columns.n_sentences,
            "words": gold.columns.n_tokens,
            "sentences_made_projective": n_lifted,
            "arcs_lifted": n_arcs,
        }

    def _pruner(
        self, words: Words, heads: Ints, template: ArcTemplate, weights: Floats | None
    ) -> Pruner | None:
        """Of third order, a small model of first order that chooses the arcs; None where all are kept."""
        if not 0.0 <= self.prune < 1.0:
            raise ValueError(f"prune is a share from 0 to below 1, not {self.prune!r}.")
        if not template.has_grandparents or not self.prune:
            return None
        small = ArcTemplate.parse(SMALL).within(template.n_columns)
        known = learn_features(words, heads, small, self.min_count, None)
        loss = _loss(words, heads, small, known, None, weights)
        solver = SGD(passes=PRUNER_PASSES, eta0=RATE, random_state=self.random_state)
        w = solver.solve(loss, L1(PRUNER_L1), np.zeros(loss.n_weights)).w
        kept = np.flatnonzero(w)
        new_ids = np.full(len(w), -1, dtype=np.int32)
        new_ids[kept] = np.arange(len(kept), dtype=np.int32)
        known.table.renumber(new_ids)
        places = locate(words, heads, small, known.table)
        return Pruner(ArcModel.of_places(small, words, *places, w[kept]), self.prune)

    def _fit_labels(
        self, gold: Gold, weights: Floats | None, held_out: Gold | None, callback: Listener | None
    ) -> dict[str, Any]:
        label_l1 = LABEL_SHARE * self.l1 if self.label_l1 is None else self.label_l1
        self.labels_ = TreeTagger(
            self.label_template or usual_template(gold.columns.n_columns),
            l1=label_l1,
            solver=self._solver(None, penalty_of(None, label_l1, 0.0), RATE),
            constrain=self.constrain,
            patience=self.patience,
            threads=self.threads,
            random_state=self.random_state,
        )
        dev = None if held_out is None else (held_out.trees(), held_out.relations)
        self.labels_.fit(gold.trees(), gold.relations, weights, dev, _staged("labels", callback))
        self.history_ = self.history_ + [{"stage": "labels", **entry} for entry in self.labels_.history_]
        return self.labels_.fit_

    def partial_fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from more sentences, after ``fit``, ``load`` or other calls; new words and relations are welcome.

        A few passes over the new sentences from the weights there are, at a low rate and with the
        penalty that a sentence has among all so far. Old sentences are not met again.
        """
        if not hasattr(self, "arcs_"):
            return self.fit(X, y, sample_weight)
        gold, old = self._gold(X, y), self.arcs_
        weights = checked_weights(sample_weight, gold.columns.n_sentences)
        heads, n_lifted, n_arcs = projectivised(gold.heads, gold.columns.sentence_ptr)
        words = old.encode(gold.columns)
        known = learn_features(words, heads, old.template, 1, None, old.keys)
        of_parts = old.keys[old.owners >= len(old.template.arc_lines)]
        known = known._replace(parts=np.union1d(known.parts, of_parts))
        table, loss = known.table, _loss(words, heads, old.template, known, old.pruner, weights, self.threads)
        start = np.concatenate([old.weights.astype(np.float64), np.zeros(len(table) - len(old))])
        seen = self.fit_["sentences"]
        share = loss.n_samples / (seen + loss.n_samples)
        solver = SGD(passes=UPDATES, eta0=UPDATE_RATE, decay=1.0, random_state=self.random_state)
        w = solver.solve(loss, L1(share * self.l1), start).w
        places, sentences = locate(words, heads, old.template, table)
        new = slice(len(old), None)
        added = ArcModel.of_places(old.template, words, places[new], sentences[new], w[new])
        self.arcs_ = replace(old, weights=w[: len(old)].astype(np.float32)).followed_by(added)
        self.labels_.partial_fit(gold.trees(), gold.relations, sample_weight=weights)
        self.classes_, self.history_ = self.labels_.classes_, []
        counts = {"sentences": loss.n_samples, "words": gold.columns.n_tokens,
                  "sentences_made_projective": n_lifted, "arcs_lifted": n_arcs}  # fmt: skip
        self.fit_ = {**self.fit_, **{name: self.fit_[name] + n for name, n in counts.items()}}
        label_weights = self.labels_.model_.weights.n_nonzero
        self.fit_ |= {"arc_weights": self.arcs_.n_weights, "label_weights": label_weights}
        self.fit_["active_features"] = self.arcs_.n_weights + label_weights
        return self

    def _solver(self, given: str | Solver | None, penalty: Penalty, rate: float) -> Solver:
        """The solver given, or the usual one: SGD in few passes for l1, from a rate on in a straight line to zero."""
        usual = solver_of(None, penalty, self.random_state)
        if given is None and isinstance(usual, SGD):
            return SGD(schedule="linear", passes=PASSES, eta0=rate, random_state=self.random_state)
        return solver_of(given, penalty, self.random_state)

    def predict(
        self, X: Any, allowed: Allowed | None = None, relations: AllowedLabels | None = None
    ) -> list[list[Arc]]:
        """The tree of each sentence, as pairs (head, relation).

        ``allowed`` may give, for each sentence, for each word, the heads to choose from (None: all), and ``relations``
        the relations: one of them requires it.
        """
        columns = self._observed(X)
        heads = self.predict_heads(columns, allowed)
        names = self.predict_relations(columns, heads, relations)
        pairs = list(zip(heads.tolist(), names, strict=True))
        return [pairs[a:b] for a, b in itertools.pairwise(columns.sentence_ptr.tolist())]

    def predict_heads(self, X: Any, allowed: Allowed | None = None) -> Ints:
        """Head of every word, all sentences end to end."""
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding must be one of {', '.join(DECODINGS)}, not {self.decoding!r}.")
        model = self._check()
        return model.decode(model.encode(self._observed(X)), self.decoding, allowed, self.threads)

    def predict_relations(
        self, X: Any, heads: npt.ArrayLike, allowed: AllowedLabels | None = None
    ) -> list[str]:
        """Relation of every word of trees that are given, all sentences end to end; of those ``allowed``."""
        self._check()
        columns, given = self._observed(X), np.asarray(heads, dtype=np.int32)
        if not columns.n_tokens:
            return []
        trees = surroundings(columns, np.maximum(given - 1, -1).astype(np.int32))
        model = self.labels_.model_
        ids = model.decode(model.encode(trees), allowed, self.threads)
        return [model.labels[k] for k in ids.tolist()]

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[Floats]:
        """Of each sentence of n words p(head) as (n + 1, n): row 0 is the root, and columns sum to 1."""
        model = self._check()
        return [p for p, _ in model.marginals(model.encode(self._observed(X)), allowed, self.threads)]

    def predict_nbest(
        self, X: Any, k: int = 5, allowed: Allowed | None = None, relations: AllowedLabels | None = None
    ) -> list[list[tuple[list[Arc], float]]]:
        """The k best trees of each sentence, with p(tree) and the best relations of each; see :meth:`predict`."""
        model, columns = self._check(), self._observed(X)
        found = model.n_best(model.encode(columns), k, allowed)
        rows = [s for s, own in enumerate(found) for _ in own]
        if not rows:
            return [[] for _ in found]
        heads = np.concatenate([heads for own in found for heads, _ in own])
        free = None if relations is None else [relations[s] for s in rows]
        names = iter(self.predict_relations(columns.take(rows), heads, free))
        return [[([(head, next(names)) for head in heads.tolist()], p) for heads, p in own] for own in found]

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of words with the right head and relation (LAS), subtypes of relations left aside."""
        gold = self._gold(X, y)
        weights = checked_weights(sample_weight, gold.columns.n_sentences)
        heads = self.predict_heads(gold.columns)
        relations = self.predict_relations(gold.columns, heads)
        names = itertools.chain.from_iterable(gold.relations)
        same = [a.partition(":")[0] == b.partition(":")[0] for a, b in zip(names, relations, strict=True)]
        lengths = np.diff(gold.columns.sentence_ptr)
        per_word = np.repeat(np.ones(len(lengths)) if weights is None else weights, lengths)
        right = np.array(same, dtype=bool) & (heads == gold.heads)
        return float(right @ per_word / per_word.sum()) if per_word.any() else 0.0

    def explain(self, sentence: Any, word: int) -> HeadExplanation:
        """Why a word (from 1) has its head and not the runner-up: the weights of both, which sum to the difference.

        ``sentence`` is one, or a treebank of one.
        """
        model = self._check()
        X = sentence if isinstance(sentence, Treebank) else [sentence]
        return explain_head(model, model.encode(self._observed(X)), word)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file."""
        from epigram.parsing.storage import to_model_file

        self._check()
        to_model_file(self).save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file."""
        from epigram.parsing.storage import FAMILY, from_model_file
        from epigram.storage import ModelFile
        from epigram.storage.file import blaming

        file = ModelFile.load(path, FAMILY)
        with blaming(path):
            parser: Self = from_model_file(file)
        return parser

    def _observed(self, X: Any) -> Columns:
        """The sentences of what is given."""
        return observed(X, self._names())

    def _gold(self, X: Any, y: Any) -> Gold:
        """Sentences with their trees, checked."""
        return gold_of(X, y, self._names())

    def _names(self) -> list[str]:
        """The columns of a treebank that are looked at."""
        return [name.strip() for name in self.observed.split(",")]

    def _check(self) -> ArcModel:
        check_fitted(self, "arcs_")
        return self.arcs_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def usual_rate(n_sentences: int) -> float:
    """The first rate of SGD over trees: many features share a step, so it is low where there are sentences enough.

    Examples
    --------
    >>> usual_rate(100), usual_rate(1000), usual_rate(10000)
    (0.1, 0.06, 0.03)
    """
    return min(RATE, max(SLOW_RATE, TRAVEL / max(1, n_sentences)))


def _arc_template(
    given: str | ArcTemplate | None, order: int, columns: Columns, by_class: bool
) -> ArcTemplate:
    """The template given, or the usual one for these columns and, if asked, one more of classes; up to an order."""
    if order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3, not {order!r}.")
    if given is None:
        tells = columns.n_columns > 3 and len(np.unique(columns.columns[3].ids)) > 1
        usual = USUAL + BY_FEATURES if tells else USUAL
        given = usual + BY_CLASS.format(columns.n_columns) if by_class else usual
    return (given if isinstance(given, ArcTemplate) else ArcTemplate.parse(given)).of_order(order)


def _loss(
    words: Words,
    heads: Ints,
    template: ArcTemplate,
    known: Known,
    pruner: Pruner | None,
    weights: Floats | None = None,
    threads: int = 1,
    given: bool = True,
) -> ArcLoss:
    """The loss of trees, of the order of the template; trees that are ``given`` are never pruned."""
    n_weights, slots = len(known.table), part_slots(known.table, known.parts)
    if template.has_grandparents:
        keep = _all_arcs(words) if pruner is None else pruner.kept(words, heads if given else None)
        parts = encode_parts(words, template, known.table, slots, keep)
        return ForestLoss(parts, heads, n_weights, weights, threads)
    arcs = encode_arcs(words, template, known.table)
    if not template.sibling_lines:
        return ArcLoss(arcs, heads, n_weights, weights, threads)
    return SiblingLoss(arcs, heads, n_weights, weights, threads, words, template, slots)


def _all_arcs(words: Words) -> npt.NDArray[np.uint8]:
    """Every arc of every sentence is kept."""
    return np.ones(int((words.lengths * (words.lengths + 1)).sum()), dtype=np.uint8)


def _staged(stage: str, callback: Listener | None) -> Listener | None:
    """The callback with the stage in its entries."""
    return None if callback is None else lambda entry: callback({"stage": stage, **entry})


def _arc_scorer(
    gold: Gold, template: ArcTemplate, known: Known, classes: Lexicon | None, pruner: Pruner | None
) -> Scorer:
    """UAS of weights on other sentences."""
    words = Words.of(with_classes(gold.columns, classes), template.n_columns)
    return _loss(words, gold.heads, template, known, pruner, given=False).attachment
