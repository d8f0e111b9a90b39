"""Tokenizers: characters, or the subwords of a sentencepiece or tokenizers model.

Subwords are tokens as words are, with blanks between, so every command takes them. The blanks of the text itself are
``▁``, as sentencepiece writes them, so nothing is lost: :meth:`Tokenizer.join` gives the text back.

The vocabulary of a model that was trained on subwords holds its tokenizer, also in its file, and cuts the strings and
files that the model is given; tokens are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from epigram.errors import InputError, ModelFileError
from epigram.lm.vocabulary import END, START, tokens_of

BLANK = "▁"
KINDS = ("chars", "sentencepiece", "tokenizers")


@dataclass(frozen=True)
class Tokenizer:
    """Cuts text into characters, or by a model of ``sentencepiece`` or ``tokenizers``.

    Examples
    --------
    >>> chars = Tokenizer("chars")
    >>> chars.cut("<s> a  rose"), chars.join(["▁a", "▁ro", "se"])
    (['<s>', 'a', '▁', 'r', 'o', 's', 'e'], 'a rose')
    """

    kind: str
    content: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, name: str | PathLike[str]) -> Tokenizer | None:
        """``chars``, or a file of sentencepiece (*.model) or tokenizers (*.json); None: ``words``."""
        if name in ("words", "chars"):
            return None if name == "words" else cls("chars")
        path = Path(fspath(name))
        if not path.is_file() or path.suffix not in (".model", ".json"):
            raise InputError(
                f"{fspath(name)!r} is neither words, chars nor a file *.model (sentencepiece) or *.json (tokenizers)."
            )
        tokenizer = cls("sentencepiece" if path.suffix == ".model" else "tokenizers", path.read_bytes())
        try:
            _ = tokenizer._cut
        except InputError as wrong:
            raise InputError(str(wrong), path=path) from None
        return tokenizer

    def to_bytes(self) -> bytes:
        """The content of an array of a model file."""
        return self.kind.encode() + b"\n" + self.content

    @classmethod
    def from_bytes(cls, stored: bytes) -> Tokenizer:
        """The tokenizer that :meth:`to_bytes` wrote; the other package is loaded when text is cut."""
        kind, _, content = stored.partition(b"\n")
        if kind.decode("latin1") not in KINDS:
            raise ModelFileError(f"unknown kind of tokenizer {kind[:20]!r}; upgrade epigram to read it")
        return cls(kind.decode(), content)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.kind, self.content)  # without the object that the other package made of it

    def cut(self, line: str) -> list[str]:
        """The tokens of a line; ``<s>`` before and ``</s>`` after it stay."""
        tokens = tokens_of(line)
        first = [START] if tokens[:1] == [START] else []
        last = [END] if tokens[len(first) :][-1:] == [END] else []
        inside = " ".join(tokens[len(first) : len(tokens) - len(last)]) if first or last else line
        return [*first, *self._cut(inside), *last]

    def join(self, tokens: Sequence[str]) -> str:
        """The text that tokens were cut from."""
        return "".join(tokens).replace(BLANK, " ").strip()

    @cached_property
    def _cut(self) -> Callable[[str], Sequence[str]]:
        if self.kind == "chars":
            return lambda line: list(BLANK.join(tokens_of(line)))
        try:
            if self.kind == "sentencepiece":
                from sentencepiece import SentencePieceProcessor

                model = SentencePieceProcessor(model_proto=self.content)
                return lambda line: model.encode(line, out_type=str)
            import tokenizers

            other = tokenizers.Tokenizer.from_str(self.content.decode())
            return lambda line: other.encode(line, add_special_tokens=False).tokens
        except ImportError as missing:
            raise InputError(f"needs the package {missing.name}; pip install it") from None
        except Exception as wrong:  # the two packages raise no class of errors of their own for a bad file
            raise InputError(f"cannot be read: {wrong}") from None
