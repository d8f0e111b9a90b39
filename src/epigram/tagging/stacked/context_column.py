"""A column of context types, by a first tagger (Krishnan and Manning 2006).

A chain model sees one sentence, but a text labels the same word alike. A first tagger labels all sentences, those of
its training set by cross-validation (:mod:`epigram.tagging.stacked.cross_prediction`). The column holds the type that
it gives most often to the same word in the surrounding sentences. With the first tagger's own labels as another column,
a second CRF learns how far to trust either.
"""

from __future__ import annotations

import numpy as np

from epigram._core.arrays import offsets
from epigram.features.cell_functions import normalise
from epigram.features.columns import Column, Columns
from epigram.tagging.stacked.candidates import Scheme

NONE = "-"
"""The cell of a word that is nowhere else, or has no letter."""


def context_types(columns: Columns, labels: Column, reach: int) -> Column:
    """Return the most frequent type of each word within ``reach`` sentences around it.

    A type is ``x`` of ``B-x`` and ``I-x``, ``O``, or a label as it is where labels are no chunk labels. Words are the
    same where they differ in capitals and digits only. Of equally frequent types the first in the alphabet is taken.

    Parameters
    ----------
    columns : sentences in the order of their text, words in the first column.
    labels : what a tagger says of each token.
    reach : sentences before and after one that count, beside its own other tokens.

    Examples
    --------
    >>> columns = Columns.from_rows([["IL-2", "binds", "IL-4"], ["the", "IL-2"], ["no", "il-2"]])
    >>> labels = Column(np.array([0, 1, 0, 1, 0, 1, 1], dtype=np.int32), ["B-protein", "O"])
    >>> found = context_types(columns, labels, 1)
    >>> [found.string(t) for t in range(7)]
    ['protein', '-', 'protein', '-', 'protein', '-', 'protein']
    """
    scheme = Scheme(labels.strings)
    types = [scheme.name(kind) for kind in scheme.type_of.tolist()]
    names, number = np.unique(np.array(types, dtype=object), return_inverse=True)
    kind = number[labels.ids]
    word = _same_words(columns.columns[0])
    n_sentences = columns.n_sentences
    reach = min(reach, n_sentences)
    sentence = np.repeat(np.arange(n_sentences), np.diff(columns.sentence_ptr))
    start = word * (n_sentences + 2 * reach) + sentence  # where the window begins: words never overlap
    order = np.argsort(start, kind="stable")
    places = start[order] + reach
    first = np.searchsorted(places, start, side="left")
    last = np.searchsorted(places, start + 2 * reach, side="right")
    best, most = np.full(len(word), len(names)), np.zeros(len(word), dtype=np.int64)
    for j in range(len(names)):
        mine = kind == j
        up_to = offsets(mine[order])
        times = up_to[last] - up_to[first] - mine  # elsewhere: not the token itself
        better = (times > most) & (word >= 0)
        best[better], most[better] = j, times[better]
    return Column(best.astype(np.int32), [*names.tolist(), NONE])


def _same_words(words: Column) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """A number of each token, equal for the same word; -1 for one without a letter."""
    number: dict[str, int] = {}
    of_string = [
        number.setdefault(normalise(cell)[0], len(number)) if any(map(str.isalpha, cell)) else -1
        for cell in words.strings
    ]
    return np.array(of_string, dtype=np.int64)[words.ids]
