"""Word classes: learnt from a text by the exchange algorithm, or read from a file.

A class file has one word a line, ``class<TAB>word<TAB>count``, sorted by class and falling count; files of Brown
clusters (``paths``) read as well. Class 0 holds the boundary ``</s>`` alone, whatever a file says about it. A file of
classes of several sizes, for taggers, has a name for each size, with a space between (:func:`write_sizes`).

Words without a class (the vocabulary has them, the classes or the training text do not) join the class of ``<unk>``.
Where ``<unk>`` has none either: in :meth:`WordClasses.learn` the class with the fewest tokens, because the number of
classes was asked for; in :meth:`WordClasses.read` and :meth:`WordClasses.for_vocabulary` one class of their own, the
last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError, at_least
from epigram.files import read_lines, write_atomically
from epigram.lm.corpus import Corpus
from epigram.lm.factored.exchange import Bigrams, Exchange, PassCallback, first_classes
from epigram.lm.vocabulary import BOUNDARY, END, START, UNKNOWN, UNSEEN, Vocabulary
from epigram.protocols import Ints, Offsets

NONE = -1


@dataclass(frozen=True, slots=True)
class WordClasses:
    """The class of each word of a vocabulary.

    ``class_of`` int32 of len(vocabulary). Class 0 holds ``</s>`` alone; 1 and up are numbered by falling count of
    their tokens where that is known, and none is empty.

    Examples
    --------
    >>> corpus = Corpus.of(["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 3)
    >>> classes = WordClasses.learn(corpus, 4)
    >>> classes.n_classes, classes.sizes.tolist()
    (4, [1, 2, 2, 2])
    >>> [classes.words(k) for k in range(4)]
    [['</s>'], ['the', 'a'], ['cat', 'dog'], ['sat', 'ran']]
    """

    vocabulary: Vocabulary
    class_of: Ints = field(repr=False)

    def __post_init__(self) -> None:
        if self.class_of.shape != (len(self.vocabulary),):
            raise InputError(
                f"class_of has the shape {self.class_of.shape}; expected one class for each of the "
                f"{len(self.vocabulary)} words."
            )
        if self.class_of[BOUNDARY] != 0 or (self.class_of[1:] < 1).any() or (self.sizes == 0).any():
            raise InputError(
                "class 0 must hold </s> alone, and classes 1 and up at least a word each; number them so."
            )

    @classmethod
    def learn(cls, corpus: Corpus, n_classes: int, **settings: Any) -> WordClasses:
        """Classes whose bigrams tell most about a text; settings are those of :meth:`of_bigrams`."""
        return cls.of_bigrams(corpus.vocabulary, Bigrams.of(corpus), n_classes, **settings)

    @classmethod
    def of_bigrams(
        cls,
        vocabulary: Vocabulary,
        bigrams: Bigrams,
        n_classes: int,
        *,
        threads: int = 1,
        max_passes: int = 20,
        seed: int = 0,
        callback: PassCallback | None = None,
    ) -> WordClasses:
        """Classes from the counts of neighbouring words (see :mod:`epigram.lm.factored.exchange`).

        ``n_classes`` counts the class of ``</s>``; with fewer words than classes each word has its own. The result
        depends on text, ``n_classes``, ``max_passes`` and ``seed``, not on ``threads``. Seed 0 starts by dealing
        the words, frequent ones first, to the classes in turn; any other shuffles each round of the dealing.
        ``callback`` is called with an :class:`~epigram.lm.factored.exchange.ExchangePass` after each pass; True
        ends the search.
        """
        at_least(2, n_classes, "n_classes")  # </s> has a class of its own
        at_least(1, threads, "threads")
        at_least(0, max_passes, "max_passes")
        at_least(0, seed, "seed")
        counts = bigrams.word_count
        words = _by_count(counts)
        if not words.size:
            raise InputError("no words to put into classes; the text is empty, or none is in the vocabulary.")
        n_classes = min(n_classes, words.size + 1)
        class_of = np.zeros(len(vocabulary), np.int32)
        class_of[words] = first_classes(words, n_classes, seed)
        if 2 < n_classes <= words.size:  # else there is only one way
            Exchange(bigrams, words, class_of, n_classes).run(max_passes, threads, callback)
        tokens = np.bincount(class_of, weights=counts)
        _, first = np.unique(class_of, return_index=True)
        class_of[counts == 0] = NONE
        class_of[BOUNDARY] = 0
        return cls(
            vocabulary,
            _complete(vocabulary, _numbered(class_of, np.lexsort((first, -tokens))), grow=False),
        )

    def with_new_words(self, corpus: Corpus) -> WordClasses:
        """Classes of a vocabulary that begins with this one: new words join where they were seen.

        That is the class k that makes the classes around a word likeliest: sum of ln N(before, k) + ln N(k, after) -
        2 ln N(k) over its places, N the counts of neighbouring classes in the text with a half added to each.
        """
        old, stream = self.class_of, corpus.stream()
        n_new = len(corpus.vocabulary) - old.size
        if n_new == 0:
            return self
        # One more at the end for words outside the vocabulary; -1 is a class that is not known.
        near = np.append(old, np.full(n_new + 1, -1, np.int32))[stream]
        known = (near[:-1] >= 0) & (near[1:] >= 0)
        some = np.full((self.n_classes, self.n_classes), 0.5)
        np.add.at(some, (near[:-1][known], near[1:][known]), 1.0)
        nothing = np.zeros((1, len(some)))
        after, before = np.vstack((np.log(some), nothing)), np.vstack((np.log(some.T), nothing))
        own = np.log(some.sum(axis=1))
        found = np.empty(n_new, np.int32)
        places = np.flatnonzero(stream >= old.size)
        places = places[np.argsort(stream[places], kind="stable")]
        edges = np.searchsorted(stream[places], old.size + np.arange(1, n_new))
        for k, at in enumerate(np.split(places, edges)):
            score = (after[near[at - 1]] + before[near[at + 1]]).sum(axis=0) - 2.0 * at.size * own
            found[k] = 1 + np.argmax(score[1:])
        return WordClasses(corpus.vocabulary, np.append(old, found))

    @classmethod
    def read(cls, path: str | PathLike[str], vocabulary: Vocabulary | None = None) -> WordClasses:
        """From a file of ``class<TAB>word`` lines, perhaps with a count; a class may have any name.

        Without ``vocabulary`` it is that of the file. Else words it lacks are left out, and words that the file
        lacks are placed as said above. Classes are numbered by falling count of the words left, then by their first
        line in the file.
        """
        names: dict[str, int] = {}
        found: dict[str, tuple[int, int]] = {}
        lines: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            name, word, count = _fields(line, path, number)
            if " " in name:
                raise InputError(
                    f"the class of {word!r} has {name.count(' ') + 1} sizes; a language model takes one, as epigram lm "
                    "classes -k K writes it",
                    path=path,
                    line=number,
                )
            if word in found:
                raise InputError(
                    f"the word {word!r} has a class already, on line {lines[word]}; leave one of the two",
                    path=path,
                    line=number,
                )
            found[word] = names.setdefault(name, len(names) + 1), count
            lines[word] = number
        for reserved in (START, END):
            found.pop(reserved, None)
        if not found:
            raise InputError("no words; expected lines of class<TAB>word<TAB>count", path=path)
        if vocabulary is None:
            vocabulary = Vocabulary(found)
        nowhere = NONE, 0
        table = np.array([found.get(word, nowhere) for word in vocabulary], dtype=np.int64)
        table[BOUNDARY] = 0
        class_of = table[:, 0].astype(np.int32)
        if not (class_of > 0).any():
            raise InputError(
                f"none of its {len(found)} words is in the vocabulary; give the classes of this text",
                path=path,
            )
        tokens = np.bincount(np.maximum(class_of, 0), weights=table[:, 1], minlength=len(names) + 1)
        return cls(
            vocabulary,
            _complete(vocabulary, _numbered(class_of, np.argsort(-tokens, kind="stable")), grow=True),
        )

    def write(self, path: str | PathLike[str], counts: Offsets | None = None) -> None:
        """Write a file for :meth:`read`; without ``counts`` (of each word id) it has two columns."""
        write_sizes(path, [self], counts)

    def for_vocabulary(self, vocabulary: Vocabulary) -> WordClasses:
        """The same classes in the ids of another vocabulary, in the same order.

        Words it lacks are dropped, and classes that become empty with them; words it adds are placed as said above.
        """
        own = self.vocabulary.ids(vocabulary)
        class_of = np.where(own == UNSEEN, NONE, self.class_of[own]).astype(np.int32)
        order = np.arange(self.n_classes)
        return WordClasses(vocabulary, _complete(vocabulary, _numbered(class_of, order), grow=True))

    @property
    def n_classes(self) -> int:
        """Number of classes, that of ``</s>`` included."""
        return int(self.class_of.max()) + 1

    @property
    def sizes(self) -> Offsets:
        """Number of words of each class."""
        return np.bincount(self.class_of).astype(np.int64)

    def words(self, k: int) -> list[str]:
        """The words of class ``k``, in the order of the vocabulary."""
        return [self.vocabulary.words[i] for i in np.flatnonzero(self.class_of == k).tolist()]


def write_sizes(
    path: str | PathLike[str], sizes: Sequence[WordClasses], counts: Offsets | None = None
) -> None:
    """Write classes of one size or several as lines of ``class class ...<TAB>word<TAB>count``.

    They are sorted by the first size and falling count.
    """
    vocabulary, first = sizes[0].vocabulary, sizes[0].class_of
    rank = np.zeros(len(vocabulary)) if counts is None else -counts
    lines = []
    for k in np.lexsort((rank, first)).tolist():
        word = vocabulary.words[k]
        if not word or any(mark in word for mark in "\t\n\r"):
            raise InputError(
                f"the word {word!r} cannot stand in a class file, whose columns end at tabs; leave it out of the "
                "vocabulary.",
                path=path,
            )
        names = " ".join(str(one.class_of[k]) for one in sizes)
        lines.append(f"{names}\t{word}" + ("" if counts is None else f"\t{int(counts[k])}") + "\n")
    write_atomically(path, "".join(lines).encode())


def _by_count(counts: Offsets) -> Ints:
    """Words that occur, without the boundary, by falling count."""
    order = np.argsort(-counts, kind="stable")
    words: Ints = order[(order != BOUNDARY) & (counts[order] > 0)].astype(np.int32)
    return words


def _numbered(class_of: Ints, order: Offsets) -> Ints:
    """Classes that have words, numbered from 1 as they come in ``order``; 0 and -1 stay."""
    used = order[np.isin(order, class_of) & (order > 0)]
    numbers: Ints = np.zeros(order.size + 1, np.int32)
    numbers[used] = np.arange(1, used.size + 1)
    numbers[NONE] = NONE
    return numbers[class_of]


def _complete(vocabulary: Vocabulary, class_of: Ints, grow: bool) -> Ints:
    """Put words without a class into that of ``<unk>``, else the last or (``grow``) a new one."""
    unknown = vocabulary.id(UNKNOWN)
    last = int(class_of.max())
    home = class_of[unknown] if unknown != UNSEEN and class_of[unknown] != NONE else last + grow
    return np.where(class_of == NONE, np.int32(home), class_of).astype(np.int32)


def _fields(line: str, path: str | PathLike[str], number: int) -> tuple[str, str, int]:
    """Class, word and count (0 where there is none) of a line."""
    columns = line.split("\t")
    if not 2 <= len(columns) <= 3 or not all(columns[:2]):
        raise InputError(
            f"expected class<TAB>word<TAB>count (the count may be left out), found {line!r}",
            path=path,
            line=number,
        )
    if len(columns) == 2:
        return columns[0], columns[1], 0
    try:
        count = int(columns[2])
    except ValueError:
        count = -1
    if not 0 <= count < 1 << 53:
        raise InputError(
            f"the count {columns[2]!r} of {columns[1]!r} is not a whole number; correct it or leave the column out",
            path=path,
            line=number,
        )
    return columns[0], columns[1], count
