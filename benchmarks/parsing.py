"""Parsing UD English-EWT, beside UDPipe 1: attachment, size, training, speed; own tags; relations on given trees.

``python benchmarks/parsing.py [--record FILE.json] [--parser MODEL] [--rival] [--udpipe MODEL] [--vectors FILE]
[--iterations N] [--every N]``. With ``--rival`` UDPipe (``pip install ufal.udpipe``) is trained in the same run, by the
options that its makers published for English; ``--udpipe`` measures a model of it. Without both, its column is what
it had in an earlier run with ``--rival``. ``--vectors`` are those of the training words, in word2vec's text format, by
``word2vec -cbow 0 -size 50 -window 10 -negative 5 -hs 0 -sample 1e-1 -iter 15 -min-count 2`` as its makers do. With
``--every 10`` both learn from every tenth sentence alone. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.parsing import DependencyParser, TreeTagger, read_treebank
from epigram.parsing.metrics import evaluate_trees
from epigram.parsing.tree_columns import default_template
from epigram.parsing.treebank import Treebank, parse_treebank
from epigram.protocols import Ints
from epigram.solvers import SGD
from epigram.tagging import CRFTagger

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
SAMPLES = 1000


@dataclass(frozen=True)
class Rival:
    """What UDPipe has on the test set; ``training`` is None where its model was given."""

    uas: float
    las: float
    size: int
    training: float | None
    seconds: float
    note: str = ""


RECORDED = Rival(90.06, 88.56, 3_428_985, 639, 1.37, " (recorded)")


def flat(lists: list[list[str]]) -> list[str]:
    """The relations of all sentences end to end."""
    return list(itertools.chain.from_iterable(lists))


def train(given: Path | None, every: int) -> tuple[DependencyParser, Path, float | None]:
    """Our parser, its file, and the CPU seconds of its training (None where it is given)."""
    if given is not None:
        return DependencyParser.load(given), given, None
    bank = read_treebank(TRAIN)
    if every > 1:
        bank = bank.take(range(0, bank.n_sentences, every))
    began = time.process_time()
    parser = DependencyParser().fit(bank)
    seconds = time.process_time() - began
    path = Path(tempfile.mkdtemp()) / "ewt.epigram"
    parser.save(path)
    return parser, path, seconds


def scores(bank: Treebank, heads: Ints, relations: list[str]) -> tuple[float, float]:
    """UAS and LAS, %."""
    pairs = (bank.heads, heads), (flat(bank.relations()), relations)
    overall = evaluate_trees(bank.sentence_ptr, *pairs).overall
    return 100 * overall.uas, 100 * overall.las


def parsed(parser: DependencyParser, bank: Treebank) -> tuple[float, float]:
    """UAS and LAS of the trees that a parser finds."""
    heads = parser.predict_heads(bank)
    return scores(bank, heads, parser.predict_relations(bank, heads))


def attachment(claims: Claims, parser: DependencyParser, rival: Rival, every: int) -> None:
    """UAS and LAS on the test set, gold tags, by both ways to choose a tree."""
    bank = read_treebank(TEST)
    ours = parsed(parser, bank)
    for name, mine, other, floor in zip(
        ("UAS", "LAS"), ours, (rival.uas, rival.las), (88.0, 85.5), strict=True
    ):
        bar = floor if every == 1 else None
        claims.add(f"{name}, test", f"{mine:.2f}", f"{other:.2f}{rival.note}", mine, bar, at_least=True)
        claims.add(
            f"{name} less the rival's", f"{mine:.2f}", f"{other:.2f}{rival.note}", mine - other, 0.01, True
        )
    parser.set_params(decoding="best")
    for name, value in zip(("UAS", "LAS"), parsed(parser, bank), strict=True):
        claims.add(f"{name}, most probable tree", f"{value:.2f}", "", value, None)
    parser.set_params(decoding="mbr")


def size_and_training(
    claims: Claims, parser: DependencyParser, path: Path, seconds: float | None, rival: Rival
) -> None:
    """Weights, bytes and, where they were trained here, CPU seconds of training."""
    active, size = parser.fit_["active_features"], path.stat().st_size
    claims.add("active weights", f"{active:,}", "", active, 200_000)
    claims.add("bytes of the model", f"{size:,}", f"{rival.size:,}{rival.note}", size / rival.size, 1.0)
    if seconds is not None:
        other = "" if rival.training is None else f"{rival.training:,.0f}{rival.note}"
        claims.add("training, CPU seconds", f"{seconds:.0f}", other, seconds, 900)


def parse_file(path: Path, raw: bytes) -> float:
    """CPU seconds from file to file, loading the model included."""
    began = time.process_time()
    parser = DependencyParser.load(path)
    bank = parse_treebank(raw)
    heads = parser.predict_heads(bank)
    "".join(bank.written(heads, {"deprel": parser.predict_relations(bank, heads)})).encode()
    return time.process_time() - began


def speed(claims: Claims, path: Path, rival: Rival) -> None:
    """Words per CPU second from file to file."""
    raw = TEST.read_bytes()
    n = parse_treebank(raw).n_tokens
    seconds = min(parse_file(path, raw) for _ in range(3))
    ours, theirs = f"{n / seconds:,.0f}", f"{n / rival.seconds:,.0f}{rival.note}"
    claims.add("words a CPU second, file to file", ours, theirs, n / seconds, 3000, at_least=True)
    claims.add(
        "words a CPU second, times the rival's", ours, theirs, rival.seconds / seconds, 1.0, at_least=True
    )


def own_tags(claims: Claims) -> None:
    """LAS on tags that our own tagger finds; the parser has learnt from the treebank's tags, without features."""
    bank, test = read_treebank(TRAIN), read_treebank(TEST)
    tags = {}
    for name in ("upos", "xpos"):
        tagger = CRFTagger("pos+", solver=SGD(passes=10)).fit(bank.observed(["form"]), bank.column(name))
        tags[name] = flat(tagger.predict(test.observed(["form"])))
        right = np.mean(np.array(tags[name]) == np.array(test.column(name).strings)[test.column(name).ids])
        claims.add(f"{name} by our own tagger, %", f"{100 * right:.2f}", "", 100 * right, None)
    tagged = parse_treebank("".join(test.written(changed=tags)).encode())
    uas, las = parsed(DependencyParser(observed="form,upos,xpos").fit(bank), tagged)
    claims.add("UAS, own tags", f"{uas:.2f}", "", uas, None)
    claims.add("LAS, own tags", f"{las:.2f}", "", las, 80.0, at_least=True)


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
    template = default_template(3)
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
        f"{without:.2f} (no edges)",
        with_edges - without,
        0.0,
        at_least=True,
    )
    claims.add("bootstrap p of no gain", f"{p:.3f}", "", p, 0.05)


def udpipe(model: Path | None, every: int, iterations: int, vectors: Path | None) -> Rival:
    """UDPipe on the test set, by a model that is given or trained now."""
    import ufal.udpipe as rival

    training, error = None, rival.ProcessingError()
    if model is None:
        model = Path(tempfile.mkdtemp()) / "ewt.udpipe"
        texts = gzip.decompress(TRAIN.read_bytes()), DEV.read_bytes()
        banks = [_sentences(rival, text, every) for text in texts]
        settings = UDPIPE.format(iterations=iterations)
        if vectors is not None:
            settings += f";embedding_form_file={vectors}"
        began = time.process_time()
        content = rival.Trainer.train("morphodita_parsito", *banks, "none", "none", settings, error)
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        training = time.process_time() - began
        model.write_bytes(content)
        print(f"UDPipe's model: {model}", file=sys.stderr)
    took = []
    for _ in range(3):
        began = time.process_time()
        loaded = rival.Model.load(str(model))
        pipeline = rival.Pipeline(loaded, "conllu", rival.Pipeline.NONE, rival.Pipeline.DEFAULT, "conllu")
        out = pipeline.process(TEST.read_text("utf-8"), error)
        took.append(time.process_time() - began)
    found = parse_treebank(out.encode())
    uas, las = scores(read_treebank(TEST), found.heads, flat(found.relations()))
    return Rival(uas, las, model.stat().st_size, training, min(took))


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
    options.add_argument("--every", type=int, default=1, help="learn from every N-th training sentence")
    options.add_argument("--iterations", type=int, default=30, help="of UDPipe's training")
    given = options.parse_args()
    rival = RECORDED
    if given.rival or given.udpipe is not None:
        rival = udpipe(given.udpipe, given.every, given.iterations, given.vectors)
    claims = Claims(given.record, rival="UDPipe 1")
    parser, path, seconds = train(given.parser, given.every)
    attachment(claims, parser, rival, given.every)
    size_and_training(claims, parser, path, seconds, rival)
    speed(claims, path, rival)
    if given.every == 1:
        own_tags(claims)
        relations(claims)
    growth(parser)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    claims.add("most memory of this program, MB", f"{peak:,.0f}", "", peak, None)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
