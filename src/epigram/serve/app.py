"""The application: operations as routes, bodies read within their limits, answers as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from epigram.serve import catalogue, converter, language, reasons, reranking, tagging, training
from epigram.serve.errors import Refusal
from epigram.serve.fields import parse, read
from epigram.serve.guard import Door, Guard
from epigram.serve.limits import Limits
from epigram.serve.openapi import document
from epigram.serve.pages import Pages
from epigram.serve.studio import Call, Operation, Raw, Studio

OPERATIONS: list[Operation] = [
    *tagging.OPERATIONS,
    *converter.OPERATIONS,
    *language.OPERATIONS,
    *reranking.OPERATIONS,
    *reasons.OPERATIONS,
    *training.operations(),
    *catalogue.OPERATIONS,
]
Endpoint = Callable[[Request], Awaitable[Response]]


def build(studio: Studio, door: Door) -> ASGIApp:
    """The ASGI application of a studio."""
    described = to_json(document(OPERATIONS))

    async def openapi(request: Request) -> Response:
        return Response(described, media_type="application/json")

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def metrics(request: Request) -> Response:
        gauges = {
            "models": len(studio.shelf),
            "sessions": len(studio.sessions),
            "training": int(studio.trainer.running),
            "requests_waiting": studio.gathering.n_waiting,
        }
        return PlainTextResponse(studio.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        await studio.trainer.close()
        studio.pool.shutdown(wait=False, cancel_futures=True)

    answering = [(one, Answering(studio, one)) for one in OPERATIONS]
    plain = {(one.method, one.path): answer for one, answer in answering if "{" not in one.path}
    routes = [Route(one.path, answer, methods=[one.method]) for one, answer in answering]
    routes += [
        Route("/v1/openapi.json", counted("/v1/openapi.json", openapi)),
        Route("/healthz", counted("/healthz", health)),
        Route("/metrics", counted("/metrics", metrics)),
        Route("/{path:path}", counted("page", Pages())),
    ]
    router = Router(routes, lifespan=lifespan, redirect_slashes=False)
    return Guard(Strict(plain, router), door, studio.metrics)


class Strict:
    """Finds the route: operations without names in their path at once, the others in turn.

    What no route takes becomes an exception, which the guard turns into JSON.
    """

    def __init__(self, plain: Mapping[tuple[str, str], ASGIApp], router: Router) -> None:
        self.plain, self.router = plain, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request."""
        scope["app"] = self
        found = self.plain.get((scope.get("method", ""), scope.get("path", "")))
        if found is not None:
            await found(scope, receive, send)
            return
        try:
            await self.router(scope, receive, send)
        except HTTPException as error:
            raise Refusal(error.status_code, f"{error.detail.lower()}; see /v1/openapi.json") from None


def counted(name: str, inner: Endpoint) -> Endpoint:
    """The endpoint, under this name in the metrics."""

    async def run(request: Request) -> Response:
        request.scope["epigram.route"] = name
        return await inner(request)

    return run


class Answering:
    """The route of an operation: read and check, run within the time limit, answer."""

    def __init__(self, studio: Studio, operation: Operation) -> None:
        self.studio, self.operation = studio, operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        operation, limits = self.operation, self.studio.limits
        scope["epigram.route"] = operation.path
        headers = dict(scope["headers"])
        late = Refusal(408, f"the body took more than {limits.arrival:g} s to arrive")
        try:
            async with asyncio.timeout(limits.arrival) as clock:
                body = await arguments(scope, headers, receive, operation, limits)
                late = Refusal(503, f"this took more than {limits.answer:g} s; send less at once")
                clock.reschedule(asyncio.get_running_loop().time() + limits.answer)
                session = headers.get(b"x-epigram-session")
                name = scope.get("path_params", {}).get("name")
                call = Call(self.studio, body, None if session is None else session.decode("latin-1"), name)
                answer = await operation.run(call)
        except TimeoutError:
            raise late from None
        if isinstance(answer, Raw):
            content, described = answer.content, [(b"content-type", answer.type.encode())]
            described.append((b"content-disposition", f'attachment; filename="{answer.file_name}"'.encode()))
        else:
            content, described = to_json(answer), [(b"content-type", b"application/json")]
        described.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": described})
        await send({"type": "http.response.body", "body": content})


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(answer: Any) -> bytes:
    """An answer as JSON; a NaN would be a bug, and is refused."""
    return _ENCODER.encode(answer).encode()


async def arguments(
    scope: Scope, headers: dict[bytes, bytes], receive: Receive, operation: Operation, limits: Limits
) -> Any:
    """The checked body of a request, or its query."""
    kind = operation.body
    if operation.method == "GET":
        return None if kind is None else read(kind, _numbers(dict(Request(scope).query_params)))
    raw = await body_of(headers, receive, limits.upload if operation.upload else limits.body)
    if operation.binary:
        return raw
    if kind is None:
        return None
    if not headers.get(b"content-type", b"").startswith(b"application/json"):
        raise Refusal(415, "send Content-Type: application/json")
    return read(kind, parse(raw))


def _numbers(query: dict[str, str]) -> dict[str, Any]:
    """Values of a query that are numbers, as numbers; what is searched for stays text."""
    return {
        name: int(value) if value.isascii() and value.isdigit() and len(value) < 16 and name != "q" else value
        for name, value in query.items()
    }


async def body_of(headers: dict[bytes, bytes], receive: Receive, most: int) -> bytes:
    """The body, if it is not too large."""
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most:
        raise Refusal(413, f"a body of {int(length):,} bytes; at most {most:,} are taken")
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(408, "the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise Refusal(413, f"a body of more than {most:,} bytes; no more are taken")
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)
