"""Filtering by perplexity, JSON lines to JSON lines, beside a Python loop over kenlm and sentencepiece.

    python benchmarks/filter.py                     # documents a CPU second, plain and with CCNet's normalisation
    python benchmarks/filter.py --threads           # wall seconds with one and two threads
    python benchmarks/filter.py --large 1000000     # peak memory over so many documents, and a tenth of them
    python benchmarks/filter.py --kill              # a run that is killed ten times is resumed to the same bytes

Data: the novels of EPIGRAM_DATA, cut into documents of about 470 pieces. The first documents are scored, the rest
trains a sentencepiece model of 16,000 unigrams and a Kneser-Ney model of order 5, which kenlm reads as ARPA into its
probing tables. Both sides read and write the same records in a process of their own; time of loading is left out, the
least of several runs is taken. The loop is json, CCNet's steps as its program takes them, encode and
score. Each side's perplexities are compared before rounding.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import unicodedata
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from _data import DATA

HERE = Path(os.environ.get("EPIGRAM_BENCH") or "bench-filter")
WORDS, TRAINING = 340, 1_500_000  # of a document, of the model
CONTROLS = re.compile(f"[{''.join(map(chr, [*range(32), *range(127, 160)]))}]")


def prepare(n: int) -> None:
    """Documents, the sentencepiece model, and the language model as ARPA and as ours."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    from epigram import KneserNeyLM, write_arpa

    HERE.mkdir(exist_ok=True)
    if not (HERE / "lm.epigram").exists():
        with gzip.open(DATA / "english-novels" / "novels.txt.gz", "rt") as file:
            words = file.read().split()
        scored, rest = words[: 4000 * WORDS], words[4000 * WORDS :][:TRAINING]
        documents = [" ".join(scored[k : k + WORDS]) for k in range(0, len(scored), WORDS)]
        (HERE / "all.jsonl").write_text(
            "".join(json.dumps({"id": k, "text": text}) + "\n" for k, text in enumerate(documents))
        )
        lines = [" ".join(rest[k : k + 25]) for k in range(0, len(rest), 25)]
        (HERE / "train.txt").write_text("\n".join(lines))
        SentencePieceTrainer.train(
            input=str(HERE / "train.txt"), model_prefix=str(HERE / "sp"), vocab_size=16000, num_threads=1,
            input_sentence_size=20000, minloglevel=2,
        )  # fmt: skip
        processor = SentencePieceProcessor(model_file=str(HERE / "sp.model"))
        model = KneserNeyLM(5).fit([processor.encode(line, out_type=str) for line in lines])
        write_arpa(model.backoff_, HERE / "lm.arpa")
        model.save(HERE / "lm.epigram")
    lines = (HERE / "all.jsonl").read_text().splitlines(keepends=True)
    (HERE / "in.jsonl").write_text("".join(islice(cycle(lines), n)))


def ccnet(text: str) -> str:
    """CCNet's steps."""
    from epigram.filter.normalise import PUNCTUATION

    text = unicodedata.normalize("NFD", text.strip().lower())
    text = "".join([c for c in text if unicodedata.category(c) != "Mn"])
    text = "".join(PUNCTUATION.get(c, c) for c in re.sub(r"\d", "0", text))
    return CONTROLS.sub("", text)


def loop(normalised: bool) -> float:
    """CPU seconds of the Python loop."""
    import kenlm
    from sentencepiece import SentencePieceProcessor

    processor, model = (
        SentencePieceProcessor(model_file=str(HERE / "sp.model")),
        kenlm.Model(str(HERE / "lm.arpa")),
    )
    start = time.process_time()
    with (HERE / "in.jsonl").open() as source, (HERE / "loop.jsonl").open("w") as target:
        for line in source:
            record = json.loads(line)
            text = ccnet(record["text"]) if normalised else record["text"]
            pieces = processor.encode(text, out_type=str)
            record["score"] = 10.0 ** (-model.score(" ".join(pieces)) / (len(pieces) + 1))
            target.write(json.dumps(record) + "\n")
    return time.process_time() - start


def scorer(normalised: bool) -> object:
    """Our scorer of the same models."""
    from epigram import load
    from epigram.filter import Perplexity, PieceModel

    return Perplexity(load(HERE / "lm.epigram"), PieceModel.read(HERE / "sp.model"), normalised)


def ours(normalised: bool, threads: int = 1, wall: bool = False) -> float:
    """CPU or wall seconds of the filter."""
    from epigram.filter import DocumentFilter

    job = DocumentFilter({"score": scorer(normalised)}, threads=threads)
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    job.run([str(HERE / "in.jsonl")], str(HERE / "ours.jsonl"))
    return clock() - start


def child(*words: object) -> float:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, __file__, "--side", *map(str, words)], check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


def speed(n: int, repeats: int) -> None:
    """Documents a CPU second of both sides, and how far their scores are apart."""
    for normalised in (False, True):
        best = {side: min(child(side, int(normalised)) for _ in range(repeats)) for side in ("loop", "ours")}
        scores = [
            np.array([json.loads(line)["score"] for line in (HERE / f"{side}.jsonl").open()])
            for side in ("loop", "ours")
        ]
        apart = float(np.abs(scores[1] / scores[0] - 1).max())
        rates = {side: n / seconds for side, seconds in best.items()}
        print(
            f"{'ccnet' if normalised else 'plain'}: loop {rates['loop']:,.0f}, ours {rates['ours']:,.0f} documents "
            f"a CPU second, {rates['ours'] / rates['loop']:.2f}x; scores at most {apart:.1e} apart"
        )


def memory(n: int) -> None:
    """Peak memory over n documents and a tenth of them."""
    with (HERE / "all.jsonl").open() as file:
        lines = [json.dumps({"text": json.loads(line)["text"][:300]}) + "\n" for line in file]
    for size in (n // 10, n):
        with (HERE / "in.jsonl").open("w") as file:
            file.writelines(islice(cycle(lines), size))
        print(f"{size:,} documents: peak {child('memory', 0):,.0f} MB")
    (HERE / "in.jsonl").unlink()


def kill() -> None:
    """Kill a run again and again; compare its bytes with those of one that was let be."""
    words = [
        sys.executable, "-m", "epigram", "filter", str(HERE / "in.jsonl"), "-m", str(HERE / "lm.epigram"),
        "--pieces", str(HERE / "sp.model"), "--threads", "2",
    ]  # fmt: skip
    subprocess.run([*words, "-o", str(HERE / "whole.jsonl")], check=True, capture_output=True)
    n = 0
    while True:
        run = subprocess.Popen(
            [*words, "-o", str(HERE / "parts.jsonl"), "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            run.wait(2.0 + 0.5 * n if n < 10 else None)
            break
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
            n += 1
    same = (HERE / "whole.jsonl").read_bytes() == (HERE / "parts.jsonl").read_bytes()
    print(f"killed {n} times and resumed: {'the same bytes' if same else 'OTHER BYTES'}")


def main() -> None:
    """Run what the options name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--large", type=int, metavar="N")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is not None:
        kind, normalised = given.side[0], given.side[1] == "1"
        if kind == "loop":
            print(loop(normalised))
        elif kind == "memory":
            ours(False)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        else:
            print(ours(normalised, 1 if kind == "ours" else int(kind), kind != "ours"))
        return
    prepare(given.documents)
    if given.threads:
        one, two = (min(child(n, 0) for _ in range(given.repeats)) for n in (1, 2))
        print(f"one thread {one:.2f} s, two threads {two:.2f} s: {one / two:.2f}x")
    elif given.large:
        memory(given.large)
    elif given.kill:
        kill()
    else:
        speed(given.documents, given.repeats)


if __name__ == "__main__":
    main()
