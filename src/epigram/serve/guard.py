"""Who may ask what: hosts, origins, the token, sizes; headers that keep a browser strict; errors as JSON; times.

Host: a page of another site can make a browser connect to this machine under a name of its own (DNS rebinding), but
then the Host header holds that name. Only addresses, ``localhost`` and names given at the start are taken. Origin: a
page of another site may send requests here, but says where it comes from (CSRF); that must be this server.
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

from epigram.serve.errors import Refusal, refusal_of
from epigram.serve.metrics import Metrics

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
UNGUARDED = ("/healthz",)


@dataclass(frozen=True)
class Door:
    """Who is let in: on loopback only, names besides addresses and localhost, and the token that /v1 needs."""

    loopback: bool = True
    names: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request that must not come in."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.knows(host):
            raise Refusal(421, f"no such host here: {host[:60]!r}; see epigram serve --allow-host")
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host.lower():
            raise Refusal(403, "requests from pages of other sites are refused")
        if self.token is None or path in UNGUARDED or not path.startswith(("/v1/", "/metrics")):
            return
        given = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("latin-1"), self.token.encode()):
            raise Refusal(401, "this server needs its token: send Authorization: Bearer TOKEN")

    @lru_cache(maxsize=64)  # noqa: B019 (a server has one door)
    def knows(self, host: str) -> bool:
        """Is this a name of ours?"""
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


class Guard:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, door: Door, metrics: Metrics) -> None:
        self.app, self.door, self.metrics = app, door, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, add headers, count."""
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
            self.door.check(scope["path"], dict(scope["headers"]))
            await self.app(scope, receive, with_headers)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal.status == 500:
                traceback.print_exc(file=sys.stderr)
            if status:
                raise
            await refuse(refusal, with_headers)
        finally:
            self.metrics.in_flight -= 1
            route = scope.get("epigram.route", "other")
            self.metrics.count(route, status or 499, time.perf_counter() - began)


async def refuse(refusal: Refusal, send: Send) -> None:
    """Send an error; the connection ends where the rest of a body may still be on its way."""
    body = json.dumps(refusal.record, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status in (408, 413, 421, 403):
        headers.append((b"connection", b"close"))
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
