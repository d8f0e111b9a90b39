"""``epigram lm sample``: samples sentences from a language model."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.lm.models import Model, open_model


def command(
    model: Model,
    n: int = 5,
    words: str | None = None,
    seed: int | None = None,
    max_words: int = 200,
) -> None:
    """Sample sentences from a model, one per line.

    Parameters
    ----------
    n -n >= 1 : Number of sentences.
    words --context WORDS : Words that each sentence begins with.
    seed : Seed of the random numbers; same seed, same sentences.
    max_words >= 1 : Most words of a sentence.
    """
    language_model = open_model(model)
    for sentence in language_model.sample(n, context=words, seed=seed, max_words=max_words):
        print(console.echoed(language_model.vocabulary_.join(sentence)))
