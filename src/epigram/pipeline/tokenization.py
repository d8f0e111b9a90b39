"""Tokenization: tokens of a text by their offsets, in sentences and paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from epigram.protocols import Offsets


@dataclass(frozen=True, slots=True)
class Tokenization:
    """Tokens ``text[starts[t]:ends[t]]``, in order; only blanks stand between them.

    Attributes
    ----------
    text : the whole text.
    starts, ends : offsets in characters.
    sentence_ptr : sentence ``s`` has the tokens ``sentence_ptr[s]`` to ``sentence_ptr[s + 1]``.
    opens_paragraph : one truth value per sentence.

    Examples
    --------
    >>> spans = np.array([[0, 2], [2, 3]])
    >>> Tokenization("Hi!", spans[:, 0], spans[:, 1], np.array([0, 2]), np.array([True])).forms()
    ['Hi', '!']
    """

    text: str = field(repr=False)
    starts: Offsets = field(repr=False)
    ends: Offsets = field(repr=False)
    sentence_ptr: Offsets = field(repr=False)
    opens_paragraph: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.starts)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    def forms(self) -> list[str]:
        """Return the strings of all tokens."""
        text = self.text
        return [text[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def gaps(self) -> list[str]:
        """Return the blanks before the first token, then those after each token."""
        text, starts = self.text, [*self.starts.tolist(), len(self.text)]
        return [text[a:b] for a, b in zip([0, *self.ends.tolist()], starts, strict=True)]

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Yield the first token of each sentence and the first one after it."""
        return pairwise(self.sentence_ptr.tolist())


def tokenization_of(sentences: list[list[tuple[str, str]]], opens: list[bool]) -> Tokenization:
    """Make a text of sentences given as tokens, each with the blanks after it.

    Examples
    --------
    >>> tokenization_of([[("Hi", ""), ("!", "\\n")]], [True]).text
    'Hi!\\n'
    """
    pieces, starts, ends, ptr, at = [], [], [], [0], 0
    for sentence in sentences:
        for form, blank in sentence:
            pieces += [form, blank]
            starts.append(at)
            ends.append(at + len(form))
            at += len(form) + len(blank)
        ptr.append(len(starts))
    begins, stops, sentence_ptr = (np.array(part, dtype=np.int64) for part in (starts, ends, ptr))
    return Tokenization("".join(pieces), begins, stops, sentence_ptr, np.array(opens, dtype=np.bool_))
