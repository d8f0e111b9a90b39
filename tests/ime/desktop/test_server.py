"""The protocol of the server as front ends use it."""

from __future__ import annotations

import json
import runpy
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from epigram import KanaKanjiConverter
from epigram.errors import InputError
from epigram.ime.desktop.server import LONGEST_LINE, EditorServer
from epigram.ime.user.settings import UserSettings

TEXT = ["橋/はし を 渡る/わたる", "箸/はし", "箸/はし", "石/いし の 橋/はし"]


class Client:
    """Connection of a front end."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rwb")

    def send(self, line: bytes) -> Any:
        self.file.write(line + b"\n")
        self.file.flush()
        answer = self.file.readline()
        return json.loads(answer) if answer else None

    def ask(self, **request: object) -> Any:
        return self.send(json.dumps(request).encode())

    def press(self, *keys: str) -> str:
        return "".join(self.ask(key=key)["commit"] or "" for key in keys)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EditorServer]:
    converter = KanaKanjiConverter.build(TEXT)
    found = EditorServer(converter, tmp_path / "s" / "socket", tmp_path / "journal", tmp_path / "settings")
    (tmp_path / "journal").touch()
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    assert not found.path.exists()


def test_typing_choosing_and_learning(server: EditorServer, tmp_path: Path) -> None:
    client = Client(server.path)
    for key in "hashi":
        shown = client.ask(key=key)
    assert (shown["preedit"], shown["handled"], shown["commit"], shown["at"]) == (["はし"], True, None, None)
    shown = client.ask(key="space")
    assert (shown["preedit"], shown["at"], shown["candidates"][0], shown["chosen"]) == (["箸"], 0, "箸", 0)
    assert client.press("down", "enter") == "橋"
    assert json.loads((tmp_path / "journal").read_text())["chosen"] == "橋"
    assert client.ask(lessons=True)["lessons"] == [["はし", "橋"]]
    assert Client(server.path).press(*"hashi", "space", "enter") == "橋"
    client.ask(forget=0)
    assert (tmp_path / "journal").read_text() == ""
    assert Client(server.path).press(*"hashi", "space", "enter") == "箸"


def test_the_text_before_the_caret_counts(server: EditorServer) -> None:
    client = Client(server.path)
    assert client.ask(convert="はし", before="石の")["ways"][0] == "橋"
    client.ask(before="石の")
    assert client.press(*"hashi", "space", "enter") == "橋"


def test_keys_that_mean_nothing_are_left_to_the_application(server: EditorServer) -> None:
    client = Client(server.path)
    assert [client.ask(key=key)["handled"] for key in ("enter", "backspace", "left", "undo", "f7")] == [
        False
    ] * 5
    assert client.ask(key="a")["handled"]
    assert client.ask(key="backspace")["handled"]
    assert client.press("space") == "　"


def test_connections_have_their_own_editor_and_private_field(server: EditorServer, tmp_path: Path) -> None:
    one, two = Client(server.path), Client(server.path)
    one.press(*"ha")
    assert two.ask()["preedit"] == []
    one.ask(reset=True, private=True)
    assert one.press(*"hashi", "space", "down", ",") == "橋"
    assert (tmp_path / "journal").read_text() == ""
    two.press(*"hashi", "space", "down", "enter")
    assert (tmp_path / "journal").read_text() != ""


def test_settings_hold_in_every_connection_and_are_kept(server: EditorServer, tmp_path: Path) -> None:
    one, two = Client(server.path), Client(server.path)
    one.ask(set={"punctuation": "，．", "private": True})
    assert two.press(*"hashi", "space", "down", ",") == "橋"
    assert two.ask()["preedit"] == ["，"]
    assert two.ask()["settings"] == {
        "punctuation": "，．",
        "width": "mixed",
        "layout": "romaji",
        "private": True,
    }
    assert (tmp_path / "journal").read_text() == ""
    kept = UserSettings.load(tmp_path / "settings")
    assert (kept.punctuation, kept.private) == ("，．", False)


def test_words_that_another_process_adds_are_known_at_the_next_reading(
    server: EditorServer, tmp_path: Path
) -> None:
    client = Client(server.path)
    assert client.press(*"epi", "space", "enter") == "えぴ"
    (tmp_path / "journal").write_text('{"word": ["えぴ", "Epi"]}\n')
    assert client.press(*"epi", "space", "enter") == "Epi"
    (tmp_path / "journal").write_text("")
    assert client.press(*"epi", "space", "enter") == "えぴ"


def test_a_selection_is_converted_again(server: EditorServer) -> None:
    client = Client(server.path)
    shown = client.ask(reconvert="橋を渡る", before="石の")
    assert (shown["preedit"], shown["erase"]) == (["橋を", "渡る"], 0)
    assert "no reading known" in client.ask(reconvert="鬱")["error"]
    assert client.press("enter") == "橋を渡る"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "error"), (b"[]", "a JSON object"), (b'{"kex": 1}', "unknown field 'kex'"),
        (b'{"key": 3}', "must be text"),
        (b'{"set": {"colour": 1}}', "unknown setting"), (b'{"set": {"punctuation": "x"}}', "must be one of"),
        (b'{"set": {"private": 1}}', "must be one of"), (b'{"set": 3}', "an object of settings"),
        (b'{"forget": 7}', "number of a lesson"), (b"\xff", "error"),
        (b'{"convert": "' + b"a" * 3000 + b'"}', "at most 2,000"),
    ],
)  # fmt: skip
def test_bad_requests_are_answered_and_the_connection_stays(
    server: EditorServer, line: bytes, said: str
) -> None:
    client = Client(server.path)
    answer = client.send(line)
    assert set(answer) == {"error"}
    assert said == "error" or said in answer["error"]
    assert client.ask(key="a")["preedit"] == ["あ"]


def test_the_example_of_a_front_end(server: EditorServer, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "docs/clients/ime_client.py"
    assert len(example.read_text().splitlines()) <= 60
    runpy.run_path(str(example))["main"](str(server.path), ["hashi space down enter", "hashiwo space"])
    assert capsys.readouterr().out.splitlines() == ["commit 橋", "shown  ", "shown  橋を 橋を 箸を 橋ヲ"]


def test_a_front_end_may_stop_the_server(server: EditorServer) -> None:
    assert Client(server.path).ask(stop=True) == {"stopped": True}


def test_an_endless_line_ends_the_connection(server: EditorServer) -> None:
    client = Client(server.path)
    assert "65,536 bytes" in client.send(b"a" * (LONGEST_LINE + 9))["error"]
    assert client.file.readline() == b""


def test_the_socket_is_the_users(server: EditorServer) -> None:
    assert server.path.stat().st_mode & 0o777 == 0o600
    assert server.path.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(InputError, match="a server answers"):
        EditorServer(server.state.converter, server.path)


def test_a_stale_socket_is_replaced_and_an_open_folder_refused(tmp_path: Path) -> None:
    converter, path = KanaKanjiConverter.build(TEXT), tmp_path / "s" / "socket"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    EditorServer(converter, path).server_close()
    path.parent.chmod(0o755)
    with pytest.raises(InputError, match="may be entered by others"):
        EditorServer(converter, path)
