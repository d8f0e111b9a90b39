"""ASGI application: routing, body limits, time limits, JSON responses, the OpenAPI document."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

import epigram
from epigram.serve import (
    analysis,
    classification,
    converter,
    explain,
    language,
    models,
    reranking,
    tagging,
    training,
)
from epigram.serve.http import RequestError, StaticFiles, json_schemas, read_body, read_query
from epigram.serve.security import AccessPolicy, SecurityMiddleware
from epigram.serve.state import Call, Operation, RawResponse, ServerState

OPERATIONS: list[Operation] = [
    *tagging.OPERATIONS,
    *analysis.OPERATIONS,
    *classification.OPERATIONS,
    *converter.OPERATIONS,
    *language.OPERATIONS,
    *reranking.OPERATIONS,
    *explain.OPERATIONS,
    *training.OPERATIONS,
    *models.OPERATIONS,
]


def build(state: ServerState, policy: AccessPolicy) -> ASGIApp:
    """Return the ASGI application of a server."""
    document = to_json(describe_api(OPERATIONS))

    async def openapi(request: Request) -> Response:
        return Response(document, media_type="application/json")

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def metrics(request: Request) -> Response:
        gauges = {
            "models": len(state.registry),
            "sessions": len(state.sessions),
            "training": int(state.training.running),
            "requests_waiting": state.batcher.n_waiting,
            "work_running": state.batcher.n_running,
            "bytes_unsent": state.n_unsent,
        }
        return PlainTextResponse(state.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        await state.training.close()
        state.pool.shutdown(wait=False, cancel_futures=True)

    endpoints = [(one, OperationEndpoint(state, one)) for one in OPERATIONS]
    fixed = {(one.method, one.path): endpoint for one, endpoint in endpoints if "{" not in one.path}
    routes = [Route(one.path, endpoint, methods=[one.method]) for one, endpoint in endpoints]
    routes += [
        Route("/v1/openapi.json", name_route("/v1/openapi.json", openapi)),
        Route("/healthz", name_route("/healthz", health)),
        Route("/metrics", name_route("/metrics", metrics)),
        Route("/{path:path}", name_route("page", StaticFiles())),
    ]
    router = Router(routes, lifespan=lifespan, redirect_slashes=False)
    return SecurityMiddleware(Dispatcher(fixed, router), policy, state.metrics)


class Dispatcher:
    """Finds routes with fixed paths by one lookup and the others by Starlette's router."""

    def __init__(self, fixed: Mapping[tuple[str, str], ASGIApp], router: Router) -> None:
        self.fixed, self.router = fixed, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request; a request without a route is an exception, which the middleware answers."""
        scope["app"] = self
        found = self.fixed.get((scope.get("method", ""), scope.get("path", "")))
        if found is not None:
            await found(scope, receive, send)
            return
        try:
            await self.router(scope, receive, send)
        except HTTPException as error:
            raise RequestError(error.status_code, f"{error.detail.lower()}; see /v1/openapi.json") from None


def name_route(name: str, inner: Callable[[Request], Awaitable[Response]]) -> Callable[..., Any]:
    """Wrap an endpoint so that the metrics count it under a name."""

    async def run(request: Request) -> Response:
        request.scope["epigram.route"] = name
        return await inner(request)

    return run


class OperationEndpoint:
    """ASGI endpoint of an operation: checks the body and answers within the time limit."""

    def __init__(self, state: ServerState, operation: Operation) -> None:
        self.state, self.operation = state, operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        operation, limits = self.operation, self.state.limits
        scope["epigram.route"] = operation.path
        headers = dict(scope["headers"])
        late = RequestError(408, f"the body took more than {limits.arrival:g} s to arrive")
        try:
            async with asyncio.timeout(limits.arrival) as clock:
                raw = b""
                if operation.method != "GET":
                    most = limits.upload if operation.upload else limits.body
                    raw = await receive_body(headers, receive, most)
                late = RequestError(503, f"this took more than {limits.answer:g} s; send less at once")
                clock.reschedule(asyncio.get_running_loop().time() + limits.answer)
                body = await self.state.run(
                    lambda: read_arguments(scope, headers, raw, operation), brief=len(raw) < BRIEF_BODY
                )
                session = headers.get(b"x-epigram-session")
                name = scope.get("path_params", {}).get("name")
                call = Call(self.state, body, None if session is None else session.decode("latin-1"), name)
                answer = await operation.run(call)
                if not isinstance(answer, RawResponse):
                    answer = RawResponse(await encode_in_steps(answer), "application/json")
        except TimeoutError:
            raise late from None
        await self._send(answer, send)

    async def _send(self, answer: RawResponse, send: Send) -> None:
        """Send a response in chunks, of which at most one waits to be read by the client."""
        content, state = answer.content, self.state
        file = io.BytesIO(content) if isinstance(content, bytes) else content
        size = file.seek(0, io.SEEK_END)
        held = size if isinstance(content, bytes) and size > CHUNK else 0
        if state.n_unsent + held > state.limits.unsent:
            raise RequestError(
                503, "too many answers wait for clients that do not read them; try again later"
            )
        headers = [(b"content-type", answer.type.encode()), (b"content-length", str(size).encode())]
        if answer.file_name is not None:
            headers.append((b"content-disposition", f'attachment; filename="{answer.file_name}"'.encode()))
        state.n_unsent += held
        try:
            with file:
                file.seek(0)
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while True:
                    chunk, more = file.read(CHUNK), file.tell() < size
                    await send({"type": "http.response.body", "body": chunk, "more_body": more})
                    if not more:
                        return
        finally:
            state.n_unsent -= held


CHUNK = 64 << 10
BRIEF_BODY = 16 << 10
"""Bytes of a body that is parsed in the event loop; longer ones would keep other connections waiting."""
PAUSE = 0.003  # seconds of encoding after which other connections are served


def to_json(answer: Any) -> bytes:
    """Encode as JSON; NaN and infinities become null, arrays lists."""
    return msgspec.json.encode(answer, enc_hook=lambda value: value.tolist())


async def encode_in_steps(answer: Any) -> bytes:
    """Encode as JSON item by item, so that other connections are served in between."""
    if not isinstance(answer, dict):
        return to_json(answer)
    parts: list[bytes] = []
    for name, value in answer.items():
        parts += [b"," if parts else b"{", to_json(name), b":"]
        if not isinstance(value, list):
            parts.append(to_json(value))
            continue
        parts.append(b"[")
        began = time.perf_counter()
        for k, item in enumerate(value):
            parts += [b","] * (k > 0) + [to_json(item)]
            if time.perf_counter() - began > PAUSE:
                await asyncio.sleep(0)
                began = time.perf_counter()
        parts.append(b"]")
    return b"".join([*parts, b"}"]) if parts else b"{}"


def read_arguments(scope: Scope, headers: dict[bytes, bytes], raw: bytes, operation: Operation) -> Any:
    """Return the checked body of a request, or its query."""
    if operation.binary:
        return raw
    if operation.body is None:
        return None
    if operation.method == "GET":
        return read_query(operation.body, dict(Request(scope).query_params))
    if not headers.get(b"content-type", b"").startswith(b"application/json"):
        raise RequestError(415, "send Content-Type: application/json")
    return read_body(operation.body, raw)


async def receive_body(headers: dict[bytes, bytes], receive: Receive, most: int) -> bytes:
    """Receive a body of at most so many bytes."""
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most:
        raise RequestError(413, f"a body of {int(length):,} bytes; at most {most:,} are taken")
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError(408, "the client disconnected")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise RequestError(413, f"a body of more than {most:,} bytes; no more are taken")
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "message": {"type": "string"},
                "field": {"type": "string"},
            },
            "required": ["status", "message"],
        }
    },
    "required": ["error"],
}
_ERRORS = {
    "400": "the body is not JSON",
    "401": "the token is missing",
    "404": "no such model",
    "413": "the body or a part of it is too large",
    "422": "a field is wrong, or the library refuses the input",
    "503": "the server is busy, or the answer took too long",
}


def describe_api(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the operations: their docstrings, bodies and limits."""
    _, schemas = json_schemas([one.body for one in operations if one.body is not None])
    paths: dict[str, Any] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _describe(one, schemas)
    queries = {one.body.__name__ for one in operations if one.body is not None and one.method == "GET"}
    schemas = {name: schema for name, schema in schemas.items() if name not in queries}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "epigram",
            "version": epigram.__version__,
            "description": "Taggers, text classifiers, language models, rerankers and converters. The header "
            "X-Epigram-Session names the session that learns corrections.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _ERROR_SCHEMA, **schemas},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe one operation."""
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    parts = [part.strip("{}") for part in operation.path.split("/")[2:]]
    found: dict[str, Any] = {
        "operationId": "_".join([*parts, operation.method.lower()]),
        "summary": (operation.run.__doc__ or "").strip().partition("\n")[0],
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": {}}}},
            **{code: {"description": why, "content": problem} for code, why in _ERRORS.items()},
        },
    }
    parameters: list[dict[str, Any]] = []
    if "{name}" in operation.path:
        parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    content: dict[str, Any] = {}
    if operation.binary:
        content = {"application/octet-stream": {"schema": {"format": "binary"}}}
    elif operation.body is not None and operation.method == "GET":
        schema = schemas[operation.body.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in schema["required"], "schema": kind}
            for name, kind in schema["properties"].items()
        ]
    elif operation.body is not None:
        content = {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{operation.body.__name__}"}}
        }
        if operation.example is not None:
            content["application/json"]["example"] = operation.example
    if content:
        found["requestBody"] = {"required": True, "content": content}
    if parameters:
        found["parameters"] = parameters
    return found
