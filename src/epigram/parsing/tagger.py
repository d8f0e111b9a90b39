"""TreeTagger: labels the nodes of given trees by a tree CRF. Tsuruoka et al. 2009, section 2.

The linear chain's model with the parent in place of the token before: weights on (attribute, label) and on (label of
the parent, label), the latter with attributes of their own where a template has ``B`` lines with cells. Sums and
maxima over all labellings are exact, up and down the tree (``_core/tree_chain.h``). On a path it is
:class:`CRFTagger`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NoReturn, Self

import numpy.typing as npt

from epigram.penalties.ball import L1Ball
from epigram.protocols import Floats, Penalty, Solver
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.corpus import LabelIndex, Labels, Sequences
from epigram.tagging.crf import CRFTagger
from epigram.tagging.explain import Explanation, explain
from epigram.tagging.model import Allowed
from epigram.tagging.problem import Listener, Samples
from epigram.tagging.template import Template
from epigram.tagging.trees import Trees


class TreeTagger(CRFTagger):
    """Labels the nodes of given trees by a conditional random field, with scikit-learn's interface.

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

    _takes_sets = False

    def __init__(
        self,
        template: str | PathLike[str] | Template | None = None,
        *,
        l1: float = 1.0,
        l2: float = 0.0,
        penalty: Penalty | L1Ball | None = None,
        solver: str | Solver | None = None,
        pairs: str = "seen",
        min_count: int = 1,
        constrain: Iterable[tuple[str, str]] | None = None,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int | None = None,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            template,
            l1=l1,
            l2=l2,
            penalty=penalty,
            solver=solver,
            pairs=pairs,
            min_count=min_count,
            constrain=constrain,
            class_weight=class_weight,
            patience=patience,
            threads=threads,
            random_state=random_state,
        )

    def _samples(
        self,
        X: Any,
        y: Labels,
        table: AttributeTable,
        index: LabelIndex,
        classes: Sequence[Any] | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Samples:
        if isinstance(self.constrain, str):
            raise ValueError(
                f"constrain={self.constrain!r} is a scheme of chains; give a list of pairs (parent's label, label)."
            )
        return super()._samples(Trees.of(X), y, table, index, classes, sample_weight)

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
        X : pairs (parents, tokens), one a tree, or :class:`~epigram.parsing.Trees`.
        y : a list of labels per tree, or a column of a file.
        sample_weight : one weight per tree.
        dev : held-out trees and labels; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        held_out = None if dev is None else (Trees.of(dev[0]), dev[1])
        return super().fit(X, y, sample_weight, held_out, callback)

    def _encode(self, X: Any) -> Sequences:
        return super()._encode(Trees.of(X))

    def marginals(self, X: Any, allowed: Allowed | None = None) -> list[tuple[Floats, Floats]]:
        """For each tree of n nodes, p(label) as (n, L) and p(label of the parent, label) as (n, L, L), 0 for roots."""
        sequences = self._encode(X)
        nodes, edges, _ = self.model_.marginals(sequences, allowed, with_edges=True)
        bounds = zip(sequences.sentence_ptr[:-1].tolist(), sequences.sentence_ptr[1:].tolist(), strict=True)
        return [(nodes[a:b], edges[a:b]) for a, b in bounds]

    def explain(self, sentence: Any, token: int) -> Explanation:
        """The weights that speak for a node's label against the runner-up (:mod:`epigram.tagging.explain`).

        ``sentence`` is one tree.
        """
        return explain(
            self.fitted_model(), self._encode(sentence if isinstance(sentence, Trees) else [sentence]), token
        )

    def fit_shards(self, *_: Any, **__: Any) -> NoReturn:
        """Folders of shards hold chains only."""
        raise ValueError("TreeTagger trains in memory; folders of shards hold chains only. Use fit.")
