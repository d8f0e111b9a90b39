"""The application: operations as routes, bodies read within their limits, answers as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from epigram.serve import catalogue, conversion, language, reasons, reranking, tagging, training
from epigram.serve.errors import Refusal
from epigram.serve.fields import parse, read
from epigram.serve.guard import Door, Guard
from epigram.serve.limits import Limits
from epigram.serve.openapi import document
from epigram.serve.pages import Pages
from epigram.serve.studio import Call, Operation, Raw, Studio

OPERATIONS: list[Operation] = [
    *tagging.OPERATIONS,
    *conversion.OPERATIONS,
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

    routes = [Route(one.path, Answering(studio, one), methods=[one.method]) for one in OPERATIONS]
    routes += [
        Route("/v1/openapi.json", counted("/v1/openapi.json", openapi)),
        Route("/healthz", counted("/healthz", health)),
        Route("/metrics", counted("/metrics", metrics)),
        Route("/{path:path}", counted("page", Pages())),
    ]
    return Guard(Strict(Router(routes, lifespan=lifespan, redirect_slashes=False)), door, studio.metrics)


class Strict:
    """Lets what no route takes become an exception, which the guard turns into JSON."""

    def __init__(self, router: Router) -> None:
        self.router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request."""
        scope["app"] = self
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
        request = Request(scope, receive)
        late = Refusal(408, f"the body took more than {limits.arrival:g} s to arrive")
        try:
            async with asyncio.timeout(limits.arrival) as clock:
                body = await arguments(request, operation, limits)
                late = Refusal(503, f"this took more than {limits.answer:g} s; send less at once")
                clock.reschedule(asyncio.get_running_loop().time() + limits.answer)
                name = scope["path_params"].get("name")
                call = Call(self.studio, body, request.headers.get("x-epigram-session"), name)
                answer = await operation.run(call)
        except TimeoutError:
            raise late from None
        if isinstance(answer, Raw):
            content, headers = answer.content, [(b"content-type", answer.type.encode())]
            headers.append((b"content-disposition", f'attachment; filename="{answer.file_name}"'.encode()))
        else:
            content, headers = to_json(answer), [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(answer: Any) -> bytes:
    """An answer as JSON; a NaN would be a bug, and is refused."""
    return _ENCODER.encode(answer).encode()


async def arguments(request: Request, operation: Operation, limits: Limits) -> Any:
    """The checked body of a request, or its query."""
    kind = operation.body
    if operation.method == "GET":
        return None if kind is None else read(kind, _numbers(dict(request.query_params)))
    raw = await body_of(request, limits.upload if operation.upload else limits.body)
    if operation.binary:
        return raw
    if kind is None:
        return None
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refusal(415, "send Content-Type: application/json")
    return read(kind, parse(raw))


def _numbers(query: dict[str, str]) -> dict[str, Any]:
    """Values of a query that are numbers, as numbers; what is searched for stays text."""
    return {
        name: int(value) if value.isascii() and value.isdigit() and len(value) < 16 and name != "q" else value
        for name, value in query.items()
    }


async def body_of(request: Request, most: int) -> bytes:
    """The body, if it is not too large."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise Refusal(413, f"a body of {int(length):,} bytes; at most {most:,} are taken")
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise Refusal(413, f"a body of more than {most:,} bytes; no more are taken")
            parts.append(part)
    except ClientDisconnect:
        raise Refusal(408, "the client went away") from None
    return b"".join(parts)
