"""The class-factored language model: P(w | h) = P(class | h) P(w | class, h).

Goes past Nelakanti et al. 2013, who close by wishing for a hierarchical model; Chen's Model M (NAACL 2009) is
the published anchor. Contexts alternate the class and the word of each earlier position, and side trees skip the
nearest words; both objectives stay convex and are minimised exactly (:mod:`epigram.lm.factored.loss`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.lm.base import Context
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts
from epigram.lm.factored.loss import PARTS, Factor
from epigram.lm.factored.problem import FactorProblem, Fitted, Search
from epigram.lm.factored.scorer import ContextStep, FactorScorer
from epigram.lm.loglinear.adapt import adapt
from epigram.lm.loglinear.estimator import Auto, Text, WeightedLM
from epigram.lm.loglinear.penalties import Given, Strength, named
from epigram.lm.loglinear.tree import Positions
from epigram.lm.vocabulary import BOUNDARY, UNSEEN, Vocabulary
from epigram.protocols import Callback, Floats, Ints, Solver
from epigram.tuning import SearchTrial, TrialCallback

AT_ONCE = 1 << 14  # positions that are scored together: their contexts stay in the cache
WARM = 0.02
"""Share of the tolerance of a warm start: steps from weights that are nearly right are small from the start."""


@dataclass(frozen=True, slots=True)
class FactorExplanation:
    """One factor of a probability and the contexts that made it, spelled out."""

    choice: str
    probability: float
    terms: tuple[tuple[str, ContextStep], ...]


@dataclass(frozen=True, slots=True)
class FactoredExplanation:
    """P(word) as P(class) times P(word | class), less the share of an added ``<unk>``."""

    word: str
    probability: float
    class_part: FactorExplanation
    word_part: FactorExplanation


class _Fitted(WeightedLM):
    """The state of a :class:`ClassFactoredLM` beside its parameters."""

    kind = "factored"
    most_iterations = 300
    classes_: WordClasses
    trials_: list[SearchTrial]
    class_strength_: Strength
    word_strength_: Strength
    objective_: float
    n_iter_: int
    n_parameters_: int
    _models: dict[str, FactorScorer]
    _factors: dict[str, Factor]
    _n_words: int  # words that contexts reach back


@dataclass(eq=False, repr=False)
class ClassFactoredLM(_Fitted):
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
    max_iterations : most iterations of fista. 300 unless given.
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

    classes: int | str | PathLike[str] | WordClasses | Auto = "auto"
    order: int = 5
    class_contexts: str | None = None
    word_contexts: str | None = None
    penalty: Given = "elastic"
    class_strength: Strength | None = None
    word_strength: Strength | None = None
    budget: float = 60.0
    nonnegative: bool = True
    solver: str | Solver = "fista"
    tolerance: float = 2e-5
    max_iterations: int | None = None
    max_weights: int | None = None
    min_count: int = 1
    max_words: int | None = None
    vocabulary: Vocabulary | None = None
    open_vocabulary: bool = True
    held_out: float = 0.1
    threads: int = 1
    random_state: int = 0

    def fit(
        self,
        sentences: Text,
        y: None = None,
        *,
        valid: Text | None = None,
        callback: Callback | None = None,
        on_trial: TrialCallback | None = None,
    ) -> ClassFactoredLM:
        """Learn classes and weights; ``valid`` (or the end of the text) decides about open settings."""
        self.check_settings()
        corpus = Corpus.for_training(sentences, self.vocabulary, self.min_count, self.max_words)
        held_out = None if valid is None else self._held_out(valid, corpus.vocabulary)
        search = Search(self, corpus, held_out, callback, on_trial)
        parts = search.run()
        if self.max_weights is not None:
            parts = search.select(parts, self.max_weights)
        self._keep(parts)
        self._corpus, self.text_digest_ = corpus, corpus.digest
        self._count_text(corpus.vocabulary, corpus.n_positions)
        self.trials_ = search.trials
        if held_out is not None:
            self.valid_perplexity_ = self.perplexity(held_out)
        elif self.trials_:
            self.valid_perplexity_ = self.trials_[-1].best
        return self

    def _refit(self, corpus: Corpus, callback: Callback | None) -> None:
        parts = []
        for problem, start, strength in self._problems(corpus):
            result = problem.solve(self.make_solver(WARM), strength, start, callback)
            parts.append(Fitted(problem, strength, result))
        if self.max_weights is not None:
            parts = Search(self, corpus, None, callback).select(parts, self.max_weights)
        self._keep(parts)

    def _adapt(self, new: Corpus, n_before: int, callback: Callback | None) -> None:
        parts = []
        found = self._problems(new, with_own_pairs=True)
        for before, (problem, start, strength) in zip(self._models.values(), found, strict=True):
            most = before.w.size if self.max_weights else None
            solver = self.adaptation_solver(WARM)
            result = adapt(problem, start, n_before, strength, solver, most, callback)
            parts.append(Fitted(problem, strength, result))
        self._keep(parts)

    def _problems(
        self, corpus: Corpus, with_own_pairs: bool = False
    ) -> Iterator[tuple[FactorProblem, Floats, Strength]]:
        """Each part over a text, and its weights so far; new words join classes by their context."""
        classes, words = self.classes_.with_new_words(corpus), Positions.of(corpus)
        for part, strength in zip(PARTS, (self.class_strength_, self.word_strength_), strict=True):
            before = self._models[part]
            old, factor, others = before.tree(), Factor(part, classes, before.contexts), None
            if with_own_pairs:
                others = old.positions_of(np.arange(old.n_pairs), classes.n_classes + words.n_symbols)
            problem = FactorProblem.of(
                factor,
                words,
                named(self.penalty)[0],
                nonnegative=self.nonnegative,
                threads=self.threads,
                others=others,
            )
            yield problem, problem.tree.carry_over(old, before.w), strength

    @property
    def class_model_(self) -> FactorScorer:
        """The weights that choose a class."""
        return self._models["class"]

    @property
    def word_model_(self) -> FactorScorer:
        """The weights that choose a word of a class."""
        return self._models["word"]

    def part(self, name: str) -> tuple[Factor, FactorScorer]:
        """The factor ``class`` or ``word``, and its weights."""
        self.check_fitted()
        return self._factors[name], self._models[name]

    def contexts_of(self, part: str) -> Contexts:
        """Contexts of a part: as given, or by the order."""
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
        """The classes that were given, in the ids of a vocabulary; None where they are learned."""
        if isinstance(self.classes, WordClasses):
            return self.classes.for_vocabulary(vocabulary)
        if isinstance(self.classes, PathLike) or (isinstance(self.classes, str) and self.classes != "auto"):
            return WordClasses.read(fspath(self.classes), vocabulary)
        return None

    def _keep(self, parts: list[Fitted]) -> None:
        models = [part.problem.scorer(part.result.w) for part in parts]
        self.restore(parts[0].problem.factor.classes, models, [part.strength for part in parts])
        self.objective_ = sum(part.result.objective for part in parts)
        self.n_iter_ = sum(part.result.iterations for part in parts)
        self.n_parameters_ = sum(part.problem.loss.n_weights for part in parts)

    def restore(
        self,
        classes: WordClasses,
        models: Sequence[FactorScorer],
        strengths: Sequence[Strength],
        corpus: Corpus | None = None,
    ) -> None:
        """Take over the parts of a fitted or stored model; ``corpus`` is the text so far."""
        self._corpus, self.classes_ = corpus, classes
        self._models = dict(zip(PARTS, models, strict=True))
        self._factors = {part: Factor(part, classes, own.contexts) for part, own in self._models.items()}
        self.class_strength_, self.word_strength_ = strengths
        self._n_words = max(model.contexts.n_words for model in models)

    @property
    def is_fitted(self) -> bool:
        """Whether there are weights."""
        return hasattr(self, "classes_")

    @property
    def known_vocabulary_(self) -> Vocabulary:
        """The words of its text: the vocabulary without an ``<unk>`` that was added."""
        self.check_fitted()
        return self.classes_.vocabulary

    @property
    def n_nonzero_(self) -> int:
        """Weights that are not 0."""
        self.check_fitted()
        return sum(model.w.size for model in self._models.values())

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence; 0 ends one, -1 gives NaN."""
        self.check_fitted()
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
        """Log-probabilities of the class and of the word in it, added."""
        out = np.zeros(words.target.size)
        for k in range(0, out.size, AT_ONCE):
            some = words.part(k, k + AT_ONCE)
            for part in PARTS:
                factor, model = self.part(part)
                out[k : k + AT_ONCE] += model.log_probabilities(factor.examples(some))
        return out

    def start(self) -> tuple[int, ...]:
        """State at the start of a sentence: a state is the words before the next one."""
        self.check_fitted()
        return (BOUNDARY,)

    def step(self, state: tuple[int, ...], word: int) -> tuple[tuple[int, ...], float]:
        """State after a word id, and its log-probability; -1 gives NaN and forgets the context."""
        self.check_fitted()
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
        self.check_fitted()
        words = one_position(self._words_of(context), BOUNDARY, len(self.known_vocabulary_))
        found = {
            name: model.distributions(self._factors[name].examples(words))
            for name, model in self._models.items()
        }
        return self.spread(found["class"], found["word"])

    def spread(self, of_class: Floats, within: Floats) -> Floats:
        """The distribution over words that those over classes and over words within each class make."""
        word = self._factors["word"]
        p = np.empty(within.size)
        p[word.by_class] = within * np.repeat(of_class, word.n_candidates)
        return np.append((1 - self.unknown_) * p, self.unknown_) if self.unknown_ else p

    def explain(self, context: Context, word: str) -> FactoredExplanation:
        """The weights that made P(word | context): of its class, then of the word in it."""
        self.check_fitted()
        target = self.known_vocabulary_.id(word)
        if target == UNSEEN:
            raise InputError(
                f"{word!r} has no weights: its probability was set after training."
                if word in self.vocabulary_
                else f"{word!r} is not in the vocabulary."
            )
        words = one_position(self._words_of(context), target, len(self.known_vocabulary_))
        parts = []
        names = self.class_name(int(self.classes_.class_of[target])), word
        for part, name in zip(PARTS, names, strict=True):
            factor, model = self.part(part)
            examples = factor.examples(words)
            steps = model.steps(examples)
            terms = tuple((self._spelled(model.contexts, examples, step), step) for step in steps)
            parts.append(FactorExplanation(name, float(np.exp(model.log_probabilities(examples)[0])), terms))
        known = 1 - self.unknown_
        return FactoredExplanation(word, known * parts[0].probability * parts[1].probability, *parts)

    def _spelled(self, contexts: Contexts, examples: Any, step: ContextStep) -> str:
        end = int(examples.end[0, step.tree])
        symbols = examples.history[end - step.depth : end][::-1].tolist()
        kinds = contexts.trees[step.tree]
        return " ".join(
            f"{k}{lag}={self.symbol_name(s)}" for (k, lag), s in zip(kinds, symbols, strict=False)
        )

    def class_name(self, k: int) -> str:
        """Number of a class, and its most frequent words."""
        words = self.classes_.words(k)
        return f"<{k}:{'|'.join(words[:3])}{'|..' if len(words) > 3 else ''}>"

    def symbol_name(self, symbol: int) -> str:
        """A class or a word as a context symbol."""
        n_classes = self.classes_.n_classes
        if symbol < n_classes:
            return "<s>" if symbol == 0 else self.class_name(symbol)
        return "<s>" if symbol == n_classes else self.known_vocabulary_.words[symbol - n_classes]


def one_position(context: Iterable[int], target: int, n_words: int) -> Positions:
    """One position: a target after the words of a state."""
    history = np.array([*context, target], np.int32)
    n = np.array([history.size - 1], np.int32)
    return Positions(history, n, n, history[-1:], n_targets=n_words, n_symbols=n_words)
