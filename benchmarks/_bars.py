"""One table of claims: measured, rival, ratio, bar, ok or missed; kept as JSON where asked."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Claim:
    """A measured value; ``ratio`` is what the bar is about (the value itself where there is no rival)."""

    name: str
    ours: str
    rival: str
    ratio: float
    bar: float | None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the bar holds; true where there is none."""
        if self.bar is None:
            return True
        return bool(self.ratio >= self.bar if self.at_least else self.ratio <= self.bar)


@dataclass
class Claims:
    """Claims as they come in; each is shown and recorded at once, so that a long run loses nothing."""

    record: Path | None = None
    claims: list[Claim] = field(default_factory=list)
    rival: str = "CRFsuite"

    def add(
        self, name: str, ours: str, rival: str, ratio: float, bar: float | None, at_least: bool = False
    ) -> None:
        """Add a claim and show its line."""
        claim = Claim(name, ours, rival, ratio, bar, at_least)
        if not self.claims:
            print(f"{'':44s} {'epigram':>22s} {self.rival:>22s} {'ratio':>10s} {'bar':>11s}")
        self.claims.append(claim)
        sign = ">=" if at_least else "<="
        bar_text = "" if bar is None else f"{sign} {bar:,.10g}"
        verdict = "" if bar is None else "ok" if claim.met else "missed"
        ratio_text = f"{ratio:,.3f}" if abs(ratio) < 1000 else f"{ratio:,.0f}"
        print(f"{name:44s} {ours:>22s} {rival:>22s} {ratio_text:>10s} {bar_text:>11s} {verdict}", flush=True)
        if self.record is not None:
            rows = [{**asdict(one), "met": one.met} for one in self.claims]
            self.record.write_text(json.dumps(rows, indent=1) + "\n")

    @property
    def exit_code(self) -> int:
        """1 where a bar was missed."""
        return int(not all(claim.met for claim in self.claims))
