"""Parsing UD English-EWT with gold tags, beside UDPipe 1: attachment, size, speed; and relations on given trees.

``python benchmarks/parsing.py [--record FILE.json] [--parser MODEL] [--rival] [--udpipe MODEL] [--vectors FILE]
[--every N]``. The bars of LAS and size are what UDPipe 1 had in an earlier run of this program: all of the
training text, its documented options for English, vectors of the training words, 20 iterations, 1,616 CPU seconds of
training by a faster build of its own source. With ``--rival`` UDPipe (``pip install ufal.udpipe``) is trained and
measured in the same run, which takes hours of CPU time as it is published; ``--udpipe`` measures a model of it.
``--vectors`` are those of the training words, which its documentation makes with word2vec. With ``--every 10``
both it and a parser of ours to compare it with learn from every tenth sentence alone. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import resource
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
from epigram.protocols import Ints
from epigram.solvers import SGD

EWT = DATA / "ud-ewt"
TRAIN, DEV, TEST = (
    EWT / "en_ewt-ud-train.conllu.gz",
    EWT / "en_ewt-ud-dev.conllu",
    EWT / "en_ewt-ud-test.conllu",
)
UDPIPE = (
    "iterations={iterations};embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;embedding_form=50;embedding_lemma=0;"
    "embedding_deprel=20;learning_rate=0.01;learning_rate_final=0.001;l2=0.5;hidden_layer=200;batch_size=10;"
    "transition_system=projective;transition_oracle=dynamic;structured_interval=8;use_gold_tags=1"
)
RECORDED = {"UAS": 89.54, "LAS": 87.89, "bytes": 3_800_000}
SAMPLES = 1000


def flat(lists: list[list[str]]) -> list[str]:
    """The relations of all sentences end to end."""
    return list(itertools.chain.from_iterable(lists))


def train(claims: Claims, given: Path | None) -> tuple[DependencyParser, Path]:
    """Our parser, its training time (where it is trained here) and its size."""
    if given is not None:
        parser, path = DependencyParser.load(given), given
    else:
        bank = read_treebank(TRAIN)
        began = time.process_time()
        parser = DependencyParser().fit(bank)
        seconds = time.process_time() - began
        path = Path(tempfile.mkdtemp()) / "ewt.epigram"
        parser.save(path)
        claims.add("training, CPU seconds", f"{seconds:.0f}", "", seconds, 900)
    active, size = parser.fit_["active_features"], path.stat().st_size
    claims.add("active weights", f"{active:,}", "", active, 200_000)
    recorded = int(RECORDED["bytes"])
    claims.add("bytes of the model", f"{size:,}", f"{recorded:,} (recorded)", size / recorded, 1.0)
    return parser, path


def scores(bank: Treebank, heads: Ints, relations: list[str]) -> tuple[float, float]:
    """UAS and LAS, %."""
    pairs = (bank.heads, heads), (flat(bank.relations()), relations)
    overall = evaluate_trees(bank.sentence_ptr, *pairs).overall
    return 100 * overall.uas, 100 * overall.las


def attachment(claims: Claims, parser: DependencyParser) -> None:
    """UAS and LAS on the test set, gold tags, by both ways to choose a tree."""
    bank = read_treebank(TEST)
    for decoding, words in (("mbr", ""), ("best", ", most probable tree")):
        parser.set_params(decoding=decoding)
        heads = parser.predict_heads(bank)
        found = scores(bank, heads, parser.predict_relations(bank, heads))
        for name, value, floor in zip(("UAS", "LAS"), found, (88.0, None), strict=True):
            bar, rival = (None if words else floor), f"{RECORDED[name]:.2f} (recorded)"
            claims.add(f"{name}, test{words}", f"{value:.2f}", rival, value, bar, at_least=True)
        if not words:
            lead = found[1] - RECORDED["LAS"]
            claims.add("LAS less the rival's", f"{found[1]:.2f}", rival, lead, 0.01, at_least=True)
    parser.set_params(decoding="mbr")


def parse_file(path: Path, raw: bytes) -> float:
    """CPU seconds from file to file, loading the model included."""
    began = time.process_time()
    parser = DependencyParser.load(path)
    bank = parse_treebank(raw)
    heads = parser.predict_heads(bank)
    "".join(bank.written(heads, {"deprel": parser.predict_relations(bank, heads)})).encode()
    return time.process_time() - began


def speed(claims: Claims, path: Path) -> None:
    """Words per CPU second from file to file."""
    raw = TEST.read_bytes()
    n = parse_treebank(raw).n_tokens
    seconds = min(parse_file(path, raw) for _ in range(3))
    claims.add(
        "words a CPU second, file to file", f"{n / seconds:,.0f}", "", n / seconds, 3000, at_least=True
    )


def growth(parser: DependencyParser) -> None:
    """CPU milliseconds a sentence by its length."""
    rows = [
        row
        for sentence in read_treebank(TEST).observed(parser.observed.split(",")).rows()
        for row in sentence
    ]
    print("\nwords in a sentence   ms to parse it   power of the length since the line above")
    before = None
    for n in (10, 20, 40, 80, 150):
        sentences = [rows[k * n : (k + 1) * n] for k in range(10)]
        took = []
        for _ in range(3):
            began = time.process_time()
            parser.predict(sentences)
            took.append(100 * (time.process_time() - began))
        now = (n, min(took))
        power = "" if before is None else f"{np.log(now[1] / before[1]) / np.log(n / before[0]):.2f}"
        print(f"{n:19d} {now[1]:16.2f} {power:>10s}", flush=True)
        before = now


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


def compare(claims: Claims, parser: DependencyParser, path: Path, options: argparse.Namespace) -> None:
    """Beside UDPipe, both trained on the same sentences: attachment, size, speed."""
    rival = udpipe(options.udpipe, options.every, options.iterations, options.vectors)
    if rival is None:
        return
    words = ""
    if options.every > 1:
        bank = read_treebank(TRAIN)
        parser = DependencyParser().fit(bank.take(range(0, bank.n_sentences, options.every)))
        path = Path(tempfile.mkdtemp()) / "part.epigram"
        parser.save(path)
        words = f", 1/{options.every} of training"
    test = read_treebank(TEST)
    heads = parser.predict_heads(test)
    ours = scores(test, heads, parser.predict_relations(test, heads))
    theirs = scores(test, rival[0].heads, flat(rival[0].relations()))
    for name, mine, other in zip(("UAS", "LAS"), ours, theirs, strict=True):
        claims.add(
            f"{name} less the rival's{words}, same run",
            f"{mine:.2f}",
            f"{other:.2f}",
            mine - other,
            0.0,
            at_least=True,
        )
    raw, size = TEST.read_bytes(), path.stat().st_size
    seconds = min(parse_file(path, raw) for _ in range(3))
    claims.add(
        f"seconds, file to file{words}, same run",
        f"{seconds:.2f}",
        f"{rival[1]:.2f}",
        seconds / rival[1],
        1.0,
    )
    claims.add(f"bytes of the model{words}, same run", f"{size:,}", f"{rival[2]:,}", size / rival[2], 1.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    claims.add("most memory so far, MB", f"{peak:,.0f}", "", peak, None)


def udpipe(
    model: Path | None, every: int, iterations: int, vectors: Path | None
) -> tuple[Treebank, float, int] | None:
    """UDPipe's parse of the test set, its CPU seconds and its size; None where it is not installed."""
    try:
        import ufal.udpipe as rival
    except ImportError:
        print("ufal.udpipe is not installed: no rival", file=sys.stderr)
        return None
    if model is None:
        model = Path(tempfile.mkdtemp()) / "ewt.udpipe"
        texts = gzip.decompress(TRAIN.read_bytes()), DEV.read_bytes()
        banks = [_sentences(rival, text, every) for text in texts]
        error, settings = rival.ProcessingError(), UDPIPE.format(iterations=iterations)
        if vectors is not None:
            settings += f";embedding_form_file={vectors}"
        began = time.process_time()
        content = rival.Trainer.train("morphodita_parsito", *banks, "none", "none", settings, error)
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        print(f"UDPipe: {time.process_time() - began:,.0f} CPU seconds of training", flush=True)
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


def _sentences(rival: object, raw: bytes, every: int) -> object:
    reader, error = rival.InputFormat.newConlluInputFormat(), rival.ProcessingError()  # type: ignore[attr-defined]
    reader.setText(raw.decode())
    found, sentence, k = rival.Sentences(), rival.Sentence(), 0  # type: ignore[attr-defined]
    while reader.nextSentence(sentence, error):
        if k % every == 0:
            found.push_back(sentence)
        sentence, k = rival.Sentence(), k + 1  # type: ignore[attr-defined]
    return found


def main() -> int:
    """Measure and compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--record", type=Path)
    options.add_argument(
        "--parser", type=Path, help="a trained parser of ours: nothing is trained on all of EWT"
    )
    options.add_argument("--rival", action="store_true", help="train UDPipe and measure it in the same run")
    options.add_argument("--udpipe", type=Path, help="a trained model of UDPipe, measured in the same run")
    options.add_argument("--vectors", type=Path, help="word vectors for UDPipe, in word2vec's text format")
    options.add_argument(
        "--every", type=int, default=1, help="compare with UDPipe on every N-th training sentence"
    )
    options.add_argument("--iterations", type=int, default=20, help="of UDPipe's training")
    given = options.parse_args()
    claims = Claims(given.record, rival="UDPipe 1")
    parser, path = train(claims, given.parser)
    attachment(claims, parser)
    speed(claims, path)
    if given.rival or given.udpipe is not None:
        compare(claims, parser, path, given)
    claims.rival = "without edges"
    relations(claims)
    growth(parser)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
