"""Text in pieces other than words: characters, or those of a sentencepiece or tokenizers model.

A text in pieces is a text like any other, pieces between blanks, so every command takes it. The blanks of the text
itself are ``▁``, as sentencepiece writes them, so nothing is lost: :func:`joined` gives the text back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path

from epigram.errors import InputError
from epigram.lm.corpus import tokens_of

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


def cutter(name: str | PathLike[str]) -> Cut:
    """What cuts a line: ``words`` at blanks, ``chars``, a model of sentencepiece (*.model) or tokenizers (*.json)."""
    if name == "words":
        return tokens_of
    if name == "chars":
        return characters
    path = Path(fspath(name))
    if not path.is_file() or path.suffix not in (".model", ".json"):
        raise InputError(
            f"{fspath(name)!r} is neither words, chars nor a file *.model (sentencepiece) or *.json (tokenizers)."
        )
    try:
        return _sentencepiece(path) if path.suffix == ".model" else _tokenizers(path)
    except ImportError as missing:
        raise InputError(f"needs the package {missing.name}; pip install it", path=path) from None
    except Exception as wrong:  # what the two packages raise for a bad file has no class of its own
        raise InputError(f"cannot be read: {wrong}", path=path) from None


def _sentencepiece(path: Path) -> Cut:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(path))
    return lambda line: model.encode(line, out_type=str)


def _tokenizers(path: Path) -> Cut:
    from tokenizers import Tokenizer

    model = Tokenizer.from_file(str(path))
    return lambda line: model.encode(line, add_special_tokens=False).tokens
