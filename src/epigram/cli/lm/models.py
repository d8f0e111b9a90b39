"""Opens and writes language models: model files and ARPA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import warn

import typer

from epigram.errors import DataWarning

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
    from epigram.lm.ngram.backoff import BackoffModel
    from epigram.rerank.lm_features import WordScorer

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file (*.epigram), or an ARPA file (gzip too).")
]


Text = Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line (gzip too); - is stdin.")]


def warn_if_left_out(model: LanguageModel, n_unknown: int, n_words: int) -> None:
    """Say so where a closed model leaves words out of its scores."""
    if n_unknown and not model.is_open:
        warn(
            f"the vocabulary of the model is closed: {n_unknown:,} of {n_words:,} words are left out of the scores; "
            "train the model again without --closed to count them.",
            DataWarning,
            stacklevel=3,
        )


def open_model(path: Path) -> LanguageModel:
    """Load a language model from a model file, mapped into memory, or an ARPA file."""
    from epigram.files import read_bytes
    from epigram.lm.ngram.arpa import looks_like_arpa, parse_arpa
    from epigram.lm.storage import FAMILY, from_model_file
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming

    if _is_safetensors(path):
        file = ModelFile.load(path, FAMILY)
    elif looks_like_arpa(content := read_bytes(path)):
        return parse_arpa(content, path)
    else:
        file = ModelFile.from_bytes(content, FAMILY, path)
    with blaming(path):
        return from_model_file(file)


def _is_safetensors(path: Path) -> bool:
    """Whether a file begins as model files of ours do: a length in eight bytes, then JSON."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(9)[8:] == b"{"
    except OSError:
        return False


def open_word_scorer(path: Path) -> WordScorer:
    """Load a language model as a scorer of words, also one of other tokens."""
    from epigram.lm.score_report import KnownWords

    return KnownWords(open_model(path))


Words = Annotated[str, typer.Argument(metavar="WORDS", help="Words before; <s> marks a sentence start.")]


def open_backoff(path: Path) -> BackoffModel:
    """A model that is a table of n-grams; a mixture of such models is merged."""
    from epigram.lm.mixture import table_of

    return table_of(open_model(path), path)


def write_model(model: Any, output: Path) -> None:
    """A model as ARPA or model file, by its name."""
    from epigram.lm.ngram.arpa import write_arpa

    if is_arpa(output):
        write_arpa(model, output)
    else:
        model.save(output)


def is_arpa(path: Path) -> bool:
    return path.name.endswith((".arpa", ".arpa.gz"))
