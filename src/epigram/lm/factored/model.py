"""The class-factored language model: P(w | h) = P(class | h) P(w | class, h), both log-linear over context trees.

Goes past Nelakanti et al. 2013, who close by wishing for a hierarchical model; Chen's Model M (NAACL 2009) is
the published anchor. Contexts alternate the class and the word of each earlier position, and side trees skip the
nearest words (:mod:`epigram.lm.factored.loss`); both objectives stay convex and are minimised exactly
(:mod:`epigram.lm.factored.loss`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.lm.base import Context, LanguageModel
from epigram.lm.corpus import BOUNDARY, UNSEEN, Corpus, Vocabulary
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.loss import Contexts, Factor
from epigram.lm.factored.online import FactorRecipe, OnlineFactored
from epigram.lm.factored.problem import PARTS, Fitted, Search
from epigram.lm.factored.scorer import FactorScorer, Step
from epigram.lm.loglinear.model import Auto, Text
from epigram.lm.loglinear.problem import Given, Strength, named, solver_of
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Callback, Estimator, Floats, Ints, Solver
from epigram.tuning import Trial, TrialCallback

if TYPE_CHECKING:
    from epigram.storage import ModelFile

AT_ONCE = 1 << 14  # positions that are scored together: their contexts stay in the cache
MOST_ITERATIONS = 300
WARM = 0.02
"""Share of the tolerance of a fit for going on: steps from weights that are nearly right are small from the start."""


@dataclass(frozen=True, slots=True)
class Part:
    """One factor of a probability and the contexts that made it; ``choice`` and its contexts are spelled out."""

    choice: str
    probability: float
    terms: tuple[tuple[str, Step], ...]


@dataclass(frozen=True, slots=True)
class FactoredExplanation:
    """P(word) as P(class) times P(word | class)."""

    word: str
    probability: float
    class_part: Part
    word_part: Part


class ClassFactoredLM(LanguageModel, Estimator):
    """A log-linear model of the class and of the word in its class.

    Parameters
    ----------
    classes : number of word classes, a class file, :class:`~epigram.lm.factored.classes.WordClasses`, or ``"auto"``
    order : words looked back at plus one, for the class; the word part looks at two words at most
    class_contexts, word_contexts : other contexts, such as ``"c1 w1 c2 w2; c2 w2"``
    penalty : ``elastic``, ``l1``, ``l2``, ``tree-l2`` or ``tree-linf``; or an object for both parts: ``L1(0.5)``
    class_strength, word_strength : strength of the penalty for each part; None chooses on held-out text
    budget : CPU seconds for choosing; 0 takes what was best on newswire
    nonnegative, solver, tolerance : as for :class:`~epigram.lm.loglinear.model.LogLinearLM`
    max_iterations : of ``fista``, 300 by default
    max_weights : keep so many weights at most, those worth most, and fit them again
    min_count, max_words, vocabulary : limits of the vocabulary; what they leave out is read as ``<unk>``
    held_out : share of the training text (its end) that decides when no ``valid`` text is given
    threads, random_state : threads, seed of the classes and of the stochastic solver

    Attributes
    ----------
    classes_, class_model_, word_model_, class_strength_, word_strength_, trials_, objective_, n_iter_

    Examples
    --------
    >>> text = ["a rose is a rose", "a tulip is red", "a rose is red"]
    >>> model = ClassFactoredLM(classes=4, order=3, budget=0).fit(text)
    >>> round(float(model.distribution("is a").sum()), 12)
    1.0
    >>> model.next_words("a", 1)[0][0]
    'rose'
    """

    classes_: WordClasses
    _models: dict[str, FactorScorer]
    _corpus: Corpus | None = None
    _online: OnlineFactored | None = None
    _behind = False

    def __init__(
        self,
        classes: int | str | PathLike[str] | WordClasses | Auto = "auto",
        order: int = 5,
        class_contexts: str | None = None,
        word_contexts: str | None = None,
        penalty: Given = "elastic",
        class_strength: Strength | None = None,
        word_strength: Strength | None = None,
        budget: float = 60.0,
        nonnegative: bool = True,
        solver: str | Solver = "fista",
        tolerance: float = 2e-5,
        max_iterations: int | None = None,
        max_weights: int | None = None,
        min_count: int = 1,
        max_words: int | None = None,
        vocabulary: Vocabulary | None = None,
        held_out: float = 0.1,
        threads: int = 1,
        random_state: int = 0,
    ) -> None:
        self.classes = classes
        self.order = order
        self.class_contexts = class_contexts
        self.word_contexts = word_contexts
        self.penalty = penalty
        self.class_strength = class_strength
        self.word_strength = word_strength
        self.budget = budget
        self.nonnegative = nonnegative
        self.solver = solver
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.max_weights = max_weights
        self.min_count = min_count
        self.max_words = max_words
        self.vocabulary = vocabulary
        self.held_out = held_out
        self.threads = threads
        self.random_state = random_state

    def fit(
        self,
        sentences: Text,
        y: None = None,
        *,
        valid: Text | None = None,
        callback: Callback | None = None,
        on_trial: TrialCallback | None = None,
    ) -> ClassFactoredLM:
        """Learn classes and weights; ``valid`` text (or the end of the training text) decides what is open."""
        self.check_settings()
        corpus = Corpus.for_training(sentences, self.vocabulary, self.min_count, self.max_words)
        held_out = None if valid is None else self._held_out(valid, corpus.vocabulary)
        search = Search(self, corpus, held_out)
        parts = search.run(callback, on_trial)
        if self.max_weights is not None:
            parts = search.select(parts, self.max_weights)
        self._keep(*parts)
        self._corpus = corpus
        self.trials_: list[Trial] = search.trials
        self.__dict__.pop("valid_perplexity_", None)
        if held_out is not None:
            self.valid_perplexity_ = self.perplexity(held_out)
        elif self.trials_:
            self.valid_perplexity_ = self.trials_[-1].best
        return self

    def partial_fit(self, sentences: Text, y: None = None) -> ClassFactoredLM:
        """Go on with more text, which then counts as much as the text before (:mod:`epigram.lm.factored.online`).

        Classes stay as they are. Words that are new are read as ``<unk>`` where the vocabulary has it; else
        they join the vocabulary, and the class in whose place they were seen. Costs are averaged over calls; some
        of the new text may wait for later ones, and :meth:`settle` learns it at once.
        """
        if not hasattr(self, "classes_"):
            return self.fit(sentences)
        if self.max_weights is not None:
            raise InputError(
                "a class-factored model with max_weights cannot go on; train it again on all text."
            )
        new = Corpus.more(sentences, self.vocabulary_)
        if new.n_sentences == 0:
            return self
        if self._online is None:
            if self._corpus is None:
                raise InputError(
                    "a class-factored model that was saved without its text cannot go on; train it again and save it "
                    "with text=True (--keep-text)."
                )
            recipe = FactorRecipe(
                named(self.penalty)[0], self.nonnegative, self.threads, WARM * self.tolerance
            )
            strengths = {"class": self.class_strength_, "word": self.word_strength_}
            self._online = OnlineFactored(recipe, self.corpus_, self.classes_, self._models, strengths)
        self._online.learn(new)
        return self._changed()

    def settle(self) -> ClassFactoredLM:
        """Learn at once what :meth:`partial_fit` left waiting."""
        if self._online is not None:
            self._online.settle()
            self._changed()
        return self

    @property
    def stream_perplexity_(self) -> float:
        """Perplexity of the text of ``partial_fit``, each part scored just before it was learnt; NaN without any."""
        return float("nan") if self._online is None else self._online.stream_perplexity

    def _changed(self) -> ClassFactoredLM:
        """The weights moved: what was made from them is made again when it is asked for."""
        online = self._online
        if online is not None:
            self._behind, self.classes_, self._corpus = True, online.classes, None
        for name in ("objective_", "n_parameters_", "valid_perplexity_"):
            self.__dict__.pop(name, None)
        return self

    def _current(self) -> dict[str, FactorScorer]:
        """The two parts, made again where the weights moved."""
        if self._behind and self._online is not None:
            self._behind = False
            scorers = self._online.scorers()
            self.restore(
                self.classes_, scorers["class"], scorers["word"], self.class_strength_, self.word_strength_
            )
        return self._models

    @property
    def class_model_(self) -> FactorScorer:
        """The weights that choose a class."""
        return self._current()["class"]

    @property
    def word_model_(self) -> FactorScorer:
        """The weights that choose a word of a class."""
        return self._current()["word"]

    @property
    def corpus_(self) -> Corpus:
        """The text so far."""
        if self._corpus is None and self._online is not None:
            self._corpus = self._online.corpus()
        if self._corpus is None:
            raise AttributeError(
                "this ClassFactoredLM has no text; it comes from a file that was saved without."
            )
        return self._corpus

    def part(self, name: str) -> tuple[Factor, FactorScorer]:
        """What ``class`` or ``word`` chooses from, and its weights."""
        self._fitted()
        return (self._class if name == "class" else self._word), self._current()[name]

    def make_solver(self) -> Solver:
        """The solver that the settings ask for."""
        return solver_of(self.solver, self.tolerance, self.max_iterations, self.random_state, MOST_ITERATIONS)

    def contexts_of(self, part: str) -> Contexts:
        """What a part looks at: as given, or by the order."""
        given = self.class_contexts if part == "class" else self.word_contexts
        if given is not None:
            return Contexts.parse(given)
        n_words = self.order - 1 if part == "class" else min(self.order - 1, 2)
        skips = [f"c{lag} w{lag}" for lag in (2, 3) if lag < self.order]
        return Contexts.alternating(n_words, *skips)

    def check_settings(self) -> None:
        """Refuse settings that no text could be fitted with."""
        if not 2 <= self.order <= 16:
            raise InputError(f"a class-factored model needs an order from 2 to 16, not {self.order}.")
        named(self.penalty)
        self.make_solver()
        if self.max_weights is not None and self.max_weights < 1:
            raise InputError(f"max_weights must be at least 1, not {self.max_weights}.")
        if not self.budget >= 0:
            raise InputError(f"the budget must be 0 seconds or more, not {self.budget:g}.")
        if not isinstance(self.classes, int | np.integer | str | PathLike | WordClasses):
            raise InputError(f"classes are a number, a file, WordClasses or 'auto', not {self.classes!r}.")
        for part in PARTS:
            self.contexts_of(part)

    def _held_out(self, text: Text, vocabulary: Vocabulary) -> Corpus:
        corpus = Corpus.known(text, vocabulary)
        if corpus.n_sentences == 0:
            raise InputError("the held-out text is empty.")
        return corpus

    def given_classes(self, vocabulary: Vocabulary) -> WordClasses | None:
        """The classes that were given, in the ids of a vocabulary; None where they are to be learned."""
        if isinstance(self.classes, WordClasses):
            return self.classes.for_vocabulary(vocabulary)
        if isinstance(self.classes, PathLike) or (isinstance(self.classes, str) and self.classes != "auto"):
            return WordClasses.read(fspath(self.classes), vocabulary)
        return None

    def _keep(self, class_part: Fitted, word_part: Fitted) -> None:
        class_model, word_model = (part.problem.scorer(part.result.w) for part in (class_part, word_part))
        classes = class_part.problem.factor.classes
        self.leave_stream()
        self.restore(classes, class_model, word_model, class_part.strength, word_part.strength)
        self.objective_ = class_part.result.objective + word_part.result.objective
        self.n_iter_ = class_part.result.iterations + word_part.result.iterations
        self.n_parameters_ = class_part.problem.loss.n_weights + word_part.problem.loss.n_weights

    def leave_stream(self) -> None:
        """Forget where learning on stands, for a model that is made anew."""
        self._online, self._behind = None, False

    def restore(
        self,
        classes: WordClasses,
        class_model: FactorScorer,
        word_model: FactorScorer,
        class_strength: Strength,
        word_strength: Strength,
        corpus: Corpus | None = None,
    ) -> None:
        """Take over the parts of a fitted or stored model; ``corpus`` is the text to go on from."""
        self._corpus = corpus
        self.classes_ = classes
        self._models = {"class": class_model, "word": word_model}
        self.class_strength_, self.word_strength_ = class_strength, word_strength
        self._class = Factor("class", classes, class_model.contexts)
        self._word = Factor("word", classes, word_model.contexts)
        self._n_words = max(class_model.contexts.n_words, word_model.contexts.n_words)

    @property
    def vocabulary_(self) -> Vocabulary:  # type: ignore[override]
        """The words it can predict."""
        if not hasattr(self, "classes_"):
            raise InputError("this ClassFactoredLM is not fitted; call fit first.")
        return self.classes_.vocabulary

    @property
    def n_nonzero_(self) -> int:
        """Weights that are not 0."""
        self._fitted()
        return int(self.class_model_.w.size + self.word_model_.w.size)

    def _fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise InputError("this ClassFactoredLM is not fitted; call fit first.")
        self._current()

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence; 0 ends one, -1 gives NaN."""
        self._fitted()
        history = np.concatenate(([BOUNDARY], np.asarray(stream, np.int32))).astype(np.int32)
        words = Positions.of_stream(history, len(self.vocabulary_))
        out = np.full(history.size - 1, np.nan)
        out[words.end - 1] = self._log_probabilities(words)
        return out

    def _log_probabilities(self, words: Positions) -> Floats:
        parts = [self._of_both(words.part(k, k + AT_ONCE)) for k in range(0, words.target.size, AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _of_both(self, words: Positions) -> Floats:
        """Log-probabilities of the class and of the word in it, added."""
        return self.class_model_.log_probabilities(self._class.examples(words)) + (
            self.word_model_.log_probabilities(self._word.examples(words))
        )

    def start(self) -> tuple[int, ...]:
        """State at the start of a sentence: a state is the words that the next one is predicted from."""
        self._fitted()
        return (BOUNDARY,)

    def step(self, state: tuple[int, ...], word: int) -> tuple[tuple[int, ...], float]:
        """State after a word id, and its log-probability; -1 gives NaN and forgets the context."""
        self._fitted()
        if word == UNSEEN:
            return (), float("nan")
        words = one_position(state, word, len(self.vocabulary_))
        if word == BOUNDARY:
            return self.start(), float(self._log_probabilities(words)[0])
        return (*state, word)[-self._n_words :], float(self._log_probabilities(words)[0])

    def _words_of(self, context: Context) -> tuple[int, ...]:
        state = self.state(context)
        if not isinstance(state, tuple):
            raise InputError(f"a state of a ClassFactoredLM is a tuple of word ids, not {state!r}.")
        return state

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context; they sum to 1."""
        self._fitted()
        words = one_position(self._words_of(context), BOUNDARY, len(self.vocabulary_))
        of_class = self.class_model_.distributions(self._class.examples(words))
        within = self.word_model_.distributions(self._word.examples(words))
        out = np.empty(within.size)
        out[self._word.by_class] = within * np.repeat(of_class, self._word.n_candidates)
        return out

    def explain(self, context: Context, word: str) -> FactoredExplanation:
        """The weights that made P(word | context): those of its class, then those of the word in its class."""
        self._fitted()
        target = self.vocabulary_.id(word)
        if target == UNSEEN:
            raise InputError(f"{word!r} is not in the vocabulary.")
        words = one_position(self._words_of(context), target, len(self.vocabulary_))
        parts = []
        for model, factor, name in (
            (self.class_model_, self._class, self.class_name(int(self.classes_.class_of[target]))),
            (self.word_model_, self._word, word),
        ):
            examples = factor.examples(words)
            steps = model.steps(examples)
            terms = tuple((self._spelled(model.contexts, examples, step), step) for step in steps)
            parts.append(Part(name, float(np.exp(model.log_probabilities(examples)[0])), terms))
        return FactoredExplanation(word, parts[0].probability * parts[1].probability, *parts)

    def _spelled(self, contexts: Contexts, examples: Any, step: Step) -> str:
        end = int(examples.end[0, step.tree])
        symbols = examples.history[end - step.depth : end][::-1].tolist()
        kinds = contexts.trees[step.tree]
        return " ".join(
            f"{k}{lag}={self.symbol_name(s)}" for (k, lag), s in zip(kinds, symbols, strict=False)
        )

    def class_name(self, k: int) -> str:
        """Number of a class and its most frequent words."""
        words = self.classes_.words(k)
        return f"<{k}:{'|'.join(words[:3])}{'|..' if len(words) > 3 else ''}>"

    def symbol_name(self, symbol: int) -> str:
        """A class or a word as a context symbol."""
        n_classes = self.classes_.n_classes
        if symbol < n_classes:
            return "<s>" if symbol == 0 else self.class_name(symbol)
        return "<s>" if symbol == n_classes else self.vocabulary_.words[symbol - n_classes]

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False
    ) -> ModelFile:
        """The model as header and arrays; ``fit`` adds metrics to the header."""
        from epigram.lm.factored.storage import to_model_file

        self._fitted()
        return to_model_file(self, bits, fit or {}, text)

    def mapped(self, tensors: dict[str, Any]) -> dict[str, Any]:
        """The words and classes, and the arrays of both parts as they are used."""
        from epigram.lm.factored.storage import mapped

        return mapped(self)


def one_position(context: Iterable[int], target: int, n_words: int) -> Positions:
    """One position: a target after the words of a state."""
    history = np.array([*context, target], np.int32)
    n = np.array([history.size - 1], np.int32)
    return Positions(history, n, n, history[-1:], n_targets=n_words, n_symbols=n_words)
