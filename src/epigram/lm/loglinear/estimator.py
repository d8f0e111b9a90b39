"""Base class of the estimators of weights: solver, text so far, further training."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any, Literal, Self

from epigram.errors import InputError
from epigram.estimator import Estimator
from epigram.lm.base import LanguageModel, added_unknown
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.storage import SOLVERS
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Callback, Solver
from epigram.solvers.make import make
from epigram.solvers.proximal import FISTA

Text = Sentences | Corpus | PathLike[str]
Auto = Literal["auto"]


class WeightedLM(LanguageModel, Estimator):
    """A language model of weights that a solver fits; it can be trained on more text."""

    solver: str | Solver
    tolerance: float
    max_iterations: int | None
    random_state: int
    open_vocabulary: bool
    valid_perplexity_: float
    most_iterations = 500
    _corpus: Corpus | None = None
    _n_positions = 0  # words and ends of sentences of all text so far

    @property
    @abstractmethod
    def is_fitted(self) -> bool:
        """Whether there are weights."""

    @property
    @abstractmethod
    def known_vocabulary_(self) -> Vocabulary:
        """The words of its text: the vocabulary without an ``<unk>`` that was added."""

    @property
    @abstractmethod
    def n_nonzero_(self) -> int:
        """Weights that are not 0."""

    @abstractmethod
    def fit(self, sentences: Text, y: None = None, *, callback: Callback | None = None) -> Self:
        """Train on a text."""

    @abstractmethod
    def _refit(self, corpus: Corpus, callback: Callback | None) -> None:
        """Fit the weights on old and new text, from the weights so far."""

    @abstractmethod
    def _adapt(self, new: Corpus, n_before: int, callback: Callback | None) -> None:
        """Fit the weights on new text near the weights so far."""

    def partial_fit(self, sentences: Text, y: None = None, *, callback: Callback | None = None) -> Self:
        """Train on more text, from the weights so far; strengths, depth factors and classes stay.

        Where the model has its text, this fits the old and the new text together: only the start differs from
        :meth:`fit`. A model from a file without its text is adapted to the new text
        (:mod:`epigram.lm.loglinear.adapt`). New words join the vocabulary, or are read as ``<unk>`` where it has that.
        """
        if not self.is_fitted:
            return self.fit(sentences, callback=callback)
        new = Corpus.more(sentences, self.known_vocabulary_)
        if new.n_sentences == 0:
            return self
        n_before = self.n_positions_
        if self._corpus is None:
            self._adapt(new, n_before or self.n_nonzero_, callback)
            self._corpus, self.text_digest_ = None, 0
        else:
            corpus = self._corpus.followed_by(new)
            self._refit(corpus, callback)
            self._corpus, self.text_digest_ = corpus, corpus.digest
        self._count_text(new.vocabulary, n_before + new.n_positions)
        return self

    def _count_text(self, vocabulary: Vocabulary, n_positions: int) -> None:
        """Note the size of all text so far, which decides about unknown words."""
        self._n_positions = n_positions
        self.unknown_ = added_unknown(self.open_vocabulary, vocabulary, n_positions)
        self.__dict__.pop("valid_perplexity_", None)

    @property
    def n_positions_(self) -> int:
        """Words and ends of sentences it was trained on; 0 where an older file does not tell."""
        return self._n_positions or (0 if self._corpus is None else self._corpus.n_positions)

    @property
    def corpus_(self) -> Corpus:
        """The text so far."""
        if self._corpus is None:
            raise AttributeError(
                f"this {type(self).__name__} has no text; it was not fitted, or comes from a file saved without."
            )
        return self._corpus

    @property
    def vocabulary_(self) -> Vocabulary:  # type: ignore[override]
        """The words it can predict."""
        return self.known_vocabulary_.opened() if self.unknown_ else self.known_vocabulary_

    def check_fitted(self) -> None:
        """Refuse a model without weights."""
        if not self.is_fitted:
            raise InputError(f"this {type(self).__name__} is not fitted; call fit first.")

    def adaptation_solver(self, looser: float) -> FISTA:
        """The solver that adapts the weights to new text; ``looser`` times as tolerant."""
        return FISTA(looser * self.tolerance, self.max_iterations or self.most_iterations)

    def make_solver(self, looser: float = 1.0) -> Solver:
        """The solver that the settings ask for; ``looser`` times as tolerant."""
        if isinstance(self.solver, str) and self.solver not in SOLVERS:
            raise InputError(
                f"unknown solver {self.solver!r}; choose one of {', '.join(SOLVERS)}, or give an object."
            )
        most = self.max_iterations
        if self.solver == "fista":
            most = self.most_iterations if most is None else most
        elif most is not None:
            raise InputError(
                "max_iterations is for fista; say how many passes with StochasticProximal(passes=...)."
            )
        settings: dict[str, Any] = {"tolerance": looser * self.tolerance, "max_iterations": most}
        return make(self.solver, random_state=self.random_state, **settings)
