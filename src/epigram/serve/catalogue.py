"""The models themselves over HTTP: the list, what is in one, its weights page by page, its file; uploads if allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_TOKEN
from epigram.serve.shelf import Entry, read_entry
from epigram.serve.studio import Call, Operation, Raw
from epigram.serve.weights import WeightTable

PAGE = 100
MOST_TABLES = 4


@dataclass(frozen=True)
class Weights:
    """Which weights: those whose names hold ``q``, in an order, a page at a time."""

    q: Annotated[str, Longest(LONGEST_TOKEN)] = ""
    order: Literal["size", "largest", "smallest"] = "size"
    first: Annotated[int, Between(0, 10_000_000)] = 0
    count: Annotated[int, Between(1, PAGE)] = 25


async def models(call: Call) -> Any:
    """The models that are loaded; the first of a family is used where a request names none."""
    return {"models": [entry.record for entry in call.studio.shelf], "uploads": call.studio.uploads}


async def model(call: Call) -> Any:
    """Settings, fit, history and the strongest weights of a model."""
    entry = call.studio.shelf.get(call.name)
    header = entry.header
    sections = {section.title: section.records() for section in entry.sections}
    return finite(
        {
            **entry.record,
            "epigram": header.get("epigram"),
            "settings": header.get("settings", {}),
            "fit": header.get("fit", {}),
            "history": header.get("history", []),
            "sections": sections,
        }
    )


async def weights(call: Call) -> Any:
    """Weights of a model: searched, sorted, paged."""
    entry = call.studio.shelf.get(call.name)
    body: Weights = call.body

    def work() -> Any:
        table = _table(call.studio.tables, entry)
        n, rows = table.page(body.q, body.order, body.first, body.count)
        return {"columns": table.columns, "total": n, "first": body.first, "rows": finite(rows)}

    return await call.studio.alone(work)


def _table(kept: dict[str, tuple[Entry, WeightTable]], entry: Entry) -> WeightTable:
    """The table of an entry; a few are kept."""
    owner, table = kept.get(entry.name, (None, None))
    if owner is not entry or table is None:
        table = WeightTable(entry.path)
        kept.pop(entry.name, None)
        kept[entry.name] = (entry, table)
        while len(kept) > MOST_TABLES:
            kept.pop(next(iter(kept)))
    return table


async def file(call: Call) -> Any:
    """A model's file."""
    entry = call.studio.shelf.get(call.name)
    content = await call.studio.alone(entry.path.read_bytes)
    return Raw(content, "application/octet-stream", f"{entry.name}.epigram")


async def upload(call: Call) -> Any:
    """Load a model file; off unless the server was started with --uploads."""
    studio = call.studio
    if not studio.uploads:
        raise Refusal(403, "uploads are off; start epigram serve with --uploads")
    if sum(entry.origin == "uploaded" for entry in studio.shelf) >= studio.limits.trained_models:
        raise Refusal(
            422, f"{studio.limits.trained_models} models are uploaded already; restart to forget them"
        )
    name = studio.shelf.free_name("uploaded")
    path = studio.folder / f"{name}.epigram"

    def work() -> Entry:
        path.write_bytes(call.body)
        try:
            return read_entry(name, path, "uploaded")
        except Exception as error:
            path.unlink()
            raise Refusal(422, str(error).replace(str(path), "the file")) from None

    entry = await studio.alone(work)
    studio.shelf.put(entry)
    return entry.record


def finite(value: Any) -> Any:
    """Infinities and NaN as null, arrays as lists: what JSON can hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return finite(value.tolist()) if hasattr(value, "tolist") else value


OPERATIONS = [
    Operation("GET", "/v1/models", models),
    Operation("POST", "/v1/models", upload, upload=True, binary=True),
    Operation("GET", "/v1/models/{name}", model),
    Operation("GET", "/v1/models/{name}/weights", weights, Weights),
    Operation("GET", "/v1/models/{name}/file", file),
]
