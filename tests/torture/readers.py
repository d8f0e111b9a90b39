"""Every format that is read from a file: an example of it, how it is damaged, and a reader that uses all of it."""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Any, NamedTuple

import mutations
import numpy as np

from epigram.datasets.sample import BACKGROUND, WORDS, columns, plain, tagged, treebank
from epigram.errors import DataWarning, EpigramError
from epigram.storage import describe, load
from epigram.storage.file import weights

sys.path.append(str(Path(__file__).parents[1]))
TEMPLATE = (
    "U0:%x[0,0|lower]\nU1:%x[-1,0]/%x[0,1]\nU2:%x[0,0|match:^[A-Z]+-?$]\nU3:%x[1,0|suffix:2]\nB0:%x[0,1]\nB\n"
)
LISTS = [
    {"id": "1", "reference": "the dog sees", "candidates": [
        {"tokens": ["the", "dock", "sees"], "score": -1.0, "features": {"lm": 2.5}},
        {"tokens": ["the", "dog", "sees"], "score": -1.1, "features": {"lm": 2.0}}]},
    {"id": "2", "reference": "a cat", "candidates": [
        {"text": "a cat", "score": -3.5, "errors": 0}, {"text": "a hat", "score": -3.0, "errors": 1}]},
]  # fmt: skip


class Format(NamedTuple):
    """The healthy content, what damages it, and what reads it."""

    content: bytes
    damage: Callable[..., bytes]
    read: Callable[[Path], object]
    trains: bool = False
    """Whether reading it is a training, whose own memory does not count."""


def formats() -> dict[str, Format]:
    """All of them, by name; models are trained on a few sentences."""
    texts = {name: Format(content, mutations.mutate_text, read) for name, (content, read) in _texts().items()}
    models = {
        name: Format(content, mutations.mutate_model, read_model) for name, content in _models().items()
    }
    return {**texts, **models, **_foreign(), **_in_folders()}


def _in_folders() -> dict[str, Format]:
    """Checkpoints, shards and journals, whose readers look at the files beside them: each is damaged where it is."""
    import checkpoints
    import journals
    import shards

    def alter(content: bytes, rng: Random) -> bytes:
        return (checkpoints.alter if rng.random() < 0.8 else mutations.mutate_bytes)(content, rng)

    folder = Path(mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    found: dict[str, Format] = {}
    for kind, damage in (
        (checkpoints, alter),
        (shards, mutations.mutate_bytes),
        (journals, mutations.mutate_text),
    ):
        home = folder / kind.__name__
        home.mkdir()
        for path in kind.make(home):
            name = " ".join((kind.__name__, *path.relative_to(home).parts)).replace(".", " ")
            content = path.read_bytes()
            found[name] = Format(content, damage, partial(_read_in_place, kind.use, path, content), True)
    return found


def _read_in_place(use: Callable[[Path], object], place: Path, healthy: bytes, path: Path) -> None:
    """Put a damaged file into its folder for a while, and use the folder."""
    place.write_bytes(path.read_bytes())
    try:
        use(place)
    finally:
        place.write_bytes(healthy)


def read_model(path: Path) -> None:
    """Open a model file in all ways there are, and use the model: ask it, save it, teach it, ask it again."""
    family = describe(path)[0].family
    for _ in zip(range(200), weights(path)[1], strict=False):
        pass
    model, use = load(path), use_of(family)
    use(model)
    model.save(path.with_name("saved"))
    use(load(path.with_name("saved")))
    if learn(model):
        use(model)


def learn(model: Any) -> bool:
    """Go on training with a little more, where a model can."""
    name = type(model).__name__
    if name in ("CRFTagger", "MaxentTagger"):
        own = model.model_.template is None
        sentence = [["U0:the", "b"], ["c"]] if own else [["The", "DT"], ["dog", "NN"]]
        model.partial_fit([sentence], [[model.model_.labels[0], model.model_.labels[-1]]])
    elif name == "MaxentClassifier":
        model.partial_fit([{"a": 1.0, "z": 2.0}], model.classes_[:1])
    elif name == "LogLinearLM" or hasattr(model, "corpus_"):
        model.partial_fit(["the dog sees the cat"])
    elif name == "Pipeline":
        with NamedTemporaryFile(suffix=".conllu") as file:
            file.write(treebank("train", 2).encode())
            file.flush()
            model.partial_fit(Path(file.name))
    elif name == "DependencyParser":
        words = [("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]
        model.partial_fit([words], [[(2, "det"), (3, "nsubj"), (0, "root")]])
    else:
        return False
    return True


def use_of(family: str) -> Callable[[Any], None]:
    """What asks a model of this family."""
    return {
        "tagger": _use_tagger,
        "parser": _use_parser,
        "lm": _use_language_model,
        "reranker": _use_reranker,
        "ime": _use_converter,
        "classifier": _use_classifier,
        "pipeline": _use_pipeline,
    }[family]


def _use_tagger(tagger: Any) -> None:
    if type(tagger).__name__ == "MaxentClassifier":
        tagger.predict_proba([{"a": 1.0}, {}])
        return
    if type(tagger).__name__ == "RerankedTagger":
        tagger.predict([[["The", "DT"], ["dog", "NN"], ["Sees-", "VBZ"]], [["x", "NN"]]])
        return
    if type(tagger).__name__ == "TreeTagger":
        tagger.predict([([1, -1], [["w=dogs"], ["w=sleep"]]), ([-1], [[]])])
        return
    sentences: list[Any] = [[["The", "DT"], ["dog", "NN"], ["Sees-", "VBZ"]], [["x", "NN"]]]
    if tagger.model_.template is None:
        sentences = [[["U0:the", "b"], ["c"]], [[]]]
    tagger.predict(sentences)
    if hasattr(tagger, "predict_marginals"):
        tagger.predict_marginals(sentences)
        tagger.predict_nbest(sentences, 3)


def _use_parser(parser: Any) -> None:
    parser.predict([[("a", "DET", "DT"), ("cat", "NOUN", "NN"), ("barks", "VERB", "VBZ")], [("x", "X", "X")]])


def _use_language_model(model: Any) -> None:
    scores = model.word_scores([*list(model.vocabulary_)[1:4], "zebra"])[:-2]
    following = [p for _, p in model.next_words("the", 3)]
    model.perplexity(["the cat", "a"])
    if np.isnan([*scores, *following]).any() or max(following) == np.inf:
        raise ArithmeticError(f"a probability that is no number: {scores}, {following}")


def _use_classifier(model: Any) -> None:
    from epigram.classify.explain import explain_text

    probabilities = model.predict_proba(["cheap watches", "", "größe 3.5 \u0301"])
    if not np.isfinite(probabilities).all():
        raise ArithmeticError(f"probabilities that are no numbers: {probabilities}")
    model.predict(["cheap watches"])
    explain_text(model, "cheap watches")


def _use_pipeline(model: Any) -> None:
    for document in model.pipe(["The dogs don't bark. A cat sees", "", "größe\n\n3.5 x"]):
        document.to_json()


def _use_reranker(model: Any) -> None:
    from epigram.rerank import NBest

    model.predict(NBest.from_lists(LISTS))


def _use_converter(converter: Any) -> None:
    converter.convert("はしをわたる")
    converter.nbest("きょうはあめだ", 5)


def _read_fasttext(path: Path) -> None:
    from epigram.compat.fasttext import load_model

    model = load_model(path)
    p = model.predict("the film was größer", 3)[1]
    if not np.isfinite(p).all():
        raise ArithmeticError(f"a probability that is no number: {p}")


def _read_records(path: Path) -> None:
    """All documents of a file, in order, and the file written again."""
    from epigram.records.reader import read_documents

    for document in read_documents(path):
        document.text.encode()


def _texts() -> dict[str, tuple[bytes, Callable[[Path], object]]]:

    from epigram.compat.crfsuite.items import read_items
    from epigram.features.formats import read_columns
    from epigram.ime.build import build
    from epigram.ime.corrections import Journal
    from epigram.ime.lexicon.wordlist import read_word_list
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.classes import WordClasses
    from epigram.lm.ngram.arpa import read_arpa, write_arpa
    from epigram.lm.ngram.kneser_ney import KneserNeyLM
    from epigram.lm.normalise import Preparation
    from epigram.lm.vocabulary import Vocabulary
    from epigram.rerank import read_nbest
    from epigram.solvers import SGD

    text = [" ".join(words) for words in plain("train", 12)]
    table, decoder = columns("train", 4).encode(), build(BACKGROUND[:6]).decoder
    arpa = _written(lambda path: write_arpa(KneserNeyLM(order=3).fit(text).backoff_, path))
    conllu = (
        "# text\n"
        + "\n".join(
            f"{k}\t{w}\t_\t{p}\t{p}\t_\t0\t_\t_\t_" for k, (w, p, _) in enumerate(tagged("train", 1)[0], 1)
        )
        + "\n\n"
    )
    journal = [
        {"reading": "はし", "chosen": "橋", "bonuses": {"橋/はし": 0.5}, "words": [["はし", "端", -9.5]]}
    ] * 3
    classes = "".join(f"c{k % 3}\t{w}\t5\n" for k, w in enumerate(dict.fromkeys(text[0].split())))
    lists = "\n".join(json.dumps(one, ensure_ascii=False) for one in LISTS)
    words = "".join(f"{w.split('/')[0]}\t{w.split('/')[1]}\t3\n" for w in WORDS).encode()

    def templated(path: Path) -> None:
        from epigram.features.template import Template
        from epigram.tagging import CRFTagger

        CRFTagger(Template.load(path), solver=SGD(passes=1)).fit(
            [[["The", "DT"], ["a" * 40 + "!", "N"]]], [["A", "B"]]
        )

    def corpus(path: Path) -> None:
        KneserNeyLM(order=2).fit(Corpus.read(path))

    return {
        "columns": (table, lambda path: read_columns(path)),
        "tabs": (table.replace(b" ", b"\t"), lambda path: read_columns(path, separator="\t")),
        "conllu": (conllu.encode(), _read_spec("conllu")),
        "slash": (b"The/DT dog/NN\nsees/VBZ\n", _read_spec("slash")),
        "plain": ("\n".join(text).encode(), _read_spec("text")),
        "items": (b"B-NP\tw=The\tp=DT:0.5\nI-NP\tw=a\\:b:2\n\nO\tw=x\n", read_items),
        "template": (TEMPLATE.encode(), templated),
        "vocabulary": ("\n".join(text[0].split()).encode(), Vocabulary.read),
        "lm text": ("\n".join(text).encode(), corpus),
        "word list": (words, read_word_list),
        "arpa": (arpa, read_arpa),
        "lists json": (lists.encode(), read_nbest),
        "lists moses": (b"0 ||| a b ||| lm= -1.5 2 tm= 1 ||| -3\n0 ||| a c ||| lm= -1 1 tm= 0 ||| -4\n", read_nbest),
        "lists srilm": (b"-12.5 -3.25 2 a b\n-13 -3 2 a c\n", read_nbest),
        "lists blocks": ("#\t橋/はし を\n-1.5\t橋/はし を\n-2\t箸/はし を\n\n".encode(), read_nbest),
        "lists letor": (b"2 qid:1 1:0.5 2:3 # a\n0 qid:1 1:0.25 2:-1 # b\n", read_nbest),
        "records json": (b'{"id": 1, "text": "a rose", "label": "x"}\n{"text": "is \\u00e9"}\n', _read_records),
        "records csv": (b'text,label\n"a, ""rose""",x\nis a rose,y\n', _read_records),
        "records tsv": (b"text\tlabel\na rose\tx\nis a rose\ty\n", _read_records),
        "records labelled": (b"__label__x __label__y a rose\n__label__y is a rose\n", _read_records),
        "classes": (classes.encode(), WordClasses.read),
        "journal": ("\n".join(map(json.dumps, journal)).encode(), lambda path: Journal.load(decoder, path)),
        "preparation": (_written(lambda path: Preparation.learn(text).write(path)), Preparation.read),
    }  # fmt: skip


def _read_spec(format: str) -> Callable[[Path], object]:
    from epigram.features.formats import ColumnSpec

    return lambda path: ColumnSpec(format).parse(path.read_bytes(), str(path))


def _written(save: Callable[[Path], object]) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        save(Path(folder) / "x")
        return (Path(folder) / "x").read_bytes()


def _models() -> dict[str, bytes]:
    from epigram.classify import TextClassifier
    from epigram.ime.build import build
    from epigram.ime.converter import KanaKanjiConverter
    from epigram.lm import CachedLM, ClassFactoredLM, DocumentLM, InterpolatedLM, KneserNeyLM, LogLinearLM
    from epigram.parsing import DependencyParser, TreeTagger
    from epigram.pipeline import Pipeline
    from epigram.rerank import BLasso, NBest, Reranker
    from epigram.solvers import SGD
    from epigram.tagging import CRFTagger, MaxentClassifier, MaxentTagger, RerankedTagger, SegmentTagger

    sentences = tagged("train", 20)
    X, y = [[token[:2] for token in s] for s in sentences], [[token[2] for token in s] for s in sentences]
    text = [" ".join(words) for words in plain("train", 25)]
    reranker = Reranker(BLasso(steps=30), ngrams=2, min_count=1).fit(NBest.from_lists(LISTS * 3))
    background = build(BACKGROUND, WORDS, rescore=True)
    converter = KanaKanjiConverter(background.decoder)
    looking_twice = KanaKanjiConverter(background.decoder, rescorer=background.rescorer)
    solver = SGD(passes=3)
    made: dict[str, Any] = {
        "crf": CRFTagger(TEMPLATE, l1=0.5, solver=solver).fit(X, y),
        "crf of second order": CRFTagger(TEMPLATE, order=2, l1=0.5, solver=solver).fit(X, y),
        "crf, constrained": CRFTagger(TEMPLATE, constrain="iob2", l1=0.5, solver=solver).fit(X, y),
        "crf of features": CRFTagger(l1=0.1, solver=solver).fit([[[f"U0:{w}"] for w, _ in s] for s in X], y),
        "maxent": MaxentClassifier(l1=0.01).fit(
            [{"a": 1.0, "b": 2.0}, {"b": 1.0}, {"c": 1.0}], ["x", "y", "x"]
        ),
        "history": MaxentTagger(TEMPLATE.replace("B0:%x[0,1]\n", "").replace("B\n", ""), l1=0.1).fit(X, y),
        "backoff": KneserNeyLM(order=3).fit(text),
        "loglinear": LogLinearLM(order=3, strength=0.3).fit(text),
        "loglinear, deep": LogLinearLM(order=0, strength=0.3).fit(text[:10] * 2),
        "factored": ClassFactoredLM(classes=4, max_iterations=20, order=2).fit(text),
        "reranker": reranker,
        "converter": converter,
        "converter with reranker": KanaKanjiConverter(converter.decoder, reranker),
    }
    made["mixture"] = InterpolatedLM([made["loglinear"], made["backoff"]], [0.5, 0.5])
    made["cached"] = CachedLM(made["mixture"], 20, 0.1)
    made["document"] = DocumentLM.chosen(made["factored"], text)
    words = [("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]
    heads = [(2, "det"), (3, "nsubj"), (0, "root")]
    made["parser"] = DependencyParser(l1=0.01, min_count=1).fit([words] * 3, [heads] * 3)
    nodes = [([1, -1, 1], [["w=dogs"], ["w=chase"], ["w=cats"]]), ([1, -1], [["w=cats"], ["w=sleep"]])]
    made["tree"] = TreeTagger(l1=0.01).fit(nodes, [["subject", "root", "object"], ["subject", "root"]])
    second_look = RerankedTagger(CRFTagger("U0:%x[0,0]\nB\n", l1=0.1, solver=solver), k=3, folds=2)
    made["second look"] = second_look.fit(X, y)
    segments = "U0:%x[0,0]\nB\nS0:%x[all,0]\nS1:%x[length]\n"
    texts = ["cheap pills now", "lunch at noon?", "cheap watches", "meeting at noon"] * 5
    made["classifier"] = TextClassifier(words=2, chars=(2, 3), l2=0.1).fit(texts, ["spam", "ham"] * 10)
    made["classifier of several labels"] = TextClassifier(words=1, l2=0.1).fit(
        texts, [["a", "b"], ["b"], [], ["c"]] * 5
    )
    with NamedTemporaryFile(suffix=".conllu") as file:
        file.write(treebank("train", 25).encode())
        file.flush()
        made["pipeline"] = Pipeline(folds=2).fit(Path(file.name))
    made["segments"] = SegmentTagger(segments, l1=0.01).fit(X, y)
    made["segments, no transitions"] = SegmentTagger(segments.replace("B\n", ""), l1=0.01).fit(X, y)
    contents = {name: _written(model.save) for name, model in made.items()}
    contents["converter, quantised"] = _written(lambda path: looking_twice.save(path, quantise=True))
    for name in ("backoff", "loglinear", "factored", "cached", "document"):
        contents[f"{name}, not compressed"] = _written(
            lambda path, model=made[name]: model.save(path, compress=False)
        )
    for name in ("loglinear", "factored"):
        contents[f"{name}, with text"] = _written(lambda path, model=made[name]: model.save(path, text=True))
    contents["backoff, 4 bits"] = _written(lambda path: made["backoff"].save(path, 4))
    return contents


def _read_pieces(path: Path) -> None:
    """Cut texts with a sentencepiece model."""
    from epigram.filter.pieces import PieceModel
    from epigram.filter.streams import TextStream
    from epigram.lm.vocabulary import Vocabulary

    stream = TextStream(Vocabulary(["▁a", "b", "cd"]), PieceModel.read(path), ccnet=True)
    stream(["abc é xB", "", " \u0301▁ab ab", "日本 ae" * 50])


def _foreign() -> dict[str, Format]:
    from epigram.compat.crfsuite.file import write_model
    from epigram.tagging import CRFTagger
    from reference.fasttext_files import fasttext_files
    from reference.kenlm_files import FILES, binary
    from reference.piece_models import model_bytes

    tagger = CRFTagger(l1=0.01).fit([[["a", "b"], ["c"]], [["d"]]], [["X", "Y"], ["X"]])
    crfpp = (
        b"version: 100\ncost-factor: 1\nmaxid: 8\nxsize: 1\n\nX\nY\n\nU0:%x[0,0]\nB\n\n0 B\n4 U0:a\n6 U0:b\n\n"
        + b"0.5\n" * 8
    )
    patterns, observed = ["u0:%x[ 0,0]", "*1:%X[-1,0]/%x[1,1]", "*", "b"], ["u0:The", "*1:_x-1/NN", "*", "b"]
    strings = (
        f"{len(every)}\n" + "".join(f"{len(one)}:{one},\n" for one in every)
        for every in (["X", "Y"], [*observed, "u0:dog"])
    )
    wapiti = (
        "#mdl#2#6\n#rdr#4/2/0\n"
        + "".join(f"{len(one)}:{one},\n" for one in patterns)
        + "".join(f"#qrk#{part}" for part in strings)
        + "0=0x1.bf4d7d3481269p-2\n1=5.243406e-02\n2=-1.5\n9=0x1p-1\n17=0.5\n18=2\n"
    ).encode()
    pieces = [
        ("<unk>", 0.0, 2),
        *((c, -2.0 - k, 1) for k, c in enumerate("▁abcde")),
        ("▁ab", -3.0, 4),
        ("cd", -1.0, 1),
    ]
    rules = {"é": "e", "B": "b ", "x": "cde"}
    return {
        **{
            f"sentencepiece {kind}": Format(
                model_bytes(pieces, kind == "bpe", rules, kind == "bpe"), mutations.mutate_bytes, _read_pieces
            )
            for kind in ("unigram", "bpe")
        },
        "wapiti model": Format(wapiti, mutations.mutate_text, read_model),
        "crfsuite model": Format(write_model(tagger.model_), mutations.mutate_bytes, read_model),
        "crf++ model": Format(crfpp, mutations.mutate_text, read_model),
        **{
            f"fasttext {name}": Format(content, mutations.mutate_bytes, _read_fasttext)
            for name, content in fasttext_files().items()
        },
        **{f"kenlm {name}": Format(binary(name), mutations.mutate_bytes, read_model) for name in FILES},
    }


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """``read``, ``refused``, or what is wrong: another exception, or memory that ran out."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            read(path)
    except EpigramError as error:
        if "\n" in str(error):
            return f"more than a line: {error}"
        return "memory" if isinstance(error.__cause__, MemoryError) else "refused"
    except MemoryError:
        return "memory"
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}:{last.lineno})"
    return "read"
