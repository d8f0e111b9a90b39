"""What section 5.3 says of Figures 3 to 8, and what the cells say to it. Verdicts follow the numbers."""

from __future__ import annotations

from typing import Any

from epigram_papers.lasso_ime import paper
from epigram_papers.lasso_ime.results import (
    Cells,
    domains,
    early_gap,
    eps_rates,
    figure_row,
    gap,
    late_gap,
    lines,
    mean,
    reduction,
    rise,
    smoothing_rates,
    spread,
    variants,
)
from epigram_papers.lasso_ime.table_claims import judged
from epigram_papers.report import Claim

IDENTICAL = 2.0
"""Percent of the first loss by which "almost identical" loss curves may differ."""
SMALL = 2.0
"""Percent of errors that count as a very small reduction."""
FLAT = 2.0
"""Percent above the lowest error rate at which a curve still "does not increase"."""
MUCH = 1.0
"""Percent of errors from which one rate is much lower than another."""
ENCARTA = "mdn"
"""The domain of Figures 3 and 4."""


def complexity_claims(cells: Cells) -> list[Claim]:
    """Figure 3: training loss, L1 norm, weights."""
    return [same_loss(cells), smaller_norm(cells), sparser(cells)]


def curve_claims(cells: Cells) -> list[Claim]:
    """Figures 4 to 8: test errors."""
    return [
        later_iterations(cells),
        small_reduction(cells),
        correlated_features(cells),
        overlapping(cells),
        robust(cells),
        grid_search(cells),
    ]


def sensitivity_claims(cells: Cells) -> list[Claim]:
    """Step sizes and smoothings."""
    return [step_sizes(cells), smoothing_varies(cells), blasso_step_sizes(cells)]


def same_loss(cells: Cells) -> Claim:
    """The losses of BLasso and F-Boosting at equal step."""
    worst = {}
    for domain, row in _rows(cells).items():
        start = row["curves"]["f-boosting"]["loss"][0]
        worst[domain] = 100.0 * max(abs(value) for value in gap(row["curves"], "loss", 0.0, 1.0)) / start
    return Claim(
        "The training error curves of BLasso and F-Boosting are almost identical (5.3).",
        judged(max(worst.values()) < IDENTICAL),
        f"At equal step the losses differ by at most {_listed(worst, '.2f')} % of the loss at the start; less "
        f"than {IDENTICAL:g} % counts as almost identical.",
    )


def smaller_norm(cells: Cells) -> Claim:
    """L1 norms at the lowest training loss that both paths reach."""
    return _at_equal_loss(
        cells,
        "l1",
        "With backward steps a model of similar training error is less complex: BLasso's L1 norm is smaller "
        "than F-Boosting's (5.3, Figure 3).",
        "the smaller L1 norm",
    )


def sparser(cells: Cells) -> Claim:
    """Non-zero weights at the lowest training loss that both paths reach."""
    return _at_equal_loss(
        cells,
        "weights",
        "BLasso is the better approximation to the lasso (abstract, 5.3), whose solutions are sparse: at "
        "equal training loss it has fewer weights than F-Boosting.",
        "fewer weights",
    )


def _at_equal_loss(cells: Cells, measure: str, text: str, what: str) -> Claim:
    less, parts = [], []
    for domain, row in _rows(cells).items():
        for variant in variants(row).values():
            point = variant["equal_loss"]["last"]
            first, second = point["first"][measure], point["second"][measure]
            less.append(reduction(second, first))
            if variant is row:
                parts.append(f"{domain} {first:,.0f} and {second:,.0f}")
    return Claim(
        text,
        judged(min(less) > 0),
        f"At the lowest training loss both reach, BLasso has {what} in {sum(share > 0 for share in less)} of "
        f"{len(less)} pairs of paths (with and without headwords), {mean(less):.1f} % less on average; "
        f"without headwords, BLasso and F-Boosting: {'; '.join(parts)}.",
    )


def later_iterations(cells: Cells) -> Claim:
    """Figure 4, and the other domains without headwords."""
    rows = _rows(cells)
    gaps = {domain: (early_gap(row), late_gap(row)) for domain, row in rows.items()}
    shown = ENCARTA if ENCARTA in gaps else next(iter(gaps))
    early, late = gaps[shown]
    others = [domain for domain, pair in gaps.items() if pair[1] > max(pair[0], 0.0)]
    return Claim(
        "The benefit of backward steps is only visible in later iterations; there BLasso is superior to "
        "F-Boosting (5.3, Figure 4).",
        judged(late > 0 and late > early),
        f"On {shown} the two test curves are {early:.3f} points apart in the first quarter of the path; in "
        f"the last quarter BLasso is {abs(late):.3f} points {'below' if late > 0 else 'above'} F-Boosting. "
        f"A late lead wider than the early distance is there on {', '.join(others) or 'no domain'}.",
    )


def small_reduction(cells: Cells) -> Claim:
    """BLasso's error rate with and without headword bigrams."""
    gains = {
        domain: reduction(row["learners"]["blasso"]["cer"], row["headwords"]["learners"]["blasso"]["cer"])
        for domain, row in _rows(cells).items()
    }
    p = {d: max(row["headwords"]["p"]["without headwords"].values()) for d, row in _rows(cells).items()}
    clear = [domain for domain in gains if p[domain] < paper.LEVEL]
    average = mean(gains.values())
    return Claim(
        "Headword bigrams reduce the error rate, though overall very little (5.3).",
        judged(average > 0, average >= SMALL),
        f"BLasso's errors fall by {_listed(gains, '+.1f')} % ({average:+.1f} % on average; {SMALL:g} % and "
        f"more would be more than very little); significantly (p < {paper.LEVEL}) different on "
        f"{', '.join(clear) or 'no domain'}.",
    )


def correlated_features(cells: Cells) -> Claim:
    """Late lead of BLasso over F-Boosting, with headwords and without."""
    leads = {
        domain: {name: late_gap(variant) for name, variant in variants(row).items()}
        for domain, row in _rows(cells).items()
    }
    wider = [d for d, lead in leads.items() if lead["with headwords"] > max(lead["without headwords"], 0.0)]
    listed = "; ".join(
        f"{domain} {lead['without headwords']:+.3f} without, {lead['with headwords']:+.3f} with"
        for domain, lead in leads.items()
    )
    return Claim(
        "With the correlated features that headword bigrams are, the lead of BLasso over F-Boosting is more "
        "visible in all four test sets (5.3, Figures 5 to 8 against Figure 4).",
        judged(len(wider) == len(leads)),
        f"Lead in points of error rate in the last quarter of the path: {listed}; wider with headwords on "
        f"{len(wider)} of {len(leads)}.",
    )


def overlapping(cells: Cells) -> Claim:
    """How correlated the features are."""
    low, high = paper.FULL_OVERLAP
    shares = {domain: row["overlap"] for domain, row in _rows(cells).items()}
    always = {domain: share["always"] for domain, share in shares.items()}
    sometimes = {domain: share["sometimes"] for domain, share in shares.items()}
    return Claim(
        f"Of the headword bigrams {low:g} % to {high:g} % are always word bigrams too, and less than "
        f"{paper.VARIABLE_OVERLAP:g} % sometimes (5.3).",
        judged(
            all(low <= value <= high for value in always.values())
            and max(sometimes.values()) < paper.VARIABLE_OVERLAP
        ),
        f"Always: {_listed(always, '.0f')} %; sometimes: {_listed(sometimes, '.0f')} % (of those seen more "
        "than once in the training lists; our headwords are words that begin with kanji or katakana).",
    )


def robust(cells: Cells) -> Claim:
    """FSLR at the end of its path, with headwords."""
    rises = {
        learner: {d: rise(row["headwords"], learner) for d, row in _rows(cells).items()}
        for learner in ("fslr", "f-boosting", "blasso", "boosting")
    }
    return Claim(
        "FSLR is robust: its test errors do not increase after many iterations (5.3, Figures 5 to 8).",
        judged(max(rises["fslr"].values()) < FLAT),
        f"At the last step FSLR's test errors are above their lowest by {_listed(rises['fslr'], '.1f')} % (up "
        f"to {FLAT:g} % counts as no increase); F-Boosting's by {mean(rises['f-boosting'].values()):.1f} %, "
        f"BLasso's by {mean(rises['blasso'].values()):.1f} %, boosting's by "
        f"{mean(rises['boosting'].values()):.1f} % on average.",
    )


def grid_search(cells: Cells) -> Claim:
    """F-Boosting against FSLR at the steps that held-out data chose, with headwords."""
    gains = {}
    for domain, row in _rows(cells).items():
        learners = row["headwords"]["learners"]
        gains[domain] = reduction(learners["fslr"]["cer"], learners["f-boosting"]["cer"])
    wins = sum(gain > MUCH for gain in gains.values())
    return Claim(
        "F-Boosting (grid search) can reach a much lower error rate than FSLR (continuous search) on three "
        "out of four test sets (5.3).",
        judged(wins >= 0.75 * len(gains), wins == len(gains)),
        f"At the chosen steps F-Boosting has fewer errors than FSLR by {_listed(gains, '+.1f')} %; by more "
        f"than {MUCH:g} % on {wins} of {len(gains)}.",
    )


def step_sizes(cells: Cells) -> Claim:
    """FSLR's eps against boosting's smoothing."""
    ours = {domain: spread(list(eps_rates(row, "fslr").values())) for domain, row in _rows(cells).items()}
    theirs = {domain: spread(list(smoothing_rates(row).values())) for domain, row in _rows(cells).items()}
    calmer = sum(ours[domain] < theirs[domain] for domain in ours)
    return Claim(
        "FSLR is much less sensitive to its step size (0.2 to 0.8) than boosting to its smoothing factor (5.3).",
        judged(calmer == len(ours)),
        f"From the best to the worst setting the test errors grow by {_listed(ours, '.1f')} % for FSLR and by "
        f"{_listed(theirs, '.1f')} % for boosting; less for FSLR on {calmer} of {len(ours)}.",
    )


def smoothing_varies(cells: Cells) -> Claim:
    """The smoothing that held-out data chose."""
    chosen = {line.name: line.row["learners"]["boosting"]["smoothing"] for line in lines(cells)}
    listed = "; ".join(f"{name} {value:g}" for name, value in chosen.items())
    return Claim(
        "The optimal smoothing factor of boosting varies with the size and the domain of the training data (5.3).",
        judged(len(set(chosen.values())) > 1),
        f"Chosen on held-out data: {listed}.",
    )


def blasso_step_sizes(cells: Cells) -> Claim:
    """BLasso's eps."""
    spreads = {
        domain: spread(list(eps_rates(row, "blasso").values())) for domain, row in _rows(cells).items()
    }
    return Claim(
        "The performance of BLasso is not very sensitive to the step size (5.2).",
        judged(max(spreads.values()) < SMALL),
        f"From the best to the worst of 0.2, 0.5 and 0.8 the test errors grow by {_listed(spreads, '.1f')} %; "
        f"less than {SMALL:g} % counts as not very sensitive.",
    )


def _rows(cells: Cells) -> dict[str, dict[str, Any]]:
    return {domain: figure_row(cells[domain]) for domain in domains(cells)}


def _listed(values: dict[str, float], spec: str) -> str:
    return ", ".join(f"{value:{spec}} ({name})" for name, value in values.items())
