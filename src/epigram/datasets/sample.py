"""Generates sample sentences with tags, chunks and trees from a small English grammar.

The grammar is ``sample_grammar.txt``; a seed gives the same sentences on every machine. Tags are those of CoNLL-2000:
Penn parts of speech, chunks as IOB2; relations follow Universal Dependencies. As in CoNLL-2000, the parts of speech are
those of an imperfect tagger. Words of a sentence share a topic, so they predict each other, and the test part has words
that the training part lacks. ``sample_japanese.txt`` holds a Japanese text with readings.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from epigram.errors import InputError

Token: TypeAlias = tuple[str, str, str]
"""Word, part of speech, chunk tag."""

SIZES = {"train": 800, "dev": 200, "test": 200}
TOPIC_RATE = 0.8  # share of open-class words from the topic of the sentence
SINGULAR_RATE = 0.6
UNSEEN_RATE = 0.15  # share of open-class words of the test part that the training part lacks
POS_ERRORS = 0.06
DEPTH_LIMIT = 14  # deeper than this the first expansion is taken, which does not recurse


def _sections(name: str) -> dict[str, list[str]]:
    """Lines of a text file of this package by section."""
    sections: dict[str, list[str]] = {}
    for line in files("epigram.datasets").joinpath(name).read_text("utf-8").splitlines():
        if line.startswith("== "):
            lines = sections[line[3:]] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


_JAPANESE = _sections("sample_japanese.txt")
BACKGROUND, DOMAIN, WORDS = (_JAPANESE[name] for name in ("background", "domain", "words"))
"""Japanese sentences and words with their readings."""
READINGS = dict(line.split() for line in _JAPANESE["readings"])
"""Readings to convert, each with the expected text."""


@cache
def _grammar() -> dict[str, list[str]]:
    return _sections("sample_grammar.txt")


@cache
def _table(section: str) -> dict[str, str]:
    """A section of the grammar of which each line is a name and its value."""
    return {name: value for name, _, value in (line.partition(" ") for line in _grammar()[section])}


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
    """Sentences for language models: lower-case words, without the final full stop.

    Examples
    --------
    >>> len(plain("train", n=3))
    3
    """
    return [[word.lower() for word, *_ in sentence[:-1]] for sentence in _stream(part, n, seed)]


def documents(part: str = "train", n: int | None = None, seed: int = 0) -> list[tuple[str, str]]:
    """Topics and sentences for text classifiers.

    Examples
    --------
    >>> sorted({topic for topic, _ in documents("dev")})
    ['garden', 'harbour', 'kitchen', 'school', 'street', 'workshop']
    """
    words, found = np.random.default_rng([seed, list(SIZES).index(part), 0]), []
    for _ in range(SIZES[part] if n is None else n):
        writer = _Writer(words, may_use_unseen=part == "test")
        text = " ".join(word.word for word in writer.sentence())
        found.append((writer.topic.removeprefix("topic "), text))
    return found


def columns(part: str = "train", n: int | None = None, seed: int = 0) -> str:
    """Sentences as CoNLL text: ``word pos chunk`` per line, an empty line after each sentence."""
    return "".join(
        "".join(f"{word} {pos} {chunk}\n" for word, pos, chunk, *_ in sentence) + "\n"
        for sentence in _stream(part, n, seed)
    )


def treebank(part: str = "train", n: int | None = None, seed: int = 0) -> str:
    """Sentences as CoNLL-U text: words, parts of speech, heads and relations.

    Examples
    --------
    >>> print(treebank("train", n=1).replace("\\t", " ")[:58])
    1 She _ PRON PRP _ 3 nsubj _ _
    2 is _ VERB VBZ _ 3 aux _ _
    """
    return "".join(
        "".join(
            f"{k}\t{word}\t_\t{_table('universal').get(pos, 'VERB')}\t{pos}\t_\t{head}\t{relation}\t_\t_\n"
            for k, (word, pos, _, head, relation) in enumerate(sentence, 1)
        )
        + "\n"
        for sentence in _stream(part, n, seed)
    )


def lists(part: str = "train", n: int | None = None, seed: int = 0, size: int = 6) -> list[dict[str, Any]]:
    """N-best lists for rerankers: sentences and variants with two neighbouring words exchanged.

    All candidates have the same score.

    Examples
    --------
    >>> lists("train", n=1)[0]["reference"][:6], len(lists("train", n=1)[0]["candidates"]) <= 6
    ('she is', True)
    """
    rng, found = np.random.default_rng([seed, list(SIZES).index(part), 2]), []
    for number, words in enumerate(plain(part, n, seed), 1):
        variants = [words]
        for _ in range(size - 1):
            at = int(rng.random() * max(len(words) - 1, 1))
            variants.append([*words[:at], *words[at : at + 2][::-1], *words[at + 2 :]])
        order = np.argsort(rng.random(size), kind="stable").tolist()
        texts = dict.fromkeys(" ".join(variants[k]) for k in order)
        candidates = [{"text": text, "score": 0.0} for text in texts]
        found.append({"id": str(number), "reference": " ".join(words), "candidates": candidates})
    return found


def content(name: str) -> str:
    """Text of a file of the data set ``sample``."""
    part, _, ending = name.partition(".")
    if ending == "readings":
        return "".join(f"{line}\n" for line in (DOMAIN if part == "domain" else BACKGROUND))
    if ending == "jsonl":
        return "".join(json.dumps(one) + "\n" for one in lists(part))
    if ending == "text":
        return "".join(" ".join(words) + "\n" for words in plain(part))
    return treebank(part) if ending == "conllu" else columns(part)


def _stream(part: str, n: int | None, seed: int, pos_errors: float = POS_ERRORS) -> Iterator[list[_Word]]:
    if part not in SIZES:
        raise InputError(f"the sample data has no part {part!r}; choose one of {', '.join(SIZES)}")
    words, errors = (np.random.default_rng([seed, list(SIZES).index(part), k]) for k in range(2))
    for _ in range(SIZES[part] if n is None else n):
        sentence = _Writer(words, may_use_unseen=part == "test").sentence()
        yield [
            word._replace(pos=_table("mistaken").get(word.pos, word.pos))
            if errors.random() < pos_errors
            else word
            for word in sentence
        ]


class _Word(NamedTuple):
    """Word of a tree; ``head`` counts from 1, and 0 is the root."""

    word: str
    pos: str
    chunk: str
    head: int
    relation: str


@dataclass(slots=True)
class _Writer:
    """Expands the grammar to one sentence; uses ``rng.random`` only, which numpy keeps stable."""

    rng: np.random.Generator
    may_use_unseen: bool
    topic: str = ""
    leaves: list[str] = field(default_factory=list)  # word_TAG
    chunks: list[str] = field(default_factory=list)
    arcs: dict[int, tuple[int, str]] = field(
        default_factory=dict
    )  # head and relation of all leaves but the root
    inside: str = ""  # chunk tag of the next word

    def sentence(self) -> list[_Word]:
        topics = [name for name in _grammar() if name.startswith("topic ")]
        self.topic = topics[int(self.rng.random() * len(topics))]
        self._expand("S", "s", 0)
        pieces = [(word, pos) for word, _, pos in (leaf.rpartition("_") for leaf in self.leaves)]
        arcs = (self.arcs.get(k, (-1, "root")) for k in range(len(pieces)))
        return [
            _Word(word, pos, chunk, head + 1, relation)
            for (word, pos), chunk, (head, relation) in zip(_spelled(pieces), self.chunks, arcs, strict=True)
        ]

    def _expand(self, symbol: str, number: str, depth: int) -> tuple[int, str]:
        """Expand a symbol; returns its head leaf, and the relation upwards if the rule sets it."""
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
        """Append a word."""
        self.leaves.append(leaf)
        self.chunks.append(self.inside or "O")
        self.inside = self.inside.replace("B-", "I-")
        return len(self.leaves) - 1, ""

    def _hang(self, parts: list[tuple[int, str]]) -> tuple[int, str]:
        """Attach the parts of an expansion to its head, the part without a relation."""
        head, own = next(part for part in parts if not part[1] or part[1].startswith("="))
        self.arcs |= {leaf: (head, relation) for leaf, relation in parts if leaf != head}
        return head, own.removeprefix("=")

    def _draw(self, word_class: str) -> str:
        """Draw a word of a class, mostly from the topic of the sentence."""
        topic = self.topic if self.rng.random() < TOPIC_RATE else ""
        seen, unseen = _lexicon(topic)[word_class]
        words = unseen if unseen and self.may_use_unseen and self.rng.random() < UNSEEN_RATE else seen
        totals = _zipf(len(words))
        return words[bisect(totals, self.rng.random() * totals[-1])]


def _spelled(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Capitalise the first word and write ``an`` before a vowel."""
    words = [word for word, _ in pieces]
    for k in range(len(words) - 1):
        if words[k] == "a" and words[k + 1][0] in "aeiou":
            words[k] = "an"
    words[0] = words[0][0].upper() + words[0][1:]
    return [(word, pos) for word, (_, pos) in zip(words, pieces, strict=True)]


@cache
def _rules() -> dict[str, tuple[list[list[str]], list[float]]]:
    """Expansions and cumulative weights of each symbol; ``X.#`` defines ``X.s`` and ``X.p``."""
    rules: dict[str, tuple[list[list[str]], list[float]]] = defaultdict(lambda: ([], []))
    for line in _grammar()["rules"]:
        left, _, right = line.partition(" : ")
        symbol, weight = left.split()
        for name in (symbol.replace("#", "s"), symbol.replace("#", "p")) if "#" in symbol else (symbol,):
            expansions, totals = rules[name]
            expansions.append(right.split())
            totals.append((totals[-1] if totals else 0.0) + float(weight))
    return dict(rules)


@cache
def _lexicon(topic: str) -> dict[str, tuple[list[str], list[str]]]:
    """Seen and unseen words of each class; the empty topic has the words of all topics."""
    stems = _table(topic or "any topic")
    entries = {name: _halves(words) for name, words in _table("closed").items()}
    entries["NN"] = entries["NN.mod"] = _halves(stems["noun"])
    entries["NN.who"] = _halves(stems["who"])
    for singular, plural in (("NN", "NNS"), ("NN.who", "NNS.who")):
        seen, unseen = entries[singular]
        entries[plural] = [_plural(noun) for noun in seen], [_plural(noun) for noun in unseen]
    entries["JJ"] = _halves(stems["adj"])
    for frame, verbs in {"t": stems["verb"], **_table("verbs")}.items():
        known, kept = ([_conjugated(stem) for stem in half] for half in _halves(verbs))
        for k, tag in enumerate(("VB", "VBP", "VBZ", "VBD", "VBN", "VBG")):
            entries[f"{tag}.{frame}"] = [forms[k] for forms in known], [forms[k] for forms in kept]
    return entries


def _halves(words: str) -> tuple[list[str], list[str]]:
    seen, _, unseen = words.partition("|")
    return seen.split(), unseen.split()


def _plural(noun: str) -> str:
    """Plural of a noun, or third person of a verb."""
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
