"""Trains small models of every family and prints digests of each, to compare two states of the source.

    python tools/golden.py > before.txt
    python tools/golden.py --compare before.txt

Each line has a name and three digests: the *content* (header without versions, and all weights), the *output* of the
model on test data, and the *bytes* of the file. A change of the container or of the compression changes the bytes only.
Digests depend on the machine: the instruction level of the core decides the last bits of sums.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from epigram.datasets import sample
from epigram.storage import ModelFile
from epigram.storage.file import weights

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))
epigram = import_module("in_process").epigram
VERSIONS = ("epigram", "format")
GIVEN = "--strength 0.3 --ridge 0.1 --depth-weight 1.2"
LM = "lm train text --max-iterations 30"
RERANK = "rerank train lists --measure wer --learner"
SHARDS = "--n-shards 3 --shards"

TRAIN = f"""
tag/sgd              tag train tags --passes 8
tag/sgd-lazy         tag train tags --passes 4 --method lazy --schedule exponential --batch-size 4
tag/adagrad          tag train tags --passes 4 --solver adagrad --template chunking+
tag/owlqn            tag train tags --solver owlqn --l1 0.5 --l2 0.1 --passes 20
tag/lbfgs            tag train tags --solver lbfgs --l2 0.5 --pairs all --passes 15 --constrain iob2
tag/order2           tag train tags --order 2 --passes 4
tag/segment          tag train tags --model segment --passes 4
tag/maxent           tag train tags --model maxent --passes 4 --class-weight balanced
tag/history          tag train tags --model history --passes 4
tag/partial          tag train partial --passes 4 --alternatives |
tag/auto             tag train tags --l1 auto --passes auto --dev dev
tag/classes          tag train tags --passes 4 --classes classes
tag/pool             tag pool tag/sgd tag/order2
tag/reranked         tag rerank tag/sgd tags --folds 2 --reach 2 --min-count 1
tag/stacked          tag train chained --passes 4
tag/crfsuite         tag convert tag/sgd --to crfsuite
tag/update           tag update tag/sgd dev
tag/shards-sgd       tag train tags --passes 4 {SHARDS} tag-a
tag/shards-owlqn     tag train tags --solver owlqn --passes 10 {SHARDS} tag-b
parse/order1         parse train trees --order 1 --passes 3
parse/order2         parse train trees --order 2 --passes 2
parse/order3         parse train trees --order 3 --passes 2
parse/owlqn          parse train trees --order 1 --solver owlqn --passes 10
parse/labels         parse train trees --model labels --passes 3
lm/kneser-ney        lm train text --model kneser-ney --order 3
lm/modified          lm train text --model modified-kneser-ney --order 4 --prune 0,0,1
lm/bits              lm train text --model modified-kneser-ney --order 3 --bits 8
lm/elastic           {LM} --model loglinear --order 3 {GIVEN}
lm/l1                {LM} --model loglinear --order 3 --penalty l1 --strength 0.3 --depth-weight 1.2
lm/l2                {LM} --model loglinear --order 3 --penalty l2 --strength 0.3 --depth-weight 1.2
lm/tree-l2           {LM} --model loglinear --order 3 --penalty tree-l2 --strength 0.3 --depth-weight 1.2
lm/tree-linf         {LM} --model loglinear --order 3 --penalty tree-linf --strength 0.3 --depth-weight 1.2
lm/collapsed         {LM} --model loglinear --order 0 --penalty tree-linf --strength 0.3 --depth-weight 1.2
lm/unconstrained     {LM} --model loglinear --order 3 --unconstrained --bits 10 {GIVEN}
lm/selected          {LM} --model loglinear --order 3 --max-weights 2000 {GIVEN}
lm/stochastic        lm train text --model loglinear --order 2 --solver stochastic --passes 2 {GIVEN}
lm/searched          {LM} --model loglinear --order 2 --valid more
lm/classes           {LM} --order 3 --classes 10 {GIVEN}
lm/class-search      {LM} --order 2 --classes classes --valid more
lm/document          {LM} --order 3 --classes 10 --document {GIVEN}
lm/mixture           lm interpolate lm/elastic lm/kneser-ney --valid more
lm/cache             lm interpolate lm/kneser-ney --cache 50 --valid more
lm/default           {LM} --order 2
lm/pruned            lm prune lm/modified --ngrams 1500
lm/update            lm update lm/elastic more
lm/shards            {LM} --model loglinear --order 3 {GIVEN} {SHARDS} lm-a
rerank/blasso        {RERANK} blasso --eps 0.5 --theta 0 --steps 200
rerank/boosting      {RERANK} boosting --steps 60
rerank/fslr          {RERANK} fslr --eps 0.5 --steps 60
rerank/f-boosting    {RERANK} f-boosting --eps 0.5 --steps 60
rerank/softmax       {RERANK} softmax --steps 5
rerank/perceptron    {RERANK} perceptron --steps 5
rerank/lasso         {RERANK} lasso --steps 5
rerank/lm            {RERANK} softmax --steps 5 --lm lm/kneser-ney --chars 2
ime/built            ime build kana --lexicon words
ime/plain            ime build kana --no-rescore --prune 1
ime/quantised        ime build kana --lexicon words --quantise
ime/adapted          ime adapt ime/built domain --dev domain
ime/reranked         ime adapt ime/built domain --dev domain --method map-kn+blasso --eps 0.5 --theta 0 --steps 50
"""
"""A name, and the command that trains the model; file names are those of :func:`write_data` and of models above."""

RUN = {
    "tag": "tag run {model} test --nbest 3",
    "tag/stacked": "tag run {model} chained-test --marginals",
    "tag/maxent": "tag run {model} test --marginals",
    "tag/history": "tag run {model} test",
    "tag/crfsuite": "inspect {model} --json",
    "parse": "parse run {model} test-trees --nbest 2",
    "parse/labels": "parse run {model} test-trees",
    "lm": "lm score {model} test-text --json",
    "rerank/lm": "rerank run {model} test-lists --lm lm/kneser-ney --json",
    "rerank": "rerank run {model} test-lists --json",
    "ime": "ime convert {model} --input readings --nbest 3",
}
"""The command whose output is compared, by name of a model or of its family."""


def write_data() -> None:
    """The files that the commands read, from the sample grammar."""
    text = {name: sample.plain(part, n) for name, part, n in (("text", "train", 300), ("more", "dev", 60))}
    text["test-text"] = sample.plain("test", 30)
    files = {name: "".join(" ".join(words) + "\n" for words in found) for name, found in text.items()}
    files |= {"tags": sample.columns("train", 150), "dev": sample.columns("dev", 40)}
    files |= {"trees": sample.treebank("train", 100), "test-trees": sample.treebank("test", 20)}
    labelled = files["tags"].splitlines()
    files["partial"] = (
        "\n".join(f"{row}|O" if row and k % 7 == 0 else row for k, row in enumerate(labelled)) + "\n"
    )
    files["test"] = "".join(
        " ".join(row.split()[:-1]) + "\n" for row in sample.columns("test", 30).splitlines()
    )
    files |= {"lists": _lists(sample.plain("train", 150)), "test-lists": _lists(sample.plain("test", 20))}
    japanese = {"kana": sample.BACKGROUND, "domain": sample.DOMAIN, "readings": sample.READINGS}
    files |= {name: "\n".join(lines) for name, lines in japanese.items()}
    files["words"] = "\n".join(word.replace("/", "\t") for word in sample.WORDS)
    for name, content in files.items():
        Path(name).write_text(content.rstrip("\n") + "\n" * (2 if "tree" in name else 1), encoding="utf-8")
    run("lm classes text -k 8 -o classes")
    run("tag chain tags --learn tags --passes 4 --folds 2 --reach 2 --save chain -o chained")
    Path("test-labels").write_text(sample.columns("test", 30), encoding="utf-8")
    run("tag chain test-labels --with chain --reach 2 -o chained-test")


def _lists(sentences: list[list[str]]) -> str:
    """N-best lists as JSON lines: a sentence, and the same with two words exchanged."""
    lists = []
    for k, words in enumerate(sentences):
        wrong = [
            [*words[:j], words[j + 1], words[j], *words[j + 2 :]] for j in range(k % 2, len(words) - 1, 2)
        ]
        texts = list(dict.fromkeys(" ".join(one) for one in [*wrong[:2], words, *wrong[2:4]]))
        candidates = [{"text": one, "score": -0.1 * j} for j, one in enumerate(texts)]
        lists.append(json.dumps({"id": str(k), "reference": " ".join(words), "candidates": candidates}))
    return "\n".join(lists) + "\n"


def run(command: str) -> bytes:
    """Standard output of a command, in the folder of the data."""
    done = epigram(*command.split())
    if done.returncode:
        raise SystemExit(f"epigram {command}: exit code {done.returncode}\n{done.stderr.decode()}")
    return bytes(done.stdout)


def digest(*parts: bytes) -> str:
    """The first half of a SHA-256."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def content_of(path: Path) -> Iterator[bytes]:
    """Header without versions, and the sorted weights of a file."""
    header: dict[str, Any] = {
        key: value for key, value in ModelFile.load(path).header.items() if key not in VERSIONS
    }
    yield json.dumps(header, sort_keys=True).encode()
    columns, rows = weights(path)
    yield from sorted(repr(row).encode() for row in (columns, *rows))


def digests(pattern: str) -> Iterator[tuple[str, str]]:
    """Train the models whose names match, and those that they are made from; name and digests of each that matches."""
    commands = dict(line.split(maxsplit=1) for line in TRAIN.strip().splitlines())
    wanted = [name for name in commands if fnmatch(name, pattern)]
    needed = set(wanted) | {word for name in wanted for word in commands[name].split() if word in commands}
    needed |= {word for name in needed for word in commands[name].split() if word in commands}
    for name, command in commands.items():
        if name not in needed:
            continue
        run(f"{command} -o {name}")
        if name not in wanted:
            continue
        output = run(RUN.get(name, RUN[name.split("/")[0]]).format(model=name))
        path = Path(name)
        yield name, f"{digest(*content_of(path))}  {digest(output)}  {digest(path.read_bytes())}"


def main() -> None:
    """Print the digests, or compare them with a file of earlier ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="*", metavar="PATTERN", help="models to train, such as 'tag/*'")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="earlier output; exit code 1 if digests differ"
    )
    given = parser.parse_args()
    earlier = {}
    if given.compare:
        lines = given.compare.read_text().splitlines()
        earlier = {name: found for name, _, found in (line.partition("  ") for line in lines)}
    changed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for family in ("tag", "parse", "lm", "rerank", "ime"):
            Path(family).mkdir()
        write_data()
        for name, found in digests(given.only):
            if not given.compare:
                print(f"{name}  {found}", flush=True)
            elif found != earlier.get(name):
                parts = zip(
                    ("content", "output", "bytes"), found.split(), earlier.get(name, "").split(), strict=False
                )
                differ = ", ".join(part for part, new, old in parts if new != old)
                print(f"{name}: {differ or 'new'}", flush=True)
                changed += 1
        os.chdir(ROOT)
    print(f"{time.process_time():.0f} CPU seconds", file=sys.stderr)
    sys.exit(changed > 0)


if __name__ == "__main__":
    main()
