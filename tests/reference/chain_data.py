"""A small chunking task for the estimators: sentences of the sample data as rows of columns and as features."""

from __future__ import annotations

from functools import cache
from typing import Any

from epigram.chain.labels import encode_labels
from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.seen_pairs import SeenPairs
from epigram.datasets import sample
from epigram.features.attributes import AttributeTable
from epigram.features.encoding import encode_sentences
from epigram.features.template import Template

Rows = list[list[tuple[str, str]]]
TEMPLATE = "# outside: drop\nU0:%x[0,0]\nU1:%x[-1,1]\nU2:%x[0,1]\nU3:%x[1,1]\nU4:%x[0,0|suffix:2]\nB\n"


@cache
def part(name: str, n: int) -> tuple[Rows, list[list[str]]]:
    """Word and part of speech of each token, and the chunk labels."""
    sentences = sample.tagged(name, n)
    rows = [[(word, pos) for word, pos, _ in sentence] for sentence in sentences]
    return rows, [[label for _, _, label in sentence] for sentence in sentences]


def features(rows: Rows) -> list[list[dict[str, Any]]]:
    """The same as dicts, as users of sklearn-crfsuite write them; word lengths are real values."""
    return [
        [
            {
                "word": word,
                "pos": pos,
                "before": sentence[t - 1][1] if t else "BOS",
                "after": sentence[t + 1][1] if t + 1 < len(sentence) else "EOS",
                "length": len(word) / 10.0,
            }
            for t, (word, pos) in enumerate(sentence)
        ]
        for sentence in rows
    ]


def chain_loss(n: int) -> ChainLoss:
    """The loss of so many training sentences."""
    rows, labels = part("train", n)
    table = AttributeTable()
    sequences = encode_sentences(rows, Template.parse(TEMPLATE), table, grow=True)
    names, ids = encode_labels(labels, sequences)
    return ChainLoss(sequences, ids, lay_out(SeenPairs.of(sequences, ids, len(names), len(table))))
