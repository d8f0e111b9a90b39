"""Language models over HTTP: how surprising each word is, and what may come next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_TEXT, LONGEST_TOKEN, MOST_SENTENCES, MOST_TOKENS
from epigram.serve.studio import Call, Operation

String = Annotated[str, Longest(LONGEST_TOKEN)]
Text = Annotated[str, Longest(LONGEST_TEXT)]
BITS = math.log(2)


@dataclass(frozen=True)
class Score:
    """Sentences, words between blanks."""

    sentences: Annotated[list[Text], Longest(MOST_SENTENCES)]
    model: String | None = None


@dataclass(frozen=True)
class Next:
    """Contexts, words between blanks; ``<s>`` stands for the start of a sentence."""

    contexts: Annotated[list[Text], Longest(MOST_SENTENCES)]
    model: String | None = None
    k: Annotated[int, Between(1, 100)] = 10


async def score(call: Call) -> Any:
    """Bits of surprise of each word of sentences and of their ends; null for words the model does not know."""
    body: Score = call.body
    entry = call.studio.shelf.get(body.model, "lm")
    model = entry.estimator
    sentences = [_words(model, text, f"sentences[{k}]") for k, text in enumerate(body.sentences)]

    def work(batch: list[Any]) -> list[Any]:
        return [_scored(words, model.word_scores(words).tolist()) for words in batch]

    found = await call.studio.together((id(model), "score"), work, sentences)
    known = [bits for one in found for word in one["words"] if (bits := word["bits"]) is not None]
    return {
        "model": entry.name,
        "sentences": found,
        "perplexity": 2 ** (sum(known) / len(known)) if known else None,
    }


def _scored(words: list[str], logp: list[float]) -> dict[str, Any]:
    bits = [None if p != p or p == -math.inf else -p / BITS for p in logp]
    return {
        "words": [{"word": word, "bits": b} for word, b in zip([*words, "</s>"], bits, strict=True)],
        "log_probability": sum(-b * BITS for b in bits if b is not None),
    }


async def next_words(call: Call) -> Any:
    """The likeliest next words after contexts, with their probabilities."""
    body: Next = call.body
    entry = call.studio.shelf.get(body.model, "lm")
    model = entry.estimator
    contexts = [_words(model, text, f"contexts[{k}]") for k, text in enumerate(body.contexts)]

    def work(batch: list[Any]) -> list[Any]:
        return [model.next_words(words, body.k) for words in batch]

    found = await call.studio.together((id(model), "next", body.k), work, contexts)
    answers = [
        {"context": text, "next": [{"word": word, "probability": p} for word, p in words]}
        for text, words in zip(body.contexts, found, strict=True)
    ]
    return {"model": entry.name, "contexts": answers}


def explain_word(model: Any, context: str, word: str) -> dict[str, Any]:
    """The weights behind a probability: added up, less what all words share, they are its logarithm."""
    if not hasattr(model, "explain"):
        raise Refusal(422, f"a {type(model).__name__} has no weights to show; a log-linear model has")
    why = model.explain(_tokens(model, context), word)
    rows, names = _terms(why), ("context", "weight", "count", "probability")
    return {
        "word": word,
        "probability": why.probability,
        "log_normaliser": sum(weight for _, weight, _, _ in rows) - math.log(why.probability),
        "terms": [dict(zip(names, row, strict=True)) for row in rows],
    }


def _terms(why: Any) -> list[tuple[str, float, int | None, float]]:
    """Context, weight, count and probability so far; of a mixture, those of its first part that has weights."""
    from epigram.lm.factored.model import FactoredExplanation
    from epigram.lm.mixed.mixture import Blend

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
    """Words, or what the model cuts text into."""
    return text.split() if model.vocabulary_.pieces is None else list(model.vocabulary_.tokens(text))


def _words(model: Any, text: str, place: str) -> list[str]:
    words = _tokens(model, text)
    if len(words) > MOST_TOKENS:
        raise Refusal(413, f"{len(words):,} words; at most {MOST_TOKENS:,} are taken", place)
    return words


OPERATIONS = [
    Operation("POST", "/v1/lm/score", score, Score, {"sentences": ["the cook tasted the soup"]}),
    Operation("POST", "/v1/lm/next", next_words, Next, {"contexts": ["before the"], "k": 5}),
]
