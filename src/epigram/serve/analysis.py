"""Route for pipelines: analyses of raw text, and explanations of words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from msgspec import Meta

from epigram.pipeline.document import Doc
from epigram.pipeline.edits import apply_lemma
from epigram.serve.http import Body, RequestError, String
from epigram.serve.state import Call, Operation
from epigram.serve.tagging import with_meanings

MAX_CHARACTERS = 20_000


class Analyse(Body, frozen=True):
    """Raw text to analyse; ``probabilities`` adds those of each word's first tag and head."""

    text: Annotated[str, Meta(max_length=MAX_CHARACTERS)]
    model: String | None = None
    probabilities: bool = False


async def analyse(call: Call) -> Any:
    """Analyse raw text: sentences, tokens with offsets, and words with tags, lemmas and heads."""
    body: Analyse = call.body
    entry = call.state.registry.get(body.model, "pipeline")
    model = await call.estimator(entry)
    key = (id(model), "analyse", body.probabilities)
    (found,) = await call.state.batcher.submit(
        key, lambda texts: _analyse_all(model, texts, body.probabilities), [body.text]
    )
    return {"model": entry.name, "sentences": found}


def _analyse_all(model: Any, texts: list[str], probabilities: bool) -> list[list[dict[str, Any]]]:
    """Analyse the texts of many requests in one call of the model."""
    return [_sentences(document, probabilities) for document in model.pipe(texts)]


def _sentences(document: Doc, probabilities: bool) -> list[dict[str, Any]]:
    """Return the sentences of a document as plain types."""
    found: list[dict[str, Any]] = document.to_json()["sentences"]
    if not probabilities:
        return found
    tags, heads = document.confidences, document.head_confidences
    k = 0
    for sentence in found:
        for token in sentence["tokens"]:
            for word in token["words"]:
                word |= {} if tags is None else {"probability": round(float(tags[k]), 6)}
                word |= {} if heads is None else {"head_probability": round(float(heads[k]), 6)}
                k += 1
    return found


def explain_analysis(model: Any, text: str, sentence: int, word: int) -> dict[str, Any]:
    """Return the weights behind each part's choice for a word; sentences and words count from 0."""
    if len(text) > MAX_CHARACTERS:
        raise RequestError(422, f"a pipeline needs a text of at most {MAX_CHARACTERS:,} characters", "text")
    document = model(text)
    if sentence >= len(document) or word >= len(document.sentences[sentence].words):
        raise RequestError(
            422, f"there is no word {word} of sentence {sentence}; the text has {len(document)} sentences"
        )
    templates = {stage.name: stage.tagger.fitted_model().template for stage in model.stages_}
    form, parts = document.sentences[sentence].words[word].text, {}
    for name, why in document.explain(sentence, word + 1).items():
        parts[name] = record = asdict(why)
        with_meanings(record["terms"], templates.get(name))
        if name == "lemmas":
            record |= {"lemma": apply_lemma(form, why.label)}
            record |= {} if why.other is None else {"other_lemma": apply_lemma(form, why.other)}
    return {"word": form, "parts": parts}


OPERATIONS = [
    Operation(
        "POST",
        "/v1/analyse",
        analyse,
        Analyse,
        {"text": "Dogs bark. They don't sing.", "probabilities": True},
    )
]
