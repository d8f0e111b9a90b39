"""Lines of files as bytes: plain, gzip or Zstandard by their magic bytes, ``-`` is stdin."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from os import PathLike
from typing import Any, BinaryIO

from epigram.errors import InputError, reason
from epigram.files import GZIP_MAGIC, most_bytes, open_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PACKED = (".gz", ".zst")


def unpacked_name(path: str | PathLike[str]) -> str:
    """A file name without the ending of a compression.

    Examples
    --------
    >>> unpacked_name("pages.jsonl.zst")
    'pages.jsonl'
    """
    name = str(path)
    return name.rpartition(".")[0] if name.endswith(PACKED) else name


def iterate_lines(path: str | PathLike[str]) -> Iterator[bytes]:
    """Lines with their ends; only a line of compressed data has a largest size."""
    try:
        with open(sys.stdin.fileno(), "rb", closefd=False) if str(path) == "-" else open_file(path) as raw:
            head = raw.peek(4)[:4]
            packed = head[:2] == GZIP_MAGIC or head == ZSTD_MAGIC
            source = open_packed(raw, head) if packed else raw
            limit = most_bytes(0) if packed else -2
            while line := source.readline(limit + 1):
                if packed and len(line) > limit:
                    said = f"a line unpacks to more than {limit:,} bytes; if that is meant: epigram --max-bytes N"
                    raise InputError(said, path=path)
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error, zstd.ZstdError) as error:
        raise InputError(f"corrupt compressed data: {error}", path=path) from error
    except OSError as error:
        raise InputError(f"cannot read: {reason(error)}", path=path) from error


def open_packed(raw: Any, head: bytes) -> BinaryIO:
    """A buffered reader of gzip or Zstandard data."""
    unpacked: Any = gzip.GzipFile(fileobj=raw) if head[:2] == GZIP_MAGIC else zstd.ZstdFile(raw)
    return io.BufferedReader(unpacked, 1 << 20)


def pack(path: str | PathLike[str], content: bytes) -> bytes:
    """Content as a gzip member or a Zstandard frame if the name of the file asks for one.

    Members and frames may follow each other, so a file can grow by whole batches.
    """
    if str(path).endswith(".gz"):
        return gzip.compress(content, 6, mtime=0)
    return bytes(zstd.compress(content)) if str(path).endswith(".zst") else content
