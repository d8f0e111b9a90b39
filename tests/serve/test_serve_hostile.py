"""Clients that mean no good: the server answers them in a sentence, goes on for others, and keeps nothing of them.

EPIGRAM_HOSTILE is the number of bad requests (1,000 by default, 10,000 for the record).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from running import Running

from epigram.serve.guard import Door
from epigram.serve.limits import Limits
from epigram.serve.run import close_studio, configure, listen, open_studio

ROUTES = ("tag", "convert", "lm/next", "lm/score", "rerank", "explain", "tag/learn", "convert/learn", "train")
FIELDS = (
    "model",
    "sentences",
    "contexts",
    "readings",
    "text",
    "k",
    "nbest",
    "lists",
    "step",
    "left",
    "fixed",
    "index",
)


def bad_value(random_: random.Random, depth: int = 0) -> Any:
    """Something that a field is unlikely to take."""
    made: list[Any] = [
        None, True, -1, 10**30, 1e308, -0.5, "", "\x00", "a" * 2000, "../../etc/passwd", "<script>", "\U0010ffff",
        "%s%n", {"": {}}, [[]], "no such model",
    ]  # fmt: skip
    if depth < 3:
        made += [[bad_value(random_, depth + 1) for _ in range(3)], {"text": bad_value(random_, depth + 1)}]
    return random_.choice(made)


def bad_request(random_: random.Random) -> bytes:
    """Bytes of a POST that is wrong in some way."""
    body = json.dumps({name: bad_value(random_) for name in random_.sample(FIELDS, 3)}).encode()
    kind = random_.randrange(8)
    if kind == 0:
        body = body[: len(body) // 2]
    elif kind == 1:
        body = body.replace(b"null", b"NaN") + b" "
    elif kind == 2:
        body = b'{"text": "\xff\xfe"}'
    elif kind == 3:
        body = b"[" * 3000
    elif kind == 4:
        body = b'{"contexts": ["' + b"x" * 1_100_000 + b'"]}' if random_.random() < 0.02 else b"{}"
    head = f"POST /v1/{random_.choice(ROUTES)} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def send_all(port: int, requests: list[bytes], connections: int) -> list[int]:
    """Statuses of the answers; a connection that the server closed is opened again."""
    statuses: list[int] = []

    async def client(mine: list[bytes]) -> None:
        writer = None
        for request in mine:
            if writer is None or writer.is_closing():
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                at = head.lower().index(b"content-length:") + 15
                body = await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
            except (ConnectionError, asyncio.IncompleteReadError):
                writer = None
                statuses.append(413)  # it may close while a body that is too large is still being sent
                continue
            statuses.append(int(head[9:12]))
            if statuses[-1] != 200:
                assert json.loads(body)["error"]["message"]
            if b"connection: close" in head.lower():
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    await asyncio.gather(*(client(requests[k::connections]) for k in range(connections)))
    return statuses


def test_thousands_of_bad_requests(server: Running) -> None:
    count = int(os.environ.get("EPIGRAM_HOSTILE", "1000"))
    random_ = random.Random(7)
    requests = [bad_request(random_) for _ in range(count)]
    asyncio.run(send_all(server.port, requests[: count // 4], 8))
    before, files = server.memory(), len(os.listdir(f"/proc/{server.process.pid}/fd"))
    statuses = asyncio.run(send_all(server.port, requests, 8))
    assert len(statuses) == count
    assert max(statuses) < 500, sorted(set(statuses))
    assert sum(status != 200 for status in statuses) > 0.9 * count
    assert server.memory() < 1.1 * before + (8 << 20)
    time.sleep(0.2)
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) <= files + 4
    with httpx.Client(base_url=server.url) as client:
        assert client.post("/v1/tag", json={"sentences": [["The", "dog"]]}).status_code == 200


@pytest.fixture
def hasty(files: dict[str, Path]) -> Iterator[int]:
    """The port of a server that waits half a second for a request, and takes few connections."""
    studio = open_studio(
        {"log-linear": files["log-linear"]}, limits=Limits(arrival=0.5, idle=1, connections=40)
    )
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(configure(studio, Door()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    close_studio(studio)


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"POST /v1/lm/next HTTP/1.1\r\nHost: local",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
        b"POST /v1/lm/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{",
    ],
)
def test_slow_clients_are_sent_away(hasty: int, beginning: bytes) -> None:
    slow = []
    for _ in range(30):
        slow.append(socket.create_connection(("127.0.0.1", hasty)))
        slow[-1].sendall(beginning)
    with httpx.Client(base_url=f"http://localhost:{hasty}") as client:
        for _ in range(5):
            assert client.post("/v1/lm/next", json={"contexts": ["the"]}).status_code == 200
    began = time.monotonic()
    for one in slow:
        one.settimeout(10)
        while one.recv(65536):
            pass
        one.close()
    assert time.monotonic() - began < 5


def test_too_many_connections_are_told_so(hasty: int) -> None:
    held = [socket.create_connection(("127.0.0.1", hasty)) for _ in range(45)]
    time.sleep(0.1)
    answers = []
    for one in held[-3:]:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.settimeout(5)
        answers.append(one.recv(200))
    assert all(b" 503 " in answer for answer in answers)
    for one in held:
        one.close()
    time.sleep(0.1)
    with httpx.Client(base_url=f"http://localhost:{hasty}") as client:
        assert client.get("/healthz").status_code == 200
