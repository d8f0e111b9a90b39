"""The process in which damaged files are read: a fault of the machine ends it, not the run.

Says the number of each case before it, and after it the file's digest and what was wrong, if anything. A case may hold
64 MB and ten times the unpacked file more than the idle process; 10 s of CPU time in one case end the process by
SIGPROF. Memory is not weighed on a sanitized core, which takes several times as much.
"""

from __future__ import annotations

import hashlib
import io
import os
import resource
import signal
import sys
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import readers

from epigram.errors import EpigramError
from epigram.storage import ModelFile

SECONDS, MEGABYTES, TIMES = 10.0, 64, 10
MOST_MEGABYTES = 2000  # more is refused by the system, and does not disturb the machine
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def limited(format: readers.Format, path: Path, content: bytes, own: int = 0) -> str:
    """The outcome of reading a file, within bounds of time and memory; ``own`` bytes are allowed besides."""
    path.write_bytes(content)
    allowed = (MEGABYTES << 20) + TIMES * unpacked_size(content) + own
    if not SANITIZED:
        address_space = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        most = address_space + (MOST_MEGABYTES << 20) + allowed
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    found, more = weighed(format, path)
    signal.setitimer(signal.ITIMER_PROF, 0)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if not SANITIZED and more > allowed:
        return f"memory: {more >> 20} MB, {allowed >> 20} are allowed ({found})"
    return found


def weighed(format: readers.Format, path: Path) -> tuple[str, int]:
    """The outcome of reading a file, and how many bytes more than before the process had at most."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak begins anew
    before = resident("VmRSS")
    found = readers.outcome(format.read, path)
    return found, resident("VmHWM") - before


def resident(name: str) -> int:
    """Bytes of this process in memory: now (``VmRSS``), or at most (``VmHWM``)."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition(name + ":")[2].split()[0]) << 10


def unpacked_size(content: bytes) -> int:
    """The bytes that a compressed file unpacks to, as far as it can be; those of others as they are."""
    unpacked = 0
    with suppress(OSError, ValueError, NotImplementedError, zlib.error, zipfile.BadZipFile, EpigramError):
        if content[:2] == b"\x1f\x8b":
            unpacked = len(zlib.decompressobj(31).decompress(content, 1 << 27))
        elif content[:2] == b"PK":
            sizes = (info.file_size for info in zipfile.ZipFile(io.BytesIO(content)).infolist())
            unpacked = min(sum(sizes), 1 << 26)
        elif content[8:9] == b"{":
            unpacked = sum(array.nbytes for array in ModelFile.from_bytes(content).tensors.values())
    return max(len(content), unpacked)


def say(text: str) -> None:
    """A line that the parent reads at once."""
    os.write(1, (text.replace("\n", " ") + "\n").encode(errors="replace"))


def main(seed: str, first: int, last: int, names: list[str]) -> None:
    """Cases ``first`` to ``last``, spread over the formats."""
    known = readers.formats()
    chosen = [name for name in known if not names or name in names]
    with TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path, own = Path(folder) / "x", dict[str, int]()
        for k, name in enumerate(chosen, 1):  # healthy ones first: what is loaded then is no case's
            path.write_bytes(known[name].content)
            found, own[name] = weighed(known[name], path)
            if found != "read":
                say(f"! {-k} {name}\t{found}\t-")
        for case in range(first, last):
            name = chosen[case % len(chosen)]
            format = known[name]
            content = format.damage(format.content, Random(f"{seed} {case}"))
            say(f"> {case} {name}")
            found = limited(format, path, content, own[name] * format.trains)
            digest = hashlib.blake2b(name.encode() + content, digest_size=8).hexdigest()
            say(f"{'=' if found in ('read', 'refused') else '!'} {case} {name}\t{found}\t{digest}")


def each(files: Iterable[tuple[str, bytes]]) -> None:
    """Files, each with the name of its format."""
    known = {slug(one): format for one, format in readers.formats().items()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for name, content in files:
            say(f"> {name}")
            found = limited(known[slug(name)], path, content)
            say(f"{'=' if found in ('read', 'refused') else '!'} {found}")


def slug(name: str) -> str:
    """A format's name as files are called."""
    return name.replace(" ", "-").replace(",", "")


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    if sys.argv[1] == "--file":
        each([(sys.argv[2], sys.stdin.buffer.read())])
        sys.exit()
    if sys.argv[1] == "--kept":
        each((path.name.split(".")[0], path.read_bytes()) for path in map(Path, sys.argv[2:]))
        sys.exit()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
