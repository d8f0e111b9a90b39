"""Route for text classifiers: probabilities of labels, and explanations by n-grams."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from epigram.classify.explain import explain_text
from epigram.serve.http import Body, RequestError, String
from epigram.serve.state import Call, Operation

MAX_CHARACTERS, MAX_DOCUMENTS = 20_000, 100
MAX_GRAMS = 100
"""N-grams of an explanation."""
Document = Annotated[str, Meta(max_length=MAX_CHARACTERS)]


class Classify(Body, frozen=True):
    """Texts to classify; ``top`` is the number of labels of each."""

    texts: Annotated[list[Document], Meta(max_length=MAX_DOCUMENTS)]
    model: String | None = None
    top: Annotated[int, Meta(ge=1, le=100)] = 5


async def classify(call: Call) -> Any:
    """Classify texts: the most probable labels of each, with their probabilities."""
    body: Classify = call.body
    entry = call.state.registry.get(body.model, "classifier")
    model = await call.estimator(entry)
    found = await call.state.batcher.submit(
        (id(model), "classify"), lambda texts: _rows(model, texts), body.texts
    )
    names = [str(name) for name in model.classes_.tolist()]
    documents = []
    for row in found:
        order = sorted(range(len(names)), key=lambda k: -row[k])[: body.top]
        documents.append({"labels": [{"label": names[k], "probability": round(row[k], 6)} for k in order]})
    return {"model": entry.name, "documents": documents}


def _rows(model: Any, texts: list[str]) -> list[list[float]]:
    """Probabilities of all labels, for the texts of many requests."""
    return list(model.predict_proba(texts).tolist())


def explain_label(model: Any, text: str, label: str | None) -> dict[str, Any]:
    """Return the n-grams behind the probability of a label, and the marked words of the text."""
    if len(text) > MAX_CHARACTERS:
        raise RequestError(422, f"a classifier needs a text of at most {MAX_CHARACTERS:,} characters", "text")
    record = explain_text(model, text, label).record()
    return {**record, "ngrams": record["ngrams"][:MAX_GRAMS]}


OPERATIONS = [
    Operation(
        "POST",
        "/v1/classify",
        classify,
        Classify,
        {"texts": ["the cook tasted the soup"], "top": 2},
    )
]
