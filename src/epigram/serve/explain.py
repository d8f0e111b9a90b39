"""Route that explains labels, analysed words, word probabilities, winners and conversions."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from epigram.serve.analysis import explain_analysis
from epigram.serve.classification import explain_label
from epigram.serve.converter import Left, Reading, explain_conversion
from epigram.serve.http import MAX_LISTS, MAX_TOKENS, Body, FileText, RequestError, String, Text
from epigram.serve.language import explain_word
from epigram.serve.registry import LoadedModel
from epigram.serve.reranking import NBestLists, Step, explain_winner, read_lists
from epigram.serve.state import Call, Operation
from epigram.serve.tagging import Sentence, explain_token


class Explain(Body, frozen=True):
    """The model, and the input to explain, whose fields depend on the family of the model.

    Taggers: ``sentence`` and ``token``. Pipelines: ``text``, ``index`` of the sentence and ``token``, its word, both
    from 0. Classifiers: ``text`` and ``label`` [default: the most probable]. Language models: ``context`` and
    ``word``. Rerankers: ``lists`` (or the ``text`` of a file), ``index`` and ``step``. Converters: ``reading`` and
    ``left``.
    """

    model: String
    sentence: Sentence | None = None
    token: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] = 0
    context: Text = ""
    word: String | None = None
    lists: NBestLists | None = None
    text: FileText | None = None
    label: String | None = None
    index: Annotated[int, Meta(ge=0, le=MAX_LISTS)] = 0
    step: Step | None = None
    reading: Reading | None = None
    left: Left = field(default_factory=list)


async def explain(call: Call) -> Any:
    """Return the weights behind an answer; they sum to its lead over the alternative."""
    body: Explain = call.body
    entry = call.state.registry.get(body.model)
    model = await call.estimator(entry)

    def work(batch: list[tuple[Explain]]) -> list[dict[str, Any]]:
        return [_explained(entry, model, body) for (body,) in batch]

    # one at a time for each model: a language model computes its explanations in buffers of its loss
    (found,) = await call.state.batcher.submit((id(model), "explain"), work, [(body,)])
    return {"model": entry.name, "family": entry.family, **found}


def _explained(entry: LoadedModel, model: Any, body: Explain) -> dict[str, Any]:
    """Explain one answer of a model of any family."""

    def needed(name: str) -> Any:
        value = getattr(body, name)
        if value is None:
            raise RequestError(422, f"a {entry.family} needs the field {name!r} to be explained")
        return value

    if entry.family == "tagger":
        return explain_token(entry, model, needed("sentence"), body.token)
    if entry.family == "pipeline":
        return explain_analysis(model, needed("text"), body.index, body.token)
    if entry.family == "classifier":
        return explain_label(model, needed("text"), body.label)
    if entry.family == "lm":
        return explain_word(model, body.context, needed("word"))
    if entry.family == "reranker":
        return explain_winner(model, read_lists(body), body.index, body.step)
    return explain_conversion(model, needed("reading"), body.left)


OPERATIONS = [
    Operation(
        "POST",
        "/v1/explain",
        explain,
        Explain,
        {"model": "log-linear", "context": "before the", "word": "soup"},
    )
]
