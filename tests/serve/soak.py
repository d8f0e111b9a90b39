"""Mixed load from well-meant and hostile clients on a server of its own, on the loopback address.

    python tests/serve/soak.py [--seconds 600]

sends 25 requests a second, drawn uniformly from malformed requests, uploads in pairs, 64 sessions that learn, n-best
requests of 700 KB and clients that read slowly or not at all, and prints answers of 500 and above (but 503, which the
server sends on purpose), the resident memory at 30 % of the time and at the end, and the slowest /healthz.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from running import Running

PER_SECOND = 25
MOST_SLOW = 64
PATIENCE = 40.0
GROWTH, SLOWEST = 1.05, 0.050
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


def http(
    path: str, body: bytes = b"", session: str = "", method: str = "POST", kind: str = "application/json"
) -> bytes:
    """Bytes of a request on a connection of its own."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    )
    head += f"Content-Type: {kind}\r\n" + (f"X-Epigram-Session: {session}\r\n" if session else "")
    return head.encode() + b"\r\n" + body


def to_body(record: Any) -> bytes:
    """JSON as bytes."""
    return json.dumps(record, ensure_ascii=False).encode()


@dataclass
class Found:
    """What a run showed."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    slowest: float = 0.0
    n_probes: int = 0

    @property
    def n_requests(self) -> int:
        """Requests that got an answer."""
        return sum(self.statuses.values())

    def resident(self, share: float) -> float:
        """Return megabytes at a share of the time: the median of the samples around it."""
        end = self.memory[-1][0]
        near = [size for when, size in self.memory if abs(when - share * end) <= max(2.0, 0.01 * end)]
        return statistics.median(near) / 1e6


class Load:
    """The clients."""

    def __init__(self, running: Running, folder: Path, seed: int) -> None:
        self.running, self.random, self.found = running, random.Random(seed), Found()
        self.slow, self.ended = 0, False
        model = (folder / "word-order.epigram").read_bytes()
        self.uploads = [model, model[:-9], model[: len(model) // 2], b"no model"]
        self.lists = self._lists()
        labels = {"model": "chunks", "sentence": ["Time", "flies"], "labels": ["B-VP", "B-NP"]}
        self.lessons = [
            ("/v1/tag/learn", to_body(labels)),
            ("/v1/convert/learn", to_body({"reading": "はし", "text": "端"})),
            ("/v1/tag", to_body({"model": "chunks", "sentences": [["Time", "flies"]], "marginals": True})),
            ("/v1/convert", to_body({"readings": ["はしをわたる"], "nbest": 5, "segments": True})),
        ]

    def _lists(self) -> list[tuple[str, bytes]]:
        """Requests of some 700 KB: many labellings of long sentences, and n-best lists."""
        from epigram.datasets import sample

        texts = [to_body(one).decode() for one in sample.lists("train", 600)]
        lines: list[str] = []
        while sum(map(len, lines)) < 700_000:
            lines += self.random.sample(texts, 50)
        found = [("/v1/rerank", to_body({"text": "\n".join(lines)[:700_000].rpartition("\n")[0]}))]
        tags = {"sentences": [["a"] * 1000] * 140, "nbest": 20, "marginals": True}
        fewer = {"sentences": [["word" * 40] * 100] * 40, "nbest": 20}
        return [*found, ("/v1/tag", to_body(tags)), ("/v1/tag", to_body(fewer))]

    async def one(self) -> None:
        """Send one request of a kind drawn at random."""
        kinds = [self._malformed, self._pair, self._session, self._nbest, self._slow]
        try:
            async with asyncio.timeout(PATIENCE):
                await self.random.choice(kinds)()
        except TimeoutError:
            self.found.failures.append("a request without an answer")

    async def _malformed(self) -> None:
        await self._ask(bad_request(self.random))

    async def _pair(self) -> None:
        content = self.random.choice(self.uploads)
        request = http("/v1/models", content, kind="application/octet-stream")
        await asyncio.gather(self._ask(request), self._ask(request))

    async def _session(self) -> None:
        path, body = self.random.choice(self.lessons)
        await self._ask(http(path, body, f"session-{self.random.randrange(64):016}"))

    async def _nbest(self) -> None:
        await self._ask(http(*self.random.choice(self.lists)))

    async def _slow(self) -> None:
        if self.slow >= MOST_SLOW:
            return
        self.slow += 1
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.running.port, limit=1024)
            writer.write(
                self.random.choice([http("/v1/models/japanese/file", method="GET"), http(*self.lists[-1])])
            )
            for _ in range(self.random.randrange(20)):
                if self.ended or not await reader.read(100):
                    break
                await asyncio.sleep(0.5)
            writer.transport.abort()
        except ConnectionError:
            pass
        finally:
            self.slow -= 1

    async def _ask(self, request: bytes) -> None:
        """Send a request and read its answer; the server may close while a body that is too large is being sent."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.running.port)
        except ConnectionError as error:
            self.found.failures.append(f"no connection: {error}")
            return
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            at = head.lower().index(b"content-length:") + 15
            body = await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
            status = int(head[9:12])
            self.found.statuses[status] += 1
            if status >= 500 and status != 503:
                self.found.failures.append(f"{status}: {request[:60]!r}: {body[:200]!r}")
        except (ConnectionError, asyncio.IncompleteReadError):
            if len(request) < 1_000_000:
                self.found.failures.append(f"no answer: {request[:60]!r}")
        finally:
            writer.close()

    async def run(self, seconds: float) -> None:
        """Send requests at their rate, and look at the memory once in a while."""
        began = time.monotonic()
        tasks: set[asyncio.Task[None]] = set()
        for k in range(int(seconds * PER_SECOND)):
            await asyncio.sleep(max(0.0, began + k / PER_SECOND - time.monotonic()))
            tasks.add(asyncio.create_task(self.one()))
            tasks = {task for task in tasks if not task.done()}
            if k % PER_SECOND == 0:
                self.found.memory.append((time.monotonic() - began, self.running.memory()))
        self.found.memory.append((time.monotonic() - began, self.running.memory()))
        self.ended = True
        await asyncio.gather(*tasks)


def probe(port: int) -> None:
    """Ask /healthz five times a second until standard input ends; print the slowest answer and their number."""
    import select
    import socket

    slowest, n = 0.0, 0
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.sendall(http("/healthz", method="GET"))
            if b" 200 " not in one.recv(1000):
                slowest = float("inf")
        slowest, n = max(slowest, time.perf_counter() - began), n + 1
    print(slowest, n)


def soak(seconds: float, seed: int = 1, cache: Path | None = None) -> Found:
    """Start a server, load it for so many seconds, and end it."""
    from epigram.files import user_cache
    from epigram.serve.sample_models import sample_files

    cache = user_cache() if cache is None else cache
    os.environ["EPIGRAM_CACHE"] = str(cache)
    folder = next(iter(sample_files().values())).parent
    with Running("--port", "0", "--uploads", cache=cache) as running:
        load = Load(running, folder, seed)
        command = [sys.executable, __file__, "--probe", str(running.port)]
        prober = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        asyncio.run(load.run(seconds))
        said, _ = prober.communicate("")
        load.found.slowest, load.found.n_probes = float(said.split()[0]), int(said.split()[1])
        if running.process.poll() is not None:
            load.found.failures.append(f"the server ended with {running.process.returncode}")
    return load.found


def main() -> int:
    """Run the load and print what it showed; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--probe", type=int, metavar="PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.probe is not None:
        probe(given.probe)
        return 0
    found = soak(given.seconds, given.seed)
    before, after = found.resident(0.3), found.resident(1.0)
    print(f"answers: {dict(sorted(found.statuses.items()))}")
    print(f"failures: {len(found.failures)} (target 0)", *found.failures[:20], sep="\n  ")
    print(
        f"memory: {before:.1f} MB at 30 %, {after:.1f} MB at the end, {after / before:.3f} times (target {GROWTH})"
    )
    print(
        f"slowest of {found.n_probes} healthz: {1000 * found.slowest:.1f} ms (target {1000 * SLOWEST:.0f} ms)"
    )
    return int(bool(found.failures) or after > GROWTH * before or found.slowest > SLOWEST)


if __name__ == "__main__":
    sys.exit(main())
