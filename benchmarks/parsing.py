"""Parsing UD English-EWT with gold tags, beside UDPipe 1: attachment, size, speed; and relations on given trees.

``python benchmarks/parsing.py [--record FILE.json] [--udpipe MODEL]``; UDPipe (``pip install ufal.udpipe``) is trained
with its documented options for English where no model of it is given, which takes more than an hour. Exits 1 where a
bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.parsing import DependencyParser, TreeTagger, read_treebank
from epigram.parsing.conllu import Treebank, parse_treebank
from epigram.parsing.metrics import evaluate_trees
from epigram.parsing.surroundings import usual_template
from epigram.solvers import SGD

EWT = DATA / "ud-ewt"
TRAIN, DEV, TEST = (
    EWT / "en_ewt-ud-train.conllu.gz",
    EWT / "en_ewt-ud-dev.conllu",
    EWT / "en_ewt-ud-test.conllu",
)
UDPIPE = (
    "iterations=30;embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;embedding_form=50;embedding_lemma=0;"
    "embedding_deprel=20;learning_rate=0.01;learning_rate_final=0.001;l2=0.5;hidden_layer=200;batch_size=10;"
    "transition_system=projective;transition_oracle=dynamic;structured_interval=8;use_gold_tags=1"
)
SAMPLES = 1000


def flat(lists: list[list[str]]) -> list[str]:
    """The relations of all sentences end to end."""
    return list(itertools.chain.from_iterable(lists))


def train(claims: Claims) -> tuple[DependencyParser, Path]:
    """Our parser, its training time and its size."""
    bank = read_treebank(TRAIN)
    began = time.process_time()
    parser = DependencyParser().fit(bank)
    seconds = time.process_time() - began
    path = Path(tempfile.mkdtemp()) / "ewt.epigram"
    parser.save(path)
    claims.add("training, CPU seconds", f"{seconds:.0f}", "", seconds, 900)
    active = parser.fit_["active_features"]
    claims.add("active weights", f"{active:,}", "", active, 200_000)
    return parser, path


def attachment(claims: Claims, parser: DependencyParser, rival: Treebank | None) -> None:
    """UAS and LAS on the test set, gold tags."""
    bank = read_treebank(TEST)
    gold = flat(bank.relations())

    def scores(heads: np.ndarray, relations: list[str]) -> tuple[float, float]:  # type: ignore[type-arg]
        overall = evaluate_trees(bank.sentence_ptr, (bank.heads, heads), (gold, relations)).overall
        return 100 * overall.uas, 100 * overall.las

    heads = parser.predict_heads(bank)
    uas, las = scores(heads, parser.predict_relations(bank, heads))
    other = None if rival is None else scores(rival.heads, flat(rival.relations()))
    claims.add(
        "UAS, test", f"{uas:.2f}", "" if other is None else f"{other[0]:.2f}", uas, 88.0, at_least=True
    )
    claims.add(
        "LAS, test", f"{las:.2f}", "" if other is None else f"{other[1]:.2f}", las, 85.5, at_least=True
    )
    if other is not None:
        claims.add(
            "LAS less the rival's", f"{las:.2f}", f"{other[1]:.2f}", las - other[1], 0.0, at_least=True
        )
    parser.set_params(decoding="best")
    heads = parser.predict_heads(bank)
    uas, las = scores(heads, parser.predict_relations(bank, heads))
    claims.add("UAS, test, most probable tree", f"{uas:.2f}", "", uas, None)
    claims.add("LAS, test, most probable tree", f"{las:.2f}", "", las, None)
    parser.set_params(decoding="mbr")


def parse_file(path: Path, raw: bytes) -> float:
    """CPU seconds from file to file, loading the model included."""
    began = time.process_time()
    parser = DependencyParser.load(path)
    bank = parse_treebank(raw)
    heads = parser.predict_heads(bank)
    "".join(bank.written(heads, {"deprel": parser.predict_relations(bank, heads)})).encode()
    return time.process_time() - began


def speed(claims: Claims, path: Path, rival_seconds: float | None) -> None:
    """Words per CPU second from file to file."""
    raw = TEST.read_bytes()
    n = parse_treebank(raw).n_tokens
    seconds = min(parse_file(path, raw) for _ in range(3))
    claims.add(
        "words a CPU second, file to file", f"{n / seconds:,.0f}", "", n / seconds, 3000, at_least=True
    )
    if rival_seconds is not None:
        claims.add(
            "seconds, file to file", f"{seconds:.2f}", f"{rival_seconds:.2f}", seconds / rival_seconds, 1.0
        )


def growth(parser: DependencyParser) -> None:
    """CPU milliseconds a sentence by its length."""
    rows = [row for sentence in read_treebank(TEST).observed().rows() for row in sentence]
    print("\nwords in a sentence   ms to parse it")
    for n in (10, 20, 40, 80, 150):
        sentences = [rows[k * n : (k + 1) * n] for k in range(10)]
        parser.predict(sentences)
        began = time.process_time()
        parser.predict(sentences)
        print(f"{n:19d} {100 * (time.process_time() - began):15.2f}", flush=True)


def relations(claims: Claims) -> None:
    """Relations of given trees: with edges and without, and a paired bootstrap over sentences."""
    bank, test = read_treebank(TRAIN), read_treebank(TEST)
    template = usual_template(3)
    gold = np.array(flat(test.relations()), dtype=object)
    right = []
    for text in (template, template.split("B\n")[0]):
        tagger = TreeTagger(text, l1=1.0, solver=SGD(passes=6, eta0=0.1)).fit(bank.trees(), bank.relations())
        right.append(np.array(flat(tagger.predict(test.trees())), dtype=object) == gold)
    with_edges, without = (100 * part.mean() for part in right)
    ends = np.concatenate([[0], np.cumsum(right[0].astype(int) - right[1].astype(int))])[test.sentence_ptr]
    differences, rng = np.diff(ends), np.random.default_rng(0)
    draws = [differences[rng.integers(0, len(differences), len(differences))].sum() for _ in range(SAMPLES)]
    p = (1 + sum(draw <= 0 for draw in draws)) / (1 + SAMPLES)
    claims.add(
        "deprel on given trees, %",
        f"{with_edges:.2f}",
        f"{without:.2f}",
        with_edges - without,
        0.0,
        at_least=True,
    )
    claims.add("bootstrap p of no gain", f"{p:.3f}", "", p, 0.05)


def udpipe(model: Path | None) -> tuple[Treebank, float, int] | None:
    """UDPipe's parse of the test set, its CPU seconds and its size; None where it is not installed."""
    try:
        import ufal.udpipe as rival
    except ImportError:
        print("ufal.udpipe is not installed: no rival", file=sys.stderr)
        return None
    if model is None:
        model = Path(tempfile.mkdtemp()) / "ewt.udpipe"
        banks = [_sentences(rival, text) for text in (gzip.decompress(TRAIN.read_bytes()), DEV.read_bytes())]
        error = rival.ProcessingError()
        content = rival.Trainer.train(rival.Trainer.DEFAULT, *banks, "none", "none", UDPIPE, error)
        model.write_bytes(content)
    best: tuple[Treebank, float, int] | None = None
    for _ in range(3):
        began = time.process_time()
        loaded = rival.Model.load(str(model))
        pipeline = rival.Pipeline(loaded, "conllu", rival.Pipeline.NONE, rival.Pipeline.DEFAULT, "conllu")
        out = pipeline.process(TEST.read_text("utf-8"), rival.ProcessingError())
        seconds = time.process_time() - began
        if best is None or seconds < best[1]:
            best = parse_treebank(out.encode()), seconds, model.stat().st_size
    return best


def _sentences(rival: object, raw: bytes) -> object:
    reader, error = rival.InputFormat.newConlluInputFormat(), rival.ProcessingError()  # type: ignore[attr-defined]
    reader.setText(raw.decode())
    found, sentence = rival.Sentences(), rival.Sentence()  # type: ignore[attr-defined]
    while reader.nextSentence(sentence, error):
        found.push_back(sentence)
        sentence = rival.Sentence()  # type: ignore[attr-defined]
    return found


def main() -> int:
    """Measure and compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--record", type=Path)
    options.add_argument("--udpipe", type=Path, help="a trained model of UDPipe")
    given = options.parse_args()
    claims = Claims(given.record, rival="UDPipe 1")
    parser, path = train(claims)
    rival = udpipe(given.udpipe)
    attachment(claims, parser, None if rival is None else rival[0])
    speed(claims, path, None if rival is None else rival[1])
    if rival is not None:
        size = path.stat().st_size
        claims.add("bytes of the model", f"{size:,}", f"{rival[2]:,}", size / rival[2], 1.0)
    claims.rival = "without edges"
    relations(claims)
    growth(parser)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
