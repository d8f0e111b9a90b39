"""How good and how small the tagger's models are, against python-crfsuite and Tsuruoka et al. 2009.

By default CoNLL-2000 only, whose rival figures are CRFsuite's at convergence (``lbfgs``, c1 = 1 and 0.7; ten minutes
each, run once and written down here). ``--biomedical`` adds JNLPBA (names, ``ner`` template) and GENIA (parts of
speech, ``pos`` template) with CRFsuite trained in the same run, on the same features. There the strength of l1 was
chosen on held-out sentences of the training data (``--choose`` does it again); the test part is used once.
``--richer`` is about the richer templates, with word classes where ``--classes`` names a file of them
(``benchmarks/unlabelled_text.py`` says how it is made), about second order and about features of segments: CoNLL-2000,
parts of speech of UD-EWT and GENIA, JNLPBA; CRFsuite has the same features of tokens. Both kinds of model may take
four times the CPU seconds of the chain of first order. ``--rerank`` is about a second look at a chain's labellings.
Several taggers as one are in ``tagging_pools.py``.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

from _bars import Claims
from _crfsuite import Part, conll2000, fit_and_score, genia_pos, jnlpba, ud_ewt
from epigram import OWLQN, SGD, CRFTagger, RerankedTagger, SegmentTagger
from epigram.chain.metrics import TaggingReport, evaluate
from epigram.features.template import Template

CRFSUITE_C1 = (16_889.4, 9_693)  # objective and active weights of lbfgs c1=1
CRFSUITE_C07 = (14_030.8, 15_822)  # c1=0.7
L1_JNLPBA, L1_GENIA = 1.5, 0.5
HELD_OUT = 1_739
SECOND = partial(CRFTagger, order=2)
CANDIDATES = (0.5, 1.0, 1.5, 2.0)
RIVALS = (
    ("ap", {"max_iterations": 10}),
    ("lbfgs", {"c1": 1.0, "c2": 0.0, "max_iterations": 100}),
)


def fit(train: Part, template: str, l1: float, solver: object = None) -> CRFTagger:
    constrain = "iob2" if template == "ner" else None  # better on held-out sentences
    return CRFTagger(template, l1=l1, solver=solver, constrain=constrain).fit(train.columns, train.labels)


def score(tagger: CRFTagger | RerankedTagger, part: Part) -> TaggingReport:
    return evaluate(part.names, tagger.predict(part.columns))


def owlqn(train: Part, claims: Claims) -> None:
    """The optimum, and its sparsity."""
    for l1, (objective, active), above in (
        (1.0, CRFSUITE_C1, 1.0005),
        (0.7, CRFSUITE_C07, 14_031 / 14_030.8),
    ):
        tagger = fit(train, "chunking", l1, OWLQN(tolerance=1e-5))
        found = tagger.fit_
        claims.add(
            f"OWL-QN objective, C={l1:g}",
            f"{found['objective']:,.1f} ({found['iterations']} it.)",
            f"{objective:,.1f}",
            found["objective"] / objective,
            above,
        )
        far = abs(found["active_features"] / active - 1)
        claims.add(
            f"OWL-QN active weights, C={l1:g}: apart by",
            f"{found['active_features']:,}",
            f"{active:,}",
            far,
            0.03 if l1 == 1.0 else None,
        )


def cumulative(train: Part, test: Part, claims: Claims) -> None:
    """Cumulative penalty with exponential decay, 30 passes. A weaker penalty wants a rate that falls more slowly."""
    for l1, decay, optimum, objective, most in (
        (1.0, 0.85, CRFSUITE_C1[0], 1.02, 13_000),
        (0.7, 0.9, CRFSUITE_C07[0], 14_494 / 14_030.8, 23_584),
    ):
        tagger = fit(train, "chunking", l1, SGD(decay=decay))
        found, f1 = tagger.fit_, 100 * score(tagger, test).overall.f1
        name = f"cumulative, C={l1:g}:"
        reached = found["objective"]
        claims.add(f"{name} objective", f"{reached:,.1f}", f"{optimum:,.1f}", reached / optimum, objective)
        claims.add(
            f"{name} active weights", f"{found['active_features']:,}", "", found["active_features"], most
        )
        claims.add(f"{name} test F1", f"{f1:.2f}", "", f1, 93.6, True)
        size = len(tagger.to_bytes())
        claims.add(f"{name} model file, bytes", f"{size:,}", "", size, 1_000_000)


def table_1(train: Part, claims: Claims) -> None:
    """The paper's ordering of active weights: naive, clipping (done lazily), cumulative, cumulative with decay."""
    runs = {
        "naive": SGD("naive", "inverse"),
        "lazy": SGD("lazy", "inverse"),
        "cumulative": SGD("cumulative", "inverse"),
        "cumulative, exponential": SGD(schedule="exponential"),
    }
    paper = {
        "naive": 455_651,
        "lazy": 87_792,
        "cumulative": 28_189,
        "cumulative, exponential": 23_584,
    }
    counts = {}
    for name, solver in runs.items():
        counts[name] = fit(train, "chunking", 0.7, solver).fit_["active_features"]
        claims.add(
            f"active weights, C=0.7, {name}",
            f"{counts[name]:,}",
            f"{paper[name]:,} (paper)",
            counts[name] / paper[name],
            None,
        )
    in_order = counts["naive"] > counts["lazy"] > counts["cumulative"] > counts["cumulative, exponential"]
    claims.add("the paper's order holds", str(in_order), "", float(in_order), 1.0, True)


def biomedical(claims: Claims) -> None:
    """JNLPBA and GENIA, with CRFsuite in the same run."""
    for name, task, template, l1, allowance, most in (
        ("JNLPBA", jnlpba, "ner", L1_JNLPBA, 0.1, 40_000),
        ("GENIA", genia_pos, "pos", L1_GENIA, 0.05, None),
    ):
        train, test = task("train"), task("test")
        tagger = fit(train, template, l1)
        ours = score(tagger, test)
        for algorithm, params in RIVALS:
            rival = fit_and_score(train, test, template, algorithm, **params)
            assert rival.report is not None
            measure = "f1" if ours.chunked else "accuracy"
            mine, theirs = (
                100 * (r.overall.f1 if ours.chunked else r.accuracy) for r in (ours, rival.report)
            )
            claims.add(
                f"{name} test {measure}, C={l1:g}; difference",
                f"{mine:.2f} ({tagger.fit_['active_features']:,})",
                f"{theirs:.2f} ({rival.active:,}, {algorithm})",
                mine - theirs,
                -allowance,
                True,
            )
        claims.add(
            f"{name} active weights",
            f"{tagger.fit_['active_features']:,}",
            "",
            tagger.fit_["active_features"],
            most,
        )


def richer(claims: Claims, classes: Path | None, with_rival: bool) -> None:
    """The richer templates; bars are the best that linear models are known to reach."""
    for name, task, template, kind, l1, bar in (
        ("CoNLL-2000", conll2000, "chunking+", CRFTagger, 0.7, 94.15 if classes is None else 94.4),
        (
            "CoNLL-2000, segments",
            conll2000,
            "chunking+",
            SegmentTagger,
            0.7,
            94.15 if classes is None else 94.4,
        ),
        (
            "CoNLL-2000, second order",
            conll2000,
            "chunking+",
            SECOND,
            0.7,
            94.15 if classes is None else 94.4,
        ),
        ("UD-EWT XPOS", ud_ewt, "pos+", CRFTagger, 0.5, 94.9),
        ("GENIA", genia_pos, "pos+", CRFTagger, 0.5, 98.6),
        ("JNLPBA", jnlpba, "ner+", CRFTagger, 1.5, 72.0),
        ("JNLPBA, segments", jnlpba, "ner+", SegmentTagger, 1.5, 72.0),
    ):
        train, test = task("train"), task("test")
        asked = Template.load(template).with_lists(classes=None if task in (jnlpba, genia_pos) else classes)
        constrain = {"constrain": "iob2"} if kind is not SegmentTagger and template != "pos+" else {}
        tagger = kind(asked, l1=l1, **constrain).fit(train.columns, train.labels)
        ours, rival = score(tagger, test), ""
        if with_rival:
            found = fit_and_score(train, test, asked, "lbfgs", c1=1.0, c2=0.0, max_iterations=100).report
            assert found is not None
            rival = f"{100 * (found.overall.f1 if ours.chunked else found.accuracy):.2f} (lbfgs)"
        reached = 100 * (ours.overall.f1 if ours.chunked else ours.accuracy)
        active = tagger.fit_["active_features"]
        claims.add(
            f"{name} test, {template}, C={l1:g}", f"{reached:.2f} ({active:,})", rival, reached, bar, True
        )


def cost(claims: Claims) -> None:
    """CPU seconds of training, 10 passes over CoNLL-2000, against the chain of first order."""
    train = conll2000("train")
    seconds = {}
    for name, kind in (("first order", CRFTagger), ("second order", SECOND), ("segments", SegmentTagger)):
        start = time.process_time()
        kind("chunking+", l1=1.0, solver=SGD(passes=10)).fit(train.columns, train.labels)
        seconds[name] = time.process_time() - start
    for name in ("second order", "segments"):
        ratio = seconds[name] / seconds["first order"]
        claims.add(
            f"CPU s, {name}, chunking+",
            f"{seconds[name]:.1f}",
            f"{seconds['first order']:.1f} (first)",
            ratio,
            4.0,
        )


def second_look(claims: Claims) -> None:
    """The reranker of the chain's best labellings; the chain, k and the folds were chosen on held-out sentences."""
    train, test = conll2000("train"), conll2000("test")
    start = time.process_time()
    tagger = CRFTagger("chunking", l1=0.7).fit(train.columns, train.labels)
    alone = time.process_time() - start
    reranked = RerankedTagger(tagger, k=10, folds=5).fit(train.columns, train.labels, learnt=tagger)
    seconds = time.process_time() - start
    before, after = (100 * score(one, test).overall.f1 for one in (tagger, reranked))
    active = f"{after:.2f} ({reranked.fit_['active_features']:,})"
    claims.add("CoNLL-2000 test F1, second look", active, f"{before:.2f} (its tagger)", after, 94.15, True)
    claims.add("CPU s of both trainings", f"{seconds:.1f}", f"{alone:.1f} (tagger)", seconds / alone, None)
    size, was = len(reranked.to_bytes()), len(tagger.to_bytes())
    claims.add("bytes of both", f"{size:,}", f"{was:,} (tagger)", size / was, None)


def choose() -> None:
    """Held-out scores of each strength."""
    train, held_out = jnlpba("train").cut(HELD_OUT)
    for l1 in CANDIDATES:
        tagger = fit(train, "ner", l1)
        f1 = 100 * score(tagger, held_out).overall.f1
        print(
            f"JNLPBA held out, C={l1:g}: F1 {f1:.2f}, {tagger.fit_['active_features']:,} active", flush=True
        )
    train, held_out = genia_pos("train"), genia_pos("devel")
    for l1 in CANDIDATES:
        tagger = fit(train, "pos", l1)
        accuracy = 100 * score(tagger, held_out).accuracy
        print(
            f"GENIA devel, C={l1:g}: accuracy {accuracy:.2f}, {tagger.fit_['active_features']:,} active",
            flush=True,
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--biomedical", action="store_true", help="JNLPBA and GENIA too (half an hour)")
    options.add_argument("--choose", action="store_true", help="show held-out scores of the strengths of l1")
    options.add_argument("--richer", action="store_true", help="the richer templates, and segments")
    options.add_argument("--classes", type=Path, help="with --richer: word classes from unlabelled text")
    options.add_argument("--no-rival", action="store_true", help="with --richer: leave CRFsuite out")
    options.add_argument("--rerank", action="store_true", help="a second look at the best labellings")
    options.add_argument("--quick", action="store_true", help="leave OWL-QN out")
    options.add_argument("--record", type=Path, help="keep the figures as JSON")
    chosen = options.parse_args()
    if chosen.choose:
        choose()
        return 0
    claims = Claims(chosen.record)
    if chosen.richer:
        cost(claims)
        richer(claims, chosen.classes, not chosen.no_rival)
        return claims.exit_code
    if chosen.rerank:
        second_look(claims)
        return claims.exit_code
    train, test = conll2000("train"), conll2000("test")
    cumulative(train, test, claims)
    table_1(train, claims)
    if not chosen.quick:
        owlqn(train, claims)
    if chosen.biomedical:
        biomedical(claims)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
