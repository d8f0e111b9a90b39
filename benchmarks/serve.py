"""The studio under load, on loopback: requests per second and latency of tagging and conversion, and memory over time.

The server is ``epigram serve`` on its sample models, with one route added: python-crfsuite, with a model trained on the
same sentences and features that its users would write, inside the same application. The clients are one other process
with as many connections as said. Both routes are timed in the same run, in turns. ``--minutes`` is the length of the
mixed load (a quarter of a minute by default; ten for the record).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from _bars import Claims
from epigram.datasets import sample
from epigram.serve import app, tagging
from epigram.serve.run import listen, open_server, serve
from epigram.serve.sample_models import SAMPLES, sample_files
from epigram.serve.security import AccessPolicy
from epigram.serve.state import Call, Operation

TOKENS = 25
SECONDS = 8.0
TURNS = 4


def sentences(n: int) -> list[list[str]]:
    """Sentences of 25 tokens, from the words of the test part."""
    words = [word for one in sample.tagged("test") for word, _, _ in one]
    return [words[k * TOKENS : (k + 1) * TOKENS] for k in range(min(n, len(words) // TOKENS))]


def features(words: list[str]) -> list[list[str]]:
    """What the sample tagger looks at (words, pairs of words, substrings), made in Python."""
    made = []
    for t, word in enumerate(words):
        token = [f"{k}={words[t + k]}" for k in (-2, -1, 0, 1, 2) if 0 <= t + k < len(words)]
        if t:
            token.append(f"-1|0={words[t - 1]}|{word}")
        if t + 1 < len(words):
            token.append(f"0|1={word}|{words[t + 1]}")
        n = len(word)
        token += ["s=" + word[a:b] for a in range(n) for b in range(a + 1, min(n, a + 9) + 1)]
        token.append("shape=" + "".join("A" if c.isupper() else "#" if c.isdigit() else "a" for c in word))
        made.append(token)
    return made


def rival(path: str) -> Operation:
    """The route /v1/tag with the same checks of the same body, and python-crfsuite in our tagger's place."""
    tagger = pycrfsuite.Tagger()
    tagger.open(path)

    async def tag(call: Call) -> Any:
        found = [{"tokens": words, "labels": tagger.tag(features(words))} for words in call.body.sentences]
        return {"sentences": found}

    return Operation("POST", "/rival/tag", tag, tagging.Tag)


def train_rival(path: str) -> None:
    """CRFsuite on the sentences of the sample tagger, about as sparse."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.3, "c2": 0.0, "max_iterations": 60})
    for one in sample.tagged("train"):
        trainer.append(features([word for word, _, _ in one]), [chunk for _, _, chunk in one])
    trainer.train(path)


def run_server(path: str, pipe: Any) -> None:
    """The studio with the rival's route, in a process of its own."""
    app.OPERATIONS.insert(0, rival(path))
    listener = listen("127.0.0.1", 0)
    studio = open_server(sample_files(), SAMPLES)
    serve(studio, AccessPolicy(), listener, lambda: pipe.send(listener.getsockname()[1]))


class Connection:
    """One client: a request after the other on a connection that stays open."""

    async def open(self, port: int) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        at = head.lower().index(b"content-length:")
        length = int(head[at + 15 : head.index(b"\r\n", at)])
        return int(head[9:12]), await self.reader.readexactly(length)


def request(path: str, body: Any) -> bytes:
    """The bytes of a POST."""
    content = json.dumps(body, ensure_ascii=False).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


async def load(port: int, requests: list[bytes], connections: int, seconds: float) -> dict[str, float]:
    """Ask for a while; requests per second, latencies in milliseconds, and answers that were not 200."""
    times: list[float] = []
    wrong = 0
    began = time.perf_counter()
    end = began + seconds

    async def client(k: int) -> None:
        nonlocal wrong
        connection = Connection()
        await connection.open(port)
        while time.perf_counter() < end:
            sent = time.perf_counter()
            status, _ = await connection.ask(requests[k % len(requests)])
            times.append(time.perf_counter() - sent)
            wrong += status != 200
            k += connections
        connection.writer.close()

    await asyncio.gather(*(client(k) for k in range(connections)))
    taken = time.perf_counter() - began
    p50, p99 = 1000 * np.quantile(times, [0.5, 0.99])
    return {"rate": len(times) / taken, "p50": p50, "p99": p99, "wrong": wrong, "n": len(times)}


def in_clients(port: int, requests: list[bytes], connections: int, seconds: float) -> dict[str, float]:
    """The load of one process of clients."""
    try:
        import uvloop

        run: Callable[[Any], Any] = uvloop.run
    except ImportError:
        run = asyncio.run
    found: dict[str, float] = run(load(port, requests, connections, seconds))
    return found


def kana() -> list[str]:
    """Readings of the sample sentences."""
    from epigram.datasets.sample import BACKGROUND

    return ["".join(token.rpartition("/")[2] or token for token in line.split()) for line in BACKGROUND]


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return 1024 * int(line.split()[1])
    return 0


def mixed(text: list[list[str]]) -> list[bytes]:
    """A bit of everything."""
    asked = [request("/v1/tag", {"sentences": [words], "marginals": True, "nbest": 3}) for words in text[:20]]
    asked += [request("/v1/convert", {"readings": [one], "segments": True}) for one in kana()]
    asked += [request("/v1/lm/next", {"contexts": [" ".join(words[:3]).lower()]}) for words in text[:20]]
    asked += [request("/v1/lm/score", {"sentences": [" ".join(words).lower()]}) for words in text[:20]]
    asked += [
        request("/v1/explain", {"model": "chunks", "sentence": words[:12], "token": 3}) for words in text[:10]
    ]
    return asked


def main() -> int:
    """Measure, show, and say whether the bars hold."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=0.25)
    options.add_argument("--seconds", type=float, default=SECONDS)
    options.add_argument("--record", type=Path)
    given = options.parse_args()
    claims = Claims(given.record, rival="python-crfsuite")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rival.crfsuite")
        train_rival(path)
        pipe, other = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(target=run_server, args=(path, other))
        server.start()
        try:
            measure(claims, int(pipe.recv()), int(server.pid or 0), given)
        finally:
            server.terminate()
            server.join()
    return claims.exit_code


def measure(claims: Claims, port: int, pid: int, given: argparse.Namespace) -> None:
    """All claims."""
    text = sentences(200)
    tag = [request("/v1/tag", {"model": "chunks", "sentences": [words]}) for words in text]
    other = [request("/rival/tag", {"sentences": [words]}) for words in text]
    convert = [request("/v1/convert", {"readings": [one]}) for one in kana()]
    for warm in (tag, other, convert):
        in_clients(port, warm, 4, 0.5)
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(in_clients(port, tag, 32, given.seconds / TURNS))
        theirs.append(in_clients(port, other, 32, given.seconds / TURNS))
    best, rivals = (max(one, key=lambda each: each["rate"]) for one in (ours, theirs))
    claims.add(
        "tagging, 32 connections, requests/s", f"{best['rate']:,.0f}", f"{rivals['rate']:,.0f}",
        best["rate"], 1500, True,
    )  # fmt: skip
    claims.add(
        "  times python-crfsuite", f"{best['rate']:,.0f}", f"{rivals['rate']:,.0f}",
        best["rate"] / rivals["rate"], 1.3, True,
    )  # fmt: skip
    claims.add("  p99, ms", f"{best['p99']:.1f}", f"{rivals['p99']:.1f}", best["p99"], 60)
    found = in_clients(port, convert, 16, given.seconds / 2)
    name = f"conversion, 16 connections ({found['rate']:,.0f}/s), p99 ms"
    claims.add(name, f"{found['p99']:.1f}", "", found["p99"], 25)
    asked = mixed(text)
    first = in_clients(port, asked, 16, min(60.0, 30.0 * given.minutes))
    before = resident(pid)
    rest = in_clients(port, asked, 16, 60.0 * given.minutes)
    growth = 100.0 * (resident(pid) / before - 1.0)
    wrong = sum(one["wrong"] for one in (*ours, *theirs, found, first, rest))
    claims.add(
        f"mixed load, {given.minutes:g} min ({rest['n']:,} requests), errors", f"{wrong:.0f}", "", wrong, 0
    )
    claims.add("  growth of memory, %", f"{growth:.2f}", f"of {before >> 20} MB", growth, 2)


if __name__ == "__main__":
    raise SystemExit(main())
