"""``epigram warmup``: compile every kernel for this CPU before the first real use."""

from __future__ import annotations

from importlib import import_module

from epigram.cli import console

WARMERS = (
    "epigram.tagging.warmup",
    "epigram.lm.ngram.warmup",
    "epigram.lm.warmup",
)


def command() -> None:
    """Compile the kernels for this CPU now instead of on first use."""
    watch = console.Stopwatch()
    for home in WARMERS:
        with console.stderr().status(f"compiling {home.split('.')[1]}"):
            import_module(home).warm()
    print(f"kernels ready after {watch.seconds:.1f} s")
