"""Text classification beside scikit-learn: accuracy, file size and CPU seconds, word 1-2-grams of the same texts.

    python benchmarks/classify.py

Data: SST-2 (sentences) and TREC-6 of the folder `text-classification`. Ours chooses everything by itself within 60 CPU
seconds; scikit-learn's side is tf-idf of word 1-2-grams and LinearSVC with its default strength, in the same run.
"""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from epigram import TextClassifier

FOLDER = Path(os.environ.get("EPIGRAM_DATA", "data")) / "text-classification"
SETS = {
    "SST-2": ("stsa.binary.train", "stsa.binary.test", 82.3),
    "TREC-6": ("TREC.train.all", "TREC.test.all", 89.0),
}


def read(name: str) -> tuple[list[str], list[str]]:
    with gzip.open(FOLDER / f"{name}.txt.gz", "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    pairs = [line.removeprefix("__label__").split(" ", 1) for line in lines]
    return [text for _, text in pairs], [label for label, _ in pairs]


def main() -> int:
    missed = 0
    for name, (train, test, target) in SETS.items():
        (texts, labels), (unseen, gold) = read(train), read(test)
        began = time.process_time()
        ours = TextClassifier().fit(texts, labels)
        trained = time.process_time()
        accuracy = 100 * ours.score(unseen, gold)
        asked = time.process_time()
        size = len(ours.to_bytes())
        print(f"{name} epigram {accuracy:.2f} (target {target}), {size:,} bytes", end=", ")
        print(f"training {trained - began:.2f} s, prediction {asked - trained:.4f} s")
        missed += accuracy < target or size > 500_000
        began = time.process_time()
        vectors = TfidfVectorizer(ngram_range=(1, 2))
        model = LinearSVC().fit(vectors.fit_transform(texts), labels)
        trained = time.process_time()
        accuracy = 100 * model.score(vectors.transform(unseen), gold)
        print(f"{name} scikit-learn {accuracy:.2f}, training {trained - began:.2f} s", end=", ")
        print(f"prediction {time.process_time() - trained:.4f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
