"""Text classification beside fastText, scikit-learn and NBSVM: accuracy, calibration, size and speed.

    python benchmarks/classify.py                # one seed: about half an hour of CPU time
    python benchmarks/classify.py --seeds 5
    python benchmarks/classify.py --held-out     # the last fifth of each training set instead of the test sets
    python benchmarks/classify.py --only TREC-6 SST-2 --systems epigram NBSVM

A part, one system on one set, is written to ``--results`` (a folder, ``classify-results``) as soon as it is measured,
and is not measured again: the benchmark can be stopped, and run in several processes.

Data, in the folder that EPIGRAM_DATA names: MR (rt-polarity, random folds), SST-2, TREC-6, authors (reuters-c50) and
Reuters-21578 (documents with TOPICS="YES", text, and exactly one of the ten most frequent topics; LEWISSPLIT, 5,841 and
2,320 documents). Ours is ``TextClassifier()`` without parameters. Every other system chooses from the grid below on
the last fifth of the training documents of each class, in at most the CPU seconds that ours may take.
fastText is the module of PyPI (``pip install fasttext``) with 200,000 buckets and its usual 12 threads, whose CPU
seconds are added: with fewer than 11 threads version 0.9.3 initialises only as many tenths of its matrix, and may find
NaN. Its C++ predict is called, as the Python wrapper fails with numpy 2. Speed: word 1-2-grams of the same texts on
both sides, settings given.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import pickle
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.svm import LinearSVC

from epigram import TextClassifier
from epigram.classify.metrics import expected_calibration_error
from epigram.classify.selection import folds_of

try:
    import fasttext  # type: ignore[import-untyped]
except ImportError:
    fasttext = None

DATA = Path(os.environ.get("EPIGRAM_DATA", "data"))
BUDGET = 60.0
BUCKETS = 200_000
THREADS = 12
CUTOFFS = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
Texts = list[str]
Setting = dict[str, Any]


class Split(NamedTuple):
    texts: Texts
    labels: Texts
    unseen: Texts
    gold: Texts


class Found(NamedTuple):
    accuracy: float
    ece: float
    size: int
    training: float
    prediction: float


def labelled_lines(name: str) -> tuple[Texts, Texts]:
    with gzip.open(DATA / "text-classification" / f"{name}.txt.gz", "rt", encoding="utf-8") as file:
        pairs = [line.removeprefix("__label__").split(" ", 1) for line in file.read().splitlines()]
    return [text for _, text in pairs], [label for label, _ in pairs]


def authors(part: str) -> tuple[Texts, Texts]:
    with gzip.open(DATA / "reuters-c50" / f"c50{part}.txt.gz", "rt", encoding="utf-8") as file:
        documents = re.split(r"^### ", file.read(), flags=re.MULTILINE)[1:]
    heads, texts = zip(*(document.split("\n", 1) for document in documents), strict=True)
    return [text.strip() for text in texts], [head.split("/")[0] for head in heads]


def reuters() -> Split:
    documents = []
    for path in sorted((DATA / "reuters21578").glob("reut2-*.sgm.gz")):
        content = gzip.decompress(path.read_bytes()).decode("latin-1")
        for attributes, body in re.findall(r"<REUTERS (.*?)>(.*?)</REUTERS>", content, re.DOTALL):
            topics = re.findall(r"<D>(.*?)</D>", body[body.find("<TOPICS>") : body.find("</TOPICS>")])
            parts = [re.search(f"<{tag}>(.*?)</{tag}>", body, re.DOTALL) for tag in ("TITLE", "BODY")]
            text = "\n".join(found[1] for found in parts if found)
            documents.append((dict(re.findall(r'(\w+)="(.*?)"', attributes)), topics, text))
    counts = Counter(topic for _, topics, _ in documents for topic in topics)
    largest = {topic for topic, _ in counts.most_common(10)}
    split: dict[str, tuple[Texts, Texts]] = {"TRAIN": ([], []), "TEST": ([], [])}
    for attributes, topics, text in documents:
        own = [topic for topic in topics if topic in largest]
        if len(own) == 1 and text and attributes["TOPICS"] == "YES" and attributes["LEWISSPLIT"] in split:
            split[attributes["LEWISSPLIT"]][0].append(text)
            split[attributes["LEWISSPLIT"]][1].append(own[0])
    assert (len(split["TRAIN"][0]), len(split["TEST"][0])) == (5841, 2320)
    return Split(*split["TRAIN"], *split["TEST"])


def movie_reviews(folds: Iterable[int]) -> list[Split]:
    texts, labels = labelled_lines("rt-polarity.all")
    order = list(range(len(texts)))
    random.Random(0).shuffle(order)
    out = []
    for fold in folds:
        test = set(order[fold::10])
        kept = [i for i in range(len(texts)) if i not in test]
        held = sorted(test)
        out.append(Split(*([column[i] for i in rows] for rows in (kept, held) for column in (texts, labels))))
    return out


SETS: dict[str, tuple[float, Callable[[int], list[Split]]]] = {
    "TREC-6": (89.0, lambda n: [Split(*labelled_lines("TREC.train.all"), *labelled_lines("TREC.test.all"))]),
    "SST-2": (82.3, lambda n: [Split(*labelled_lines("stsa.binary.train"), *labelled_lines("stsa.binary.test"))]),
    "Reuters-21578": (96.6, lambda n: [reuters()]),
    "authors": (76.0, lambda n: [Split(*authors("train"), *authors("test"))]),
    "MR": (79.4, lambda n: movie_reviews(range(n))),
}  # fmt: skip


class Ours:
    """epigram; it chooses by itself."""

    grid: Sequence[Setting] = ({},)

    def __init__(self, setting: Setting, seed: int) -> None:
        self.model = TextClassifier(random_state=seed, **setting)

    def fit(self, texts: Texts, labels: Texts) -> None:
        self.model.fit(texts, labels)

    def predict(self, texts: Texts) -> Any:
        return self.model.predict(texts)

    def confidence(self, texts: Texts) -> Any:
        return self.model.predict_proba(texts).max(axis=1)

    def size(self) -> int:
        return len(self.model.to_bytes())


def combinations(**values: Sequence[Any]) -> list[Setting]:
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


class FastText:
    """fastText: supervised, dimension 100."""

    grid: Sequence[Setting] = combinations(
        epoch=(10, 25, 50), chars=(0, 5), wordNgrams=(2, 1), lr=(0.5, 0.2, 1.0)
    )

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting, self.seed = dict(setting), seed

    def fit(self, texts: Texts, labels: Texts) -> None:
        self.file = tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8")  # noqa: SIM115 - kept open
        rows = [f"__label__{label} {clean(text)}\n" for text, label in zip(texts, labels, strict=True)]
        random.Random(self.seed).shuffle(rows)
        self.file.writelines(rows)
        self.file.flush()
        began = time.process_time()
        self.model = self.trained_model()
        self.trained = time.process_time() - began

    def trained_model(self) -> Any:
        setting = dict(self.setting)
        longest = setting.pop("chars", 0)
        return fasttext.train_supervised(
            self.file.name, thread=THREADS, verbose=0, seed=self.seed, bucket=BUCKETS, minn=2 if longest else 0,
            maxn=longest, **setting,
        )  # fmt: skip

    def all(self, texts: Texts) -> Any:
        return self.model.f.multilinePredict([clean(text) + "\n" for text in texts], 1, 0.0, "strict")

    def predict(self, texts: Texts) -> list[str]:
        labels, _ = self.all(texts)
        return [(names or ["__label__"])[0].removeprefix("__label__") for names in labels]

    def confidence(self, texts: Texts) -> Any:
        _, found = self.all(texts)
        return np.array([min(1.0, p[0]) if len(p) else 0.0 for p in found])

    def size(self) -> int:
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            self.model.save_model(file.name)
            return Path(file.name).stat().st_size

    def smallest(self, unseen: Texts, gold: Texts, wanted: float) -> int:
        """The size of the smallest .ftz of at least this accuracy."""
        for cutoff in CUTOFFS:
            self.model = self.trained_model()
            self.model.quantize(
                input=self.file.name, cutoff=cutoff, retrain=True, qnorm=True, thread=THREADS, verbose=0
            )
            if accuracy_of(self.predict(unseen), gold) >= wanted:
                with tempfile.NamedTemporaryFile(suffix=".ftz") as file:
                    self.model.save_model(file.name)
                    return Path(file.name).stat().st_size
        return 1 << 60


def clean(text: str) -> str:
    return " ".join(text.split())


class ScikitLearn:
    """scikit-learn: tf-idf and a linear model."""

    grid: Sequence[Setting] = [
        {"features": features, "model": model, "C": C}
        for features in ("words", "chars", "both")
        for model in ("svc", "logistic")
        for C in ((1.0, 0.3, 0.1, 3.0) if model == "svc" else (10.0, 30.0, 3.0))
    ]

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting, self.seed = setting, seed

    def fit(self, texts: Texts, labels: Texts) -> None:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[^\w\s]")
        chars = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        union = FeatureUnion([("words", words), ("chars", chars)])
        features = {"words": words, "chars": chars, "both": union}[self.setting["features"]]
        if self.setting["model"] == "svc":
            model = LinearSVC(C=self.setting["C"], random_state=self.seed)
        else:
            model = OneVsRestClassifier(
                LogisticRegression(C=self.setting["C"], solver="liblinear", random_state=self.seed)
            )
        self.model = make_pipeline(features, model).fit(texts, labels)

    def predict(self, texts: Texts) -> Any:
        return self.model.predict(texts)

    def confidence(self, texts: Texts) -> Any:
        if self.setting["model"] == "svc":  # the nearest linear model with probabilities
            return None
        return self.model.predict_proba(texts).max(axis=1)

    def size(self) -> int:
        return len(pickle.dumps(self.model))


class Nbsvm(ScikitLearn):
    """NBSVM (Wang and Manning 2012): binary n-grams times log-count ratios, weights drawn to their mean."""

    grid: Sequence[Setting] = combinations(words=(2, 3), chars=(0, 5), C=(0.1, 1.0, 0.03), beta=(0.25, 1.0))

    def fit(self, texts: Texts, labels: Texts) -> None:
        parts = [("words", CountVectorizer(ngram_range=(1, self.setting["words"]), binary=True,
                                           token_pattern=r"\w+|[^\w\s]"))]  # fmt: skip
        if self.setting["chars"]:
            ngrams = (1, self.setting["chars"])
            parts.append(("chars", CountVectorizer(analyzer="char_wb", ngram_range=ngrams, binary=True)))
        self.vectors = FeatureUnion(parts)
        x = self.vectors.fit_transform(texts).tocsr()
        self.classes, y = np.unique(labels, return_inverse=True)
        self.weights, self.bias = [], []
        for k in range(1 if len(self.classes) == 2 else len(self.classes)):
            is_in = y == (1 if len(self.classes) == 2 else k)
            p, q = (1.0 + np.asarray(x[rows].sum(axis=0)).ravel() for rows in (is_in, ~is_in))
            ratios = np.log(p / p.sum()) - np.log(q / q.sum())
            model = LinearSVC(C=self.setting["C"], random_state=self.seed).fit(
                x.multiply(ratios).tocsr(), is_in
            )
            w, beta = model.coef_[0], self.setting["beta"]
            w = (1 - beta) * np.abs(w).mean() + beta * w
            self.weights.append(w * ratios)
            self.bias.append(model.intercept_[0])

    def predict(self, texts: Texts) -> Any:
        s = self.vectors.transform(texts) @ np.array(self.weights).T + np.array(self.bias)
        return self.classes[(s[:, 0] > 0).astype(int) if s.shape[1] == 1 else s.argmax(axis=1)]

    def confidence(self, texts: Texts) -> Any:
        return None

    def size(self) -> int:
        return len(pickle.dumps((self.vectors, self.weights, self.bias)))


SYSTEMS: dict[str, Any] = {"epigram": Ours, "fastText": FastText, "scikit-learn": ScikitLearn, "NBSVM": Nbsvm}


def accuracy_of(found: Any, gold: Texts) -> float:
    return 100.0 * float(np.mean(np.asarray(found) == np.asarray(gold)))


def held_out(texts: Texts, labels: Texts) -> Split:
    """The last fifth of the documents of each class as test set."""
    _, numbers = np.unique(labels, return_inverse=True)
    last = folds_of(texts, numbers, 5) == 4
    rows = [np.flatnonzero(~last).tolist(), np.flatnonzero(last).tolist()]
    return Split(*([column[i] for i in part] for part in rows for column in (texts, labels)))


def choose(system: Any, split: Split, grid: Sequence[Setting]) -> Setting:
    """The setting of the highest accuracy on held-out training documents, and what was tried."""
    part = held_out(split.texts, split.labels)
    end = time.process_time() + BUDGET
    reached: list[float] = []
    for setting in grid:
        if reached and time.process_time() > end:
            break
        model = system(setting, 0)
        try:
            model.fit(part.texts, part.labels)
            reached.append(accuracy_of(model.predict(part.unseen), part.gold))
        except RuntimeError as error:
            print(f"  {system.__name__} {setting}: {error}")
            reached.append(0.0)
    best = int(np.argmax(reached))
    print(
        f"  {system.__name__}: {len(reached)} of {len(grid)} settings, held-out {reached[best]:.2f}",
        grid[best],
    )
    return grid[best]


def measure(system: Any, setting: Setting, split: Split, seed: int) -> tuple[Found, Any]:
    model = system(setting, seed)
    began = time.process_time()
    model.fit(split.texts, split.labels)
    trained = time.process_time()
    found = model.predict(split.unseen)
    asked = time.process_time()
    p = model.confidence(split.unseen)
    hits = np.asarray(found) == np.asarray(split.gold)
    ece = float("nan") if p is None else expected_calibration_error(p, hits)
    spent = getattr(model, "trained", trained - began)
    return Found(accuracy_of(found, split.gold), ece, model.size(), spent, asked - trained), model


class Checks:
    """Prints targets, and counts those that are missed."""

    def __init__(self) -> None:
        self.missed = 0

    def check(self, what: str, value: float, target: float, at_most: bool = False, form: str = ".2f") -> None:
        ok = value <= target if at_most else value >= target
        self.missed += not ok
        sign = "at most" if at_most else "at least"
        print(f"  {what}: {value:{form}}, {sign} {target:{form}}: {'ok' if ok else 'MISSED'}", flush=True)


def part(name: str, system: str, splits: list[Split], seeds: int, folder: Path) -> dict[str, Any]:
    """What one system reaches on one set, measured or read from the folder."""
    path, make = folder / f"{name} {system}.json", SYSTEMS[system]
    if path.exists() and len((found := json.loads(path.read_text()))["runs"]) >= seeds * len(splits):
        return dict(found)
    setting = choose(make, splits[0], make.grid) if len(make.grid) > 1 else {}
    runs, model = [], None
    for seed in range(seeds):
        for split in splits:
            run, model = measure(make, setting, split, seed)
            runs.append(run)
    smallest = None
    if make is FastText:
        smallest = model.smallest(splits[-1].unseen, splits[-1].gold, runs[-1].accuracy - 0.5)
    if make is ScikitLearn and setting["model"] == "svc":
        logistic = choose(make, splits[0], [one for one in make.grid if one["model"] == "logistic"][:3])
        runs = [run._replace(ece=measure(make, logistic, splits[0], 0)[0].ece) for run in runs]
    found = {"setting": setting, "runs": [run._asdict() for run in runs], "smallest": smallest}
    path.write_text(json.dumps(found, indent=1))
    return found


def report(
    name: str, target: float, splits: list[Split], found: dict[str, dict[str, Any]], checks: Checks
) -> dict[str, float]:
    """Print what the systems reach on one set, and the targets."""
    print(
        f"{name}: {len(splits[0].texts):,} training and {len(splits[0].unseen):,} test documents", flush=True
    )
    means: dict[str, float] = {}
    sizes: dict[str, int] = {}
    errors: dict[str, float] = {}
    for system, own in found.items():
        runs = [Found(**run) for run in own["runs"]]
        starts = range(0, len(runs), len(splits))
        by_seed = [statistics.fmean(run.accuracy for run in runs[k : k + len(splits)]) for k in starts]
        mean = [statistics.fmean(run[k] for run in runs) for k in range(5)]
        means[system], sizes[system], errors[system] = mean[0], max(run.size for run in runs), mean[1]
        print(
            f"  {system:13} {mean[0]:6.2f} (seeds {min(by_seed):.2f} to {max(by_seed):.2f}), "
            f"ECE {mean[1]:.4f}, {sizes[system]:,} bytes, training {mean[3]:.2f} CPU s, "
            f"prediction {mean[4] * 1e6 / len(splits[0].unseen):.1f} us a document {own['setting']}",
            flush=True,
        )
    ours, others = means["epigram"], {k: v for k, v in means.items() if k != "epigram"}
    checks.check(f"{name} accuracy", ours, target)
    if others:
        checks.check(f"{name} accuracy beside the best", ours, max(others.values()) - 0.3)
    checks.check(f"{name} bytes", sizes["epigram"], 500_000, True, ",.0f")
    if "scikit-learn" in found:
        tenth = sizes["scikit-learn"] / 10
        checks.check(f"{name} bytes beside scikit-learn", sizes["epigram"], tenth, True, ",.0f")
    if "fastText" in found:
        checks.check(f"{name} bytes beside .bin", sizes["epigram"], sizes["fastText"] / 10, True, ",.0f")
        least = found["fastText"]["smallest"]
        checks.check(f"{name} bytes beside .ftz", sizes["epigram"], least, True, ",.0f")
    known = [value for system, value in errors.items() if system != "epigram" and value == value]
    if known:
        checks.check(f"{name} ECE", errors["epigram"], min(known) + 0.005, True, ".4f")
    return means


def least_cpu(call: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        found = call()
        best = min(best, time.process_time() - began)
    return best, found


def speed(name: str, split: Split, checks: Checks) -> None:
    """Training and prediction with word 1-2-grams of the same texts, settings given."""
    grid = [one for one in FastText.grid if one["wordNgrams"] == 2 and not one["chars"]]
    setting = choose(FastText, split, grid) if fasttext else {}
    texts, unseen = ([clean(text) for text in part] for part in (split.texts, split.unseen))

    def train() -> TextClassifier:
        return TextClassifier(words=2, weighting="log", l2=0.03).fit(texts, split.labels)

    def train_scikit_learn() -> Any:
        return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC()).fit(texts, split.labels)

    ours, model = least_cpu(train)
    theirs, pipeline = least_cpu(train_scikit_learn, 1)
    fast, faster = least_cpu(lambda: model.predict(unseen), 7), least_cpu(lambda: pipeline.predict(unseen))
    print(f"{name}, words 1-2: ours trains in {ours:.3f} CPU s, scikit-learn in {theirs:.3f}", flush=True)
    per_second = len(unseen) / fast[0]
    print(f"  ours {per_second:,.0f} documents a CPU s, scikit-learn {len(unseen) / faster[0]:,.0f}")
    checks.check(f"{name} prediction, times scikit-learn", faster[0] / fast[0], 10.0)
    if fasttext:
        trained = []
        for _ in range(3):
            rival = FastText(setting, 0)
            rival.fit(texts, split.labels)
            trained.append(rival.trained)
        lines = [text + "\n" for text in unseen]
        asked = least_cpu(lambda: rival.model.f.multilinePredict(lines, 1, 0.0, "strict"), 7)
        print(
            f"  fastText trains in {min(trained):.3f} CPU s, {len(unseen) / asked[0]:,.0f} documents a CPU s"
        )
        checks.check(f"{name} training, share of fastText's", ours / min(trained), 0.5, True)
        checks.check(f"{name} prediction, times fastText", asked[0] / fast[0], 2.0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--results", type=Path, default=Path("classify-results"))
    parser.add_argument("--speed", action="store_true", help="speed alone")
    given = parser.parse_args()
    if fasttext is None:
        print("fasttext is not installed: pip install fasttext; its figures are left out")
    checks, read = Checks(), {}
    for name in given.only:
        read[name] = SETS[name][1](10)
        if given.held_out:
            read[name] = [held_out(read[name][0].texts, read[name][0].labels)]
    if given.speed:
        for name, splits in read.items():
            speed(name, splits[0], checks)
        return 1 if checks.missed else 0
    given.results.mkdir(exist_ok=True)
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in read}
    for system in given.systems:
        for name, splits in read.items():
            if system != "fastText" or fasttext is not None:
                found[name][system] = part(name, system, splits, given.seeds, given.results)
    if "epigram" not in given.systems:
        return 0
    means = [
        report(name, 0.0 if given.held_out else SETS[name][0], read[name], own, checks)
        for name, own in found.items()
    ]
    if len(means) > 1:
        total = {name: statistics.fmean(each[name] for each in means) for name in means[0]}
        print("mean: " + ", ".join(f"{name} {value:.2f}" for name, value in total.items()))
        for name, value in total.items():
            if name != "epigram":
                checks.check(f"mean accuracy, above {name}", total["epigram"], value)
    print(f"{checks.missed} targets missed, {time.process_time():.0f} CPU s")
    return 1 if checks.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
