"""Pipelines from raw text beside UDPipe 1, on UD English-EWT and the treebanks of ``ud-small``.

``python benchmarks/pipeline.py [--record FILE.json] [--only hu_szeged,...] [--models FOLDER] [--no-rival] [--every N]
[--dev]``. Both are trained in the same run from the same training file and analyse the same raw text of the test file
(of the development file with ``--dev``). UDPipe (``pip install ufal.udpipe``) trains its tokenizer for 30 epochs, its
tagger and parser with its defaults. With ``--models`` a model that is in the folder is not trained again
(``NAME.udpipe``, with its CPU seconds in ``NAME.json``). CPU time is that of the process. Exits 1 where a target is
missed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

from _bars import Claims
from _data import DATA
from epigram import Pipeline, load
from epigram.files import read_bytes
from epigram.pipeline import evaluate_analysis
from epigram.pipeline.analysis import Analysis, read_gold

TREEBANKS = {
    "ewt": ("ud-ewt/en_ewt-ud-train.conllu.gz", "ud-ewt/en_ewt-ud-{}.conllu"),
    **{
        name: (f"ud-small/{name}/{name}-ud-train.conllu.gz", f"ud-small/{name}/{name}-ud-{{}}.conllu.gz")
        for name in ("hu_szeged", "tr_imst", "vi_vtb")
    },
}
METRICS = ("Words", "Sentences", "UPOS", "UFeats", "Lemmas", "LAS")
TARGETS = {"Words": 99.0, "Sentences": 87.0, "UPOS": 93.9, "Lemmas": 95.9, "LAS": 80.0}  # of EWT


def taken(raw: bytes, every: int) -> bytes:
    """Every so manyth sentence of a treebank."""
    blocks = raw.decode().split("\n\n")
    return ("\n\n".join(blocks[::every]).rstrip("\n") + "\n\n").encode()


class Rival:
    """UDPipe 1, trained or read from a file."""

    def __init__(self, train: bytes, file: Path | None) -> None:
        from ufal import udpipe

        self.udpipe = udpipe
        file = file or Path("build/new.udpipe")
        if file.name == "new.udpipe" or not file.exists():
            start = time.process_time()
            content = self._train(train)
            file.write_bytes(content)
            file.with_suffix(".json").write_text(json.dumps({"cpu": time.process_time() - start}))
        self.seconds = float(json.loads(file.with_suffix(".json").read_text())["cpu"])
        self.size = file.stat().st_size
        self.model = udpipe.Model.load(str(file))

    def _train(self, train: bytes) -> bytes:
        sentences, sentence = self.udpipe.Sentences(), self.udpipe.Sentence()
        reader, error = self.udpipe.InputFormat.newConlluInputFormat(), self.udpipe.ProcessingError()
        reader.setText(train.decode())
        while reader.nextSentence(sentence, error):
            sentences.append(sentence)
            sentence = self.udpipe.Sentence()
        model = self.udpipe.Trainer.train(
            "morphodita_parsito", sentences, self.udpipe.Sentences(), "epochs=30", "", "", error
        )
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        return bytes(model)

    def analyse(self, text: str) -> Analysis:
        """The analysis of raw text."""
        pipeline = self.udpipe.Pipeline(self.model, "tokenize", "", "", "conllu")
        return read_gold(pipeline.process(text).encode(), "UDPipe")[0]


def measure(analyse: Any, gold: Analysis) -> tuple[dict[str, float], float]:
    """F1 scores in percent, and words per CPU second."""
    start = time.process_time()
    found = analyse(gold.tokens.text)
    speed = found.n_words / (time.process_time() - start)
    return {name: 100 * score.f1 for name, score in evaluate_analysis(gold, found).items()}, speed


def compare(name: str, claims: Claims, options: argparse.Namespace) -> tuple[float, float]:
    """Train both on a treebank and compare them; returns both LAS."""
    train_file, test_file = TREEBANKS[name]
    raw = taken(read_bytes(DATA / train_file), options.every)
    train = Path("build") / f"{name}.conllu.gz"
    train.parent.mkdir(exist_ok=True)
    train.write_bytes(gzip.compress(raw, mtime=0))
    ours_file = options.models / f"{name}.epigram" if options.models else Path("build") / f"{name}.epigram"
    seconds = float("nan")
    if not (options.models and ours_file.exists()):
        start = time.process_time()
        Pipeline().fit(train).save(ours_file)
        seconds = time.process_time() - start
    start = time.process_time()
    pipeline = load(ours_file)
    loading = time.process_time() - start
    rival = None if options.no_rival else Rival(raw, options.models and options.models / f"{name}.udpipe")
    part = DATA / test_file.format("dev" if options.dev else "test")
    las = (0.0, 0.0)
    for paragraphs in (True, False) if name == "ewt" else (True,):
        gold, _ = read_gold(read_bytes(part), str(part), paragraphs)
        ours, speed = measure(pipeline.analyse, gold)
        theirs, their_speed = ({}, 0.0) if rival is None else measure(rival.analyse, gold)
        label = name if paragraphs else f"{name}, documents only"
        for metric in METRICS:
            target = TARGETS.get(metric, 0.0) if name == "ewt" and paragraphs else theirs.get(metric, 0.0)
            shown = f"{theirs[metric]:.2f}" if theirs else ""
            claims.add(
                f"{label}: {metric}", f"{ours[metric]:.2f}", shown, ours[metric], target, at_least=True
            )
        if paragraphs:
            las = ours["LAS"], theirs.get("LAS", 0.0)
            shown = f"{their_speed:,.0f}" if theirs else ""
            claims.add(f"{label}: words per CPU s", f"{speed:,.0f}", shown, speed, 12_000, at_least=True)
    if name == "ewt":
        size = ours_file.stat().st_size
        claims.add(
            "ewt: MB", f"{size / 1e6:.2f}", f"{rival.size / 1e6:.2f}" if rival else "", size / 1e6, 5.0
        )
        claims.add("ewt: CPU s to load", f"{loading:.2f}", "", loading, 0.3)
    most = {"ewt": 600.0, "hu_szeged": 120.0}.get(name)
    claims.add(
        f"{name}: CPU s to train", f"{seconds:.0f}", f"{rival.seconds:.0f}" if rival else "", seconds, most
    )
    return las


def main() -> None:
    """Compare on all treebanks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--only", default=",".join(TREEBANKS))
    parser.add_argument("--models", type=Path)
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    claims = Claims(options.record, rival="UDPipe 1")
    pairs = [compare(name, claims, options) for name in options.only.split(",")]
    if not options.no_rival:
        lead = sum(a - b for a, b in pairs) / len(pairs)
        claims.add("mean lead in LAS", f"{lead:.2f}", "", lead, 1.0, at_least=True)
    sys.exit(claims.exit_code)


if __name__ == "__main__":
    main()
