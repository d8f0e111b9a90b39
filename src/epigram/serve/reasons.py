"""Why: one route that explains a token's label, a word's probability, a winner, or a conversion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from epigram.serve.converter import Left, Reading, explain_conversion
from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.language import Text as Context
from epigram.serve.language import explain_word
from epigram.serve.limits import LONGEST_TEXT, MOST_LISTS, MOST_TOKENS
from epigram.serve.reranking import MOST_STEPS, Lists, explain_winner, lists_of
from epigram.serve.studio import Call, Operation
from epigram.serve.tagging import Sentence, String, explain_token


@dataclass(frozen=True)
class Explain:
    """What to explain, by the family of the model.

    Taggers: ``sentence`` and ``token``. Language models: ``context`` and ``word``. Rerankers: ``lists`` (or the
    ``text`` of a file), ``index`` and ``step``. Converters: ``reading`` and ``left``.
    """

    model: String
    sentence: Sentence | None = None
    token: Annotated[int, Between(0, MOST_TOKENS)] = 0
    context: Context = ""
    word: String | None = None
    lists: Annotated[list[Lists], Longest(MOST_LISTS)] | None = None
    text: Annotated[str, Longest(10 * LONGEST_TEXT)] | None = None
    index: Annotated[int, Between(0, MOST_LISTS)] = 0
    step: Annotated[int, Between(0, MOST_STEPS)] | None = None
    reading: Reading | None = None
    left: Left = field(default_factory=list)


async def explain(call: Call) -> Any:
    """The weights behind an answer; they sum to what it was ahead by."""
    body: Explain = call.body
    entry = call.studio.shelf.get(body.model)
    model = call.model(entry)

    def needed(name: str) -> Any:
        value = getattr(body, name)
        if value is None:
            raise Refusal(422, f"a {entry.family} needs the field {name!r} to be explained")
        return value

    def work() -> dict[str, Any]:
        if entry.family == "tagger":
            return explain_token(entry, model, needed("sentence"), body.token)
        if entry.family == "lm":
            return explain_word(model, body.context, needed("word"))
        if entry.family == "reranker":
            return explain_winner(model, lists_of(body), body.index, body.step)
        return explain_conversion(model, needed("reading"), body.left)

    return {"model": entry.name, "family": entry.family, **await call.studio.alone(work)}


OPERATIONS = [
    Operation(
        "POST",
        "/v1/explain",
        explain,
        Explain,
        {"model": "log-linear", "context": "before the", "word": "soup"},
    )
]
