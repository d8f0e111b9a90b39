"""Who is let in, what a browser is told, and a server that goes on whatever clients do."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from running import Running
from starlette.testclient import TestClient

from epigram import InputError
from epigram.serve.app import build
from epigram.serve.http import Limits
from epigram.serve.run import close_server, open_server
from epigram.serve.security import AccessPolicy
from epigram.serve.state import ServerState


@pytest.mark.parametrize(
    ("host", "loopback", "names", "known"),
    [
        ("localhost:8765", True, (), True),
        ("LOCALHOST", True, (), True),
        ("127.0.0.1:1", True, (), True),
        ("127.9.9.9", True, (), True),
        ("[::1]:8765", True, (), True),
        ("evil.example:8765", True, (), False),
        ("localhost.evil.example", True, (), False),
        ("127.0.0.1.evil.example", True, (), False),
        ("192.168.0.7", True, (), False),
        ("192.168.0.7", False, (), True),
        ("evil.example", False, (), False),
        ("studio.example", False, ("studio.example",), True),
        ("", True, (), False),
        ("[", True, (), False),
        ("localhost@evil.example", True, (), False),
        ("evil.example\\localhost", True, (), False),
    ],
)
def test_hosts(host: str, loopback: bool, names: tuple[str, ...], known: bool) -> None:
    assert AccessPolicy(loopback, names).accepts_host(host) is known


def test_pages_of_other_sites_are_refused(client: TestClient) -> None:
    foreign = (
        "http://evil.example",
        "null",
        "http://localhost:9",
        "https://localhost.evil.example",
        "http://[",
    )
    for origin in foreign:
        answer = client.post("/v1/lm/next", json={"contexts": [""]}, headers={"origin": origin})
        assert answer.status_code == 403, origin
    mine = client.post("/v1/lm/next", json={"contexts": [""]}, headers={"origin": "http://localhost:8765"})
    assert mine.status_code == 200
    assert not [name for name in mine.headers if name.startswith("access-control")]
    assert client.get("/v1/models", headers={"host": "evil.example"}).status_code == 421


def test_browsers_are_told_to_be_strict(client: TestClient) -> None:
    for path in ("/", "/v1/models", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_a_token_guards_the_api_and_the_metrics(studio: ServerState) -> None:
    app = build(studio, AccessPolicy(token="sesame"))
    client = TestClient(app, base_url="http://localhost")  # not entered: leaving it would close the studio
    assert client.get("/healthz").status_code == 200
    assert client.get("/").status_code == 200
    for path in ("/v1/models", "/metrics", "/v1/openapi.json"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer sésame".encode()}).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer sesame"}).status_code == 200


def test_a_token_comes_from_a_file_or_the_environment(
    files: dict[str, Path], cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("sesame\n")
    ways = [
        (["--token-file", str(tmp_path / "token")], {"EPIGRAM_TOKEN": "other"}),
        ([], {"EPIGRAM_TOKEN": "sesame"}),
    ]
    for words, environment in ways:
        with Running("--port", "0", *words, str(files["log-linear"]), cache=cache, **environment) as running:
            assert "sesame" not in running.address
            with httpx.Client(base_url=running.url) as client:
                assert client.get("/v1/models").status_code == 401
                given = {"authorization": "Bearer sesame"}
                assert client.get("/v1/models", headers=given).status_code == 200


def test_tokens_that_are_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from epigram.cli.serve import command

    file = tmp_path / "token"
    file.write_text(" \n")
    for wrong in ({"token": ""}, {"token": "sés ame"}, {"token_file": file}):
        with pytest.raises(InputError, match="a token is one word"):
            command(host="0.0.0.0", **wrong)
    with pytest.raises(InputError, match="not both"):
        command(token="a", token_file=file)
    with pytest.raises(InputError, match="nowhere"):
        command(token_file=tmp_path / "nowhere")
    monkeypatch.setenv("EPIGRAM_TOKEN", "")
    with pytest.raises(InputError, match="EPIGRAM_TOKEN: a token is one word"):
        command()


def test_addresses_that_others_reach_need_a_word(server: Running, tmp_path: Path) -> None:
    from epigram.cli.serve import command

    with pytest.raises(InputError, match=r"--token TOKEN or --token-file FILE, or --open"):
        command(host="0.0.0.0")
    with pytest.raises(InputError, match="not 'nowhere'"):
        command(host="nowhere")
    with pytest.raises(InputError, match="choose another --port"):
        command(port=server.port)
    (tmp_path / "x.epigram").write_text("no model")
    with pytest.raises(InputError, match="not an epigram model file"):
        command([tmp_path / "x.epigram"], port=0)


def test_an_answer_that_takes_too_long_is_given_up(files: dict[str, Path]) -> None:
    studio = open_server({"log-linear": files["log-linear"]}, limits=Limits(answer=0.2))
    model = next(iter(studio.registry)).estimator
    quick, model.next_words = model.next_words, lambda *_: time.sleep(1.0)
    with TestClient(build(studio, AccessPolicy()), base_url="http://localhost") as client:
        late = client.post("/v1/lm/next", json={"contexts": ["the"]})
        assert late.status_code == 503
        assert "more than 0.2 s" in late.json()["error"]["message"]
        model.next_words = quick
        time.sleep(1.0)
        assert client.post("/v1/lm/next", json={"contexts": ["the"]}).status_code == 200
    close_server(studio)


def raw(server: Running, content: bytes, wait: float = 0.0) -> tuple[socket.socket, bytes]:
    """A connection on which some bytes were sent, and what came back within the time."""
    made = socket.create_connection(("127.0.0.1", server.port))
    made.sendall(content)
    made.settimeout(wait or 0.05)
    try:
        return made, made.recv(4096)
    except TimeoutError:
        return made, b""


def test_half_sent_and_broken_requests_leave_nothing_behind(server: Running) -> None:
    head = b"POST /v1/lm/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    beginnings = [
        b"",
        b"POST /v1/tag",
        head,
        head + b"Content-Length: 100\r\n\r\n{",
        head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/9.9\r\n\r\n",
        head + b"Content-Length: -5\r\n\r\n",
        head + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n{}   ",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ]
    opened = [raw(server, content)[0] for content in beginnings * 4]
    with httpx.Client(base_url=server.url) as client:
        began = time.monotonic()
        assert client.post("/v1/lm/next", json={"contexts": ["the"]}).status_code == 200
        assert time.monotonic() - began < 5
        for one in opened[::2]:
            one.close()
        assert client.get("/healthz").status_code == 200
    for one in opened[1::2]:
        one.close()


def test_a_body_that_does_not_arrive_is_given_up(client: TestClient) -> None:
    import anyio  # the test client reads a body at once, so the application is spoken to itself

    async def ask() -> list[dict[str, object]]:
        sent: list[dict[str, object]] = []
        scope = {
            "type": "http", "method": "POST", "path": "/v1/lm/next", "query_string": b"", "scheme": "http",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "http_version": "1.1",
        }  # fmt: skip
        parts = [{"type": "http.request", "body": b'{"contexts":', "more_body": True}]

        async def receive() -> dict[str, object]:
            if parts:
                return parts.pop()
            await anyio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await client.app(scope, receive, send)
        return sent

    sent = anyio.run(ask)
    assert sent[0]["status"] == 408


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_two_seconds(
    files: dict[str, Path], cache: Path, number: int, tmp_path: Path
) -> None:
    with Running("--port", "0", str(files["chunks"]), cache=cache, TMPDIR=str(tmp_path)) as running:
        text = "\n".join(f"word{k} POS{k % 7}\n" for k in range(60_000))
        with httpx.Client(base_url=running.url) as client:
            answer = client.post("/v1/train", json={"family": "tagger", "text": text, "passes": 200})
            assert answer.status_code == 200
        held, _ = raw(running, b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        assert running.children()
        child = running.children()[0]
        assert running.end(number) < 2.0
        assert running.process.returncode == 0
        assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text()
        assert not list(tmp_path.glob("epigram-studio-*"))
        held.close()
