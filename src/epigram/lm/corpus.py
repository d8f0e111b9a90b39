"""Tokenised text: the ids of its words, and the offsets of its sentences.

One sentence a line, ASCII blanks, gzip too. A blank line is no sentence; models that look beyond the sentence take it
as the start of another document. Each sentence starts fresh: ``<s>`` is its first context, ``</s>`` its last target.
Perplexities count every word of the vocabulary and one ``</s>`` a sentence. In training text, words that a limit
(minimum count, size, given list) leaves out are read as ``<unk>``.

A sentence may be wrapped in its own ``<s>`` and ``</s>``; inside a sentence these two are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import gather, offsets
from epigram.errors import InputError, each
from epigram.files import check_sentences, decode, read_bytes, refuse_file_names
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import BOUNDARY, END, START, UNKNOWN, UNSEEN, Vocabulary, tokens_of
from epigram.protocols import Ints, Offsets

Sentences: TypeAlias = Iterable[str | Sequence[str]]
"""Sentences as strings (split at blanks) or as sequences of tokens."""

SENTENCES_IN_RUN = 50
_BLANKS = b" \t\v\f\r\0"
_BLANK_LINE = re.compile(rb"\n[ \t\v\f\r\0]*\n")


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
        tokenizer: Tokenizer | None = None,
    ) -> Corpus:
        """From strings or token sequences; a path is read (``-`` is standard input).

        Without ``vocabulary`` one is made from the text, within ``min_count`` and ``max_words``, and words
        left out become ``<unk>``. With one, words outside it are -1; with ``training`` as well they are
        read as ``<unk>``, which joins the vocabulary if need be. ``tokenizer`` cuts strings; else that of the
        vocabulary does.
        """
        if tokenizer is None and vocabulary is not None:
            tokenizer = vocabulary.tokenizer
        text = NumberedText.of(sentences, tokenizer)
        if vocabulary is None:
            if not text.words:
                raise InputError(
                    "no words; expected one sentence a line, tokens between blanks", path=text.path
                )
            counts = np.bincount(text.ids, minlength=len(text.words)).astype(np.int64)
            seen = np.flatnonzero(counts)
            words = [text.words[k] for k in seen.tolist()]
            vocabulary = Vocabulary.from_counts(words, counts[seen], min_count, max_words)
            training = True
        if tokenizer is not vocabulary.tokenizer:
            vocabulary = Vocabulary(vocabulary.words, tokenizer)
        table = vocabulary.ids(text.words)
        if training and (table == UNSEEN).any():
            vocabulary = vocabulary.opened()
            table[table == UNSEEN] = vocabulary.id(UNKNOWN)
        return text.corpus(table, vocabulary)

    @classmethod
    def read(cls, path: str | PathLike[str], vocabulary: Vocabulary | None = None, **settings: Any) -> Corpus:
        """The text of a file; arguments are those of :meth:`of`."""
        return cls.of(Path(path), vocabulary, **settings)

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
        """A text to go on training with: new words join the vocabulary, or are its ``<unk>``.

        Examples
        --------
        >>> corpus = Corpus.more(["a tulip"], Vocabulary(["a", "rose"]))
        >>> corpus.ids.tolist(), corpus.vocabulary.words
        ([1, 3], ['</s>', 'a', 'rose', 'tulip'])
        >>> Corpus.more(["a tulip"], Vocabulary(["a", "<unk>"])).ids.tolist()
        [1, 2]
        """
        if isinstance(text, Corpus):
            new = NumberedText(text.vocabulary.words, text.ids, text.sentence_ptr)
        else:
            new = NumberedText.of(text, vocabulary.tokenizer)
        if UNKNOWN not in vocabulary:
            occurs = np.bincount(new.ids[new.ids >= 0], minlength=len(new.words)) > 0
            added = [w for w, seen in zip(new.words, occurs, strict=True) if seen and w not in vocabulary]
            vocabulary = (
                Vocabulary([*vocabulary.words, *added], vocabulary.tokenizer) if added else vocabulary
            )
        table = np.append(vocabulary.ids(new.words), np.int32(UNSEEN))
        if UNKNOWN in vocabulary:
            table[table == UNSEEN] = vocabulary.id(UNKNOWN)
        return cls(table[new.ids], new.ptr, vocabulary)

    @classmethod
    def of_stream(cls, stream: Ints, vocabulary: Vocabulary) -> Corpus:
        """From the array of :meth:`stream`."""
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
        """All sentences end to end; the boundary 0 stands before the first and after each.

        Every position but the first is a target; the context of position i goes back to the nearest 0
        (inclusive, as ``<s>``) or -1 (exclusive).
        """
        out = np.full(self.n_tokens + self.n_sentences + 1, BOUNDARY, dtype=np.int32)
        sentence = np.repeat(np.arange(self.n_sentences), np.diff(self.sentence_ptr))
        out[np.arange(self.n_tokens) + sentence + 1] = self.ids
        return out

    @property
    def counts(self) -> Offsets:
        """Occurrences of each word of the vocabulary; ``</s>`` once a sentence.

        Examples
        --------
        >>> Corpus.of(["a rose is", "a rose"]).counts.tolist()
        [2, 2, 2, 1]
        """
        counts = np.bincount(self.ids[self.ids != UNSEEN], minlength=len(self.vocabulary))
        counts[BOUNDARY] = self.n_sentences
        return counts.astype(np.int64)

    @property
    def digest(self) -> int:
        """:func:`digest_of_counts` of its words."""
        return digest_of_counts(self.counts)

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

    def split_known(self, held_out: float = 0.1) -> tuple[Corpus, Corpus]:
        """:meth:`split`, both in the words of the first part, as a test text would be read."""
        first, rest = self.split(held_out)
        return first.in_known_words(rest)

    def in_known_words(self, other: Corpus) -> tuple[Corpus, Corpus]:
        """This text and another of the same vocabulary, both in the words of this one."""
        words = [self.vocabulary.words[k] for k in np.flatnonzero(self.counts).tolist()]
        known = Vocabulary(words, self.vocabulary.tokenizer)
        return self.with_vocabulary(known), other.with_vocabulary(known)

    def sample(self, n_tokens: int) -> Corpus:
        """About so many tokens, in runs of sentences that are spread evenly over the text.

        Examples
        --------
        >>> Corpus.of(["a b"] * 100).sample(50).n_tokens
        50
        """
        run = np.arange(self.n_sentences) // min(1 + self.n_sentences // 200, SENTENCES_IN_RUN)
        share = min(n_tokens / max(self.n_tokens, 1), 1.0)
        is_chosen = np.ceil((run + 1) * share) > np.ceil(run * share)
        ptr, tokens = gather(self.sentence_ptr, np.flatnonzero(is_chosen))
        return Corpus(self.ids[tokens], ptr, self.vocabulary)

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
    """CRC-32 of the counts of ids: tells whether a text is that of a model, and nothing else."""
    return crc32(np.trim_zeros(counts.astype(np.int64), "b").tobytes())


@dataclass(slots=True)
class NumberedText:
    """A text in numbers: distinct words by first occurrence, number of each token, offsets."""

    words: list[str]
    ids: Ints
    ptr: Offsets
    path: str | PathLike[str] | None = None
    has_words: Sequence[bool] = ()  # of each line or sentence, where there may be several documents

    @classmethod
    def of(cls, sentences: Sentences | PathLike[str], tokenizer: Tokenizer | None) -> NumberedText:
        if not isinstance(sentences, PathLike):
            return cls._of_sentences(sentences, tokenizer).unwrapped()
        raw = read_bytes(sentences)
        check_sentences(raw, sentences)
        decode(raw, sentences)
        return cls.of_bytes(raw, tokenizer, sentences)

    @classmethod
    def of_bytes(cls, raw: bytes, tokenizer: Tokenizer | None, path: str | PathLike[str]) -> NumberedText:
        """The lines of a file, which are UTF-8."""
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        if tokenizer is None:
            text = cls(*factorise_bytes(raw))
            if _BLANK_LINE.search(raw) is not None:
                text.has_words = [bool(line.strip(_BLANKS)) for line in raw.split(b"\n")]
        else:
            text = cls._of_sentences(raw.decode().split("\n"), tokenizer)
        text.path = path
        return text.unwrapped()

    @classmethod
    def _of_lines(cls, sentences: list[Any]) -> NumberedText | None:
        """Strings of one line each, numbered as those of a file; None where there are others."""
        try:
            raw = "\n".join(sentences).encode()
        except (TypeError, UnicodeEncodeError):
            return None
        if raw.count(b"\n") != len(sentences) - 1:
            return None
        text = cls(*factorise_bytes(raw))
        if text.ptr.size <= len(sentences):
            text.has_words = [bool(line.strip(_BLANKS)) for line in raw.split(b"\n")]
        return text

    @classmethod
    def _of_sentences(cls, sentences: Sentences, tokenizer: Tokenizer | None) -> NumberedText:
        refuse_file_names(sentences)
        if isinstance(sentences, str | bytes):
            raise InputError(
                "sentences must be an iterable of sentences, not one string; put it in a list, "
                "or pass a pathlib.Path to read a file."
            )
        if tokenizer is None and isinstance(sentences, list):
            text = cls._of_lines(sentences)
            if text is not None:
                return text
        table: dict[str, int] = {}
        ids: list[int] = []
        ptr, has_words = [0], []
        for k, sentence in enumerate(each(sentences, "sentences", "sentences")):
            try:
                if tokenizer is not None and isinstance(sentence, str):
                    tokens: Sequence[str] = tokenizer.cut(sentence)
                else:
                    tokens = tokens_of(sentence)
                has_words.append(len(tokens) > 0)
            except TypeError:
                raise InputError(
                    f"sentence {k} must be a text or a list of words, not {sentence!r}"
                ) from None
            ids.extend([table.setdefault(token, len(table)) for token in tokens])
            if len(ids) > ptr[-1]:
                ptr.append(len(ids))
        for token in table:
            if not isinstance(token, str):
                raise InputError(f"tokens must be strings; found {token!r} of type {type(token).__name__}.")
        return cls(
            list(table), np.array(ids, dtype=np.int32), np.array(ptr, dtype=np.int64), has_words=has_words
        )

    def unwrapped(self) -> NumberedText:
        """Drop ``<s>`` at the start and ``</s>`` at the end of sentences; refuse them elsewhere."""
        words, ids, ptr = self.words, self.ids, self.ptr
        if START not in words and END not in words:
            return self
        start = words.index(START) if START in words else UNSEEN
        end = words.index(END) if END in words else UNSEEN
        drop = np.zeros(ids.size, dtype=bool)
        drop[ptr[:-1]] |= ids[ptr[:-1]] == start
        drop[ptr[1:] - 1] |= ids[ptr[1:] - 1] == end
        wrong = np.flatnonzero(~drop & ((ids == start) | (ids == end)))
        if wrong.size:
            sentence = int(np.searchsorted(ptr, wrong[0], side="right"))
            where = f" ({fspath(self.path)})" if self.path is not None else ""
            raise InputError(
                f"{words[ids[wrong[0]]]!r} inside sentence {sentence}{where}; it marks boundaries and may stand "
                "only at the edges of a line."
            )
        self.ids, self.ptr = ids[~drop], np.unique(offsets(~drop)[ptr]).astype(np.int64)
        return self

    def corpus(self, table: Ints, vocabulary: Vocabulary) -> Corpus:
        """The text in the ids of a vocabulary, ``table`` holding the id of each word."""
        corpus = Corpus(table[self.ids] if self.ids.size else self.ids, self.ptr, vocabulary)
        # Documents are runs of lines that have words; none where a line held but <s> and </s>.
        full = np.array(self.has_words, dtype=bool)
        begins = full & ~np.concatenate(([False], full[:-1]))
        if begins.sum() < 2 or full.sum() != corpus.n_sentences:
            return corpus
        return replace(corpus, document_ptr=(np.cumsum(full) - 1)[begins].astype(np.int64))


def factorise_bytes(raw: bytes) -> tuple[list[str], Ints, Offsets]:
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
