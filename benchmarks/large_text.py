"""Kneser-Ney of large texts beside KenLM's lmplz: CPU time, peak memory, growth, bytes and kills.

The text is the English novels and WikiText-2, and text generated from them whose distinct n-grams grow as theirs do:
10,000 walks through the text read on word by word, and jump with a probability of ``JUMPS`` to another place where the
last word stands; rare words are replaced by new ones, so that the vocabulary grows too. To have lmplz:

    pip download kenlm --no-binary :all: --no-deps; cmake -DCMAKE_BUILD_TYPE=Release; make lmplz
    python benchmarks/large_text.py [curves] [train] [query] [kills] --lmplz PATH --words 100000000 --memory 1G
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.files import read_bytes
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.estimate import Place, count

JUMPS, NEW_WORDS, WALKS, ORDER = 0.28, 0.004, 10_000, 5
SIZES = (300_000, 1_000_000, 3_000_000, 9_000_000)
EPIGRAM = Path(sys.executable).with_name("epigram")


def write_real(path: Path) -> None:
    """The novels, then the training text of WikiText-2, whose <unk> becomes a word."""
    novels = read_bytes(DATA / "english-novels" / "novels.txt.gz")
    wiki = read_bytes(DATA / "wikitext-2" / "wiki.train.shuffled-articles.tokens.gz")
    path.write_bytes(novels + wiki.replace(b"<unk>", b"unk"))


def write_generated(real: Path, path: Path, n_words: int, seed: int = 0) -> None:
    """Generate text of about so many words."""
    rng, corpus = np.random.default_rng(seed), Corpus.read(real)
    stream = corpus.stream()
    order = np.argsort(stream, kind="stable")
    ends = np.cumsum(np.bincount(stream))
    sizes = np.diff(ends, prepend=0)
    names = np.array([b"\n", *(word.encode() + b" " for word in corpus.vocabulary.words[1:])], dtype=object)
    at, steps = rng.integers(0, stream.size - 1, WALKS), 256
    with path.open("wb") as file:
        for _ in range(-(-n_words // (WALKS * steps))):
            block = np.empty((WALKS, steps), np.int32)
            for step in range(steps):
                words = stream[at]
                block[:, step] = words
                other = order[ends[words] - 1 - (rng.random(WALKS) * sizes[words]).astype(np.int64)]
                at = np.where(rng.random(WALKS) < JUMPS, other, at) + 1
                at[at >= stream.size] = 0
            text = names[block.ravel()]
            is_new = (rng.random(text.size) < NEW_WORDS) & (block.ravel() > 0)
            numbers = (rng.random(int(is_new.sum())) ** -1.25).astype(np.int64)
            text[is_new] = [b"w%d " % number for number in numbers.tolist()]
            file.write(b"".join(text.tolist()))


def curve(path: Path, n_words: int) -> list[int]:
    """Distinct n-grams of each order in the first words of a text."""
    with path.open("rb") as file:
        head = file.read(7 * n_words)
    lines, left = [], n_words
    for line in head.split(b"\n"):
        left -= len(line.split())
        if left < 0:
            break
        lines.append(line.decode())
    corpus = Corpus.of(lines)
    counted = count(corpus.stream(), len(corpus.vocabulary), ORDER, [0] * ORDER, Place())
    return counted.tally.sum(axis=1).tolist()


def run(command: list[object]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a command."""
    child = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def train(claims: Claims, name: str, text: Path, memory: str, lmplz: str | None, bar: float = 0.8) -> None:
    """Train on a text with both programs."""
    output = text.with_suffix(".epigram")
    options = ["--model", "modified-kneser-ney", "--memory", memory, "--quiet"]
    ours, peak = run([EPIGRAM, "lm", "train", text, "-o", output, *options])
    shown = f"{ours:.1f} CPU s, {peak:.0f} MB"
    if lmplz is None:
        print(name, memory, shown, flush=True)
        return
    arpa = text.with_suffix(".arpa")
    folder = text.parent
    theirs, their_peak = run(
        [
            lmplz,
            "-o",
            ORDER,
            "-S",
            memory,
            "-T",
            folder,
            "--text",
            text,
            "--arpa",
            arpa,
            "--discount_fallback",
        ]
    )
    arpa.unlink()
    claims.add(f"{name}, {memory}", shown, f"{theirs:.1f} CPU s, {their_peak:.0f} MB", ours / theirs, bar)


def kills(text: Path, n_kills: int = 10) -> None:
    """Kill a training at random moments, resume it, and compare the bytes."""
    whole, killed = text.with_suffix(".whole"), text.with_suffix(".killed")
    options = ["--model", "modified-kneser-ney", "--quiet", "--memory"]
    began = time.perf_counter()
    run([EPIGRAM, "lm", "train", text, "-o", whole, *options, "64M"])
    seconds = time.perf_counter() - began
    command = [str(word) for word in (EPIGRAM, "lm", "train", text, "-o", killed, "--resume", *options)]
    for _ in range(n_kills):
        child = subprocess.Popen([*command, "64M"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0.2, 1.0) * seconds)
        child.kill()
        child.wait()
    run([*command, "256M"])
    same = whole.read_bytes() == killed.read_bytes()
    left = [
        path.name
        for path in text.parent.iterdir()
        if "sorting" in path.name or path.name.startswith(".epigram")
    ]
    bytes_are = "same bytes" if same else "OTHER BYTES"
    print(f"killed {n_kills} times and resumed: {bytes_are}, {len(left)} temporary files left", flush=True)


def query(claims: Claims, real: Path, n_words: int = 3_000_000, n_documents: int = 4_000) -> None:
    """Score documents with one model: kenlm's probing tables, batches, a mapped file, and compat.kenlm."""
    import kenlm

    from epigram.compat.kenlm import Model
    from epigram.lm.base import LanguageModel

    lines = real.read_bytes().decode().splitlines()
    ends = np.cumsum([len(line.split()) for line in lines])
    cut = int(np.searchsorted(ends, n_words))
    text, mapped, arpa = (real.with_suffix(f".query.{name}") for name in ("txt", "mapped", "arpa"))
    text.write_text("\n".join(lines[:cut]) + "\n")
    run([EPIGRAM, "lm", "train", text, "-o", mapped, "--model", "modified-kneser-ney", "--mapped", "--quiet"])
    run([EPIGRAM, "lm", "export-arpa", mapped, arpa])
    rival, ours, model = kenlm.Model(str(arpa)), Model(mapped), LanguageModel.load(mapped)
    rng, rest = np.random.default_rng(0), lines[cut:]
    real_documents = [" ".join(rest[k : k + 20]) for k in range(0, 20 * n_documents, 20)]
    words = np.array(model.vocabulary_.words[1:], dtype=object)
    random_documents = [" ".join(rng.choice(words, 340)) for _ in range(n_documents)]

    def batch(documents: list[str]) -> list[float]:
        corpus = Corpus.known(documents, model.vocabulary_)
        first = corpus.sentence_ptr[:-1] + np.arange(corpus.n_sentences)
        return np.add.reduceat(np.nan_to_num(model.score_corpus(corpus)), first).tolist()

    for name, documents in (("real", real_documents), ("random", random_documents)):
        theirs = documents_a_second(lambda d=documents: [rival.score(one) for one in d], len(documents))
        for how, bar, call in (
            ("batch, mapped file", 1.0, lambda d=documents: batch(d)),
            ("compat.kenlm, mapped file", 0.8, lambda d=documents: [ours.score(one) for one in d]),
        ):
            speed = documents_a_second(call, len(documents))
            shown = f"{speed:,.0f} documents a CPU s", f"{theirs:,.0f}"
            claims.add(f"{name} documents, {how}", *shown, speed / theirs, bar, at_least=True)
    for path in (text, mapped, arpa):
        path.unlink()


def documents_a_second(call: Callable[[], object], n_documents: int) -> float:
    """Documents per CPU second, best of three."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return n_documents / min(seconds)


def main() -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["curves", "train", "query", "kills"])
    parser.add_argument("--lmplz")
    parser.add_argument("--words", type=int, default=100_000_000)
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/large_text"))
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    claims, real, made = (
        Claims(rival="lmplz"),
        args.folder / "real.txt",
        args.folder / f"generated{args.words}.txt",
    )
    write_real(real)
    if not made.exists():
        write_generated(real, made, args.words)
    if "curves" in args.parts:
        for size in SIZES:
            print(f"{size:,} words: real {curve(real, size)}, generated {curve(made, size)}", flush=True)
    if "query" in args.parts:
        query(claims, real)
    if "kills" in args.parts:
        small = args.folder / "small.txt"
        small.write_bytes(real.read_bytes()[:5_500_000].rpartition(b"\n")[0])
        kills(small)
    if "train" in args.parts:
        train(claims, "novels and WikiText-2", real, args.memory, args.lmplz)
        train(claims, "novels and WikiText-2, in memory", real, "8G", args.lmplz, 0.7)
        train(claims, f"generated {args.words:,} words", made, args.memory, args.lmplz)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
