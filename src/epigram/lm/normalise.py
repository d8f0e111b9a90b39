"""Text normalisation of Nelakanti et al. 2013: numbers, names, case, rare words (section 6).

In this order, each part a setting:

1. Punctuation is split off words (``split``). Apostrophes, hyphens and points inside a word or number stay.
2. Numbers become ``#n``: tokens of digits with ``. , : / -`` between them, a sign or a currency sign before, % after.
3. Proper nouns become ``<name>`` (``names``). A proper noun is a capitalised word of two letters or more that occurs
   so inside a sentence and never in lower case ("I'm" is none). The first word of a line, and one after
   ``. ! ?``, is not inside.
4. All is put in lower case (``lower``).
5. Words seen fewer than ``min_count`` times become ``<unk>``.

What counts as a proper noun or as rare is decided by the training text (:meth:`Preparation.learn`); other text is
prepared by the same decisions, which can be kept in a file. There, a capitalised word inside a sentence that the
training text has not in any form is a proper noun.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any

from epigram.errors import InputError
from epigram.files import parse_json, read_text, write_atomically
from epigram.lm.corpus import Sentences
from epigram.lm.vocabulary import UNKNOWN, tokens_of

NUMBER = "#n"
NAME = "<name>"
SYMBOLS = (NUMBER, NAME, UNKNOWN)

_NUMBER = re.compile(r"[-+]?[$£€¥]?\d+(?:[.,:/-]\d+)*%?")
_PIECE = re.compile(
    "|".join(map(re.escape, SYMBOLS))
    + r"|[-+]?[$£€¥]?\d+(?:[.,:/-]\d+)*%?(?![\w-])"  # a number
    + r"|(?:[^\W\d_]\.){2,}"  # U.S.
    + r"|\w+(?:['’.-]\w+)*"  # a word
    + r"|\.{2,}|--+|``|''"  # marks of several characters
    + r"|[^\w\s]"
)
_ENDS = frozenset(".!?")

Progress = Callable[[int], object]
"""Called with the number of sentences read so far."""


@dataclass
class Replaced:
    """Size of a text, and the number of tokens replaced by each symbol."""

    sentences: int = 0
    tokens: int = 0
    numbers: int = 0
    names: int = 0
    rare: int = 0


@dataclass(frozen=True)
class Preparation:
    """Settings, and the decisions that a training text made under them.

    ``counts`` are those of all words after steps 1 to 4; ``proper_nouns`` are as written.

    Examples
    --------
    >>> text = ["In May Ann paid 20 .", "Ann and Bob paid 3.50 in May", "and so on ."]
    >>> how = Preparation.learn(text, names=True)
    >>> [" ".join(words) for words in how.apply(text)]
    ['in <name> <name> paid #n .', '<name> and <name> paid #n in <name>', 'and <unk> <unk> .']
    >>> [" ".join(words) for words in how.apply(["Bob and Eve paid 7"])]
    ['<name> and <name> paid #n']
    """

    lower: bool = True
    numbers: bool = True
    names: bool = False
    split: bool = False
    min_count: int = 2
    counts: dict[str, int] = field(default_factory=dict, repr=False)
    proper_nouns: frozenset[str] = field(default_factory=frozenset, repr=False)

    @classmethod
    def learn(
        cls,
        sentences: Sentences,
        *,
        lower: bool = True,
        numbers: bool = True,
        names: bool = False,
        split: bool = False,
        min_count: int = 2,
        progress: Progress | None = None,
    ) -> Preparation:
        """Decide by a training text, which is read once."""
        if min_count < 1:
            raise InputError(f"min_count must be at least 1, not {min_count}; 1 keeps every word.")
        how = cls(lower, numbers, names, split, min_count)
        seen: Counter[tuple[str, bool]] = Counter()
        for number, sentence in enumerate(sentences, 1):
            seen.update(how._tokens(sentence))
            if progress is not None:
                progress(number)
        proper = frozenset(_proper_nouns(seen)) if names else frozenset()
        counts: Counter[str] = Counter()
        for (word, _), count in seen.items():
            if word not in proper and word not in SYMBOLS and not how._is_number(word):
                counts[word.lower() if lower else word] += count
        return replace(how, counts=dict(counts), proper_nouns=proper)

    def apply(self, sentences: Sentences, replaced: Replaced | None = None) -> Iterator[list[str]]:
        """The words of each sentence, prepared; ``replaced`` is counted up on the way."""
        record = Replaced() if replaced is None else replaced
        for sentence in sentences:
            words = [self._word(word, inside, record) for word, inside in self._tokens(sentence)]
            if words:
                record.sentences += 1
                record.tokens += len(words)
                yield words

    @property
    def n_words(self) -> int:
        """Words that are kept, without the symbols."""
        return sum(count >= self.min_count for count in self.counts.values())

    def write(self, path: str | PathLike[str]) -> None:
        """Settings and decisions as JSON, words by falling count."""
        record = asdict(self)
        record["counts"] = dict(sorted(self.counts.items(), key=lambda item: (-item[1], item[0])))
        record["proper_nouns"] = sorted(self.proper_nouns)
        text = json.dumps({"epigram": "preparation", **record}, ensure_ascii=False, indent=0)
        write_atomically(path, text.encode() + b"\n")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Preparation:
        """Read a file of :meth:`write`."""
        wrong = InputError("not a file of `epigram lm prepare --save`", path=path)
        try:
            record: dict[str, Any] = parse_json(read_text(path), path)
            if record.pop("epigram") != "preparation":
                raise wrong
            how = cls(**{**record, "proper_nouns": frozenset(record["proper_nouns"])})
            if not all(type(count) is int for count in (how.min_count, *how.counts.values())):
                raise wrong
            return how
        except (ValueError, KeyError, TypeError, AttributeError):
            raise wrong from None

    def _tokens(self, sentence: str | Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Tokens as written, and whether each stands inside a sentence."""
        text = sentence if isinstance(sentence, str) else " ".join(sentence)
        inside = False
        for token in _PIECE.findall(text) if self.split else tokens_of(text):
            yield token, inside
            if token in _ENDS:
                inside = False
            elif any(map(str.isalnum, token)):  # an opening quote does not begin a sentence
                inside = True

    def _word(self, token: str, inside: bool, record: Replaced) -> str:
        if token in SYMBOLS:
            return token
        if self._is_number(token):
            record.numbers += 1
            return NUMBER
        word = token.lower() if self.lower else token
        if self.names and (token in self.proper_nouns or (inside and self._is_new_name(token))):
            record.names += 1
            return NAME
        if self.counts.get(word, 0) < self.min_count:
            record.rare += 1
            return UNKNOWN
        return word

    def _is_number(self, token: str) -> bool:
        return self.numbers and _NUMBER.fullmatch(token) is not None

    def _is_new_name(self, token: str) -> bool:
        return _is_capitalised(token) and token not in self.counts and token.lower() not in self.counts


def _proper_nouns(seen: Counter[tuple[str, bool]]) -> Iterator[str]:
    """Capitalised inside a sentence at least once, nowhere in lower case."""
    words = {word for word, _ in seen}
    for word, inside in seen:
        if inside and _is_capitalised(word) and word.lower() not in words:
            yield word


def _is_capitalised(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and not word.startswith(("I'", "I’"))
