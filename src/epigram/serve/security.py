"""ASGI middleware: host and origin checks, token, security headers, errors as JSON, timing.

Host: a page of another site can make a browser connect to this machine under that site's name (DNS rebinding), but then
the Host header holds that name. Only addresses, ``localhost`` and names given at the start are accepted. Origin: a page
of another site can send requests here (CSRF), but its Origin header names that site; it must name this server.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import sys
import time
import traceback
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from epigram.serve.http import Metrics, RequestError, to_request_error

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
PUBLIC_PATHS = ("/healthz",)


@dataclass(frozen=True)
class AccessPolicy:
    """Accepted hosts (addresses, localhost and ``names``) and the token that /v1 needs."""

    loopback: bool = True
    names: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request with a wrong host, origin or token."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.accepts_host(host):
            raise RequestError(421, f"no such host here: {host[:60]!r}; see epigram serve --allow-host")
        origin = headers.get(b"origin")
        if origin is not None and _netloc(origin) != host.lower():
            raise RequestError(403, "requests from pages of other sites are refused")
        if self.token is None or path in PUBLIC_PATHS or not path.startswith(("/v1/", "/metrics")):
            return
        given = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("latin-1"), self.token.encode()):
            raise RequestError(401, "this server needs its token: send Authorization: Bearer TOKEN")

    @lru_cache(maxsize=64)  # noqa: B019 (a server has one policy)
    def accepts_host(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in ("localhost", *self.names):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback


def _netloc(origin: bytes) -> str | None:
    """Return host and port of an Origin header, or None if it is not a URL."""
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return None


class SecurityMiddleware:
    """Checks each request, adds security headers to its response, and counts it."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, metrics: Metrics) -> None:
        self.app, self.policy, self.metrics = app, policy, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = dict(message["headers"])
                message["headers"] += [header for header in HEADERS if header[0] not in own]
            await send(message)

        self.metrics.in_flight += 1
        try:
            self.policy.check(scope["path"], dict(scope["headers"]))
            await self.app(scope, receive, with_headers)
        except Exception as error:
            failure = to_request_error(error)
            if failure.status == 500:
                traceback.print_exc(file=sys.stderr)
            if status:
                raise
            failure.__traceback__ = None  # its frames hold the request, and this frame holds the error
            await send_error(failure, with_headers)
        finally:
            self.metrics.in_flight -= 1
            route = scope.get("epigram.route", "other")
            self.metrics.count(route, status or 499, time.perf_counter() - began)


async def send_error(failure: RequestError, send: Send) -> None:
    """Send an error; close the connection where the rest of a body may still arrive."""
    body = json.dumps(failure.record, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if failure.status in (408, 413, 421, 403):
        headers.append((b"connection", b"close"))
    if failure.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": failure.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
