"""A text as a stream: batches of sentences, and how a model gets better as it goes along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from typing import Protocol

from epigram.lm.corpus import Corpus, Sentences, Vocabulary
from epigram.text import stream_lines

Batch = Corpus | list[str | Sequence[str]]
Text = Sentences | Corpus | PathLike[str]


class OnlineModel(Protocol):
    """A language model that can go on with more text."""

    def partial_fit(self, sentences: Text) -> object:
        """Learn more text."""
        ...

    def perplexity(self, sentences: Text) -> float:
        """Of a text."""
        ...


def batches(text: Text, size: int) -> Iterator[Batch]:
    """Runs of ``size`` sentences; a file is read as they are asked for.

    Examples
    --------
    >>> list(batches(["a b", "c", "d e"], 2))
    [['a b', 'c'], ['d e']]
    """
    if size < 1:
        raise ValueError(f"a batch needs at least 1 sentence, not {size}.")
    if isinstance(text, Corpus):
        for first in range(0, text.n_sentences, size):
            yield text.take(first, min(first + size, text.n_sentences))
        return
    lines: Iterable[str | Sequence[str]] = stream_lines(text) if isinstance(text, PathLike) else text
    rest = iter(lines)
    while batch := list(islice(rest, size)):
        yield batch


def stream(
    model: OnlineModel, text: Text, held_out: Text, batch: int = 100, every: int = 1
) -> Iterator[tuple[int, float]]:
    """Learn a text in batches; yield (tokens learnt here so far, perplexity of a held-out text).

    The first pair is the model's before any of it, the last that after all of it; in between one after each
    ``every`` batches. Asking for a perplexity costs a pass over the model, learning a batch does not. Give the model
    a ``vocabulary``: where words join it, more of the held-out text counts later on than at first.

    Examples
    --------
    >>> from epigram import LogLinearLM
    >>> model = LogLinearLM(order=2, strength=0.1, depth_weight=1.2, ridge=0.01).fit(["a b a b", "b a"])
    >>> points = list(stream(model, ["a b", "a b a", "a b"], ["a b"], batch=2))
    >>> [tokens for tokens, _ in points], points[-1][1] < points[0][1]
    ([0, 5, 7], True)
    """
    tokens, told = 0, 0
    yield tokens, model.perplexity(held_out)
    for number, sentences in enumerate(batches(text, batch), 1):
        corpus = sentences if isinstance(sentences, Corpus) else Corpus.more(sentences, Vocabulary([]))
        model.partial_fit(corpus)
        tokens += corpus.n_tokens
        if number % every == 0:
            told = tokens
            yield tokens, model.perplexity(held_out)
    if told < tokens:
        yield tokens, model.perplexity(held_out)
