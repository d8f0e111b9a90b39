"""Scores of the CoNLL 2018 shared task: agreement of an analysis with a gold one.

Zeman et al. 2018, section 4. Characters that are not blank align both: tokens and sentences agree if they span the same
characters. A word outside multiword tokens is aligned with a word of the same span; where either side has a multiword
token, the words of the smallest span that both sides share are aligned by the longest common subsequence of their
lower-cased forms. Precision is the agreeing share of the system's units, recall that of the gold ones.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from epigram.errors import InputError
from epigram.pipeline.analysis import Analysis

METRICS = (
    "Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX",
)  # fmt: skip
_CONTENT = """
nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl amod
conj fixed flat compound list parataxis orphan goeswith reparandum root dep
"""
_FUNCTIONAL = "aux cop mark det clf case cc"
_FEATURES = """
PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense Aspect Voice
Evident Polarity Person Polite
"""
CONTENT = frozenset(_CONTENT.split())
FUNCTIONAL = frozenset(_FUNCTIONAL.split())
FEATURES = frozenset(_FEATURES.split())


@dataclass(frozen=True, slots=True)
class ConllScore:
    """Precision, recall and F1 of a metric; ``aligned`` is the accuracy on aligned words."""

    precision: float
    recall: float
    f1: float
    aligned: float | None

    @classmethod
    def of_counts(cls, gold: int, system: int, correct: int, aligned: int | None = None) -> ConllScore:
        """Return the score of three counts."""
        return cls(
            correct / system if system else 0.0,
            correct / gold if gold else 0.0,
            2 * correct / (system + gold) if system + gold else 0.0,
            None if aligned is None else correct / aligned if aligned else 0.0,
        )


@dataclass(slots=True)
class ScoredWord:
    """A word with its span of characters and everything that is compared."""

    begin: int
    end: int
    form: str
    is_multiword: bool
    upos: str
    xpos: str
    feats: str
    lemma: str
    relation: str
    parent: int  # index in all words, -1 for the root
    functional: list[int]

    @property
    def is_content(self) -> bool:
        """Whether CLAS, MLAS and BLEX count the word."""
        return self.relation in CONTENT


@dataclass(frozen=True, slots=True)
class _Side:
    text: str
    tokens: list[tuple[int, int]]
    sentences: list[tuple[int, int]]
    words: list[ScoredWord]


def evaluate_analysis(gold: Analysis, system: Analysis) -> dict[str, ConllScore]:
    """Return the scores of an analysis, by the names of ``METRICS``.

    Examples
    --------
    >>> from epigram.pipeline.analysis import single_words
    >>> from epigram.pipeline.tokenization import tokenization_of
    >>> gold = single_words(tokenization_of([[("Hi", ""), ("!", "")]], [True]))
    >>> system = single_words(tokenization_of([[("Hi!", "")]], [True]))
    >>> scores = evaluate_analysis(gold, system)
    >>> scores["Tokens"].f1, scores["Sentences"].f1
    (0.0, 1.0)
    """
    a, b = _side(gold), _side(system)
    if a.text != b.text:
        differing = (k for k, (x, y) in enumerate(zip(a.text, b.text, strict=False)) if x != y)
        at = next(differing, min(len(a.text), len(b.text)))
        raise InputError(
            f"the texts differ after {at} characters: {a.text[at : at + 20]!r} and {b.text[at : at + 20]!r}; "
            "evaluate an analysis of the gold file's own text"
        )
    pairs = _align(a.words, b.words)
    scores = {
        "Tokens": _spans(a.tokens, b.tokens),
        "Sentences": _spans(a.sentences, b.sentences),
        "Words": ConllScore.of_counts(len(a.words), len(b.words), len(pairs), len(pairs)),
    }
    for name, key, chosen in _keys(a.words, b.words, pairs):
        scores[name] = _agreeing(a.words, b.words, pairs, key, chosen)
    return scores


Key = Callable[[ScoredWord, Callable[[int], Any], bool], Hashable]


def _keys(
    gold: list[ScoredWord], system: list[ScoredWord], pairs: list[tuple[int, int]]
) -> list[tuple[str, Key, Callable[[ScoredWord], bool]]]:
    """Return the parts of a word that each metric compares."""

    def everything(_: ScoredWord) -> bool:
        return True

    def content(word: ScoredWord) -> bool:
        return word.is_content

    def functional(word: ScoredWord, home: Callable[[int], Any], is_gold: bool) -> Hashable:
        own = gold if is_gold else system
        return tuple((home(k), own[k].relation, own[k].upos, own[k].feats) for k in word.functional)

    return [
        ("UPOS", lambda w, *_: w.upos, everything),
        ("XPOS", lambda w, *_: w.xpos, everything),
        ("UFeats", lambda w, *_: w.feats, everything),
        ("AllTags", lambda w, *_: (w.upos, w.xpos, w.feats), everything),
        ("Lemmas", lambda w, *_: w.lemma, everything),
        ("UAS", lambda w, home, _: home(w.parent), everything),
        ("LAS", lambda w, home, _: (home(w.parent), w.relation), everything),
        ("CLAS", lambda w, home, _: (home(w.parent), w.relation), content),
        (
            "MLAS",
            lambda w, home, g: (home(w.parent), w.relation, w.upos, w.feats, functional(w, home, g)),
            content,
        ),
        ("BLEX", lambda w, home, _: (home(w.parent), w.relation, w.lemma), content),
    ]


def _agreeing(
    gold: list[ScoredWord],
    system: list[ScoredWord],
    pairs: list[tuple[int, int]],
    key: Key,
    chosen: Callable[[ScoredWord], bool],
) -> ConllScore:
    """Compare a key of aligned words; a gold lemma ``_`` agrees with any."""
    gold_of = {b: a for a, b in pairs}

    def home_of_gold(k: int) -> Any:
        return k

    def home_of_system(k: int) -> Any:
        return -1 if k < 0 else gold_of.get(k, "not aligned")

    correct = aligned = 0
    for a, b in pairs:
        if not chosen(gold[a]):
            continue
        aligned += 1
        lemma = system[b].lemma
        if gold[a].lemma == "_":
            system[b].lemma = "_"
        correct += key(gold[a], home_of_gold, True) == key(system[b], home_of_system, False)
        system[b].lemma = lemma
    return ConllScore.of_counts(sum(map(chosen, gold)), sum(map(chosen, system)), correct, aligned)


def _spans(gold: Sequence[tuple[int, int]], system: Sequence[tuple[int, int]]) -> ConllScore:
    return ConllScore.of_counts(len(gold), len(system), len(set(gold) & set(system)))


def _side(analysis: Analysis) -> _Side:
    """Return the characters that are not blank, and all units by their spans in them."""
    forms = analysis.tokens.forms()
    cells = {name: analysis.cells(name) for name in ("form", "upos", "xpos", "feats", "lemma", "deprel")}
    bare = ["".join(c for c in form if unicodedata.category(c) != "Zs" and not c.isspace()) for form in forms]
    tokens, at = [], 0
    for form in bare:
        tokens.append((at, at + len(form)))
        at += len(form)
    sentences = [(tokens[a][0], tokens[b - 1][1]) for a, b in analysis.tokens.sentences() if b > a]
    words: list[ScoredWord] = []
    word_ptr, ptr = analysis.word_ptr.tolist(), analysis.sentence_ptr.tolist()
    for (begin, end), first, last in zip(tokens, word_ptr, word_ptr[1:], strict=False):
        for k in range(first, last):
            relation = cells["deprel"][k].partition(":")[0]
            feats = "|".join(
                sorted(f for f in cells["feats"][k].split("|") if f.partition("=")[0] in FEATURES)
            )
            words.append(ScoredWord(
                begin, end, cells["form"][k].lower(), last - first > 1, cells["upos"][k], cells["xpos"][k], feats,
                cells["lemma"][k], relation, -1, [],
            ))  # fmt: skip
    if analysis.heads is not None:
        heads = analysis.heads.tolist()
        for first, last in itertools.pairwise(ptr):
            for k in range(first, last):
                if 0 < heads[k] <= last - first:
                    words[k].parent = first + heads[k] - 1
                    if words[k].relation in FUNCTIONAL:
                        words[words[k].parent].functional.append(k)
    return _Side("".join(bare), tokens, sentences, words)


def _align(gold: list[ScoredWord], system: list[ScoredWord]) -> list[tuple[int, int]]:
    """Pair the words of both sides."""
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(gold) and j < len(system):
        a, b = gold[i], system[j]
        apart = a.end <= b.begin or b.end <= a.begin
        if (a.is_multiword or b.is_multiword) and not apart:
            last_i, last_j = _shared_span(gold, system, i, j)
            pairs += _common_subsequence(gold, system, range(i, last_i), range(j, last_j))
            i, j = last_i, last_j
        elif (a.begin, a.end) == (b.begin, b.end):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif a.begin <= b.begin:
            i += 1
        else:
            j += 1
    return pairs


def _shared_span(gold: list[ScoredWord], system: list[ScoredWord], i: int, j: int) -> tuple[int, int]:
    """Return the words after a run that covers whole multiword tokens of both sides."""
    end = max(word.end for word in (gold[i], system[j]) if word.is_multiword)
    while True:
        moved = False
        while i < len(gold) and gold[i].begin < end:
            if gold[i].is_multiword and gold[i].end > end:
                end, moved = gold[i].end, True
            i += 1
        while j < len(system) and system[j].begin < end:
            if system[j].is_multiword and system[j].end > end:
                end, moved = system[j].end, True
            j += 1
        if not moved:
            return i, j


def _common_subsequence(
    gold: list[ScoredWord], system: list[ScoredWord], rows: range, columns: range
) -> list[tuple[int, int]]:
    """Pair words by the longest common subsequence of their forms."""
    lengths = [[0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for i in reversed(range(len(rows))):
        for j in reversed(range(len(columns))):
            same = gold[rows[i]].form == system[columns[j]].form
            lengths[i][j] = 1 + lengths[i + 1][j + 1] if same else max(lengths[i + 1][j], lengths[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(rows) and j < len(columns):
        if gold[rows[i]].form == system[columns[j]].form:
            pairs.append((rows[i], columns[j]))
            i, j = i + 1, j + 1
        elif lengths[i][j] == lengths[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
