"""``laconic warmup``: compile every kernel for this CPU before the first real use."""

from __future__ import annotations

from laconic.cli import console


def command() -> None:
    """Compile the kernels for this CPU now instead of on first use."""
    from laconic.jit import kernel_cache
    from laconic.tagging.warmup import warm as warm_tagging

    watch = console.Stopwatch()
    with console.stderr().status("compiling kernels"):
        warm_tagging()
    print(f"kernels ready in {kernel_cache()} after {watch.seconds:.1f} s")
