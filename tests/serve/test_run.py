"""Clients that mean no good: the server answers them in a sentence, goes on for others, and keeps nothing of them.

EPIGRAM_HOSTILE is the number of bad requests (1,000 by default, 10,000 for the record).
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import os
import random
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from running import Running
from soak import bad_request, soak
from starlette.testclient import TestClient

from epigram.serve.app import build
from epigram.serve.http import Limits
from epigram.serve.run import close_server, configure, listen, open_server
from epigram.serve.security import AccessPolicy
from epigram.serve.state import ServerState


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
def studio_of_hasty(files: dict[str, Path]) -> Iterator[ServerState]:
    limits = Limits(arrival=0.5, idle=1, connections=40)
    studio = open_server({"log-linear": files["log-linear"]}, limits=limits)
    yield studio
    close_server(studio)


@pytest.fixture
def hasty(studio_of_hasty: ServerState) -> Iterator[int]:
    """The port of a server that waits half a second for a request, and takes few connections."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(configure(studio_of_hasty, AccessPolicy()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()


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


@pytest.mark.parametrize("end", [b"", b"0\r\n"])
def test_headers_without_end_are_refused(hasty: int, end: bytes) -> None:
    """Headers, and trailers after a body in chunks: nobody may send more than 64 KB, whole lines or one long one."""
    head = b"POST /v1/lm/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    if end:
        head += b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + end
    for line in (b"x: " + b"a" * 4000 + b"\r\n", b"a" * 4000):
        with socket.create_connection(("127.0.0.1", hasty)) as one:
            one.settimeout(5)
            one.sendall(head + b"y: ")
            with pytest.raises(ConnectionError):
                send_for_ever(one, line)


def send_for_ever(one: socket.socket, line: bytes) -> None:
    """Send the line again and again, but for no more than 32 MB, of which the socket's buffers hold some."""
    for _ in range((32 << 20) // len(line)):
        one.sendall(line)


def test_a_body_in_small_chunks_is_read(hasty: int) -> None:
    body = b'{"contexts": ["' + b"the " * 250 + b'"]}'
    chunks = b"".join(b"8\r\n" + body[k : k + 8].ljust(8) + b"\r\n" for k in range(0, len(body), 8))
    head = b"POST /v1/lm/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", hasty)) as one:
        one.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        assert b" 200 " in one.recv(100)


def test_clients_that_do_not_read_are_closed(hasty: int, studio_of_hasty: ServerState) -> None:
    file = studio_of_hasty.folder / "large"
    file.write_bytes(bytes(48 << 20))
    entry = next(iter(studio_of_hasty.registry))
    studio_of_hasty.registry.put(dataclasses.replace(entry, name="large", path=file))
    before = resident()
    slow = []
    for _ in range(20):
        slow.append(socket.create_connection(("127.0.0.1", hasty)))
        slow[-1].sendall(b"GET /v1/models/large/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.4)
    assert resident() < before + (32 << 20)
    with httpx.Client(base_url=f"http://localhost:{hasty}") as client:
        assert client.get("/healthz").status_code == 200
        time.sleep(1.0)
        connections = [line for line in client.get("/metrics").text.splitlines() if "in_flight" in line]
        assert connections[-1] == "epigram_requests_in_flight 1"
        assert len(client.get("/v1/models/large/file").content) == 48 << 20
    for one in slow:
        one.settimeout(5)
        n_read = 0
        while part := one.recv(1 << 20):
            n_read += len(part)
        assert n_read < 32 << 20
        one.close()
    studio_of_hasty.registry.drop("large")


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_answers_that_nobody_reads_are_bounded(files: dict[str, Path]) -> None:
    studio = open_server({"chunks": files["chunks"]}, limits=Limits(unsent=100_000))
    with TestClient(build(studio, AccessPolicy()), base_url="http://localhost") as client:
        large = client.post("/v1/tag", json={"sentences": [["a"] * 900] * 30})
        assert large.status_code == 503
        assert "do not read" in large.json()["error"]["message"]
        assert client.post("/v1/tag", json={"sentences": [["a"] * 900]}).status_code == 200
        assert studio.n_unsent == 0
    close_server(studio)


def test_refused_requests_leave_no_garbage(files: dict[str, Path]) -> None:
    """A refusal whose traceback holds itself keeps its request in memory until the collector comes by."""
    studio = open_server({"chunks": files["chunks"]})
    app = build(studio, AccessPolicy())
    tokens = [["The", None]] + [["a", "b"]] * 20_000
    bodies = [
        json.dumps(one).encode()
        for one in ({"sentences": [["a"] * 1000] * 100, "nbest": 20}, {"sentences": [tokens]})
    ]
    scope = {
        "type": "http", "method": "POST", "path": "/v1/tag", "query_string": b"", "scheme": "http",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "http_version": "1.1",
    }  # fmt: skip

    async def ask(body: bytes) -> int:
        statuses: list[int] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        await app(dict(scope), receive, send)  # type: ignore[arg-type]
        return statuses[0]

    async def ask_all(n: int) -> set[int]:
        return {await ask(body) for _ in range(n) for body in bodies}

    async def held() -> int:
        await ask_all(3)
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            assert await ask_all(10) == {413}
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            gc.enable()

    assert asyncio.run(held()) < 300_000
    close_server(studio)


def test_a_few_seconds_of_mixed_load(files: dict[str, Path], cache: Path) -> None:
    """The load of ``python tests/serve/soak.py``, which also bounds memory and times over ten minutes."""
    found = soak(5.0, cache=cache)
    assert found.failures == []
    assert found.n_requests > 50
    assert {200, 422} <= set(found.statuses)


def test_uploads_in_pairs(files: dict[str, Path], cache: Path) -> None:
    content = files["word-order"].read_bytes()
    with Running("--port", "0", "--uploads", str(files["log-linear"]), cache=cache) as running:

        async def ask() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
                wanted = [client.post("/v1/models", content=content) for _ in range(12)]
                return list(await asyncio.gather(*wanted))

        answers = asyncio.run(ask())
        taken = [answer.json()["name"] for answer in answers if answer.status_code == 200]
        assert len(set(taken)) == len(taken) == Limits.trained_models
        assert {answer.status_code for answer in answers} == {200, 422}
        with httpx.Client(base_url=running.url) as client:
            for name in taken:
                assert client.post("/v1/rerank/path", json={"model": name}).status_code == 200
                assert client.get(f"/v1/models/{name}/file").content == content
        assert running.process.poll() is None


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
