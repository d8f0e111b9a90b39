"""CRFsuite models that others publish, read by ours and by python-crfsuite: the same labels, the same probabilities.

    pip install usaddress probablepeople pythainlp ingredient-parser-nlp==2.4.0
    pip download --no-deps --no-binary :all: -d sdists usaddress probablepeople
    python benchmarks/crfsuite_models.py sdists

The models are those inside the packages, the features those that the packages' own functions make of real text: the
labelled addresses and names in the source archives, Thai titles and food descriptions in the packages. Three things are
ours: one model (blackboard-cls) has no function in its package, so its features are made by their names; Blackboard's
parts of speech, whose tagger is a download, are made of the universal ones; and where nltk's tagger is not installed,
the ingredients' parts of speech are each word's usual one in CoNLL-2000. Then each model is converted by ours, written
back, and read by python-crfsuite again; `size` is that of the converted file, whose weights are not rounded. Exits 1
where a label differs, a marginal by more than 1e-6, or there are fewer sequences than asked for.
"""

from __future__ import annotations

import csv
import gzip
import html
import importlib
import itertools
import re
import sys
import tarfile
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from _crfsuite import conll2000
from epigram import CRFTagger, load
from epigram.compat.crfsuite_file import write_model
from epigram.storage import ModelFile

N = 2000
Sequence = list[Any]
Model = tuple[str, Path, Callable[[], Iterator[Sequence]]]


def folder_of(package: str) -> Path:
    return Path(str(importlib.import_module(package).__file__)).parent


def labelled(sdists: Path, package: str) -> Iterator[str]:
    """Texts of the labelled data in a source archive, from all of its files in turn, each once."""
    (archive,) = sdists.glob(f"{package}-*.tar.gz")
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


def parserator_models(sdists: Path, package: str) -> list[Model]:
    """The models of usaddress and probablepeople."""
    module = importlib.import_module(package)

    def sequences() -> Iterator[Sequence]:
        tokens = (module.tokenize(text) for text in labelled(sdists, package))
        return (module.tokens2features(one) for one in tokens if one)

    return [(package, path, sequences) for path in sorted(folder_of(package).glob("*.crfsuite"))]


def thai_models() -> list[Model]:
    """The five of PyThaiNLP."""
    from pythainlp.chunk import crfchunk
    from pythainlp.tag import blackboard, pos_tag, thainer
    from pythainlp.tokenize import crfcut, han_solo, word_tokenize

    corpus = folder_of("pythainlp") / "corpus"
    titles = (corpus / "wikipedia_titles_th.txt").read_text().split("\n")
    texts = [" ".join(titles[k : k + 5]) for k in range(0, 5 * N, 5)]

    def tagged(name: str) -> Iterator[list[tuple[str, str]]]:
        return (pos_tag(word_tokenize(text), engine="perceptron", corpus=name) for text in texts)

    def blackboard_tagged() -> Iterator[list[tuple[str, str]]]:
        names = {universal: name for name, universal in reversed(blackboard.TO_UD.items())}
        return ([(word, names.get(tag, "XX")) for word, tag in words] for words in tagged("orchid_ud"))

    def clause(words: list[tuple[str, str]]) -> Sequence:
        places = {"curr": 0, "prev": -1, "next": 1}
        names = ("word", "postag")
        found = []
        for t in range(len(words)):
            near = {place: t + k for place, k in places.items() if 0 <= t + k < len(words)}
            token = {f"word.{p}_{name}": words[k][i] for p, k in near.items() for i, name in enumerate(names)}
            found.append(
                {
                    **token,
                    **({"BOS": True} if t == 0 else {}),
                    **({"EOS": True} if t == len(words) - 1 else {}),
                }
            )
        return found

    extract = thainer.ThaiNameTagger._extract_features
    made: dict[str, Callable[[], Iterator[Sequence]]] = {
        "blackboard-cls_v1.0.crfsuite": lambda: map(clause, blackboard_tagged()),
        "crfchunk_orchidpp.model": lambda: map(crfchunk._extract_features, tagged("orchid")),
        "han_solo.crfsuite": lambda: (han_solo.Featurizer().featurize(text)["X"] for text in texts),
        "sentenceseg_crfcut.model": lambda: (crfcut._extract_features(word_tokenize(text)) for text in texts),
        "thainer_crf_1_5_1.model": lambda: map(extract, blackboard_tagged()),
    }
    return [("pythainlp", corpus / name, sequences) for name, sequences in made.items()]


def ingredient_models() -> list[Model]:
    """The one of ingredient-parser-nlp, to which python-crfsuite still belongs in 2.4."""
    from ingredient_parser.en import preprocess

    data = folder_of("ingredient_parser") / "en" / "data"
    with gzip.open(data / "fdc_ingredients.csv.gz", "rt") as file:
        foods = [unicodedata.normalize("NFC", row["description"]) for row in csv.DictReader(file)]
    try:
        preprocess.PreProcessor("1 onion")
    except LookupError:
        vars(preprocess)["pos_tag"] = _usual_tags()

    def sequences() -> Iterator[Sequence]:
        return (preprocess.PreProcessor(food).sentence_features() for food in foods)

    return [("ingredient_parser", data / "model.en.crfsuite", sequences)]


def _usual_tags() -> Callable[[list[str]], list[tuple[str, str]]]:
    """Tags words by what they usually are in CoNLL-2000, in the place of nltk's tagger."""
    counts: dict[str, Counter[str]] = {}
    for sentence in conll2000("train").columns.rows():
        for word, tag in sentence:
            counts.setdefault(word.lower(), Counter())[tag] += 1
    usual = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    return lambda words: [(word, usual.get(word.lower(), "NN")) for word in words]


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


def main(sdists: Path) -> int:
    print(
        f"{'package':18s} {'model':32s} {'seqs':>6s} {'tokens':>8s} {'differ':>6s} {'marginal':>9s} "
        f"{'back':>6s} {'marginal':>9s} {'size':>6s}"
    )
    sources: list[Callable[[], list[Model]]] = [
        lambda: parserator_models(sdists, "usaddress"),
        lambda: parserator_models(sdists, "probablepeople"),
        thai_models,
        ingredient_models,
    ]
    good = True
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
        print("not run: give the folder of source archives (the first lines of this file say how to get it)")
        sys.exit(0)
    sys.exit(main(Path(sys.argv[1])))
