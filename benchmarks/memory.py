"""What trains under a limit of memory: a tagger on shards of four times the limit, a language model on many words.

    python benchmarks/memory.py [--limit MB] [--tokens N] [--words N] [--only tagger|lm|defaults|mapped]

Each training is a command of its own whose private memory (``ulimit -d``: all that is neither a mapped file nor code)
may not exceed the limit; it exits with an error where it does. Texts are CoNLL-2000 chunking and novels of the data
folder, else the samples, repeated with other rare words up to the size asked for; there is a shard for every thousand
tokens a megabyte of the limit. ``mapped`` loads language models from ordinary files and from mapped ones (``lm map``),
each in two processes that score some sentences and stay, and tells what the second one has for itself (of the system's
``smaps``) beyond a process that has loaded nothing but the library. Exits 1 where a training fails, where the second
process has more than a fifth of that for itself with a mapped file, or where probabilities differ in a bit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epigram.datasets import sample
from epigram.files import read_text
from epigram.storage import load

BYTES_A_TOKEN = 92  # of an encoded token of chunking
TOLD = (
    "tokens",
    "features",
    "active_features",
    "positions",
    "parameters",
    "nonzero",
    "iterations",
    "cpu_seconds",
)
DATA = Path(os.environ.get("EPIGRAM_DATA", ""))


def tagged(tokens: int) -> Iterator[str]:
    """Copies of chunking text; every fourth has other names, so that features grow with the text."""
    path = DATA / "conll2000" / "train.txt"
    rows = sample.tagged("train", 2000)
    text = (
        path.read_text("utf-8")
        if path.is_file()
        else "".join("".join(" ".join(t) + "\n" for t in sentence) + "\n" for sentence in rows)
    )
    n = text.count("\n") - text.count("\n\n")
    for k in range(max(1, round(tokens / n))):
        yield re.sub(r"^([A-Z]\w{4,})(?= )", rf"\g<1>_{k // 4}", text, flags=re.M) if k else text


def plain(words: int) -> Iterator[str]:
    """Sentences of novels; in each copy words of seven letters and more are others."""
    path = DATA / "english-novels" / "novels.txt.gz"
    text = read_text(path) if path.is_file() else "\n".join(
        " ".join(t[0] for t in sentence) for sentence in sample.tagged("train", 3000)
    )  # fmt: skip
    lines, k = text.splitlines(keepends=True), 0
    while words > 0:
        for line in lines:
            yield re.sub(r"\w{7,}", rf"\g<0>{k}", line) if k else line
            words -= len(line.split()) + 1
            if words <= 0:
                return
        k += 1


def limited(megabytes: int, *words: object) -> dict[str, Any]:
    """Run a command under a limit: its report, seconds, and the most memory it had."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 10**6,) * 2)

    command = [sys.executable, "-m", "epigram", *map(str, words), "--json"]
    began, threads = time.perf_counter(), {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, preexec_fn=limit, env={**os.environ, **threads})
        peak = 0
        while process.poll() is None:
            peak = max(peak, _private(process.pid))
            time.sleep(0.1)
        out.seek(0)
        content = out.read()
    seconds = time.perf_counter() - began
    report = json.loads(content) if process.returncode == 0 else {}
    return {"code": process.returncode, "seconds": seconds, "private MB": peak / 1e6, **report}


def _private(pid: int) -> int:
    """Bytes that a process has for itself now; 0 where nobody tells."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+)", text)
    return int(found[1]) << 10 if found else 0


LOADER = """
import hashlib, sys, time
import numpy as np
import epigram.lm.factored.storage, epigram.lm.loglinear.storage, epigram.lm.ngram.storage
from epigram.lm.corpus import Corpus
began, cpu = time.perf_counter(), time.process_time()
found = ""
if len(sys.argv) > 1:
    model = epigram.storage.load(sys.argv[1])
    seconds = time.perf_counter() - began, time.process_time() - cpu
    found = hashlib.sha256(model.score_corpus(Corpus.read(sys.argv[2], model.vocabulary_)).tobytes()).hexdigest()
else:
    seconds = 0.0, 0.0
print(*seconds, found, flush=True)
sys.stdin.read()
"""


def loaded(*arguments: object) -> dict[str, Any]:
    """Seconds to load a model, a digest of scores, and megabytes that the second of two processes has for itself."""
    command = [sys.executable, "-c", LOADER, *map(str, arguments)]
    both = []
    for _ in range(2):
        both.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        told = both[-1].stdout.readline().split()  # type: ignore[union-attr]
    text = Path(f"/proc/{both[1].pid}/smaps_rollup").read_text()
    numbers = {name: int(value) / 1024 for name, value in re.findall(r"(\w+):\s+(\d+) kB", text)}
    for process in both:
        process.communicate()
    private = numbers["Private_Dirty"] + numbers["Private_Clean"]
    return {
        "wall": float(told[0]),
        "cpu": float(told[1]),
        "digest": told[2:],
        "private": private,
        "pss": numbers["Pss"],
    }


def mapped(home: Path, words: int) -> bool:
    """Ordinary and mapped files of all kinds of language models; whether all is as it must be."""
    from epigram.lm import ClassFactoredLM, KneserNeyLM, LogLinearLM

    few, many, sentence = home / "few", home / "many", home / "sentence"
    for path, n in ((many, words), (few, words // 8)):
        with path.open("w", encoding="utf-8") as out:
            out.writelines(plain(n))
    sentence.write_text("it is a truth , and she was not to be seen there .\n" * 5)
    rough = {"max_iterations": 3, "min_count": 2}
    models = {
        f"Kneser-Ney, {words / 1e6:.1f} M words": lambda: KneserNeyLM(5).fit(many),
        f"log-linear, {words / 8e6:.1f} M words": lambda: LogLinearLM(
            5, strength=0.5, depth_weight=1.3, ridge=0.1, **rough
        ).fit(few),
        f"class-factored, {words / 8e6:.1f} M words": lambda: ClassFactoredLM(100, 5, budget=0, **rough).fit(
            few
        ),
    }
    base, fine = loaded()["private"], True
    print(f"{'':<32}{'file MB':>9}{'load s':>8}{'CPU s':>8}{'own MB':>8}{'Pss MB':>8}")
    for name, fit in models.items():
        fit().save(home / "model")
        load(home / "model").save(home / "mapped", compress=False)
        digests, own = [], []
        for kind in ("model", "mapped"):
            found, megabytes = loaded(home / kind, sentence), (home / kind).stat().st_size / 1e6
            own.append(found["private"] - base)
            digests.append(found["digest"])
            row = f"{megabytes:>9,.1f}{found['wall']:>8.2f}{found['cpu']:>8.2f}{own[-1]:>8,.1f}{found['pss']:>8,.1f}"
            print(f"{name if kind == 'model' else '  mapped':<32}{row}", flush=True)
        fine &= own[1] <= own[0] / 5 and digests[0] == digests[1]
    print(
        "mapped files: the same bits, and a fifth of the memory or less in the second process: "
        + ("ok" if fine else "missed")
    )
    return fine


def size(folder: Path) -> float:
    """Megabytes of the arrays of a folder of shards."""
    return sum(path.stat().st_size for path in folder.rglob("*.npy")) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=400, help="megabytes")
    parser.add_argument(
        "--tokens", type=int, help="of the tagger; by default shards take four times the limit"
    )
    parser.add_argument("--words", type=int, help="of the language model; by default 30,000 a megabyte")
    parser.add_argument("--only", choices=("tagger", "lm", "defaults", "mapped"))
    parser.add_argument("--folder", help="where texts and shards go; needs some 20 times the limit")
    given = parser.parse_args()
    tokens = given.tokens or round(4e6 * given.limit / BYTES_A_TOKEN)
    words = given.words or 30_000 * given.limit
    rows, fine = [], True
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        home = Path(folder)
        if given.only in (None, "tagger"):
            with (home / "train.txt").open("w", encoding="utf-8") as out:
                out.writelines(tagged(tokens))
            done = limited(
                given.limit, "tag", "train", home / "train.txt", "-o", home / "tagger", "--template", "chunking",
                "--shards", home / "shards", "--n-shards", -(-tokens // (1000 * given.limit)), "--passes", 3,
            )  # fmt: skip
            rows.append(("tagger, SGD, 3 passes", size(home / "shards"), done))
        if given.only in (None, "lm"):
            with (home / "text").open("w", encoding="utf-8") as out:
                out.writelines(plain(words))
            numbers = ("--strength", 1.5, "--depth-weight", 1.7, "--ridge", 0.06, "--min-count", 3)
            numbers += ("--n-shards", -(-words // (1000 * given.limit)))
            done = limited(
                given.limit,
                "lm",
                "train",
                home / "text",
                "-o",
                home / "lm",
                "--shards",
                home / "words",
                *numbers,
            )
            rows.append((f"language model, {words / 1e6:.1f} M words", size(home / "words"), done))
        if given.only in (None, "defaults"):
            with (home / "text").open("w", encoding="utf-8") as out:
                out.writelines(plain(given.limit * 1000))
            done = limited(
                given.limit, "lm", "train", home / "text", "-o", home / "lm", "--max-iterations", 3
            )
            rows.append((f"lm train, defaults, {given.limit / 1e3:.2f} M words", 0.0, done))
        if given.only in (None, "mapped"):
            fine = mapped(home, given.words or 4_000_000)
    if rows:
        print(f"{'limit ' + str(given.limit) + ' MB':<36}{'shards MB':>11}{'private MB':>12}{'seconds':>9}")
    for name, megabytes, done in rows:
        failed = f"  failed, exit code {done['code']}" if done["code"] else ""
        print(f"{name:<36}{megabytes:>11,.0f}{done['private MB']:>12,.0f}{done['seconds']:>9,.0f}{failed}")
        print("  " + ", ".join(f"{told} {done[told]:,.0f}" for told in TOLD if told in done))
    return int(not fine or any(done["code"] for _, _, done in rows))


if __name__ == "__main__":
    sys.exit(main())
