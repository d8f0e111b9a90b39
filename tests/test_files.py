"""Text in: UTF-8, gzip, standard input; errors with file and line."""

from __future__ import annotations

import gzip
import io
import os
import platform
import stat
import sys
import threading
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epigram import KanaKanjiConverter
from epigram.errors import InputError
from epigram.files import check_writable, read_bytes, read_lines, read_text, stream_lines, write_atomically
from epigram.ime.corrections import Journal
from epigram.storage import ModelFile


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_comes_back(tmp_path: Path, pack: object, text: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(text.encode()))  # type: ignore[operator]
    assert read_text(path) == text


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\n\r\nb", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("a\u2028b\x0bc\n".encode(), ["a\u2028b\x0bc"]),
    ],
)
def test_lines(tmp_path: Path, raw: bytes, lines: list[str]) -> None:
    (tmp_path / "x").write_bytes(raw)
    assert list(read_lines(tmp_path / "x")) == lines


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(b"hello"))))
    assert read_bytes("-") == b"hello"


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\nb\n\xe9t\xe9\n")
    with pytest.raises(
        InputError, match=r"x:3: invalid UTF-8 \(byte 0xe9\); convert the file to UTF-8 first"
    ):
        read_text(tmp_path / "x")


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"hello" * 99)
    for broken in (whole[:-4], whole[:12] + b"\xff" + whole[13:], whole[:3]):
        (tmp_path / "x").write_bytes(broken)
        with pytest.raises(InputError, match="x: broken gzip data"):
            read_bytes(tmp_path / "x")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot read: No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(InputError, match="cannot read: Is a directory"):
        read_bytes(tmp_path)


def test_writes_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for content in (b"old", b"new" * 1000, b""):
        write_atomically(target, content)
        assert target.read_bytes() == content
        assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_on_the_way_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "model"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, step, full)
    with pytest.raises(InputError, match="model: cannot write: No space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_ctrl_c_on_the_way_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "model", b"new")
    assert os.listdir(tmp_path) == []


def places_that_cannot_be_written(tmp_path: Path) -> list[tuple[Path, str]]:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    return [
        (tmp_path / "missing" / "model", "the folder does not exist; make it first"),
        (tmp_path / "file" / "model", "Not a directory"),
        (tmp_path / "folder", "folder|directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]


@pytest.mark.parametrize("function", [check_writable, lambda path: write_atomically(path, b"x")])
def test_unwritable_places_are_said(tmp_path: Path, function: object) -> None:
    for path, says in places_that_cannot_be_written(tmp_path):
        with pytest.raises(InputError, match=says) as raised:
            function(path)  # type: ignore[operator]
        assert raised.value.path == str(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_check_leaves_no_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "model")
    assert os.listdir(tmp_path) == []
    (tmp_path / "model").write_bytes(b"old")
    check_writable(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"


def test_the_longest_name_a_folder_takes(tmp_path: Path) -> None:
    check_writable(tmp_path / ("x" * 255))
    write_atomically(tmp_path / ("x" * 255), b"x")


def test_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "ours", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    check_writable(pipe)
    write_atomically(pipe, b"content")
    reader.join(timeout=600)
    assert received == [b"content"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_an_endless_device_is_refused(tmp_path: Path) -> None:
    for read in (read_bytes, lambda path: list(stream_lines(path)), ModelFile.load, load_journal):
        for device in ("/dev/full", "/dev/zero", "/dev/urandom"):
            (tmp_path / "link").unlink(missing_ok=True)
            (tmp_path / "link").symlink_to(device)
            for path in (Path(device), tmp_path / "link"):
                with pytest.raises(InputError, match="is a device"):
                    read(path)
    assert read_bytes("/dev/null") == b""


def load_journal(path: Path) -> Journal:
    return Journal.load(KanaKanjiConverter.build(["。"]).decoder, path)


def write_content(place: Path | int) -> None:
    with open(place, "wb") as file:
        file.write(b"content")


def test_pipes_are_read_whole(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, None):
        ends = os.pipe()
        source = pipe if path else ends[1]
        writer = threading.Thread(target=write_content, args=(source,))
        writer.start()
        assert read_bytes(path or f"/dev/fd/{ends[0]}") == b"content"
        writer.join(timeout=600)
        os.close(ends[0])


def planted(folder: Path, process: object) -> Path:
    host = f"{zlib.crc32(platform.node().encode()):08x}"
    return folder / f".epigram-{host}-{process}-{'0' * 16}"


def test_a_temporary_file_of_no_process_is_removed(tmp_path: Path) -> None:
    planted(tmp_path, 10**20).write_bytes(b"left")
    write_atomically(tmp_path / "model", b"new")
    assert os.listdir(tmp_path) == ["model"]


def test_names_like_those_of_temporary_files_block_nothing_and_stay(tmp_path: Path) -> None:
    others = [planted(tmp_path, 10**20), planted(tmp_path, "²"), planted(tmp_path, os.getpid())]
    others += [Path(f"{planted(tmp_path, 10**20)}-thesis.txt"), planted(tmp_path, f"{10**20}-")]
    others[0].mkdir()
    for path in others[1:]:
        path.write_bytes(b"mine")
    check_writable(tmp_path / "model")
    write_atomically(tmp_path / "model", b"new")
    assert all(path.exists() for path in [*others, tmp_path / "model"])
