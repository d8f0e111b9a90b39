"""TreeTagger: a CRF over the nodes of given trees (Tsuruoka et al. 2009, section 2).

The linear-chain model with the parent in place of the previous token: weights on (attribute, label) and on (label of
the parent, label), the latter with attributes if a template has ``B`` lines with cells. Sums and maxima over all
labellings are exact, by messages up and down the tree (``_core/tree_chain.h``). On a path the model is that of
:class:`~epigram.tagging.CRFTagger`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy.typing as npt

from epigram.chain.crf import CRFEstimator
from epigram.chain.estimator import Names
from epigram.chain.explain import LabelExplanation, explain
from epigram.chain.labels import Labels
from epigram.chain.layout import Pairs
from epigram.chain.model import Allowed
from epigram.chain.problem import Samples
from epigram.features.sequences import Sequences
from epigram.features.trees import Trees
from epigram.parsing.treebank import read_treebank
from epigram.protocols import Floats
from epigram.solvers.history import Listener


@dataclass(eq=False, repr=False, kw_only=True)
class TreeTagger(CRFEstimator):
    """Labels the nodes of given trees by a CRF, with scikit-learn's interface.

    A tree is a pair (parents, tokens): parents are counted from 0, -1 is a root; tokens are as for
    :class:`~epigram.tagging.CRFTagger`. :meth:`epigram.parsing.Treebank.trees` makes them from a CoNLL-U file.

    Parameters
    ----------
    template, l1, l2, penalty, solver, pairs, min_count, class_weight, patience, threads, random_state : as for
        :class:`~epigram.tagging.CRFTagger`; ``B`` lines of a template are weights of (label of the parent, label).
    constrain : a list of permitted pairs (label of the parent, label), in training and decoding.

    Attributes
    ----------
    classes_, model_, history_, n_features_ : as for :class:`~epigram.tagging.CRFTagger`.

    Examples
    --------
    >>> X = [([1, -1, 1], [["w=dogs"], ["w=chase"], ["w=cats"]]), ([1, -1], [["w=cats"], ["w=sleep"]])]
    >>> y = [["subject", "root", "object"], ["subject", "root"]]
    >>> tagger = TreeTagger(l1=0.01).fit(X, y)
    >>> tagger.predict([([1, -1], [["w=dogs"], ["w=sleep"]])])
    [['subject', 'root']]
    """

    kind = "tree"
    pairs: Pairs = "seen"
    constrain: Iterable[tuple[str, str]] | None = None

    def _samples(self, X: Any, y: Labels, names: Names, sample_weight: npt.ArrayLike | None) -> Samples:
        if isinstance(self.constrain, str):
            raise ValueError(
                f"constrain={self.constrain!r} is a chunk scheme; give a list of pairs (parent's label, label)."
            )
        return super()._samples(Trees.of(X), y, names, sample_weight)

    def fit(
        self,
        X: Any,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : pairs (parents, tokens), one per tree, :class:`~epigram.parsing.Trees`, or the :class:`~pathlib.Path` of a
            CoNLL-U file, whose relations are the labels.
        y : a list of labels per tree, or a column of a file.
        sample_weight : one weight per tree.
        dev : held-out trees and labels; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        if isinstance(X, PathLike) and y is None:
            bank = read_treebank(X)
            bank.check_heads()
            X, y = bank.trees(), bank.relations()
        held_out = None if dev is None else (Trees.of(dev[0]), dev[1])
        return super().fit(X, y, sample_weight, held_out, callback)

    def _encode(self, X: Any) -> Sequences:
        return super()._encode(Trees.of(read_treebank(X).trees() if isinstance(X, PathLike) else X))

    def marginals(self, X: Any, allowed: Allowed | None = None) -> list[tuple[Floats, Floats]]:
        """Return p(label) as (n, L) and p(parent's label, label) as (n, L, L) of each tree."""
        return self._pair_marginals(X, allowed, 0)

    def explain(self, sentence: Any, token: int) -> LabelExplanation:
        """Explain a node's label by weights against the runner-up (:mod:`epigram.chain.explain`).

        ``sentence`` is one tree.
        """
        trees = self._encode(sentence if isinstance(sentence, Trees) else [sentence])
        return self.restore_labels(explain(self.fitted_model(), trees, token))
