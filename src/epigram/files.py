"""Reads and writes files: UTF-8 and gzip with size limits, standard streams, atomic writes.

What is written replaces a file whole or not at all (:func:`write_atomically`).
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import platform
import re
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from stat import S_IMODE, S_ISCHR
from typing import Any

from epigram.errors import InputError, WrongInputWarning, reason

MAX_BYTES = "EPIGRAM_MAX_BYTES"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
GZIP_MAGIC = b"\x1f\x8b"
_TO_UTF8 = "convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW"
_BINARY = (
    (rb"\x28\xb5\x2f\xfd", "Zstandard compressed data; unpack it first: zstd -d FILE"),
    (rb"\xfd7zXZ\x00", "xz compressed data; unpack it first: xz -dk FILE"),
    (rb"\x5d\x00\x00", "LZMA compressed data; unpack it first: xz -dk FILE"),
    (rb"BZh[1-9](?:1AY&SY|\x17rE8P)", "bzip2 compressed data; unpack it first: bzip2 -dk FILE"),
    (rb"\x04\x22\x4d\x18", "lz4 compressed data; unpack it first: lz4 -d FILE"),
    (rb"PK(?:\x03\x04|\x05\x06)", "a zip archive; unpack it first: unzip FILE"),
    (rb"7z\xbc\xaf", "a 7z archive; unpack it first: 7z x FILE"),
    (rb".{257}ustar(?:\x00|  \x00)", "a tar archive; unpack it first: tar -xf FILE"),
    (rb"%PDF-", "a PDF document; take the text out first: pdftotext FILE NEW"),
    (rb"PAR1", "a Parquet file; write its column of text to a file first, one sentence a line"),
    (
        rb"ARROW1|\xff{4}[^\x00]..\x00",
        "an Arrow file; write its column of text to a file first, one sentence a line",
    ),
    (rb"\xff\xfe|\xfe\xff", f"UTF-16 text; {_TO_UTF8}"),
    (rb"(?:[^\x00]\x00){4}|(?:\x00[^\x00]){4}", f"UTF-16 text; {_TO_UTF8}"),
    (rb".{4}\x00{4}\{", "an epigram model file, not text; check the order of the arguments"),
    (
        rb"mmap lm http|lCRF|\x80[\x02-\x05]",
        "a model or pickle of another program, not text; check the order of the arguments",
    ),
    (rb"[^\x00]{0,8191}\x00", "binary data (byte 0x00), not text; check the order of the arguments"),
)
"""Patterns of the first bytes of files that are not UTF-8 text, and the error for each."""
JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[?\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
_TABLE_NAME = re.compile(r"\.(csv|tsv|jsonl|ndjson)(?:\.gz)?$")
CONLLU_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*#[^\n]*\n)*\d+(?:[-.]\d+)?(?:\t[^\t\n]*){9}(?:\n|\Z)")
_TAG = re.compile(r"O|[BIES]-\w+|[A-Z]{2,}\$?|\W")
_HEAD, _ROWS, _TABLE_ROWS, _COLUMN_ROWS = 1 << 16, 3, 20, 8
"""Bytes that :func:`check_sentences` looks at, the least and most lines of a table that it looks at, and the fewest
lines of one width that make a file of columns."""
_AS_IT_IS = "(epigram --quiet reads it as it is)"


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Read a file, unpacked if it is gzip; ``-`` is standard input.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> p = pathlib.Path(tempfile.mkdtemp()) / "x.gz"
    >>> _ = p.write_bytes(gzip.compress(b"hello"))
    >>> read_bytes(p)
    b'hello'
    """
    try:
        if str(path) == "-":
            raw = sys.stdin.buffer.read()
        else:
            with open_file(path) as file:
                raw = file.read()
    except OSError as error:
        raise InputError(f"cannot read: {reason(error)}", path=path) from error
    if raw[:2] != GZIP_MAGIC:
        return raw
    limit = most_bytes(len(raw))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            content = bytearray()  # in pieces: one read of so many bytes would ask for all that memory first
            while piece := packed.read(min(1 << 20, limit + 1 - len(content))):
                content += piece
        if len(content) > limit:
            raise _bomb(path, limit)
        return bytes(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"broken gzip data: {error}", path=path) from error


def open_file(path: str | PathLike[str]) -> io.BufferedReader:
    """Open a file, pipe or terminal; refuse devices with content, which may have no end."""
    file = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
    if S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and file.peek(1):
        file.close()
        raise InputError("is a device, whose content may have no end; give a file or a pipe", path=path)
    return file


def most_bytes(packed: int) -> int:
    """Limit of unpacked bytes: ``EPIGRAM_MAX_BYTES``, else 64 MB + 100 times the packed size."""
    given = os.environ.get(MAX_BYTES, "")
    return int(given) if given.isdecimal() else (64 << 20) + 100 * packed


def _bomb(path: str | PathLike[str], limit: int) -> InputError:
    return InputError(
        f"unpacks to more than {limit:,} bytes; if that is meant, allow it: epigram --max-bytes N", path=path
    )


def read_text(path: str | PathLike[str]) -> str:
    """Read a file as text; invalid UTF-8 is an error that names the line."""
    return decode(read_bytes(path), path)


def decode(raw: bytes, path: str | PathLike[str]) -> str:
    """Decode UTF-8 without a byte order mark; errors name the line, or the kind of file."""
    refuse_binary(raw, path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"invalid UTF-8 (byte 0x{raw[error.start]:02x}); convert the file to UTF-8 first",
            path=path,
            line=line,
        ) from None


def refuse_binary(raw: bytes, path: str | PathLike[str]) -> None:
    """Refuse files that are not text by their first bytes.

    Examples
    --------
    >>> refuse_binary(b"BZh91AY&SY", "a.txt")
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: a.txt: this is bzip2 compressed data; unpack it first: bzip2 -dk FILE
    """
    for pattern, found in _BINARY:
        if re.match(pattern, raw, re.DOTALL):
            raise InputError(f"this is {found}", path=path)


def check_sentences(raw: bytes, path: str | PathLike[str]) -> None:
    """Refuse JSON, CoNLL-U and tables where sentences are expected; warn of files of columns.

    Examples
    --------
    >>> check_sentences(b'{"text": "a rose"}\\n', "roses.txt")
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: roses.txt: JSON, but plain text is expected, one sentence a line. \
Take the text out first: jq -r .text FILE > NEW
    """
    refuse_binary(raw, path)
    wanted = "but plain text is expected, one sentence a line"
    if named := _TABLE_NAME.search(str(path)):
        way = "cut -d, -f2" if named[1] == "csv" else "jq -r .text" if named[1] != "tsv" else "cut -f2"
        said = f"a file of records by its name (.{named[1]}), {wanted}. Take the text out first: {way} FILE > NEW"
        raise InputError(said, path=path)
    if JSON_START.match(raw[:_HEAD]):
        field = re.search(rb'"(text|content|sentence|body)"\s*:', raw[:_HEAD])
        said = f"JSON, {wanted}. Take the text out first: jq -r .{field[1].decode() if field else 'FIELD'} FILE > NEW"
        raise InputError(said, path=path)
    if CONLLU_START.match(raw[:_HEAD]):
        said = (
            f"CoNLL-U, {wanted}. Take the words out first: "
            "awk -F'\\t' '$1 ~ /^[0-9]+$/ {printf \"%s \", $2} !NF {print \"\"}' FILE > NEW"
        )
        raise InputError(said, path=path)
    head = raw[:_HEAD].decode("utf-8-sig", "replace").strip().splitlines()
    rows = [line for line in (head if len(raw) <= _HEAD else head[:-1]) if line.strip()]
    for name, mark, way in (("commas", ",", "-d, -f2"), ("tabs", "\t", "-f2")):
        width = _table_width(rows[:_TABLE_ROWS], mark)
        said = (
            f"every line has {width} cells between {name}: a table, {wanted}. Cut out the column of text first, "
            f"for example: cut {way} FILE > NEW"
        )
        if width > 2:
            raise InputError(said, path=path)
        if width == 2:
            warnings.warn(WrongInputWarning(f"{path}: {said} {_AS_IT_IS}"), stacklevel=3)
            return
    widths = {len(row.split()) for row in rows}
    is_grouped = 1 < sum(not line.strip() for line in head) + 1 < len(rows)
    is_tagged = len(rows) > 2 and all(_TAG.fullmatch(row.split()[-1]) for row in rows)
    if (
        (is_tagged or len(rows) >= _COLUMN_ROWS)
        and is_grouped
        and len(widths) == 1
        and (width := widths.pop()) > 1
    ):
        said = (
            f"every line has {width} words, with blank lines between groups: this looks like a file of columns, "
            f"one token a line, {wanted}. Join the words of each group first: "
            'awk \'{printf "%s", NF ? $1 " " : "\\n"}\' FILE > NEW'
        )
        warnings.warn(WrongInputWarning(f"{path}: {said} {_AS_IT_IS}"), stacklevel=3)


def _table_width(lines: list[str], mark: str) -> int:
    """Cells of every line, where marks without blanks around them cut all into as many; else 0."""
    rows = list(csv.reader(lines, delimiter=mark))
    outside = [re.sub('"[^"]*"', "", line) for line in lines]
    loose = any(f"{mark} " in line or f" {mark}" in line for line in outside)
    if len(rows) < _ROWS or len({len(row) for row in rows}) > 1 or loose:
        return 0
    width = len(rows[0])
    return 0 if width == 2 and not all(map(all, rows)) else width  # lines of verse end with a comma


def read_lines(path: str | PathLike[str], sentences: bool = False) -> Iterator[str]:
    """Read lines without their ends; with ``sentences`` other formats are refused."""
    raw = read_bytes(path)
    if sentences:
        check_sentences(raw, path)
    lines = decode(raw, path).split("\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        yield line.removesuffix("\r")


def shown(text: str) -> str:
    """Escape the control characters of text for a terminal.

    Examples
    --------
    >>> shown("a\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def check_text(strings: Iterable[str]) -> None:
    """Refuse strings with lone surrogates, which UTF-8 cannot encode.

    Examples
    --------
    >>> check_text(["a", "b\\ud800"])
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: 'b\\ud800' holds half a character (a lone surrogate); leave it out
    """
    for string in strings:
        if not string.isascii():
            try:
                string.encode()
            except UnicodeEncodeError:
                said = f"{string[:50]!r} holds half a character (a lone surrogate); leave it out"
                raise InputError(said) from None


def refuse_file_names(sentences: Any) -> None:
    """Refuse a list of names of files where a list of sentences is expected."""
    names = sentences[:10] if isinstance(sentences, list | tuple) else ()
    if names and all(isinstance(name, str) and os.path.isfile(name) for name in names):
        raise InputError(
            f"{names[0]!r} is the name of a file, where a sentence is expected; "
            f"to read the file, give pathlib.Path({names[0]!r})"
        )


def parse_json(text: str, path: str | PathLike[str] | None = None, line: int | None = None) -> Any:
    """Parse JSON; errors, lone surrogates included, become one sentence.

    Examples
    --------
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        value = json.loads(text)
        if "\\u" in text and "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        what = f"{error.msg} at column {error.colno}"
    except UnicodeEncodeError:
        what = "half a character, a lone surrogate"
    except RecursionError:
        what = "nested too deeply"
    except ValueError:
        what = "a number of thousands of digits"
    raise InputError(f"broken JSON ({what})", path=path, line=line)


def stream_lines(path: str | PathLike[str]) -> Iterator[str]:
    """Read sentences line by line without loading the whole file."""
    number = 0
    try:
        with open(sys.stdin.fileno(), "rb", closefd=False) if str(path) == "-" else open_file(path) as raw:
            is_packed = raw.peek(2)[:2] == GZIP_MAGIC
            source = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if is_packed else raw
            check_sentences(source.peek(_HEAD), path)
            limit = most_bytes(0) if is_packed else -2  # of a line: the text itself may be of any length
            while line := source.readline(limit + 1):
                number += 1
                if is_packed and len(line) > limit:
                    raise _bomb(path, limit)
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        found = f"invalid UTF-8 (byte 0x{error.object[error.start]:02x})"
        raise InputError(f"{found}; convert the file to UTF-8 first", path=path, line=number) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"broken gzip data: {error}", path=path) from error
    except OSError as error:
        raise InputError(f"cannot read: {reason(error)}", path=path) from error


def write_atomically(path: str | PathLike[str], content: bytes | Iterable[bytes]) -> None:
    """Replace a file atomically: readers see the old content or the new one.

    The content is bytes, or chunks of them.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a"
    >>> write_atomically(target, b"new")
    >>> target.read_bytes(), [p.name for p in target.parent.iterdir()]
    (b'new', ['a'])
    """
    target = Path(os.path.realpath(path))  # a link is followed, not replaced
    chunks = (content,) if isinstance(content, bytes) else content
    try:
        if target.exists() and not target.is_file():  # a device or a pipe cannot be renamed over
            with target.open("wb") as file:
                file.writelines(chunks)
            return
        temporary = _claim(target)
        try:
            with temporary.open("wb") as file:
                file.writelines(chunks)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
            _sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def check_writable(path: str | PathLike[str]) -> None:
    """Raise an error now if ``path`` cannot be written later."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError("cannot write: is a folder; give a file name", path=path)
        if target.is_file() or not target.exists():
            _claim(target).unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def make_folder(folder: Path, way_out: str = "") -> None:
    """Make a folder and its parents if missing; ``way_out`` ends the error message."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {reason(error)}{way_out}", path=folder) from error


def _claim(target: Path) -> Path:
    """Make an empty temporary file beside ``target`` with the permissions of ``target``.

    Its name tells whose it is: files that killed processes of this machine left here are removed.
    """
    host = f"{zlib.crc32(platform.node().encode()):08x}"
    for left in target.parent.glob(f".epigram-{host}-*"):
        named = re.fullmatch(r"([0-9]+)-[0-9a-f]{16}", left.name.removeprefix(f".epigram-{host}-"))
        if named and not is_alive(int(named[1])):
            with suppress(OSError):  # a folder, or another user's
                left.unlink()
    temporary = target.with_name(f".epigram-{host}-{os.getpid()}-{os.urandom(8).hex()}")
    temporary.touch(mode=0o600 if target.exists() else 0o666, exist_ok=False)
    if target.exists():
        temporary.chmod(S_IMODE(target.stat().st_mode))
    return temporary


def is_alive(process: int) -> bool:
    """Return whether there is a process of this number; signal 0 asks, and does nothing."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def reserve(file: int, size: int, path: str | PathLike[str]) -> None:
    """Allocate the blocks of an open file, so that writing to its mapping cannot fail."""
    try:
        getattr(os, "posix_fallocate", lambda *_: None)(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a file system that cannot
            raise _unwritable(path, error) from error


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new name survives a crash; no effect on Windows."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _unwritable(path: str | PathLike[str], error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("cannot write: the folder does not exist; make it first", path=path)
    return InputError(f"cannot write: {reason(error)}", path=path)


def as_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as lines of aligned columns under their names, numbers with a sign and three digits.

    Examples
    --------
    >>> print(as_table(("feature", "weight"), [("w=the", 1.25), ("suffix=s", -0.5)]))
    feature   weight
    w=the     +1.250
    suffix=s  -0.500
    """
    cells = [[f"{x:+.3f}" if isinstance(x, float) else str(x) for x in row] for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join(lines)


def user_cache() -> Path:
    """Cache folder: ``EPIGRAM_CACHE``, else the folder of the platform."""
    explicit = os.environ.get("EPIGRAM_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "epigram"


def counting_dict() -> defaultdict[str, int]:
    """A dict that numbers its keys in order of first use.

    Examples
    --------
    >>> numbers = counting_dict()
    >>> [numbers[word] for word in ("a", "b", "a")]
    [0, 1, 0]
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers
