"""DependencyParser: projective trees by a log-linear arc model, relations by a tree CRF.

p(tree, relations | sentence) = p(tree) p(relations | tree). The first factor is a model of arcs normalised over all
projective trees with one root (features: McDonald, Crammer and Pereira 2005; algorithm: Eisner 1996). The second is a
:class:`~epigram.parsing.TreeTagger`, which reads the tree and ties each relation to that of the head. Training trees
that are not projective are made so for the arcs (:mod:`epigram.parsing.projective`); relations are trained on the trees
as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from epigram.chain.model import Allowed as AllowedLabels
from epigram.errors import InputError
from epigram.estimator import check_fitted, checked_weights
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Columns
from epigram.features.lexicon import WordTable
from epigram.parsing.arc_features import learn_features, locate
from epigram.parsing.arc_model import ArcModel
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_training import (
    RATE,
    ArcSamples,
    build_loss,
    choose_rate,
    choose_template,
    compact_model,
    kept_arcs,
    train_pruner,
)
from epigram.parsing.arc_words import Words, append_classes
from epigram.parsing.explain import HeadExplanation, explain_head
from epigram.parsing.projective import projectivise
from epigram.parsing.pruning import Allowed
from epigram.parsing.tree_columns import add_tree_columns, default_template, parents_of
from epigram.parsing.tree_tagger import TreeTagger
from epigram.parsing.treebank import Gold, Treebank, as_treebank, observed_columns, read_gold
from epigram.penalties.separable import L1, penalty_of
from epigram.protocols import Floats, Ints, Penalty, Solver
from epigram.solvers.history import Listener, Scorer, Watch
from epigram.solvers.make import make
from epigram.solvers.sgd import SGD
from epigram.storage.settings import StoredEstimator

Arc = tuple[int, str]
DECODINGS = ("best", "mbr")
STRENGTH, PASSES = 1.2, 10
LABEL_SHARE = 0.8  # l1 of relations as a share of that of arcs
UPDATES, UPDATE_RATE = 3, 0.0125  # passes and learning rate of partial_fit


@dataclass(eq=False, repr=False)
class DependencyParser(StoredEstimator):
    """Parses sentences into labelled projective dependency trees, with scikit-learn's interface.

    A sentence is a list of rows (word, coarse tag, fine tag and, optionally, morphological features). A tree is a list
    of pairs (head, relation); heads count words from 1, and 0 is the root. :class:`~epigram.parsing.Treebank` has both.

    Parameters
    ----------
    template : features of arcs (:mod:`epigram.parsing.arc_templates`); None for the built-in ones.
    label_template : features of relations, a CRF++ template over the columns of
        :meth:`epigram.parsing.Treebank.trees`; None for the built-in ones.
    l1 : strength of the penalty ``l1 * sum |w|`` of the arcs.
    l2 : strength of the penalty ``l2 * sum w^2`` of the arcs.
    penalty, solver : of the arcs, as for :class:`~epigram.tagging.CRFTagger`; by default SGD with cumulative penalty.
    label_l1 : strength of the l1 penalty of the relations; 0.8 times that of the arcs unless given.
    min_count : least number of occurrences, in the training trees, of a feature with a weight.
    often : number of occurrences on arcs that pruning keeps from which a feature gets a weight too. None for none of
        them.
    classes : file of word classes, stored in the model (:mod:`epigram.features.lexicon`). The class of a word is a
        column after those of the sentences; the built-in template then has lines for it.
    observed : columns of the treebank that features read, in the order in which rows have them.
    order : 1 scores arcs alone, 2 also siblings, 3 also grandparents.
    prune : share of the likeliest head's probability below which orders 2 and 3 drop a head. The probability is that of
        a small first-order model. In training, where that model is surer, a third of it. 0 keeps all arcs; time then
        grows with the fourth power of the sentence length.
    constrain : the permitted pairs (relation of the head, relation), in training and prediction; None for all.
    decoding : tree to predict: most expected correct arcs (``"mbr"``), or the most probable (``"best"``).
    patience : iterations without a better score on the held-out set after which training stops.
    threads : number of threads of OWL-QN, L-BFGS and parsing.
    random_state : seed of the default solver.

    Attributes
    ----------
    arcs_ : the trained :class:`~epigram.parsing.arc_model.ArcModel`.
    labels_ : the trained :class:`~epigram.parsing.TreeTagger` of relations.
    classes_ : the relations, sorted.
    history_ : one dict per iteration: stage (arcs or labels), objective, nonzero, seconds, dev_score.
    fit_ : counts of the training set, and the state at the end of training.

    Examples
    --------
    >>> X = [[("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]] * 3
    >>> y = [[(2, "det"), (3, "nsubj"), (0, "root")]] * 3
    >>> parser = DependencyParser(l1=0.01, min_count=1).fit(X, y)
    >>> parser.predict([[("a", "DET", "DT"), ("cat", "NOUN", "NN"), ("barks", "VERB", "VBZ")]])
    [[(2, 'det'), (3, 'nsubj'), (0, 'root')]]
    """

    template: str | ArcTemplate | None = None
    _: KW_ONLY
    label_template: str | None = None
    l1: float = STRENGTH
    l2: float = 0.0
    penalty: Penalty | None = None
    solver: str | Solver | None = None
    label_l1: float | None = None
    min_count: int = 2
    often: int | None = 40
    classes: str | PathLike[str] | None = None
    observed: str = "form,upos,xpos,feats"
    order: int = 3
    prune: float = 0.03
    constrain: Iterable[tuple[str, str]] | None = None
    decoding: Literal["mbr", "best"] = "mbr"
    patience: int | None = None
    threads: int = 1
    random_state: int | None = 0
    _family: ClassVar[str] = "parser"
    arcs_: ArcModel = field(init=False)
    labels_: TreeTagger = field(init=False)

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
        X : sentences; or, with y in it, a :class:`~epigram.parsing.Treebank` or the :class:`~pathlib.Path` of a CoNLL-U
            file.
        y : for each sentence a list of (head, relation).
        sample_weight : one weight per sentence.
        dev : held-out sentences and trees, as (X, y) or a treebank; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        X = as_treebank(X)
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
        if isinstance(X, Treebank) and (empty := X.empty_columns(self._names())):
            self.fit_["empty_columns"] = empty
        return self

    def _fit_arcs(
        self, gold: Gold, weights: Floats | None, held_out: Gold | None, callback: Listener | None
    ) -> dict[str, Any]:
        if not gold.columns.n_tokens:
            raise InputError("no words to train on; give at least one sentence")
        classes = None if self.classes is None else WordTable.read(f"class:{self.classes}")
        template = choose_template(self.template, self.order, gold.columns, classes is not None)
        heads, n_lifted, n_arcs = projectivise(gold.heads, gold.columns.sentence_ptr)
        samples = ArcSamples(
            Words.of(append_classes(gold.columns, classes), template.n_columns), heads, weights
        )
        pruner = train_pruner(samples, template, self.min_count, self.prune, self.random_state)
        keep = kept_arcs(samples, pruner, self.threads)
        known = learn_features(samples.words, heads, template, self.min_count, self.often, keep)
        loss = build_loss(samples, template, known, keep, self.threads)
        scorer: Scorer | None = None
        if held_out is not None:
            words = Words.of(append_classes(held_out.columns, classes), template.n_columns)
            dev = ArcSamples(words, held_out.heads)
            scorer = build_loss(
                dev, template, known, kept_arcs(dev, pruner, self.threads, held_out=True)
            ).attachment
        keys, penalty = known.keys, penalty_of(self.penalty, self.l1, self.l2)
        watch = Watch(scorer, self.patience, _staged("arcs", callback))
        result = watch.solve(self._solver(self.solver, penalty, choose_rate(loss.n_samples)), loss, penalty)
        w = result.w if watch.best_w is None else watch.best_w
        self.arcs_ = compact_model(samples, template, keys, w, classes, pruner, keep)
        self.history_ = [{"stage": "arcs", **entry} for entry in watch.history]
        return {
            "iterations": result.iterations,
            "stopped": result.reason,
            "objective": result.objective,
            "features": len(keys),
            "arc_weights": self.arcs_.n_weights,
            "sentences": gold.columns.n_sentences,
            "words": gold.columns.n_tokens,
            "sentences_made_projective": n_lifted,
            "arcs_lifted": n_arcs,
        }

    def _fit_labels(
        self, gold: Gold, weights: Floats | None, held_out: Gold | None, callback: Listener | None
    ) -> dict[str, Any]:
        label_l1 = LABEL_SHARE * self.l1 if self.label_l1 is None else self.label_l1
        self.labels_ = TreeTagger(
            self.label_template or default_template(gold.columns.n_columns),
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
        """Train on more sentences after ``fit`` or ``load``; words and relations may be new.

        Makes a few passes over the new sentences, from the present weights, at a low learning rate and with the penalty
        that a sentence has among all so far. Earlier sentences are not used again.
        """
        if not hasattr(self, "arcs_"):
            return self.fit(X, y, sample_weight)
        gold, old = self._gold(X, y), self.arcs_
        weights = checked_weights(sample_weight, gold.columns.n_sentences)
        heads, n_lifted, n_arcs = projectivise(gold.heads, gold.columns.sentence_ptr)
        words = old.encode(gold.columns)
        samples = ArcSamples(words, heads, weights)
        known = learn_features(words, heads, old.template, 1, None, known=old.keys)
        of_parts = old.keys[old.owners >= len(old.template.arc_lines)]
        known = known._replace(parts=np.union1d(known.parts, of_parts))
        keep = kept_arcs(samples, old.pruner, self.threads)
        loss = build_loss(samples, old.template, known, keep, self.threads)
        start = np.concatenate([old.weights.astype(np.float64), np.zeros(len(known.keys) - len(old))])
        seen = self.fit_["sentences"]
        share = loss.n_samples / (seen + loss.n_samples)
        solver = SGD(passes=UPDATES, eta0=UPDATE_RATE, decay=1.0, random_state=self.random_state)
        w = solver.solve(loss, L1(share * self.l1), start).w
        places, sentences = locate(words, heads, old.template, AttributeTable(known.keys), keep)
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
        """Return the solver given, or the default: for l1, SGD at a rate that falls linearly."""
        solver = make(given, penalty, random_state=self.random_state)
        if given is None and isinstance(solver, SGD):
            return SGD(schedule="linear", passes=PASSES, eta0=rate, random_state=self.random_state)
        return solver

    def predict(
        self, X: Any, allowed: Allowed | None = None, relations: AllowedLabels | None = None
    ) -> list[list[Arc]]:
        """Return the tree of each sentence, as pairs (head, relation).

        ``allowed`` may give, for each sentence and word, the heads to choose from (None: all); ``relations`` does so
        for the relations. A single choice is a requirement.
        """
        columns = self._observed(X, warn=True)
        heads = self.predict_heads(columns, allowed)
        names = self.predict_relations(columns, heads, relations)
        pairs = list(zip(heads.tolist(), names, strict=True))
        return [pairs[a:b] for a, b in itertools.pairwise(columns.sentence_ptr.tolist())]

    def predict_heads(self, X: Any, allowed: Allowed | None = None) -> Ints:
        """Return the head of every word, all sentences end to end."""
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding must be one of {', '.join(DECODINGS)}, not {self.decoding!r}.")
        model = self._check()
        return model.decode(model.encode(self._observed(X, warn=True)), self.decoding, allowed, self.threads)

    def predict_relations(
        self, X: Any, heads: npt.ArrayLike, allowed: AllowedLabels | None = None
    ) -> list[str]:
        """Return the relation of every word of given trees, all sentences end to end."""
        self._check()
        columns, given = self._observed(X), np.asarray(heads, dtype=np.int32)
        if not columns.n_tokens:
            return []
        trees = add_tree_columns(columns, parents_of(given))
        model = self.labels_.model_
        ids = model.decode(model.encode(trees), allowed, self.threads)
        return [model.labels[k] for k in ids.tolist()]

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[Floats]:
        """Return p(head) per sentence of n words as (n + 1, n): row 0 is the root, columns sum to 1."""
        model = self._check()
        return [p for p, _ in model.marginals(model.encode(self._observed(X)), allowed, self.threads)]

    def predict_nbest(
        self, X: Any, k: int = 5, allowed: Allowed | None = None, relations: AllowedLabels | None = None
    ) -> list[list[tuple[list[Arc], float]]]:
        """Return the k best trees of each sentence, each with its best relations and p(tree).

        ``allowed`` and ``relations`` are as for :meth:`predict`.
        """
        model, columns = self._check(), self._observed(X, warn=True)
        found = model.n_best(model.encode(columns), k, allowed)
        rows = [s for s, own in enumerate(found) for _ in own]
        if not rows:
            return [[] for _ in found]
        heads = np.concatenate([heads for own in found for heads, _ in own])
        free = None if relations is None else [relations[s] for s in rows]
        names = iter(self.predict_relations(columns.take(rows), heads, free))
        return [[([(head, next(names)) for head in heads.tolist()], p) for heads, p in own] for own in found]

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the labelled attachment score (LAS) as a share; subtypes of relations do not count."""
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
        """Explain the head of a word (from 1) by the weights against the best other tree.

        ``sentence`` is a list of rows, or a treebank of one sentence.
        """
        model = self._check()
        X = sentence if isinstance(sentence, Treebank) else [sentence]
        return explain_head(model, model.encode(self._observed(X)), word)

    def _observed(self, X: Any, warn: bool = False) -> Columns:
        """Return the observed columns; ``warn`` of those that are empty in a treebank."""
        X = as_treebank(X)
        if warn and isinstance(X, Treebank):
            self._check()
            X.warn_of_empty(self._names(), self.fit_.get("empty_columns", ()))
        return observed_columns(X, self._names())

    def _gold(self, X: Any, y: Any) -> Gold:
        """Pair sentences with their trees, and check the trees."""
        return read_gold(X, y, self._names())

    def _names(self) -> list[str]:
        """Return the names of the observed columns."""
        return [name.strip() for name in self.observed.split(",")]

    def _check(self) -> ArcModel:
        check_fitted(self, "arcs_")
        return self.arcs_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def _staged(stage: str, callback: Listener | None) -> Listener | None:
    """Wrap a callback so that entries of the history say the stage."""
    return None if callback is None else lambda entry: callback({"stage": stage, **entry})
