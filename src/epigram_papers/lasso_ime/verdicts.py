"""From conditions to verdicts; a quick run pronounces only what its tests of significance can carry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from epigram_papers.lasso_ime.results import Results
from epigram_papers.report import Claim, Verdict, too_small

Judgement = Callable[[Results], Claim]
LACKS = "the quick subset is too small to tell such differences from chance"


def judged(good: bool, better: bool = False) -> Verdict:
    """The verdict of a condition; ``better`` where the run goes beyond the paper."""
    return ("exceeded" if better else "reproduced") if good else "not reproduced"


def claim_of(text: str, verdict: Verdict, found: str, reason: str) -> Claim:
    """A claim with the numbers of this run and, where it fails, the reason in a sentence."""
    return Claim(text, verdict, f"{found} {reason}" if verdict == "not reproduced" else found)


def pronounced(
    claims: Sequence[Judgement], results: Results, quick: bool, carried: Collection[Judgement] = ()
) -> list[Claim]:
    """All claims on some results; on a quick run no verdict but where one of those ``carried`` is reproduced.

    These rest on tests of significance, so that what they find is there, however small the subset; that they find
    nothing means nothing.
    """
    made = [(claim, claim(results)) for claim in claims]
    return [
        too_small(found, LACKS)
        if quick and not (claim in carried and found.verdict in ("reproduced", "exceeded"))
        else found
        for claim, found in made
    ]
