"""Sample data written for this project: English sentences with parts of speech, chunks and trees, from a grammar.

The sentences are drawn from :mod:`epigram.datasets.sample_grammar`; the same seed gives the same sentences
everywhere. Tags are those of CoNLL-2000: Penn parts of speech, chunks as IOB2; relations are in the manner of Universal
Dependencies. As there, the parts of speech
are an imperfect tagger's: some words carry a tag they could have elsewhere. A sentence keeps to a topic, so
words predict each other, and the test part has words that the training part never shows.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np

from epigram.datasets import sample_grammar as grammar
from epigram.errors import InputError

Token: TypeAlias = tuple[str, str, str]
"""Word, part of speech, chunk tag."""

SIZES = {"train": 800, "dev": 200, "test": 200}
TOPIC_RATE = 0.8  # open-class words that keep to the sentence's topic
SINGULAR_RATE = 0.6
UNSEEN_RATE = 0.15  # open-class words of the test part that come from after the bar
POS_ERRORS = 0.06
DEPTH_LIMIT = 14  # deeper than this the first expansion is taken, which does not recurse


def tagged(
    part: str = "train", n: int | None = None, seed: int = 0, pos_errors: float = POS_ERRORS
) -> list[list[Token]]:
    """Sentences as lists of (word, part of speech, chunk tag); ``part`` is train, dev or test.

    ``pos_errors`` is the share of wrong parts of speech among words that have a likely other one.

    Examples
    --------
    >>> for word, pos, chunk in tagged("train", n=1)[0][:2]:
    ...     print(word, pos, chunk)
    She PRP B-NP
    is VBZ B-VP
    """
    return [[word[:3] for word in sentence] for sentence in _stream(part, n, seed, pos_errors)]


def plain(part: str = "train", n: int | None = None, seed: int = 0) -> list[list[str]]:
    """The same sentences for language models: lower-case words, without the final full stop.

    Examples
    --------
    >>> len(plain("train", n=3))
    3
    """
    return [[word.lower() for word, *_ in sentence[:-1]] for sentence in _stream(part, n, seed)]


def columns(part: str = "train", n: int | None = None, seed: int = 0) -> str:
    """The sentences as CoNLL text: ``word pos chunk`` a line, an empty line after each sentence."""
    return "".join(
        "".join(f"{word} {pos} {chunk}\n" for word, pos, chunk, *_ in sentence) + "\n"
        for sentence in _stream(part, n, seed)
    )


def treebank(part: str = "train", n: int | None = None, seed: int = 0) -> str:
    """The sentences as CoNLL-U text: words, parts of speech, heads and relations.

    Examples
    --------
    >>> print(treebank("train", n=1).replace("\\t", " ")[:58])
    1 She _ PRON PRP _ 3 nsubj _ _
    2 is _ VERB VBZ _ 3 aux _ _
    """
    return "".join(
        "".join(
            f"{k}\t{word}\t_\t{grammar.UNIVERSAL.get(pos, 'VERB')}\t{pos}\t_\t{head}\t{relation}\t_\t_\n"
            for k, (word, pos, _, head, relation) in enumerate(sentence, 1)
        )
        + "\n"
        for sentence in _stream(part, n, seed)
    )


def _stream(part: str, n: int | None, seed: int, pos_errors: float = POS_ERRORS) -> Iterator[list[_Word]]:
    if part not in SIZES:
        raise InputError(f"the sample data has no part {part!r}; choose one of {', '.join(SIZES)}")
    words, errors = (np.random.default_rng([seed, list(SIZES).index(part), k]) for k in range(2))
    for _ in range(SIZES[part] if n is None else n):
        sentence = _Writer(words, may_use_unseen=part == "test").sentence()
        yield [
            word._replace(pos=grammar.MISTAKEN.get(word.pos, word.pos))
            if errors.random() < pos_errors
            else word
            for word in sentence
        ]


class _Word(NamedTuple):
    """``head`` counts from 1; 0 is none."""

    word: str
    pos: str
    chunk: str
    head: int
    relation: str


@dataclass(slots=True)
class _Writer:
    """Expands the grammar to one sentence. Only ``rng.random`` is used: its bits never change."""

    rng: np.random.Generator
    may_use_unseen: bool
    topic: str = ""
    leaves: list[str] = field(default_factory=list)  # word_TAG
    chunks: list[str] = field(default_factory=list)
    arcs: dict[int, tuple[int, str]] = field(
        default_factory=dict
    )  # head and relation of a leaf, the root excepted
    inside: str = ""  # the tag of the next word of the chunk that is open

    def sentence(self) -> list[_Word]:
        topics = list(grammar.TOPICS)
        self.topic = topics[int(self.rng.random() * len(topics))]
        self._expand("S", "s", 0)
        pieces = [(word, pos) for word, _, pos in (leaf.rpartition("_") for leaf in self.leaves)]
        arcs = (self.arcs.get(k, (-1, "root")) for k in range(len(pieces)))
        return [
            _Word(word, pos, chunk, head + 1, relation)
            for (word, pos), chunk, (head, relation) in zip(_spelled(pieces), self.chunks, arcs, strict=True)
        ]

    def _expand(self, symbol: str, number: str, depth: int) -> tuple[int, str]:
        """Writes what a symbol stands for; returns the leaf that is its head, and its relation upwards if set."""
        if symbol.startswith("<"):
            word_class = symbol[1:-1]
            return self._write(f"{self._draw(word_class)}_{word_class.partition('.')[0]}")
        if "_" in symbol:
            return self._write(symbol)
        name, mark = symbol.partition(".")[::2]
        if mark == "~":
            number = "s" if self.rng.random() < SINGULAR_RATE else "p"
        expansions, totals = _rules()[f"{name}.{number}" if mark else name]
        k = 0 if depth > DEPTH_LIMIT else bisect(totals, self.rng.random() * totals[-1])
        groups: list[list[tuple[int, str]]] = [[]]
        for part in expansions[k]:
            symbol, _, relation = part.partition(":")
            if symbol == "(":
                groups.append([])
            elif symbol == ")":
                head, _ = self._hang(groups.pop())
                groups[-1].append((head, relation))
            elif symbol == "]" or symbol.startswith("["):
                self.inside = "B-" + symbol[1:] if symbol != "]" else ""
            else:
                head, own = self._expand(symbol, number, depth + 1)
                groups[-1].append((head, own or relation))
        return self._hang(groups.pop())

    def _write(self, leaf: str) -> tuple[int, str]:
        """One word more."""
        self.leaves.append(leaf)
        self.chunks.append(self.inside or "O")
        self.inside = self.inside.replace("B-", "I-")
        return len(self.leaves) - 1, ""

    def _hang(self, parts: list[tuple[int, str]]) -> tuple[int, str]:
        """Hangs the parts of an expansion from its head, the one without a relation to it; returns the head."""
        head, own = next(part for part in parts if not part[1] or part[1].startswith("="))
        self.arcs |= {leaf: (head, relation) for leaf, relation in parts if leaf != head}
        return head, own.removeprefix("=")

    def _draw(self, word_class: str) -> str:
        """A word of a class, frequent ones first, mostly of the sentence's topic."""
        topic = self.topic if self.rng.random() < TOPIC_RATE else ""
        seen, unseen = _lexicon(topic)[word_class]
        words = unseen if unseen and self.may_use_unseen and self.rng.random() < UNSEEN_RATE else seen
        totals = _zipf(len(words))
        return words[bisect(totals, self.rng.random() * totals[-1])]


def _spelled(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A capital at the start, ``an`` before a vowel."""
    words = [word for word, _ in pieces]
    for k in range(len(words) - 1):
        if words[k] == "a" and words[k + 1][0] in "aeiou":
            words[k] = "an"
    words[0] = words[0][0].upper() + words[0][1:]
    return [(word, pos) for word, (_, pos) in zip(words, pieces, strict=True)]


@cache
def _rules() -> dict[str, tuple[list[list[str]], list[float]]]:
    """Expansions and cumulative weights of each symbol; ``X.#`` stands for ``X.s`` and ``X.p``."""
    rules: dict[str, tuple[list[list[str]], list[float]]] = defaultdict(lambda: ([], []))
    for line in filter(None, grammar.RULES.splitlines()):
        left, _, right = line.partition(" : ")
        symbol, weight = left.split()
        for name in (symbol.replace("#", "s"), symbol.replace("#", "p")) if "#" in symbol else (symbol,):
            expansions, totals = rules[name]
            expansions.append(right.split())
            totals.append((totals[-1] if totals else 0.0) + float(weight))
    return dict(rules)


@cache
def _lexicon(topic: str) -> dict[str, tuple[list[str], list[str]]]:
    """Seen and unseen words of each class; the empty topic has the words that fit anywhere."""
    stems = grammar.TOPICS.get(topic, grammar.ANY_TOPIC)
    entries = {name: _halves(words) for name, words in grammar.CLOSED.items()}
    entries["NN"] = entries["NN.mod"] = _halves(stems["noun"])
    entries["NN.who"] = _halves(stems["who"])
    for singular, plural in (("NN", "NNS"), ("NN.who", "NNS.who")):
        seen, unseen = entries[singular]
        entries[plural] = [_plural(noun) for noun in seen], [_plural(noun) for noun in unseen]
    entries["JJ"] = _halves(stems["adj"])
    for frame, verbs in {"t": stems["verb"], **grammar.VERBS}.items():
        known, kept = ([_conjugated(stem) for stem in half] for half in _halves(verbs))
        for k, tag in enumerate(("VB", "VBP", "VBZ", "VBD", "VBN", "VBG")):
            entries[f"{tag}.{frame}"] = [forms[k] for forms in known], [forms[k] for forms in kept]
    return entries


def _halves(words: str) -> tuple[list[str], list[str]]:
    seen, _, unseen = words.partition("|")
    return seen.split(), unseen.split()


def _plural(noun: str) -> str:
    """Also the third person of a verb."""
    irregular = {"knife": "knives", "man": "men", "woman": "women", "child": "children", "quiz": "quizzes"}
    if noun in irregular:
        return irregular[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _conjugated(stem: str) -> tuple[str, str, str, str, str, str]:
    """VB, VBP, VBZ, VBD, VBN, VBG of ``walk``, ``plan+`` (doubling) or ``know=knew=known``."""
    base, *irregular = stem.split("=")
    longer = base.replace("+", base[-2]) if base.endswith("+") else base.removesuffix("e")
    base = base.removesuffix("+")
    past = longer[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else longer + "ed"
    past, participle = irregular or (past, past)
    return base, base, _plural(base), past, participle, longer + "ing"


@cache
def _zipf(n: int) -> list[float]:
    """Cumulative weights 1 / (rank + 2): early words are drawn more often."""
    return list(accumulate(1.0 / (rank + 2) for rank in range(n)))
