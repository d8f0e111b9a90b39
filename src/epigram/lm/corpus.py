"""Tokenised text: words and their ids, and where each sentence starts. One sentence a line, ASCII blanks, gzip too.

Id 0 is the sentence boundary: as a target it is ``</s>``, as a context ``<s>``. One id serves both because
``<s>`` is never predicted and nothing ever follows ``</s>``; so targets and context words are the same
range ``0 .. len(vocabulary) - 1``. ``<unk>`` is an ordinary word. Other words follow by falling count
(ties by first occurrence), so that frequent words lie together in memory. A word outside the vocabulary
has the id -1 (:data:`UNSEEN`), also where the vocabulary has ``<unk>``: so a text tells its unknown words from those
that it calls ``<unk>`` itself. Models that have ``<unk>`` score the ones as the other (:mod:`epigram.lm.base`).

A blank line is no sentence; models that look beyond the sentence take it as the start of another document. Each
sentence starts fresh: ``<s>`` is its first context, ``</s>`` its last target. Perplexities count every word of the
vocabulary and one ``</s>`` a sentence.
In training text, words that a limit (minimum count, size, given list) leaves out are read as ``<unk>``.

A sentence may be wrapped in its own ``<s>`` and ``</s>``; inside a sentence these two are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError, each
from epigram.files import check_sentences, check_text, decode, read_bytes, read_lines, refuse_file_names
from epigram.protocols import Ints, Offsets
from epigram.storage.file import pack_strings, unpack_strings
from epigram.storage.quantise import narrow
from epigram.storage.schema import Array, Schema, damaged, strings

if TYPE_CHECKING:
    from epigram.lm.tokenizer import Pieces

END = "</s>"
START = "<s>"
UNKNOWN = "<unk>"
BOUNDARY = 0
UNSEEN = -1

Sentences: TypeAlias = Iterable[str | Sequence[str]]
"""Sentences as strings (split at blanks) or as sequences of tokens."""

_TOKEN = re.compile("[^ \t\n\v\f\r\0]+")
_BLANKS = b" \t\v\f\r\0"
_BLANK_LINE = re.compile(rb"\n[ \t\v\f\r\0]*\n")
Factorised: TypeAlias = tuple[list[str], Ints, Offsets]
_WORDS = strings("words", "words") | {"words.pieces": Array(np.uint8, ("words.pieces",), optional=True)}
_TEXT = {"text": Array(np.int64, ("text",), below="ids", optional=True)}
"""The arrays of :func:`pack_words` and :func:`pack_text`; ``ids`` is one more than there are words."""


class Vocabulary:
    """The list of words a model can predict; ``words[0]`` is ``</s>``.

    Examples
    --------
    >>> vocabulary = Vocabulary(["a", "rose", "is"])
    >>> len(vocabulary), vocabulary.id("rose"), vocabulary.id("tulip"), vocabulary.words[0]
    (4, 2, -1, '</s>')
    >>> "tulip" in vocabulary, vocabulary.ids(["a", "tulip"]).tolist()
    (False, [1, -1])

    ``pieces`` says how strings are cut into tokens, where that is not at blanks (:mod:`epigram.lm.tokenizer`).
    """

    def __init__(self, words: Iterable[str], pieces: Pieces | None = None) -> None:
        kept = dict.fromkeys(words)
        for reserved in (START, END):
            kept.pop(reserved, None)
        check_text(kept)
        self.words: list[str] = [END, *kept]
        self._ids = dict(zip(self.words, range(len(self.words)), strict=True))
        self._ids[START] = BOUNDARY
        self.pieces = pieces
        self._opened: Vocabulary | None = None

    @classmethod
    def from_counts(
        cls, words: Sequence[str], counts: Offsets, min_count: int = 1, size: int | None = None
    ) -> Vocabulary:
        """Words seen at least ``min_count`` times, at most ``size`` of them (the most frequent).

        Where a limit drops a word, ``<unk>`` joins the vocabulary to stand for it in the training text; it
        is not counted in ``size``.
        """
        if min_count < 1:
            raise InputError(f"min_count must be at least 1, not {min_count}.")
        if size is not None and size < 1:
            raise InputError(f"the vocabulary needs room for at least 1 word, not {size}.")
        kept = np.argsort(-counts, kind="stable")
        kept = kept[counts[kept] >= min_count][:size]
        chosen = [words[k] for k in kept.tolist()]
        if len(chosen) < len(words):
            chosen.append(UNKNOWN)
        return cls(chosen)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Vocabulary:
        """One word a line; what follows the first blank on a line (a count, say) is ignored."""
        fields = (line.split(maxsplit=1) for line in read_lines(path))
        vocabulary = cls(parts[0] for parts in fields if parts)
        if len(vocabulary) == 1:
            raise InputError("an empty vocabulary; expected one word a line", path=path)
        return vocabulary

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids and word != START

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self.words, self.pieces) == (other.words, other.pieces)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def opened(self) -> Vocabulary:
        """This vocabulary with ``<unk>`` as its last word; itself where it has ``<unk>``."""
        if UNKNOWN in self:
            return self
        if self._opened is None:
            self._opened = Vocabulary([*self.words, UNKNOWN], self.pieces)
        return self._opened

    def id(self, word: str) -> int:
        """Id of a word, -1 outside the vocabulary; ``<s>`` and ``</s>`` are both 0."""
        return self._ids.get(word, UNSEEN)

    def ids(self, words: Iterable[str]) -> Ints:
        """Ids of many words."""
        return np.fromiter(map(self._ids.get, words, repeat(UNSEEN)), dtype=np.int32)

    def tokens(self, text: str | Sequence[str]) -> Sequence[str]:
        """A string cut as the training text was; anything else is taken as tokens."""
        return self.pieces.cut(text) if self.pieces is not None and isinstance(text, str) else tokens_of(text)

    def joined(self, tokens: Sequence[str]) -> str:
        """Tokens as a text, as :meth:`tokens` would cut it."""
        return " ".join(tokens) if self.pieces is None else self.pieces.joined(tokens)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Ids of the tokens (without boundaries) and the offsets of the sentences.

    ``ids`` int32 of n_tokens, -1 outside the vocabulary; ``sentence_ptr`` int64 of n_sentences + 1; ``document_ptr``
    the first sentence of each document, None where no blank lines part any.

    Examples
    --------
    >>> corpus = Corpus.of(["a rose is", ["a", "rose"]])
    >>> corpus.n_sentences, corpus.n_tokens, corpus.vocabulary.words
    (2, 5, ['</s>', 'a', 'rose', 'is'])
    >>> corpus.stream().tolist()
    [0, 1, 2, 3, 0, 1, 2, 0]
    >>> Corpus.of(["a tulip is"], corpus.vocabulary).ids.tolist()
    [1, -1, 3]
    """

    ids: Ints = field(repr=False)
    sentence_ptr: Offsets = field(repr=False)
    vocabulary: Vocabulary
    document_ptr: Offsets | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        sentences: Sentences | PathLike[str],
        vocabulary: Vocabulary | None = None,
        *,
        min_count: int = 1,
        max_words: int | None = None,
        training: bool = False,
    ) -> Corpus:
        """From strings or token sequences (a path is read).

        Without ``vocabulary`` one is made from the text, within ``min_count`` and ``max_words``, and words
        left out become ``<unk>``. With one, words outside it are -1; with ``training`` as well they are
        read as ``<unk>``, which joins the vocabulary if need be.
        """
        if isinstance(sentences, PathLike):
            return cls.read(
                sentences, vocabulary, min_count=min_count, max_words=max_words, training=training
            )
        if isinstance(sentences, str | bytes):
            return _build(_from_python(sentences), vocabulary, min_count, max_words, training, None)
        refuse_file_names(sentences)
        has_words: list[bool] = []
        cut = tokens_of if vocabulary is None else vocabulary.tokens

        def noted() -> Iterator[Sequence[str]]:
            for k, sentence in enumerate(each(sentences, "sentences", "sentences")):
                tokens = cut(sentence)
                try:
                    has_words.append(len(tokens) > 0)
                except TypeError:
                    raise InputError(
                        f"sentence {k} must be a text or a list of words, not {sentence!r}"
                    ) from None
                yield tokens

        corpus = _build(_from_python(noted()), vocabulary, min_count, max_words, training, None)
        return corpus._with_documents(has_words)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        vocabulary: Vocabulary | None = None,
        *,
        min_count: int = 1,
        max_words: int | None = None,
        training: bool = False,
    ) -> Corpus:
        """From a file, one sentence a line (gzip by its magic bytes, ``-`` for standard input)."""
        raw = _read(path)
        if vocabulary is not None and vocabulary.pieces is not None:
            lines = raw.decode().split("\n")
            return cls.of(lines, vocabulary, min_count=min_count, max_words=max_words, training=training)
        corpus = _build(factorise_bytes(raw), vocabulary, min_count, max_words, training, path)
        if _BLANK_LINE.search(raw) is None:
            return corpus
        return corpus._with_documents([bool(line.strip(_BLANKS)) for line in raw.split(b"\n")])

    def _with_documents(self, has_words: Sequence[bool]) -> Corpus:
        """Documents as runs of lines that have words; none where a line held but ``<s>`` and ``</s>``."""
        full = np.array(has_words, dtype=bool)
        begins = full & ~np.concatenate(([False], full[:-1]))
        if begins.sum() < 2 or full.sum() != self.n_sentences:
            return self
        return replace(self, document_ptr=(np.cumsum(full) - 1)[begins].astype(np.int64))

    @classmethod
    def for_training(
        cls,
        text: Sentences | PathLike[str] | Corpus,
        vocabulary: Vocabulary | None,
        min_count: int,
        max_words: int | None,
    ) -> Corpus:
        """The text of an estimator's ``fit``; a corpus is taken as it is."""
        if isinstance(text, Corpus):
            corpus = text
        else:
            corpus = cls.of(text, vocabulary, min_count=min_count, max_words=max_words, training=True)
        if corpus.n_tokens == 0:
            raise InputError("no words to train on.")
        return corpus

    @classmethod
    def known(cls, text: Sentences | PathLike[str] | Corpus, vocabulary: Vocabulary) -> Corpus:
        """A text in the ids of a model's vocabulary; those of a corpus are translated.

        Examples
        --------
        >>> Corpus.known(Corpus.of(["a b"]), Vocabulary(["b"])).ids.tolist()
        [-1, 1]
        """
        corpus = text if isinstance(text, Corpus) else cls.of(text, vocabulary)
        return corpus if corpus.vocabulary is vocabulary else corpus.with_vocabulary(vocabulary)

    @classmethod
    def more(cls, text: Sentences | PathLike[str] | Corpus, vocabulary: Vocabulary) -> Corpus:
        """A text to go on training with: new words join the vocabulary, or are ``<unk>`` where it has that.

        Examples
        --------
        >>> corpus = Corpus.more(["a tulip"], Vocabulary(["a", "rose"]))
        >>> corpus.ids.tolist(), corpus.vocabulary.words
        ([1, 3], ['</s>', 'a', 'rose', 'tulip'])
        >>> Corpus.more(["a tulip"], Vocabulary(["a", "<unk>"])).ids.tolist()
        [1, 2]
        """
        if isinstance(text, Corpus):
            words, ids, ptr = text.vocabulary.words, text.ids, text.sentence_ptr
        else:
            path = text if isinstance(text, PathLike) else None
            if vocabulary.pieces is not None and not isinstance(text, str | bytes):
                lines = _read(text).decode().split("\n") if isinstance(text, PathLike) else text
                text = map(vocabulary.tokens, lines)
            words, ids, ptr = (
                _from_python(text) if not isinstance(text, PathLike) else factorise_bytes(_read(text))
            )
            if START in words or END in words:
                words, ids, ptr = unwrap(words, ids, ptr, path)
        occurs = np.bincount(ids[ids >= 0], minlength=len(words)) > 0
        if UNKNOWN not in vocabulary:
            new = [w for w, seen in zip(words, occurs, strict=True) if seen and w not in vocabulary]
            vocabulary = Vocabulary([*vocabulary.words, *new], vocabulary.pieces) if new else vocabulary
        table = np.append(vocabulary.ids(words), np.int32(UNSEEN))
        if UNKNOWN in vocabulary:
            table[table == UNSEEN] = vocabulary.id(UNKNOWN)
        return cls(table[ids], ptr, vocabulary)

    @classmethod
    def of_stream(cls, stream: Ints, vocabulary: Vocabulary) -> Corpus:
        """From what :meth:`stream` gives."""
        inside = stream != BOUNDARY
        edges = np.flatnonzero(~inside)
        return cls(stream[inside], (edges - np.arange(edges.size)).astype(np.int64), vocabulary)

    @property
    def n_tokens(self) -> int:
        """Words, ends of sentences not counted."""
        return self.ids.size

    @property
    def n_sentences(self) -> int:
        """Non-blank lines."""
        return self.sentence_ptr.size - 1

    @property
    def n_positions(self) -> int:
        """Words and ends of sentences."""
        return self.n_tokens + self.n_sentences

    @property
    def n_unseen(self) -> int:
        """Tokens outside the vocabulary (OOV)."""
        return int(np.count_nonzero(self.ids == UNSEEN))

    def stream(self) -> Ints:
        """All sentences end to end with the boundary 0 before the first, between, and after the last.

        Every position but the first is a target; the context of position i goes back to the nearest 0
        (inclusive, as ``<s>``) or -1 (exclusive).
        """
        out = np.full(self.n_tokens + self.n_sentences + 1, BOUNDARY, dtype=np.int32)
        sentence = np.repeat(np.arange(self.n_sentences), np.diff(self.sentence_ptr))
        out[np.arange(self.n_tokens) + sentence + 1] = self.ids
        return out

    @property
    def digest(self) -> int:
        """:func:`digest_of_counts` of its words."""
        stream = self.stream()[1:]
        return digest_of_counts(np.bincount(stream[stream != UNSEEN]))

    def take(self, first: int, last: int) -> Corpus:
        """The sentences ``first .. last - 1``, with the same vocabulary."""
        ptr, documents = self.sentence_ptr[first : last + 1], self.document_ptr
        if documents is not None:
            documents = np.append(0, documents[(documents > first) & (documents < last)] - first)
        return Corpus(self.ids[ptr[0] : ptr[-1]], ptr - ptr[0], self.vocabulary, documents)

    def followed_by(self, more: Corpus) -> Corpus:
        """This text and then another, whose vocabulary begins with this one's (:meth:`more`)."""
        ptr = np.concatenate((self.sentence_ptr, self.n_tokens + more.sentence_ptr[1:]))
        return Corpus(np.concatenate((self.ids, more.ids)), ptr, more.vocabulary)

    def split(self, held_out: float = 0.1) -> tuple[Corpus, Corpus]:
        """The text without its last part, and that part (a share of the sentences, at least one)."""
        if not 0 < held_out < 1 or self.n_sentences < 2:
            raise InputError(
                f"cannot hold out {held_out:g} of {self.n_sentences} sentences; need 2 sentences or more."
            )
        cut = min(max(round(self.n_sentences * (1 - held_out)), 1), self.n_sentences - 1)
        return self.take(0, cut), self.take(cut, self.n_sentences)

    def with_vocabulary(self, vocabulary: Vocabulary) -> Corpus:
        """The same text in the ids of another vocabulary; words it lacks become -1."""
        table = np.append(vocabulary.ids(self.vocabulary), np.int32(UNSEEN))
        return Corpus(table[self.ids], self.sentence_ptr, vocabulary, self.document_ptr)

    def sentences(self) -> Iterable[list[str]]:
        """Back to words; -1 is written ``<unk>``."""
        words = [*self.vocabulary.words, UNKNOWN]
        for start, end in zip(self.sentence_ptr[:-1].tolist(), self.sentence_ptr[1:].tolist(), strict=True):
            yield [words[k] for k in self.ids[start:end].tolist()]


def digest_of_counts(counts: npt.NDArray[np.integer[Any]]) -> int:
    """CRC-32 of how often each id occurs: tells whether a text is that of a model, not what it says."""
    return crc32(np.trim_zeros(counts.astype(np.int64), "b").tobytes())


def tokens_of(sentence: str | Sequence[str]) -> Sequence[str]:
    """A string split at ASCII blanks, as files are; anything else is taken as tokens."""
    return _TOKEN.findall(sentence) if isinstance(sentence, str) else sentence


def factorise_bytes(raw: bytes) -> Factorised:
    """Distinct tokens by first occurrence, the number of each token, sentence offsets."""
    content, counts = np.frombuffer(raw, dtype=np.uint8), np.empty(2, dtype=np.int64)
    bindings.text_count_tokens(content, counts)
    n_tokens, n_lines = counts.tolist()
    ids = np.empty(n_tokens, dtype=np.int32)
    ptr = np.zeros(n_lines + 1, dtype=np.int64)
    starts = np.empty(n_tokens, dtype=np.int64)
    lengths = np.empty(n_tokens, dtype=np.int32)
    n_words = bindings.text_factorise(content, ids, ptr, starts, lengths)
    if n_words < 0:
        raise MemoryError("no memory for the words of the text")
    spans = zip(starts[:n_words].tolist(), lengths[:n_words].tolist(), strict=True)
    return [raw[start : start + length].decode() for start, length in spans], ids, ptr


def _read(path: str | PathLike[str]) -> bytes:
    raw = read_bytes(path)
    check_sentences(raw, path)
    decode(raw, path)
    return raw.removeprefix(b"\xef\xbb\xbf")


def _from_python(sentences: Sentences) -> Factorised:
    refuse_file_names(sentences)
    if isinstance(sentences, str | bytes):
        raise InputError(
            "sentences must be an iterable of sentences, not one string; put it in a list, "
            "or pass a pathlib.Path to read a file."
        )
    table: dict[str, int] = {}
    ids: list[int] = []
    ptr = [0]
    for sentence in sentences:
        ids.extend([table.setdefault(token, len(table)) for token in tokens_of(sentence)])
        if len(ids) > ptr[-1]:
            ptr.append(len(ids))
    for token in table:
        if not isinstance(token, str):
            raise InputError(f"tokens must be strings; found {token!r} of type {type(token).__name__}.")
    return list(table), np.array(ids, dtype=np.int32), np.array(ptr, dtype=np.int64)


def _build(
    factorised: Factorised,
    vocabulary: Vocabulary | None,
    min_count: int,
    max_words: int | None,
    training: bool,
    path: str | PathLike[str] | None,
) -> Corpus:
    words, ids, ptr = factorised
    if START in words or END in words:
        words, ids, ptr = unwrap(words, ids, ptr, path)
    if vocabulary is None:
        if not words:
            raise InputError("no words; expected one sentence a line, tokens between blanks", path=path)
        counts = np.bincount(ids, minlength=len(words)).astype(np.int64)
        seen = [k for k in range(len(words)) if counts[k]]
        vocabulary = Vocabulary.from_counts([words[k] for k in seen], counts[seen], min_count, max_words)
        training = True
    table = vocabulary.ids(words)
    if training and (table == UNSEEN).any():
        vocabulary = vocabulary.opened()
        table[table == UNSEEN] = vocabulary.id(UNKNOWN)
    return Corpus(table[ids] if ids.size else ids, ptr, vocabulary)


def unwrap(words: list[str], ids: Ints, ptr: Offsets, path: str | PathLike[str] | None) -> Factorised:
    """Drop ``<s>`` at the start and ``</s>`` at the end of sentences; refuse them elsewhere."""
    start = words.index(START) if START in words else UNSEEN
    end = words.index(END) if END in words else UNSEEN
    drop = np.zeros(ids.size, dtype=bool)
    drop[ptr[:-1]] |= ids[ptr[:-1]] == start
    drop[ptr[1:] - 1] |= ids[ptr[1:] - 1] == end
    wrong = np.flatnonzero(~drop & ((ids == start) | (ids == end)))
    if wrong.size:
        sentence = int(np.searchsorted(ptr, wrong[0], side="right"))
        where = f" ({fspath(path)})" if path is not None else ""
        raise InputError(
            f"{words[ids[wrong[0]]]!r} inside sentence {sentence}{where}; it marks boundaries and may stand "
            "only at the edges of a line."
        )
    kept = offsets(~drop)[ptr]
    return words, ids[~drop], np.unique(kept).astype(np.int64)


def pack_words(vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of a vocabulary in the order of their ids, and how text is cut where that is not at blanks."""
    content, lengths = pack_strings(vocabulary.words)
    packed = {"words.bytes": content, "words.lengths": lengths}
    if vocabulary.pieces is not None:
        packed["words.pieces"] = np.frombuffer(vocabulary.pieces.to_bytes(), dtype=np.uint8)
    return packed


def unpack_words(tensors: Mapping[str, Any]) -> Vocabulary:
    """What :func:`pack_words` made."""
    content = Schema({}, _WORDS).read_arrays(tensors)
    words = unpack_strings(content["words.bytes"], content["words.lengths"])
    pieces = None
    if "words.pieces" in content:
        from epigram.lm.tokenizer import Pieces

        pieces = Pieces.from_bytes(content["words.pieces"].tobytes())
    vocabulary = Vocabulary(words, pieces)
    if vocabulary.words != words:
        damaged("its vocabulary does not begin with </s>, or has a word twice")
    return vocabulary


def pack_text(corpus: Corpus) -> dict[str, Any]:
    """The ids of a text, boundaries included; one more than the id, as -1 is a word outside the vocabulary."""
    return {"text": narrow(corpus.stream() + 1)}


def unpack_text(tensors: Mapping[str, Any], vocabulary: Vocabulary) -> Corpus | None:
    """What :func:`pack_text` made; None in a file without text."""
    content = Schema({}, _TEXT).read_arrays(tensors, ids=len(vocabulary) + 1)
    if "text" not in content:
        return None
    stream = (content["text"] - 1).astype(np.int32)
    if stream.size == 0 or stream[0] != BOUNDARY or stream[-1] != BOUNDARY:
        damaged("its text does not begin and end with the boundary of a sentence")
    return Corpus.of_stream(stream, vocabulary)
