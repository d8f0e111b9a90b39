"""HTTP building blocks: limits, error responses, request bodies, metrics and static files.

msgspec checks request bodies against subclasses of :class:`Body` and describes them as JSON Schema. Its messages name a
path and a type; :func:`explain_invalid` adds the value, the limit, and the key of a map.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from epigram.errors import EpigramError

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Limits of a server: sizes in bytes, times in seconds.

    ``head`` bounds request line and headers, ``body`` the bodies of ordinary requests, ``upload`` training files and
    models, ``unsent`` all response data together that clients have not read yet. ``arrival`` is how long a request may
    take to arrive and a chunk of a response to be read, ``answer`` how long a response may take to compute, ``idle``
    how long a connection may stay unused, ``lease`` how long a training runs that no client asks about.
    """

    head: int = 64 << 10
    body: int = 1 << 20
    upload: int = 24 << 20
    unsent: int = 64 << 20
    arrival: float = 10.0
    answer: float = 20.0
    waiting: int = 512
    connections: int = 1024
    idle: int = 15
    sessions: int = 64
    session_bytes: int = 256 << 20
    trained_models: int = 8
    lease: float = 60.0
    training_seconds: int = 1800
    training_memory: int = 4 << 30
    shutdown: int = 1


MAX_SENTENCES = 256
MAX_TOKENS = 1000
MAX_LISTS = 2000
MAX_READING = 500
"""Limits of request bodies; they are part of the OpenAPI document."""
String = Annotated[str, Meta(max_length=500)]
Text = Annotated[str, Meta(max_length=100_000)]
FileText = Annotated[str, Meta(max_length=1_000_000)]


class RequestError(Exception):
    """A response with an error status; ``field`` names the part of the request that is wrong."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    @property
    def record(self) -> dict[str, Any]:
        """The JSON body of the response."""
        place = {"field": self.field} if self.field else {}
        return {"error": {"status": self.status, **place, "message": self.message}}


def to_request_error(error: Exception) -> RequestError:
    """Convert an exception; only errors of epigram keep their message."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, EpigramError):
        return RequestError(422, str(error))
    if isinstance(error, TimeoutError):
        return RequestError(503, "this took too long; send less at once")
    return RequestError(500, "the server failed at this request; its log says why")


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of request bodies and queries."""


class ModelBody(Body, frozen=True):
    """The name of a model; without one, the first model of the family."""

    model: String | None = None


def read_body(kind: type[T], raw: bytes) -> T:
    """Decode and check a JSON body."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message, invalid = str(error), isinstance(error, msgspec.ValidationError)
    value = _parse(raw)  # raises the error of a body that is not JSON
    if invalid:
        raise explain_invalid(kind, value, message)
    raise RequestError(422, "a string holds half of a surrogate pair; send both halves or UTF-8")


def read_query(kind: type[T], query: dict[str, str]) -> T:
    """Convert and check the parameters of a query."""
    try:
        return msgspec.convert(query, kind, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
    raise explain_invalid(kind, query, message)


def _parse(raw: bytes) -> Any:
    """Parse JSON; errors name the position."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise RequestError(400, "the body is not UTF-8") from None
    except RecursionError:
        raise RequestError(400, "the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise RequestError(400, f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def explain_invalid(kind: type, body: Any, message: str) -> RequestError:
    """Return the error of a body that msgspec refused: field, value, and what was expected.

    Examples
    --------
    >>> error = explain_invalid(ModelBody, {"model": 7}, "Expected `str | null`, got `int` - at `$.model`")
    >>> error.status, error.field, error.message
    (422, 'model', 'expected a string or null, not 7')
    """
    problem, _, path = message.rpartition(" - at `$")
    problem = problem or message
    value, place, nodes = body, "", _alternatives(*_schema(kind))
    for name, index in _STEP.findall(path):
        if (found := _too_long(value, nodes, place)) is not None:
            return found
        key: Any = (
            name if name else _invalid_key(kind, body, value, message) if index == "..." else int(index)
        )
        try:
            value = value[key]
        except (LookupError, TypeError):  # a path that is part of a client's text
            break
        place += f"[{key}]" if isinstance(key, int) else f".{key[:40]}"
        nodes = [inner for node in nodes for inner in _children(node, key, kind)]
    place = place.removeprefix(".")
    return _too_long(value, nodes, place) or RequestError(422, _describe(problem, value, nodes), place)


_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_WORDS = {
    "object": "an object",
    "array": "a list",
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def _too_long(value: Any, nodes: list[dict[str, Any]], place: str) -> RequestError | None:
    """Return the error of a string or list that is longer than its limit."""
    if not isinstance(value, str | list):
        return None
    limit, unit = ("maxLength", "characters") if isinstance(value, str) else ("maxItems", "items")
    most = min((node[limit] for node in nodes if limit in node), default=len(value))
    if len(value) <= most:
        return None
    return RequestError(413, f"{len(value):,} {unit}; at most {most:,} are taken", place.removeprefix("."))


def _describe(problem: str, value: Any, nodes: list[dict[str, Any]]) -> str:
    """Say what is wrong with a value, by msgspec's message and the JSON Schema of the value."""
    if problem.startswith("Object missing"):
        return f"the field '{problem.split('`')[1]}' is missing"
    if problem.startswith("Object contains"):
        known = [name for node in nodes for name in node.get("properties", ())]
        unknown = next((name for name in value if name not in known), "") if isinstance(value, dict) else ""
        return f"unknown field {unknown[:40]!r}; there are {', '.join(known)}"
    shown = _WORDS["object" if isinstance(value, dict) else "array"] if isinstance(value, dict | list) else (
        json.dumps(value) if len(json.dumps(value)) <= 40 else json.dumps(value)[:37] + "..."
    )  # fmt: skip
    choices = [str(choice) for node in nodes for choice in node.get("enum", ())]
    if choices:
        return f"expected one of {', '.join(choices)}, not {shown}"
    bounds = next(((node["minimum"], node["maximum"]) for node in nodes if "minimum" in node), None)
    if bounds is not None and re.search("[<>]= ", problem):
        size = "too large" if "<=" in problem else "too small"
        return f"{shown} is {size}; expected a number from {bounds[0]:g} to {bounds[1]:g}"
    if "out of range" in problem:
        return "this number is too large"
    expected = " or ".join(_WORDS.get(one, one) for one in problem.split("`")[1].split(" | "))
    return f"expected {expected}, not {shown}"


@cache
def _schema(kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of a type and the schemas it refers to."""
    (schema,), components = json_schemas([kind])
    return schema, components


def json_schemas(kinds: Iterable[type]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return references to the JSON Schemas of types, and the schemas by name."""
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for schema in components.values():
        schema["description"] = inspect.cleandoc(schema["description"])
    return list(references), components


def _alternatives(schema: dict[str, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    """Resolve references and unions of a schema."""
    if "$ref" in schema:
        return _alternatives(components[schema["$ref"].rpartition("/")[2]], components)
    return [node for part in schema.get("anyOf", ()) for node in _alternatives(part, components)] or [schema]


def _children(node: dict[str, Any], key: str | int, kind: type) -> list[dict[str, Any]]:
    """Return the alternatives of an item, a field or a value of a map."""
    inner = node.get("items") if isinstance(key, int) else node.get("properties", {}).get(key)
    inner = node.get("additionalProperties") if inner is None else inner
    return _alternatives(inner, _schema(kind)[1]) if isinstance(inner, dict) else []


def _invalid_key(kind: type, body: Any, found: dict[str, Any], message: str) -> str:
    """Find the invalid key of the map ``found`` by bisection; msgspec does not name it."""
    items = list(found.items())
    while len(items) > 1:
        half = items[: len(items) // 2]
        found.clear()
        found.update(half)
        items = half if _message(kind, body) == message else items[len(half) :]
    found.update(items)
    return items[0][0]


def _message(kind: type, body: Any) -> str:
    try:
        msgspec.json.decode(msgspec.json.encode(body), type=kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Request counters and latencies in the text format of Prometheus."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = defaultdict(int)
        self._seconds: dict[str, list[float]] = {}
        self.in_flight = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Record a request that was answered."""
        self._counts[route, status] += 1
        spread = self._seconds.setdefault(route, [0.0] * (len(BUCKETS) + 2))
        spread[bisect_left(BUCKETS, seconds)] += 1
        spread[-1] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Format all metrics, together with some current values."""
        lines = ["# TYPE epigram_requests_total counter"]
        for (route, status), n in sorted(self._counts.items()):
            lines.append(f'epigram_requests_total{{route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE epigram_request_seconds histogram")
        for route, spread in sorted(self._seconds.items()):
            total = 0.0
            for bound, times in zip((*BUCKETS, "+Inf"), spread, strict=False):
                total += times
                lines.append(f'epigram_request_seconds_bucket{{route="{route}",le="{bound}"}} {total:.0f}')
            lines.append(f'epigram_request_seconds_sum{{route="{route}"}} {spread[-1]:.6f}')
            lines.append(f'epigram_request_seconds_count{{route="{route}"}} {total:.0f}')
        for name, value in {"requests_in_flight": self.in_flight, **gauges}.items():
            lines += [f"# TYPE epigram_{name} gauge", f"epigram_{name} {value:g}"]
        return "\n".join(lines) + "\n"


CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


class StaticFiles:
    """Serves the files of the web page from memory; other paths are never looked up on disk."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        for file in resources.files("epigram.serve").joinpath("web").iterdir():
            kind = CONTENT_TYPES.get(file.name.rpartition(".")[2])
            if kind is not None:
                content = file.read_bytes()
                self._files[file.name] = (content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')

    async def __call__(self, request: Request) -> Response:
        """Send one file."""
        name = request.path_params.get("path") or "index.html"
        if name not in self._files:
            raise RequestError(404, "there is nothing here; the page is at / and the API at /v1")
        content, kind, tag = self._files[name]
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)
