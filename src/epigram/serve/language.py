"""Routes for language models: word scores and next words; explanations of probabilities."""

from __future__ import annotations

import math
from typing import Annotated, Any

from msgspec import Meta

from epigram.serve.http import MAX_SENTENCES, MAX_TOKENS, Body, RequestError, String, Text
from epigram.serve.state import Call, Operation

BITS = math.log(2)
Texts = Annotated[list[Text], Meta(max_length=MAX_SENTENCES)]


class ScoreText(Body, frozen=True):
    """Sentences of words separated by spaces."""

    sentences: Texts
    model: String | None = None


class Next(Body, frozen=True):
    """Contexts of words separated by spaces; ``<s>`` stands for the start of a sentence."""

    contexts: Texts
    model: String | None = None
    k: Annotated[int, Meta(ge=1, le=100)] = 10


async def score(call: Call) -> Any:
    """Score the words and ends of sentences in bits; null for a word that a closed model lacks."""
    body: ScoreText = call.body
    entry = call.state.registry.get(body.model, "lm")
    model = entry.estimator
    sentences = [_words(model, text, f"sentences[{k}]") for k, text in enumerate(body.sentences)]

    def work(batch: list[Any]) -> list[Any]:
        return [_scored(model, words) for words in batch]

    found = await call.state.batcher.submit((id(model), "score"), work, sentences)
    known = [bits for one in found for word in one["words"] if (bits := word["bits"]) is not None]
    return {
        "model": entry.name,
        "sentences": found,
        "perplexity": 2 ** (sum(known) / len(known)) if known else None,
    }


def _scored(model: Any, words: list[str]) -> dict[str, Any]:
    """Return the words of a sentence with their scores, and whether the vocabulary has them."""
    logp = model.word_scores(words).tolist()
    bits = [None if p != p or p == -math.inf else -p / BITS for p in logp]
    known = [*(word in model.vocabulary_ for word in words), True]
    return {
        "words": [
            {"word": word, "bits": b, "known": k}
            for word, b, k in zip([*words, "</s>"], bits, known, strict=True)
        ],
        "log_probability": sum(-b * BITS for b in bits if b is not None),
    }


async def next_words(call: Call) -> Any:
    """Return the most probable next words after contexts, with their probabilities."""
    body: Next = call.body
    entry = call.state.registry.get(body.model, "lm")
    model = entry.estimator
    contexts = [_words(model, text, f"contexts[{k}]") for k, text in enumerate(body.contexts)]

    def work(batch: list[Any]) -> list[Any]:
        return [model.next_words(words, body.k) for words in batch]

    found = await call.state.batcher.submit((id(model), "next", body.k), work, contexts)
    answers = [
        {"context": text, "next": [{"word": word, "probability": p} for word, p in words]}
        for text, words in zip(body.contexts, found, strict=True)
    ]
    return {"model": entry.name, "contexts": answers}


def explain_word(model: Any, context: str, word: str) -> dict[str, Any]:
    """Return the weights whose sum, less the log-normaliser, is the log-probability of a word."""
    if not hasattr(model, "explain"):
        raise RequestError(422, f"a {type(model).__name__} has no weights to show; a log-linear model has")
    why = model.explain(_tokens(model, context), word)
    rows, names = _terms(why), ("context", "weight", "count", "probability")
    return {
        "word": word,
        "probability": why.probability,
        "log_normaliser": sum(weight for _, weight, _, _ in rows) - math.log(why.probability),
        "terms": [dict(zip(names, row, strict=True)) for row in rows],
    }


def _terms(why: Any) -> list[tuple[str, float, int | None, float]]:
    """Return context, weight, count and probability so far of each term.

    For a mixture, the terms are those of its first part that has weights.
    """
    from epigram.lm.factored.model import FactoredExplanation
    from epigram.lm.mixture import Blend

    if isinstance(why, Blend):
        part = next((part for part in why.parts if part.why is not None and part.probability > 0), None)
        if part is None:
            return []
        shift = math.log(why.probability / part.probability)
        return [*_terms(part.why), ("the other parts of the mixture", shift, None, why.probability)]
    if isinstance(why, FactoredExplanation):
        parts = (("class", why.class_part), ("word", why.word_part))
        return [
            (f"{name}: {context}", step.weight, step.count, step.probability)
            for name, part in parts
            for context, step in part.terms
        ]
    return [(" ".join(term.context), term.weight, term.count, term.probability) for term in why.terms]


def _tokens(model: Any, text: str) -> list[str]:
    """Split text at spaces, or by the tokenizer of the model."""
    return text.split() if model.vocabulary_.tokenizer is None else list(model.vocabulary_.tokens(text))


def _words(model: Any, text: str, place: str) -> list[str]:
    words = _tokens(model, text)
    if len(words) > MAX_TOKENS:
        raise RequestError(413, f"{len(words):,} words; at most {MAX_TOKENS:,} are taken", place)
    return words


OPERATIONS = [
    Operation("POST", "/v1/lm/score", score, ScoreText, {"sentences": ["the cook tasted the soup"]}),
    Operation("POST", "/v1/lm/next", next_words, Next, {"contexts": ["before the"], "k": 5}),
]
