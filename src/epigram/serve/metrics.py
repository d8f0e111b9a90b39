"""Counts and times of requests, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What happened so far."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = defaultdict(int)
        self._seconds: dict[str, list[float]] = {}
        self.in_flight = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """A request that was answered."""
        self._counts[route, status] += 1
        spread = self._seconds.setdefault(route, [0.0] * (len(BUCKETS) + 2))
        spread[bisect_left(BUCKETS, seconds)] += 1
        spread[-1] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """All of it, with a few current values."""
        lines = ["# TYPE epigram_requests_total counter"]
        for (route, status), n in sorted(self._counts.items()):
            lines.append(f'epigram_requests_total{{route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE epigram_request_seconds histogram")
        for route, spread in sorted(self._seconds.items()):
            total = 0.0
            for bound, times in zip((*BUCKETS, "+Inf"), spread, strict=False):
                total += times
                lines.append(f'epigram_request_seconds_bucket{{route="{route}",le="{bound}"}} {total:.0f}')
            lines.append(f'epigram_request_seconds_sum{{route="{route}"}} {spread[-1]:.6f}')
            lines.append(f'epigram_request_seconds_count{{route="{route}"}} {total:.0f}')
        for name, value in {"requests_in_flight": self.in_flight, **gauges}.items():
            lines += [f"# TYPE epigram_{name} gauge", f"epigram_{name} {value:g}"]
        return "\n".join(lines) + "\n"
