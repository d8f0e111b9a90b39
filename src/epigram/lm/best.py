"""The best language model in a time budget: a mixture with a class-factored model.

A class-factored model predicts better than the default and takes much longer to choose its settings; where blank
lines part documents, it also learns from the sentences before. The members learn all but the end of the text, EM finds
the shares that predict that end best, and members that have a share learn the whole text again with their settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from epigram.errors import InputError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus
from epigram.lm.default import fit_beside, known_logps
from epigram.lm.document.model import DocumentLM
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.estimator import Text
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.mixture import InterpolatedLM, mixture_weights
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Callback, Floats
from epigram.tuning import TrialCallback

LEAST_SHARE = 0.01
"""Share of a mixture below which a member is left out."""


@dataclass(frozen=True)
class Best:
    """The chosen model, and held-out perplexities of its members alone and together."""

    model: LanguageModel
    shares: dict[str, float]
    alone: dict[str, float]
    default: float
    together: float
    late_gain: float
    """Share of the perplexity that the second half of the search for settings saved."""

    @property
    def why(self) -> str:
        """The choice in two sentences."""
        parts = ", ".join(f"{share:.2f} {name}" for name, share in self.shares.items())
        alone = ", ".join(f"{perplexity:.2f} {name}" for name, perplexity in self.alone.items())
        return (
            f"{parts}: held-out perplexity {self.together:.2f}, {self.together / self.default - 1:+.1%} of the "
            f"default's {self.default:.2f}; alone: {alone}. The second half of the search lowered perplexity by "
            f"{self.late_gain:.1%}: twice the --budget would hardly buy more than that."
        )


def fit_best(
    model: LogLinearLM,
    factored: ClassFactoredLM,
    sentences: Text,
    *,
    valid: Text | None = None,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> Best:
    """Fit the default's members and a class-factored model, and mix them.

    Parameters
    ----------
    model : settings of the log-linear model, whose order and vocabulary all members have.
    factored : settings of the class-factored model, its ``budget`` among them.
    valid : held-out text; without it, the end of the text.

    Examples
    --------
    >>> text = ["a rose is a rose", "a rose is red", "a tulip is red", "red is a rose"] * 5
    >>> best = fit_best(LogLinearLM(order=2), ClassFactoredLM(order=2, classes=3, budget=0), text)
    >>> round(float(best.model.distribution("a").sum()), 12), bool(best.together <= best.default)
    (1.0, True)
    """
    corpus = Corpus.for_training(sentences, model.vocabulary, model.min_count, model.max_words)
    if valid is not None:
        text, held_out = corpus, Corpus.known(valid, corpus.vocabulary)
    else:
        text, held_out = corpus.split_known(model.held_out)
    if not (held_out.n_tokens > held_out.n_unseen):
        raise InputError("the held-out text has no word of the training text; give other text with --valid.")
    default = fit_beside(model, text, callback=callback, on_trial=on_trial)
    factored.fit(text, valid=held_out, callback=callback, on_trial=on_trial)
    classes: LanguageModel = factored
    if text.document_ptr is not None and held_out.document_ptr is not None:
        classes = DocumentLM.chosen(factored, held_out)
    members = {
        "log-linear": default.loglinear,
        "Kneser-Ney": default.mixture.models[1],
        "class-factored": classes,
    }
    logps = np.stack([known_logps(member, held_out) for member in members.values()])
    shares = mixture_weights(logps)
    shares = np.where(shares < LEAST_SHARE, 0.0, shares) / shares[shares >= LEAST_SHARE].sum()
    chosen = {name: share for name, share in zip(members, shares.tolist(), strict=True) if share}
    if valid is None:
        members |= {name: _again(members[name], corpus, callback) for name in chosen}
    kept = [members[name] for name in chosen]
    return Best(
        kept[0] if len(kept) == 1 else InterpolatedLM(kept, list(chosen.values())),
        chosen,
        dict(zip(members, np.exp(-logps.mean(axis=1)).tolist(), strict=True)),
        _perplexity(logps[:2], default.mixture.weights),
        _perplexity(logps, shares),
        _late_gain([trial.best for trial in factored.trials_]),
    )


def _again(member: LanguageModel, corpus: Corpus, callback: Callback | None) -> LanguageModel:
    """A member with the settings it has, fitted on the whole text."""
    if isinstance(member, DocumentLM):
        model = _again(member.model, corpus, callback)
        assert isinstance(model, ClassFactoredLM)
        return DocumentLM(
            model, replace(member.recent, classes=model.classes_, counts=corpus.counts), member.weights
        )
    assert isinstance(member, LogLinearLM | ClassFactoredLM | KneserNeyLM)
    settings = member.get_params(deep=False)
    if isinstance(member, ClassFactoredLM):
        strengths = {"class_strength": member.class_strength_, "word_strength": member.word_strength_}
        classes = {"classes": _classes_of_all(member, corpus), "budget": 0.0}
        return ClassFactoredLM(**settings | strengths | classes).fit(corpus, callback=callback)
    if isinstance(member, LogLinearLM):
        return LogLinearLM(**settings).fit(corpus, callback=callback, like=member)
    return KneserNeyLM(**settings).fit(corpus)


def _classes_of_all(member: ClassFactoredLM, corpus: Corpus) -> WordClasses:
    """The classes of a member, which the words that only the whole text has join."""
    words = dict.fromkeys((*member.known_vocabulary_.words, *corpus.vocabulary.words))
    return member.classes_.with_new_words(
        corpus.with_vocabulary(Vocabulary(words, corpus.vocabulary.tokenizer))
    )


def _perplexity(logps: Floats, shares: Floats) -> float:
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp.reduce(logps + np.log(shares)[:, None], axis=0)
    return float(np.exp(-mixed.mean()))


def _late_gain(best: Sequence[float]) -> float:
    """Share of the perplexity that the second half of a search saved."""
    return 1 - best[-1] / best[len(best) // 2] if len(best) > 1 else 0.0
