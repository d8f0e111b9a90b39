"""Downloads against a loopback server: whole and right, or one clear error and nothing left behind."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from epigram.datasets import DataSet, File, fetch, find, folders
from epigram.errors import EpigramError, InputError

CONTENT = b"He PRP B-NP\nwaits VBZ B-VP\n\n" * 4000


def sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@dataclass
class Server:
    """What to answer for each path: (status, body, announced length); and what was asked."""

    url: str
    answers: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def serve(self, path: str, body: bytes, status: int = 200, length: int | None = None) -> None:
        self.answers[path] = (status, body, len(body) if length is None else length)


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            status, body, length = state.answers.get(self.path, (404, b"nothing here", 12))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{http.server_address[1]}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; no local data; no proxy between us and the loopback."""
    monkeypatch.setenv("EPIGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EPIGRAM_DATA", str(tmp_path / "local"))
    monkeypatch.delenv("EPIGRAM_DATA_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache" / "data"


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace the catalogue by one data set, ``toy``, with these files."""

    def replace(*files: File) -> None:
        toy = DataSet("toy", "tagging", "a toy", "the toy shop", "free", 1, files)
        monkeypatch.setattr("epigram.datasets.download.catalogue", lambda: {"toy": toy})

    return replace


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.parent.rglob("*") if path.is_file()]


def test_good(server: Server, cache: Path, offer: Callable[..., None]) -> None:
    offer(File("a/train.txt", sha(CONTENT), url=f"{server.url}/x.txt"))
    server.serve("/x.txt", CONTENT)
    assert find("toy") is None
    assert fetch("toy") == cache / "toy" == find("toy")
    assert (cache / "toy" / "a" / "train.txt").read_bytes() == CONTENT
    assert left_behind(cache) == [cache / "toy" / "a" / "train.txt"]
    assert fetch("toy", "a/train.txt") == cache / "toy" / "a" / "train.txt"
    assert server.asked == ["/x.txt"], "what is there and right is not downloaded again"


def test_mirror_goes_before_the_own_address(
    server: Server, cache: Path, offer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(File("a.txt", sha(CONTENT), url="http://192.0.2.1/never"), File("b.txt", sha(b"b")))
    monkeypatch.setenv("EPIGRAM_DATA_URL", f"{server.url}/mirror/")
    server.serve("/mirror/toy/a.txt", CONTENT)
    server.serve("/mirror/toy/b.txt", b"b")
    assert sorted(path.name for path in fetch("toy").iterdir()) == ["a.txt", "b.txt"]


def test_packed_or_unpacked_as_the_name_says(server: Server, cache: Path, offer: Callable[..., None]) -> None:
    packed = gzip.compress(CONTENT, 1)
    offer(
        File("plain.txt", sha(CONTENT), url=f"{server.url}/packed"),
        File("packed.txt.gz", sha(packed), content=sha(CONTENT), url=f"{server.url}/plain"),
    )
    server.serve("/packed", packed)
    server.serve("/plain", CONTENT)
    folder = fetch("toy")
    assert (folder / "plain.txt").read_bytes() == CONTENT
    assert gzip.decompress((folder / "packed.txt.gz").read_bytes()) == CONTENT
    assert fetch("toy") == folder
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("body", "status", "length", "says"),
    [
        (CONTENT[:-100], 200, len(CONTENT), "the connection broke off"),
        (CONTENT[:-100], 200, None, "wrong checksum"),
        (CONTENT.replace(b"He", b"he"), 200, None, "wrong checksum"),
        (gzip.compress(CONTENT)[:-20], 200, None, "wrong checksum"),
        (b"", 200, None, "wrong checksum"),
        (b"no", 404, None, "the server answered 404 Not Found"),
        (b"no", 500, None, "the server answered 500 Internal Server Error"),
    ],
    ids=["cut off", "short", "changed", "packed and short", "empty", "404", "500"],
)
def test_bad_answers_leave_nothing(
    server: Server,
    cache: Path,
    offer: Callable[..., None],
    body: bytes,
    status: int,
    length: int | None,
    says: str,
) -> None:
    offer(File("train.txt", sha(CONTENT), url=f"{server.url}/x"))
    server.serve("/x", body, status, length)
    with pytest.raises(EpigramError, match=says) as raised:
        fetch("toy")
    message = str(raised.value)
    assert f"{server.url}/x" in message
    assert "the toy shop" in message
    assert str(cache.parent.parent / "local" / "toy") in message, "it says where to put the files"
    assert "\n" not in message
    assert left_behind(cache) == []


def test_no_server(cache: Path, offer: Callable[..., None]) -> None:
    offer(File("train.txt", sha(CONTENT), url="http://127.0.0.1:9/x"))
    with pytest.raises(EpigramError, match="no connection"):
        fetch("toy")
    assert left_behind(cache) == []


def test_a_damaged_file_in_the_cache_is_replaced(
    server: Server, cache: Path, offer: Callable[..., None]
) -> None:
    offer(File("train.txt", sha(CONTENT), url=f"{server.url}/x"))
    server.serve("/x", CONTENT)
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "train.txt").write_bytes(CONTENT[:77])
    assert (fetch("toy") / "train.txt").read_bytes() == CONTENT


def test_a_damaged_file_stays_where_no_better_one_comes(
    server: Server, cache: Path, offer: Callable[..., None]
) -> None:
    offer(File("train.txt", sha(CONTENT), url=f"{server.url}/gone"))
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "train.txt").write_bytes(CONTENT[:77])
    with pytest.raises(EpigramError, match="404"):
        fetch("toy")
    assert left_behind(cache) == [cache / "toy" / "train.txt"]


def test_a_wrong_local_file_is_named_and_left_alone(cache: Path, offer: Callable[..., None]) -> None:
    offer(File("train.txt", sha(CONTENT)))
    local = folders()[0] / "toy"
    local.mkdir(parents=True)
    (local / "train.txt").write_bytes(b"mine")
    with pytest.raises(InputError, match="wrong checksum") as raised:
        fetch("toy")
    assert raised.value.path == str(local / "train.txt")
    assert (local / "train.txt").read_bytes() == b"mine"


def test_without_an_address_nothing_is_asked(server: Server, cache: Path, offer: Callable[..., None]) -> None:
    offer(File("a.txt", sha(b"a"), url=f"{server.url}/a"), File("b.txt", sha(b"b")))
    with pytest.raises(EpigramError, match=r"b\.txt has no public address. Get it from the toy shop"):
        fetch("toy")
    assert server.asked == []


def test_meter_is_told_the_size(server: Server, cache: Path, offer: Callable[..., None]) -> None:
    class Meter:
        total = 0
        done = 0

        def update(self, n: int) -> None:
            self.done += n

        def reset(self) -> None:
            self.done = 0

        def close(self) -> None:
            pass

    meters: dict[str, Meter] = {}
    offer(File("train.txt", sha(CONTENT), url=f"{server.url}/x"))
    server.serve("/x", CONTENT)
    fetch("toy", meter=lambda name: meters.setdefault(name, Meter()))
    assert meters["train.txt"].done == meters["train.txt"].total == len(CONTENT)


def test_unwritable_cache(
    server: Server,
    offer: Callable[..., None],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    offer(File("train.txt", sha(CONTENT), url=f"{server.url}/x"))
    server.serve("/x", CONTENT)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EPIGRAM_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="cannot make the folder"):
        fetch("toy")


def test_the_named_folder_is_searched_before_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("EPIGRAM_DATA", raising=False)
    assert folders() == [cache]
    monkeypatch.setenv("EPIGRAM_DATA", str(tmp_path))
    assert folders() == [tmp_path, cache]


TREEBANK = b"# sent_id = 1\n1\tKedi\tkedi\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


def blob(raw: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()


@pytest.fixture
def treebank(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Serve one treebank of two files and a picture in the place of the public address."""
    monkeypatch.setattr("epigram.datasets.download.UNIVERSAL_DEPENDENCIES", server.url)
    files = {"tr_imst-ud-train.conllu": TREEBANK, "LICENSE.txt": b"free", "cat.png": b"png"}
    rows = [
        {"name": name, "size": len(raw), "sha": blob(raw), "download_url": f"{server.url}/raw/{name}"}
        for name, raw in files.items()
    ]
    server.serve("/UD_Turkish-IMST/contents?ref=master", json.dumps(rows).encode())
    for name, raw in files.items():
        server.serve(f"/raw/{name}", raw)
    return server


def test_a_treebank_comes_from_its_repository_once(treebank: Server, cache: Path) -> None:
    assert find("ud:Turkish-IMST") is None
    folder = fetch("ud:Turkish-IMST")
    assert folder == cache / "UD_Turkish-IMST"
    assert (folder / "tr_imst-ud-train.conllu").read_bytes() == TREEBANK
    assert not (folder / "cat.png").exists()
    treebank.answers.clear()
    assert fetch("ud:Turkish-IMST") == find("ud:Turkish-IMST") == folder
    assert fetch("ud:Turkish-IMST", "LICENSE.txt").read_bytes() == b"free"


def test_a_changed_file_of_a_treebank_is_refused(treebank: Server, cache: Path) -> None:
    treebank.serve("/raw/tr_imst-ud-train.conllu", TREEBANK + b"\n")
    with pytest.raises(EpigramError, match="wrong checksum"):
        fetch("ud:Turkish-IMST")
    assert not (cache / "UD_Turkish-IMST" / "tr_imst-ud-train.conllu").exists()
    treebank.serve("/raw/tr_imst-ud-train.conllu", TREEBANK)
    assert (fetch("ud:Turkish-IMST") / "tr_imst-ud-train.conllu").read_bytes() == TREEBANK


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ud:turkish", "write ud:LANGUAGE-TREEBANK"),
        ("ud:../x-y", "write ud:LANGUAGE-TREEBANK"),
        ("ud:Klingon-KTB", "there is no treebank UD_Klingon-KTB"),
    ],
)
def test_an_unknown_treebank_is_named(treebank: Server, cache: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fetch(name)


@pytest.mark.parametrize(
    "listing",
    [
        b"{}",
        b"[1]",
        b"nothing",
        b"[]",
        b'[{"name": "a.conllu", "download_url": "file:///etc/passwd", "sha": ""}]',
    ],
)
def test_a_list_of_another_form_is_refused(treebank: Server, cache: Path, listing: bytes) -> None:
    treebank.serve("/UD_Turkish-IMST/contents?ref=master", listing)
    with pytest.raises(InputError, match=r"is no list|lists no CoNLL-U"):
        fetch("ud:Turkish-IMST")


def test_without_a_network_the_error_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("epigram.datasets.download.UNIVERSAL_DEPENDENCIES", "http://127.0.0.1:9")
    with pytest.raises(
        EpigramError, match=r"no connection.*github.com/UniversalDependencies/UD_Turkish-IMST"
    ):
        fetch("ud:Turkish-IMST")


def test_a_folder_of_a_release_is_found(tmp_path: Path, cache: Path) -> None:
    home = tmp_path / "local" / "UD_Turkish-IMST"
    home.mkdir(parents=True)
    (home / "tr_imst-ud-test.conllu").write_bytes(TREEBANK)
    assert fetch("ud:Turkish-IMST") == home
    assert fetch("ud:Turkish-IMST", "tr_imst-ud-test.conllu").read_bytes() == TREEBANK
