"""A small pipeline, trained once: a toy language with multiword tokens, several tags and trees."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from epigram.pipeline import Pipeline

NOUNS, VERBS = ["dog", "cat", "bird", "tree", "house"], ["see", "hear", "like", "find"]


def row(index: str, form: str, *cells: str) -> str:
    return "\t".join([index, form, *cells])


def sentence(rng: random.Random, number: int) -> str:
    a, b, verb = rng.choice(NOUNS), rng.choice(NOUNS), rng.choice(VERBS)
    plural = rng.random() < 0.5
    subject = a.capitalize() + ("s" if plural else "")
    predicate = verb + ("" if plural else "s")
    number_cell = f"Number={'Plur' if plural else 'Sing'}"
    lines = [f"# sent_id = {number}"]
    if number % 5 == 0:
        lines.append("# newpar")
    lines += [
        row("1", subject, a, "NOUN", "N", number_cell, "2", "nsubj", "_", "_"),
        row("2", predicate, verb, "VERB", "V", "_", "0", "root", "_", "_"),
    ]
    if rng.random() < 0.4:
        lines += [
            row("3-4", "thru", "_", "_", "_", "_", "_", "_", "_", "_"),
            row("3", "through", "through", "ADP", "P", "_", "5", "case", "_", "_"),
            row("4", "the", "the", "DET", "D", "_", "5", "det", "_", "_"),
        ]
    else:
        lines += [
            row("3", "near", "near", "ADP", "P", "_", "5", "case", "_", "_"),
            row("4", "the", "the", "DET", "D", "_", "5", "det", "_", "_"),
        ]
    lines += [
        row("5", b, b, "NOUN", "N", "Number=Sing", "2", "obl", "_", "SpaceAfter=No"),
        row("6", ".", ".", "PUNCT", ".", "_", "2", "punct", "_", "_"),
    ]
    return "\n".join(lines) + "\n\n"


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(0)
    path = tmp_path_factory.mktemp("treebank") / "toy.conllu"
    path.write_text("# newdoc id = toy\n" + "".join(sentence(rng, k) for k in range(60)), "utf-8")
    return path


@pytest.fixture(scope="session")
def nlp(treebank: Path) -> Pipeline:
    return Pipeline(folds=2, token_l1=0.05, tag_l1=0.05, lemma_l1=0.05, tree_l1=0.1).fit(treebank)
