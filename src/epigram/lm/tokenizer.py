"""Text in pieces other than words: characters, or those of a sentencepiece or tokenizers model.

A text in pieces is a text like any other, pieces between blanks, so every command takes it. The blanks of the text
itself are ``▁``, as sentencepiece writes them, so nothing is lost: :func:`joined` gives the text back.

A model that was trained on pieces (:func:`in_pieces`) knows how its text was cut, also in its file, and cuts the
strings and files that it is given; tokens are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.files import read_lines
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import END, START, UNSEEN, Corpus, Vocabulary, tokens_of
from epigram.protocols import Floats

BLANK = "▁"
Cut = Callable[[str], Sequence[str]]


def characters(line: str) -> list[str]:
    """The characters of a line; a run of blanks is one ``▁``.

    Examples
    --------
    >>> " ".join(characters("a  rose"))
    'a ▁ r o s e'
    """
    return list(BLANK.join(tokens_of(line)))


def joined(pieces: Sequence[str]) -> str:
    """The text that pieces were cut from.

    Examples
    --------
    >>> joined(characters("a rose")), joined(["▁a", "▁ro", "se"])
    ('a rose', 'a rose')
    """
    return "".join(pieces).replace(BLANK, " ").strip()


@dataclass(frozen=True)
class Pieces:
    """A way to cut text: ``chars``, or a model of ``sentencepiece`` or ``tokenizers``, of which it holds the file.

    Examples
    --------
    >>> Pieces("chars").cut("<s> a rose")
    ['<s>', 'a', '▁', 'r', 'o', 's', 'e']
    """

    kind: str
    content: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, name: str | PathLike[str]) -> Pieces | None:
        """``chars``, or by a file of sentencepiece (*.model) or tokenizers (*.json); None for ``words``."""
        if name in ("words", "chars"):
            return None if name == "words" else cls("chars")
        path = Path(fspath(name))
        if not path.is_file() or path.suffix not in (".model", ".json"):
            raise InputError(
                f"{fspath(name)!r} is neither words, chars nor a file *.model (sentencepiece) or *.json (tokenizers)."
            )
        pieces = cls("sentencepiece" if path.suffix == ".model" else "tokenizers", path.read_bytes())
        try:
            _ = pieces._cut
        except InputError as wrong:
            raise InputError(str(wrong), path=path) from None
        return pieces

    def to_bytes(self) -> bytes:
        """As it stands in a model file."""
        return self.kind.encode() + b"\n" + self.content

    @classmethod
    def from_bytes(cls, stored: bytes) -> Pieces:
        """What :meth:`to_bytes` gave; the other package is asked when text is cut."""
        kind, _, content = stored.partition(b"\n")
        if kind not in (b"chars", b"sentencepiece", b"tokenizers"):
            raise ModelFileError(f"unknown kind of pieces {kind[:20]!r}; upgrade epigram to read it")
        return cls(kind.decode(), content)

    def __reduce__(self) -> tuple[type[Pieces], tuple[str, bytes]]:
        return Pieces, (self.kind, self.content)  # without what the other package made of it

    def cut(self, line: str) -> list[str]:
        """The pieces of a line; ``<s>`` before and ``</s>`` after it stay."""
        tokens = tokens_of(line)
        first = [START] if tokens[:1] == [START] else []
        last = [END] if tokens[len(first) :][-1:] == [END] else []
        inside = " ".join(tokens[len(first) : len(tokens) - len(last)]) if first or last else line
        return [*first, *self._cut(inside), *last]

    def joined(self, pieces: Sequence[str]) -> str:
        """The text that pieces were cut from."""
        return joined(pieces)

    @cached_property
    def _cut(self) -> Cut:
        if self.kind == "chars":
            return characters
        try:
            return _sentencepiece(self.content) if self.kind == "sentencepiece" else _tokenizers(self.content)
        except ImportError as missing:
            raise InputError(f"needs the package {missing.name}; pip install it") from None
        except Exception as wrong:  # what the two packages raise for a bad file has no class of its own
            raise InputError(f"cannot be read: {wrong}") from None


def in_pieces(
    path: str | PathLike[str],
    pieces: Pieces,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    max_words: int | None = None,
) -> Corpus:
    """The training text of a file, cut; models fitted on it cut what they are given in the same way."""
    lines = map(pieces.cut, read_lines(path, sentences=True))
    corpus = Corpus.of(lines, vocabulary, min_count=min_count, max_words=max_words, training=True)
    return replace(corpus, vocabulary=Vocabulary(corpus.vocabulary.words, pieces))


def read_as(vocabulary: Vocabulary, path: str | PathLike[str]) -> Corpus:
    """The text of a file in words of its own, cut as a model with this vocabulary cuts."""
    if vocabulary.pieces is None:
        return Corpus.read(path)
    return Corpus.of(map(vocabulary.tokens, read_lines(path, sentences=True)))


@dataclass(frozen=True)
class Words:
    """A model that is asked about words, as rerankers ask it: a model of pieces joins and cuts them."""

    model: LanguageModel

    def word_scores(self, words: Sequence[str], /) -> Floats:
        """Natural log-probability of each word or piece and of the end; NaN for those that it does not know."""
        vocabulary = self.model.vocabulary_
        tokens = words if vocabulary.pieces is None else vocabulary.tokens(" ".join(words))
        unknown = np.append(vocabulary.ids(tokens) == UNSEEN, False)
        return np.where(unknown, np.nan, self.model.word_scores(tokens))


def cutter(name: str | PathLike[str]) -> Cut:
    """What cuts a line: ``words`` at blanks, ``chars``, a model of sentencepiece (*.model) or tokenizers (*.json)."""
    pieces = Pieces.of(name)
    return tokens_of if pieces is None else pieces.cut


def _sentencepiece(content: bytes) -> Cut:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_proto=content)
    return lambda line: model.encode(line, out_type=str)


def _tokenizers(content: bytes) -> Cut:
    from tokenizers import Tokenizer

    model = Tokenizer.from_str(content.decode())
    return lambda line: model.encode(line, add_special_tokens=False).tokens
