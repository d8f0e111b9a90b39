"""Several taggers as one, and second looks at them: the best figures of the tagger, against python-crfsuite.

Pools (:mod:`epigram.tagging.stacked.pool`) have members whose templates differ (``benchmarks/templates``) and word
lists from unlabelled text; CRFsuite has the features of all members in one model. Names have columns of parts
of speech and chunks by our own taggers, and a second pair of taggers, who know what the first say of words nearby.
Members were chosen on held-out sentences, which ``--held-out`` shows in place of the test part.

Word lists are made in ``--inputs`` where they are not there yet (some minutes, most of it classes of
general text): the commands are those of ``unlabelled_text.py``. Each task by itself: ``--only names``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from _bars import Claims
from _crfsuite import Part, conll2000, fit_and_score, genia_pos, jnlpba, ud_ewt
from epigram import SGD, CRFTagger, RerankedTagger
from epigram.chain.metrics import TaggingReport, evaluate
from epigram.features.columns import Columns
from epigram.features.template import Template
from epigram.tagging.stacked.context_column import context_types
from epigram.tagging.stacked.cross_prediction import predict_unseen
from epigram.tagging.stacked.pool import pool

HERE = Path(__file__).parent
EPIGRAM = Path(sys.executable).parent / "epigram"
LISTS = {
    "all.classes": ("all.txt", "60,300,1000", "5"),
    "bio.classes": ("bio.txt", "50,250", "2"),
}
"""Class files: the text they are made of, numbers of classes, and how often a word must be met."""
TEXTS = {"all.txt": ["--case", "case.classes"], "bio.txt": ["--biomedical"]}
RIVALS = {"ap": {"max_iterations": 10}, "lbfgs": {"c1": 1.0, "c2": 0.0, "max_iterations": 100}}
REACH = 8
"""Sentences before and after one that names may agree with; about as many as an abstract has."""


@dataclass(frozen=True)
class Run:
    """Where claims go, where lists are, and what is compared."""

    claims: Claims
    inputs: Path
    rival: str
    held_out: bool

    def parts(self, task: Callable[[str], Part]) -> tuple[Part, Part]:
        """What is learnt from, and what is measured on."""
        if not self.held_out:
            return task("train"), task("test")
        names = {genia_pos: "devel", ud_ewt: "dev"}
        if task in names:
            return task("train"), task(names[task])
        return task("train").cut({conll2000: 2_000, jnlpba: 1_739}[task])

    def asked(self, *names: str) -> str:
        """Template lines, built-in or of a file, with the lists that they ask for."""
        texts = [
            (HERE / "templates" / name).read_text() if name.endswith(".txt") else Template.load(name).text
            for name in names
        ]
        general, case = self.inputs / "all.classes", self.inputs / "case.classes"
        return "".join(texts).replace("CLASSES", str(general)).replace("CASE", str(case))

    def biomedical(self, *names: str) -> str:
        """The same with the classes of abstracts."""
        return self.asked(*names).replace("all.classes", "bio.classes")

    def listed(self, *names: str) -> str:
        """The same with lines of their own for classes."""
        return Template.parse(self.asked(*names)).with_lists(classes=self.inputs / "all.classes").text

    def pool(
        self, name: str, parts: tuple[Part, Part], taggers: list[CRFTagger], bar: float | None = None
    ) -> list[CRFTagger]:
        """One pool, its best tagger alone, and CRFsuite with the features of all; the fitted taggers.

        Where a second look follows, the bar is for that.
        """
        train, test = parts
        fitted = [tagger.fit(train.columns, train.labels) for tagger in taggers]
        whole = pool(fitted)
        reached, alone = _score(whole, test), max(_score(tagger, test) for tagger in fitted)
        rival = f"{alone:.2f} (best alone)"
        if self.rival != "none":
            assert whole.model_.template is not None
            found = fit_and_score(train, test, whole.model_.template, self.rival, **RIVALS[self.rival])
            assert found.report is not None
            rival += f", {_measure(found.report):.2f} ({self.rival}, {found.active:,})"
        size = f"{whole.fit_['active_features']:,}, {len(whole.to_bytes()):,} bytes"
        self._add(f"{name}, pool of {len(fitted)}", f"{reached:.2f} ({size})", rival, reached, bar)
        return fitted

    def look(
        self, name: str, parts: tuple[Part, Part], members: list[CRFTagger], folds: int, bar: float
    ) -> None:
        """A second look at a pool of fitted taggers."""
        train, test = parts
        looked = RerankedTagger(k=10, folds=folds).fit(train.columns, train.labels, learnt=members)
        reached, size = _score(looked, test), len(looked.to_bytes())
        ours = f"{reached:.2f} ({looked.fit_['active_features']:,}, {size:,} bytes)"
        self._add(f"{name}, second look at the pool", ours, "", reached, bar)

    def _add(self, name: str, ours: str, rival: str, reached: float, bar: float | None) -> None:
        part = "held out" if self.held_out else "test"
        self.claims.add(f"{name}, {part}", ours, rival, reached, None if self.held_out else bar, True)


def _measure(report: TaggingReport) -> float:
    """F1, or accuracy where labels are no chunks, in per cent."""
    return 100 * (report.overall.f1 if report.chunked else report.accuracy)


def _score(tagger: CRFTagger | RerankedTagger, part: Part) -> float:
    return _measure(evaluate(part.names, tagger.predict(part.columns)))


sgd = partial(SGD, schedule="exponential")  # as the members were chosen
chunker = partial(CRFTagger, l1=0.7, constrain="iob2", solver=sgd())
rich_chunker = partial(chunker, "chunking+", order=2, solver=sgd(passes=20))


def chunks(run: Run) -> None:
    """CoNLL-2000, no other data."""
    parts = run.parts(conll2000)
    members = run.pool("CoNLL-2000", parts, [chunker("chunking"), rich_chunker()])
    run.look("CoNLL-2000", parts, members, 3, 94.15)


def chunks_with_lists(run: Run) -> None:
    """CoNLL-2000 with classes of unlabelled text."""
    parts = run.parts(conll2000)
    other = run.listed("chunking_other.txt") + run.asked("chunking_classes.txt")
    templates = run.listed("chunking"), run.listed("chunking+"), other
    listed = [chunker(template, order=2, solver=sgd(passes=15)) for template in templates]
    members = run.pool("CoNLL-2000, classes", parts, [listed[0], rich_chunker(), *listed[1:]])
    run.look("CoNLL-2000, classes", parts, members, 2, 94.4)


def abstracts(run: Run) -> None:
    """GENIA's parts of speech, with classes of its and JNLPBA's training text."""
    parts = run.parts(genia_pos)
    templates = "pos+", run.biomedical("pos_other.txt")
    taggers = [CRFTagger(template, l1=0.5, solver=sgd(passes=10)) for template in templates]
    run.look("GENIA", parts, run.pool("GENIA", parts, taggers), 2, 98.6)


def web(run: Run) -> None:
    """Penn parts of speech of UD-EWT, with classes and capitals of unlabelled text."""
    case = run.asked("pos_case.txt")
    templates = run.listed("pos+") + case, run.asked("pos_other.txt") + case
    taggers = [CRFTagger(template, l1=0.5, solver=sgd(passes=12)) for template in templates]
    run.pool("UD-EWT XPOS, classes", run.parts(ud_ewt), taggers, 94.9)


def names(run: Run) -> None:
    """JNLPBA with parts of speech, chunks and classes; then taggers that know the first ones' labels nearby."""
    parts = run.parts(jnlpba)
    pos, chunk = genia_pos("train"), conll2000("train")
    parts = _chained([CRFTagger("pos+", l1=0.5, solver=sgd(passes=6))], pos, 4, parts)
    parts = _chained([CRFTagger("chunking", solver=sgd())], chunk, 5, parts)

    def members(*more: str) -> list[CRFTagger]:
        rich, other = run.asked("ner+", "names_columns.txt", *more), run.biomedical("names_other.txt", *more)
        few = partial(CRFTagger, solver=sgd(passes=10), constrain="iob2")
        return [few(rich, l1=1.5), few(other, l1=1.2)]

    first = run.pool("JNLPBA", parts, members(), 72.0)
    parts = _chained(first, parts[0], 4, parts, REACH)
    second = run.pool("JNLPBA, second taggers", parts, members("names_nearby.txt"))
    run.look("JNLPBA, second taggers", parts, second, 4, 72.7)


def _chained(
    taggers: list[CRFTagger], learn: Part, folds: int, parts: tuple[Part, Part], reach: int = 0
) -> tuple[Part, Part]:
    """Training and test sentences with columns of what taggers say, as ``tag chain`` makes them."""
    made = []
    for part in parts:
        X = part.columns
        n = learn.columns.n_columns
        seen = Columns(X.sentence_ptr, X.columns[:n])
        column, whole = predict_unseen(taggers, learn.columns, learn.labels, seen, folds)
        nearby = [context_types(X, column, reach)] if reach else []
        made.append(Part(Columns(X.sentence_ptr, [*X.columns, column, *nearby]), part.labels))
        taggers = taggers if len(taggers) > 1 else [whole]
    return made[0], made[1]


TASKS = {
    "names": names,
    "chunks": chunks,
    "abstracts": abstracts,
    "chunks-with-lists": chunks_with_lists,
    "web": web,
}


def make_lists(folder: Path) -> None:
    """The texts and word lists that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (text, sizes, times) in LISTS.items():
        if not (folder / text).exists():
            command = [sys.executable, str((HERE / "unlabelled_text.py").resolve()), text, *TEXTS[text]]
            subprocess.run(command, cwd=folder, check=True)
        if not (folder / name).exists():
            options = ["-k", sizes, "--min-count", times, "--max-passes", "6"]
            subprocess.run([EPIGRAM, "lm", "classes", text, "-o", name, *options], cwd=folder, check=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--only", action="append", choices=list(TASKS), help="this task; may be repeated")
    options.add_argument("--inputs", type=Path, default=Path("build/pools"), help="where word lists are kept")
    options.add_argument("--rival", choices=[*RIVALS, "none"], default="ap", help="how CRFsuite learns")
    options.add_argument("--held-out", action="store_true", help="held-out sentences instead of test parts")
    options.add_argument("--record", type=Path, help="keep the figures as JSON")
    chosen = options.parse_args()
    make_lists(chosen.inputs)
    run = Run(Claims(chosen.record), chosen.inputs.resolve(), chosen.rival, chosen.held_out)
    for name in chosen.only or TASKS:
        TASKS[name](run)
    return run.claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
