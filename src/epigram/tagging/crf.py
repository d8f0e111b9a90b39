"""CRFTagger: a linear-chain conditional random field (Lafferty et al. 2001)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from epigram.chain.constraints import Scheme
from epigram.chain.crf import CRFEstimator
from epigram.chain.estimator import naming_parameters
from epigram.chain.labels import Labels
from epigram.chain.layout import Pairs
from epigram.chain.model import Allowed
from epigram.protocols import Floats
from epigram.solvers.history import Listener

if TYPE_CHECKING:
    from epigram.outofcore.engine import Engine
    from epigram.tagging.outofcore.crf import TaggerShards


@naming_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class CRFTagger(CRFEstimator):
    """Labels tokens by a linear-chain conditional random field; scikit-learn estimator.

    Parameters
    ----------
    template : a CRF++ template (text, file name, or one of ``"chunking"``, ``"ner"``, ``"pos"``) for sentences
        given as rows of columns; None for sentences given as features (a dict or a list of strings a token).
    l1 : strength of the penalty ``l1 * sum |w|``; ``"auto"`` chooses it on held-out sentences. These are ``dev``, or a
        tenth of the training sentences (:mod:`epigram.chain.l1_path`). The objective is a sum over sentences, so few
        sentences want a weaker ``l1`` than many.
    l2 : strength of the penalty ``l2 * sum w^2``.
    penalty : an object in place of l1 and l2, such as ``L1(1.0)``, ``ElasticNet(1.0, 0.5)`` or ``L1Ball(500.0)``.
    solver : an object such as ``SGD(passes=10)``, or one of ``"sgd"``, ``"adagrad"``, ``"owlqn"``, ``"lbfgs"``,
        ``"fista"``; by default what fits the penalty: SGD with cumulative penalty for l1, OWL-QN or L-BFGS with l2,
        FISTA for anything else.
    pairs : (feature, label) pairs that get a weight: those of the training data, or all.
    min_count : least number of occurrences of a feature that gets a weight.
    constrain : chunk scheme that labels must follow, in training and decoding. Or a list of permitted label pairs.
    order : number of labels to the left that a label depends on, 1 or 2.
    class_weight : weight of each label, or ``"balanced"``. A sentence weighs the mean weight of its labels.
    patience : iterations without a better score on the held-out set after which training stops.
    threads : number of threads of OWL-QN, L-BFGS and decoding.
    random_state : seed of the default solver.

    Attributes
    ----------
    classes_ : the labels, sorted.
    model_ : the trained :class:`~epigram.chain.model.ChainModel`.
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

    kind = "crf"
    _takes_sets = True

    pairs: Pairs = "seen"
    constrain: Scheme | Iterable[tuple[str, str]] | None = None
    order: int = 1

    def fit_shards(
        self,
        shards: str | PathLike[str] | TaggerShards,
        *,
        engine: Engine | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train on a folder of shards, which may be larger than memory.

        The folder has its own template, ``min_count`` and ``pairs``. On a cluster (``engine``) the weights have the
        same bits as here, whatever the number of workers.

        Parameters
        ----------
        shards : the folder.
        engine : where the shards are worked on; by default ``threads`` threads of this process.
        dev, callback : as for :meth:`fit`; ``l1="auto"`` is chosen on ``dev``, by SGD on this machine.
        """
        from epigram.tagging.outofcore.crf import TaggerShards, fit_shards

        if self.order != 1:
            raise ValueError(f"shards are for order=1, not {self.order!r}; use fit for label triples.")
        opened = shards if isinstance(shards, TaggerShards) else TaggerShards.open(shards)
        trained, chosen = fit_shards(self, opened, engine, dev, callback)
        model = trained.samples.model(trained.layout, trained.result.w, trained.squares)
        self._keep(trained.samples, model, {**trained.report(), **chosen})
        self.history_, self._state = trained.history, None
        return self

    def marginals(self, X: Any, allowed: Allowed | None = None) -> list[tuple[Floats, Floats]]:
        """Return p(label) (n, L) and p(label before, label) (n - 1, L, L) of each sentence."""
        return self._pair_marginals(X, allowed, 1)
