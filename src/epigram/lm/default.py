"""The default language model: a log-linear model mixed with Kneser-Ney.

The log-linear model is better than Kneser-Ney on most texts; on a text whose end is unlike its beginning, held-out text
misleads the choice of its strengths, and Kneser-Ney, which chooses nothing, may be ahead. A mixture of both is safe. EM
finds the share that predicts held-out text best; as that text may mislead here too, the share used is half way from
there to one half.

Strengths and shares are chosen on a sample of a long text: runs of sentences from its first part to train on, and from
its last part as held-out text. They depend little on the size of the text, and only one fit is made of all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.estimator import Text
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.mixture import InterpolatedLM, mixture_weights
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.vocabulary import UNSEEN
from epigram.protocols import Callback, Floats
from epigram.tuning import TrialCallback

SAMPLE, MOST_TRIALS = 100_000, 16
"""Words of text on which strengths and shares are chosen, and trials of that search."""


@dataclass(frozen=True)
class Beside:
    """A mixture of ``loglinear`` and Kneser-Ney, and held-out perplexities alone and together."""

    mixture: InterpolatedLM
    loglinear: LogLinearLM
    alone: tuple[float, float]
    together: float
    sample: int = 0
    """Words of the sample on which strengths and shares were chosen; 0 where that was the whole text."""

    @property
    def why(self) -> str:
        """The choice in one line."""
        share = float(self.mixture.weights[0])
        return (
            f"a mixture of {share:.2f} log-linear and {1 - share:.2f} modified Kneser-Ney; held-out perplexity "
            f"{self.together:.2f} together, {self.alone[0]:.2f} and {self.alone[1]:.2f} alone "
            f"{f'in a sample of {self.sample:,} words ' if self.sample else ''}"
            "(--model loglinear makes the log-linear model alone). --best would probably lower perplexity by 15 to "
            "20 %, in some ten times the time; its models have no exact ARPA form"
        )


def fit_beside(
    model: LogLinearLM,
    sentences: Text,
    *,
    valid: Text | None = None,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
    sample: int = SAMPLE,
) -> Beside:
    """Fit a log-linear model and Kneser-Ney of its order, and mix them.

    Arguments are those of the model's ``fit``; texts of more words than ``sample`` are sampled for choices.

    Examples
    --------
    >>> from epigram import LogLinearLM
    >>> text = ["a rose is a rose", "a rose is red", "a tulip is red", "red is a rose"] * 3
    >>> both = fit_beside(LogLinearLM(order=2), text)
    >>> round(float(both.mixture.distribution("a").sum()), 12)
    1.0
    >>> bool(both.together <= max(both.alone))
    True
    """
    corpus = Corpus.for_training(sentences, model.vocabulary, model.min_count, model.max_words)
    plain = KneserNeyLM(model.order, open_vocabulary=model.open_vocabulary)
    found: list[Floats] = []

    def on_choice(text: Corpus, held_out: Corpus, logps: Floats) -> None:
        found.append(np.stack([logps, known_logps(plain.fit(text), held_out)]))

    _, free = model.first_strength()
    n_sampled = sample if free and valid is None and corpus.n_tokens > sample else 0
    if n_sampled:
        first, rest = corpus.split(model.held_out)
        text, held_out = first.sample(sample).in_known_words(rest.sample(int(sample * model.held_out)))
        probe = LogLinearLM(**{**model.get_params(deep=False), "max_weights": None})
        probe.most_trials = MOST_TRIALS
        probe.fit(text, valid=held_out, callback=callback, on_trial=on_trial)
        on_choice(text, held_out, known_logps(probe, held_out))
        model.fit(corpus, callback=callback, like=probe)
    else:
        model.fit(corpus, valid=valid, callback=callback, on_trial=on_trial, on_choice=on_choice)
    kneser_ney = plain.fit(corpus)
    if valid is not None:
        held_out = Corpus.known(valid, corpus.vocabulary)
        found.append(np.stack([known_logps(each, held_out) for each in (model, kneser_ney)]))
    logps = found[-1]
    share = (float(mixture_weights(logps)[0]) + 0.5) / 2
    together = np.logaddexp(logps[0] + np.log(share), logps[1] + np.log(1 - share))
    alone, second = np.exp(-logps.mean(axis=1)).tolist()
    mixture = InterpolatedLM([model, kneser_ney], [share, 1 - share])
    return Beside(mixture, model, (alone, second), float(np.exp(-together.mean())), n_sampled)


def known_logps(model: LanguageModel, held_out: Corpus) -> Floats:
    """Log-probabilities of the known words of held-out text."""
    logps: Floats = model.score_corpus(held_out)[held_out.stream()[1:] != UNSEEN]
    return logps
