"""The report: Figure 2 with its table, Figure 3 and Table 1, the time of a pass, and how prices were chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from epigram_papers.report import Claim, Note, Part, Report, Section
from epigram_papers.runner import Runner
from epigram_papers.structured_lm.claims import perplexity_claims, size_claims, weighted_claims
from epigram_papers.structured_lm.cost_claims import pass_claims, prox_claims
from epigram_papers.structured_lm.figures import (
    figure_2a,
    figure_2b,
    figure_2c,
    figure_3a,
    figure_3b,
    figure_online,
)
from epigram_papers.structured_lm.paper import CITATION
from epigram_papers.structured_lm.plan import choosing, fitting, measuring, plan, size
from epigram_papers.structured_lm.results import Found, Results, collect, prices_of
from epigram_papers.structured_lm.tables import (
    depth_table,
    pass_table,
    perplexity_table,
    price_table,
    prox_table,
    size_table,
    table_1,
)

__all__ = ["build", "plan", "run"]

PREFIX = "structured-lm/"
INTRO = (
    "Log-linear language models over all suffixes of the context, with non-negative weights and four "
    "penalties, against Kneser-Ney smoothing. Text: four splits of AP news, 100,000 words to train and 20,000 "
    "to test each, with the rare words, numbers and proper nouns replaced as in the paper. Perplexity counts "
    "the words of the training vocabulary and one end a sentence. Training is exact, to a tolerance, where the "
    "paper makes stochastic passes. The paper's Figures 2 and 3 print no values, so their shapes are compared. "
    "Times are CPU seconds of one thread."
)


def run(runner: Runner) -> Report:
    """Choose prices, run the fits and the measurements with them, and report."""
    found = dict(runner.run(choosing(runner.quick)))
    prices = prices_of(_own(found))
    found |= runner.run([*fitting(runner.quick, prices), *measuring(runner.quick, prices)])
    return build(_own(found), runner.quick)


def build(found: Found, quick: bool) -> Report:
    """The report of these results, by the names of their experiments without ``structured-lm/``."""
    results = collect(found, quick)
    command = "epigram reproduce structured-lm" + (" --quick" if quick else "")
    return Report(
        "structured-lm",
        "Structured penalties for log-linear language models",
        CITATION,
        INTRO + (_subset(results) if quick else ""),
        [
            _section(
                "Perplexity against order (Figure 2a)",
                results,
                perplexity_claims,
                [figure_2a(results)],
                command,
            ),
            _section(
                "With depth weights (Figure 2b)",
                results,
                weighted_claims,
                [figure_2b(results), depth_table(results)],
                command,
            ),
            _section("All perplexities", results, None, [perplexity_table(results)], command),
            _section("Number of parameters (Figure 2c)", results, size_claims, _sizes(results), command),
            _section(
                "Time of proximal steps (Figures 3a and 3b, Table 1)",
                results,
                prox_claims,
                _prox(results),
                command,
            ),
            _section(
                "One pass over a large text, and training online (section 7)",
                results,
                pass_claims,
                [pass_table(results), figure_online(results)],
                command,
            ),
            _section(
                "How prices were chosen", results, None, [_choice(results), price_table(results)], command
            ),
        ],
    )


def _section(
    title: str,
    results: Results,
    claims: Callable[[Results], list[Claim]] | None,
    parts: list[Part],
    command: str,
) -> Section:
    """Claims first, then what they rest on."""
    said = claims(results) if claims is not None else []
    if results.quick:
        said = [replace(claim, why=f"On the quick subset: {claim.why}") for claim in said]
    shown = [part if isinstance(part, Note | Claim) else replace(part, command=command) for part in parts]
    return Section(title, "", [*said, *shown])


def _sizes(results: Results) -> list[Part]:
    return [figure_2c(results), size_table(results)]


def _prox(results: Results) -> list[Part]:
    return [figure_3a(results), figure_3b(results), prox_table(results), table_1(results)]


def _choice(results: Results) -> Note:
    at = size(results.quick)
    return Note(
        f"As in the paper, on a smaller text: {at.choosing_words:,} words to fit and {at.held_out:,} to choose "
        "by, from the training part of each split run; never on test text. One price for each norm, with and "
        "without depth weights, has the least mean log-perplexity over the splits at order 5, found by "
        "Nelder-Mead, and is used for all orders. The strength without depth weights was chosen once more at "
        f"order {results.orders[-1]}, to see whether a curve rises only because its strength was chosen for "
        "another order, and once more at order 5 for weights of either sign. The objective is a sum over the text, so "
        "a price found on less text holds for more."
    )


def _subset(results: Results) -> str:
    at = size(True)
    return (
        f" Quick run: the first {at.words or 0:,} training words of one split, orders "
        f"{', '.join(map(str, results.orders))}, and {at.novel_words or 0:,} words of novels: shapes, not the "
        "figures of the full run."
    )


def _own(found: Found) -> Found:
    return {name.removeprefix(PREFIX): result for name, result in found.items()}
