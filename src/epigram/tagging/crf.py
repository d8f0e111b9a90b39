"""CRFTagger: a linear-chain conditional random field (Lafferty et al. 2001)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from epigram.chain.crf import CRFEstimator
from epigram.chain.estimator import naming_parameters
from epigram.chain.labels import Labels
from epigram.chain.model import Allowed
from epigram.protocols import Floats
from epigram.training import Listener

if TYPE_CHECKING:
    from epigram.scale.engine import Engine
    from epigram.tagging.shards import TaggerShards


@naming_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class CRFTagger(CRFEstimator):
    """Labels tokens by a linear-chain conditional random field; scikit-learn estimator.

    Parameters
    ----------
    template : a CRF++ template (text, file name, or one of ``"chunking"``, ``"ner"``, ``"pos"``) for sentences
        given as rows of columns; None for sentences given as features (a dict or a list of strings a token).
    l1, l2 : strengths of ``l1 * sum |w|`` and ``l2 * sum w^2``; the objective is a sum over sentences, so few sentences
        want a weaker ``l1`` than many. ``l1="auto"``, the best first choice, finds it on ``dev``, or on a tenth of the
        sentences (:mod:`epigram.chain.l1_path`).
    penalty : an object in place of l1 and l2, such as ``L1(1.0)``, ``ElasticNet(1.0, 0.5)`` or ``L1Ball(500.0)``.
    solver : an object such as ``SGD(passes=10)``, or one of ``"sgd"``, ``"adagrad"``, ``"owlqn"``, ``"lbfgs"``,
        ``"fista"``; by default what fits the penalty: SGD with cumulative penalty for l1, OWL-QN or L-BFGS with l2,
        FISTA for anything else.
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

    pairs: str = "seen"
    constrain: str | Iterable[tuple[str, str]] | None = None
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
        from epigram.tagging.shards import TaggerShards, fit_shards

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
