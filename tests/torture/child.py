"""The process in which damaged files are read: a fault of the machine ends it, not the run.

Says the number of each case before it, and after it what was wrong, if anything. Memory beyond 200 MB and ten times the
file is refused; 5 s of CPU time in one case end the process by SIGPROF.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import readers

SECONDS, MEGABYTES = 5.0, 200


def limit_memory(file_size: int) -> None:
    """Allow this process so much more than it has now."""
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    limit = used + (MEGABYTES << 20) + 10 * file_size
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def say(text: str) -> None:
    """A line that the parent reads at once."""
    os.write(1, (text.replace("\n", " ") + "\n").encode(errors="replace"))


def main(seed: str, first: int, last: int, names: list[str]) -> None:
    """Cases ``first`` to ``last``, spread over the formats."""
    known = readers.formats()
    chosen = [name for name in known if not names or name in names]
    with TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / "x"
        for name in chosen:  # healthy ones first: what is loaded then does not count as a case's
            path.write_bytes(known[name].content)
            found = readers.outcome(known[name].read, path)
            if found != "read":
                say(f"! -1 {name}\t{found}")
        for case in range(first, last):
            name = chosen[case % len(chosen)]
            format = known[name]
            content = format.damage(format.content, Random(f"{seed} {case}"))
            say(f"> {case} {name}")
            path.write_bytes(content)
            limit_memory(len(content))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            found = readers.outcome(format.read, path)
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            say(f"{'=' if found in ('read', 'refused') else '!'} {case} {name}\t{found}")


def each(files: Iterable[tuple[str, bytes]]) -> None:
    """Files, each with the name of its format."""
    known = {slug(one): format for one, format in readers.formats().items()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for name, content in files:
            say(f"> {name}")
            path.write_bytes(content)
            limit_memory(len(content))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            found = readers.outcome(known[slug(name)].read, path)
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
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
