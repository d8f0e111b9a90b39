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
from epigram.estimator import Estimator
from epigram.lm.base import Context, LanguageModel, added_unknown
from epigram.lm.corpus import BOUNDARY, UNSEEN, Corpus, Vocabulary
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.loss import Contexts, Factor
from epigram.lm.factored.problem import PARTS, FactorProblem, Fitted, Search
from epigram.lm.factored.scorer import FactorScorer, Step
from epigram.lm.loglinear.adapt import adapt
from epigram.lm.loglinear.model import Auto, Text
from epigram.lm.loglinear.penalties import Given, Strength, named
from epigram.lm.loglinear.problem import solver_of
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Callback, Floats, Ints, Solver
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
    """P(word) as P(class) times P(word | class), less what an added ``<unk>`` takes."""

    word: str
    probability: float
    class_part: Part
    word_part: Part


class ClassFactoredLM(LanguageModel, Estimator):
    """A log-linear model of the class and of the word in its class.

    Parameters
    ----------
    classes : number of word classes, a file of them, or ``"auto"``. Or
        :class:`~epigram.lm.factored.classes.WordClasses`.
    order : length of the longest n-gram that the class depends on. The word part looks at two words at most.
    class_contexts : contexts that the class is predicted from, such as ``"c1 w1 c2 w2; c2 w2"``.
    word_contexts : contexts that the word in its class is predicted from, such as ``"c1 w1"``.
    penalty : penalty of the weights. Or an object for both parts, such as ``L1(0.5)``.
    class_strength, word_strength : strength of the penalty for each part; None chooses on held-out text.
    budget : CPU seconds for choosing settings; 0 takes what was best on newswire.
    nonnegative : keep all weights at or above zero.
    solver : as for :class:`~epigram.lm.loglinear.model.LogLinearLM`.
    tolerance : share of the objective; training stops when a step promises less.
    max_iterations : most iterations of fista; 300 unless given.
    max_weights : number of weights to keep, those worth most. They are fitted again.
    min_count, max_words, vocabulary : limits of the vocabulary; other words are read as <unk>.
    open_vocabulary : give words that were never seen a probability after training (:mod:`epigram.lm.base`).
    held_out : share of the training text, its end, that settings are chosen on without held-out text.
    threads : number of threads.
    random_state : seed of the classes and of the stochastic solver.

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
    _n_positions = 0  # words and ends of sentences of all text so far

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
        open_vocabulary: bool = True,
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
        self.open_vocabulary = open_vocabulary
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
        search = Search(self, corpus, held_out, callback, on_trial)
        parts = search.run()
        if self.max_weights is not None:
            parts = search.select(parts, self.max_weights)
        self._keep(*parts)
        self._corpus = corpus
        self._n_positions, self.text_digest_ = corpus.n_positions, corpus.digest
        self.unknown_ = added_unknown(self.open_vocabulary, corpus.vocabulary, self._n_positions)
        self.trials_: list[Trial] = search.trials
        self.__dict__.pop("valid_perplexity_", None)
        if held_out is not None:
            self.valid_perplexity_ = self.perplexity(held_out)
        elif self.trials_:
            self.valid_perplexity_ = self.trials_[-1].best
        return self

    def partial_fit(
        self, sentences: Text, y: None = None, *, callback: Callback | None = None
    ) -> ClassFactoredLM:
        """Train on more text, from the weights so far; classes and strengths stay.

        Where the model has its text, this fits both parts on the old and the new text together. A model from a file
        without its text is adapted to the new text (:mod:`epigram.lm.loglinear.adapt`). New words are read as
        ``<unk>`` where the vocabulary has it; else they join the vocabulary, and the class in whose place they
        were seen.
        """
        if not hasattr(self, "classes_"):
            return self.fit(sentences, callback=callback)
        new = Corpus.more(sentences, self.known_vocabulary_)
        if new.n_sentences == 0:
            return self
        n_before = self._n_positions or (
            self.n_nonzero_ if self._corpus is None else self._corpus.n_positions
        )
        corpus = new if self._corpus is None else self._corpus.followed_by(new)
        classes, words = self.classes_.with_new_words(corpus), Positions.of(corpus)
        search = Search(self, corpus, None, callback)
        train = self._refit if self._corpus is not None else self._adapt
        parts = [
            train(Factor(part, classes, self._models[part].contexts), words, n_before, callback)
            for part in PARTS
        ]
        if self.max_weights is not None and self._corpus is not None:
            parts = list(search.select((parts[0], parts[1]), self.max_weights))
        has_text = self._corpus is not None
        self._keep(parts[0], parts[1])
        self._corpus, self.text_digest_ = (corpus, corpus.digest) if has_text else (None, 0)
        self._n_positions = n_before + new.n_positions
        self.unknown_ = added_unknown(self.open_vocabulary, new.vocabulary, self._n_positions)
        self.__dict__.pop("valid_perplexity_", None)
        return self

    def _refit(self, factor: Factor, words: Positions, n_before: int, callback: Callback | None) -> Fitted:
        """Fit a part on all text, from its weights so far."""
        before, strength = self._models[factor.name], self._strength_of(factor.name)
        penalty = named(self.penalty)[0]
        problem = FactorProblem.of(factor, words, penalty, nonnegative=self.nonnegative, threads=self.threads)
        start = problem.loss.tree.carry_over(before.tree(), before.w)
        solver = self.make_solver(WARM)
        return Fitted(problem, strength, problem.solve(solver, strength, start, callback))

    def _adapt(self, factor: Factor, words: Positions, n_before: int, callback: Callback | None) -> Fitted:
        """Fit a part on new text, near its weights so far."""
        before, strength = self._models[factor.name], self._strength_of(factor.name)
        old, penalty = before.tree(), named(self.penalty)[0]
        others = old.positions_of(np.arange(old.n_pairs), factor.classes.n_classes + words.n_symbols)
        problem = FactorProblem.of(factor, words, penalty, threads=self.threads, others=others)
        result = adapt(
            problem.loss,
            problem.loss.tree.carry_over(old, before.w),
            n_before,
            penalty,
            strength,
            self.nonnegative,
            WARM * self.tolerance,
            self.max_iterations or MOST_ITERATIONS,
            None if self.max_weights is None else before.w.size,
            problem.loss.is_side,
            callback,
        )
        return Fitted(problem, strength, result)

    def _strength_of(self, part: str) -> Strength:
        return self.class_strength_ if part == "class" else self.word_strength_

    @property
    def class_model_(self) -> FactorScorer:
        """The weights that choose a class."""
        return self._models["class"]

    @property
    def word_model_(self) -> FactorScorer:
        """The weights that choose a word of a class."""
        return self._models["word"]

    @property
    def corpus_(self) -> Corpus:
        """The text so far."""
        if self._corpus is None:
            raise AttributeError(
                "this ClassFactoredLM has no text; it comes from a file that was saved without."
            )
        return self._corpus

    def part(self, name: str) -> tuple[Factor, FactorScorer]:
        """What ``class`` or ``word`` chooses from, and its weights."""
        self._fitted()
        return (self._class if name == "class" else self._word), self._models[name]

    def make_solver(self, tighter: float = 1.0) -> Solver:
        """The solver that the settings ask for, its tolerance times ``tighter``."""
        return solver_of(
            self.solver, tighter * self.tolerance, self.max_iterations, self.random_state, MOST_ITERATIONS
        )

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
        self.restore(classes, class_model, word_model, class_part.strength, word_part.strength)
        self.objective_ = class_part.result.objective + word_part.result.objective
        self.n_iter_ = class_part.result.iterations + word_part.result.iterations
        self.n_parameters_ = class_part.problem.loss.n_weights + word_part.problem.loss.n_weights

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
        return self.known_vocabulary_.opened() if self.unknown_ else self.known_vocabulary_

    @property
    def known_vocabulary_(self) -> Vocabulary:
        """The words of its text: the vocabulary without an ``<unk>`` that was added."""
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

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence; 0 ends one, -1 gives NaN."""
        self._fitted()
        history = np.concatenate(([BOUNDARY], self.known_ids(stream))).astype(np.int32)
        words = Positions.of_stream(history, len(self.known_vocabulary_))
        out = np.full(history.size - 1, np.nan)
        out[words.end - 1] = self._log_probabilities(words)
        return self.beside_unknown(out, stream)

    def known_ids(self, stream: Ints) -> Ints:
        """Ids with -1 for an ``<unk>`` that was added: it has no weights, and cuts the context."""
        ids = np.asarray(stream, np.int32)
        return np.where(ids >= len(self.known_vocabulary_), np.int32(UNSEEN), ids)

    def beside_unknown(self, logps: Floats, stream: Ints) -> Floats:
        """Log-probabilities of the words of the text, interpolated with an ``<unk>`` that was added."""
        if not self.unknown_:
            return logps
        added = np.asarray(stream) == len(self.known_vocabulary_)
        return np.asarray(np.where(added, np.log(self.unknown_), logps + np.log1p(-self.unknown_)))

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
        logp, n_words = np.full(1, np.nan), len(self.known_vocabulary_)
        if 0 <= word < n_words:
            logp = self._log_probabilities(one_position(state, word, n_words))
        logp = self.beside_unknown(logp, np.array([word]))
        if word == BOUNDARY:
            return self.start(), float(logp[0])
        return (*state, word)[-self._n_words :] if 0 <= word < n_words else (), float(logp[0])

    def _words_of(self, context: Context) -> tuple[int, ...]:
        state = self.state(context)
        if not isinstance(state, tuple):
            raise InputError(f"a state of a ClassFactoredLM is a tuple of word ids, not {state!r}.")
        return state

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context; they sum to 1."""
        self._fitted()
        words = one_position(self._words_of(context), BOUNDARY, len(self.known_vocabulary_))
        of_class = self.class_model_.distributions(self._class.examples(words))
        within = self.word_model_.distributions(self._word.examples(words))
        out = np.empty(within.size)
        out[self._word.by_class] = within * np.repeat(of_class, self._word.n_candidates)
        return self.with_unknown(out)

    def with_unknown(self, p: Floats) -> Floats:
        """A distribution over the words of the text with an ``<unk>`` that was added."""
        return np.append((1 - self.unknown_) * p, self.unknown_) if self.unknown_ else p

    def explain(self, context: Context, word: str) -> FactoredExplanation:
        """The weights that made P(word | context): those of its class, then those of the word in its class."""
        self._fitted()
        target = self.known_vocabulary_.id(word)
        if target == UNSEEN:
            raise InputError(
                f"{word!r} has no weights: its probability was set after training."
                if word in self.vocabulary_
                else f"{word!r} is not in the vocabulary."
            )
        words = one_position(self._words_of(context), target, len(self.known_vocabulary_))
        parts = []
        for model, factor, name in (
            (self.class_model_, self._class, self.class_name(int(self.classes_.class_of[target]))),
            (self.word_model_, self._word, word),
        ):
            examples = factor.examples(words)
            steps = model.steps(examples)
            terms = tuple((self._spelled(model.contexts, examples, step), step) for step in steps)
            parts.append(Part(name, float(np.exp(model.log_probabilities(examples)[0])), terms))
        known = 1 - self.unknown_
        return FactoredExplanation(word, known * parts[0].probability * parts[1].probability, *parts)

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
        return "<s>" if symbol == n_classes else self.known_vocabulary_.words[symbol - n_classes]

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False, compress: bool = True
    ) -> ModelFile:
        """The model as header and arrays; ``fit`` adds metrics to the header."""
        from epigram.lm.factored.storage import to_model_file

        self._fitted()
        return to_model_file(self, bits, fit or {}, text, compress)


def one_position(context: Iterable[int], target: int, n_words: int) -> Positions:
    """One position: a target after the words of a state."""
    history = np.array([*context, target], np.int32)
    n = np.array([history.size - 1], np.int32)
    return Positions(history, n, n, history[-1:], n_targets=n_words, n_symbols=n_words)
