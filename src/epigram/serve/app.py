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

    routes = [
        Route(one.path, counted(one.path, endpoint(studio, one)), methods=[one.method]) for one in OPERATIONS
    ]
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


def endpoint(studio: Studio, operation: Operation) -> Endpoint:
    """The route of an operation: read and check, run within the time limit, answer."""
    limits = studio.limits

    async def run(request: Request) -> Response:
        body = await arguments(request, operation, limits)
        session = request.headers.get("x-epigram-session")
        call = Call(studio, body, session, request.path_params.get("name"))
        try:
            async with asyncio.timeout(limits.answer):
                answer = await operation.run(call)
        except TimeoutError:
            raise Refusal(503, f"this took more than {limits.answer:g} s; send less at once") from None
        if isinstance(answer, Raw):
            headers = {"content-disposition": f'attachment; filename="{answer.file_name}"'}
            return Response(answer.content, media_type=answer.type, headers=headers)
        return Response(to_json(answer), media_type="application/json")

    return run


def to_json(answer: Any) -> bytes:
    """An answer as JSON; a NaN would be a bug, and is refused."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def arguments(request: Request, operation: Operation, limits: Limits) -> Any:
    """The checked body of a request, or its query."""
    kind = operation.body
    if operation.method == "GET":
        return None if kind is None else read(kind, _numbers(dict(request.query_params)))
    raw = await body_of(request, limits.upload if operation.upload else limits.body, limits.arrival)
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


async def body_of(request: Request, most: int, seconds: float) -> bytes:
    """The body, if it is not too large and arrives in time."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise Refusal(413, f"a body of {int(length):,} bytes; at most {most:,} are taken")
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise Refusal(413, f"a body of more than {most:,} bytes; no more are taken")
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, f"the body took more than {seconds:g} s to arrive") from None
    except ClientDisconnect:
        raise Refusal(408, "the client went away") from None
    return b"".join(parts)
