"""Tags and evaluates column files with a stored model.

A model trained from a file records its format, its number of columns and which held observations and labels. Files to
be tagged may come with or without the column of labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike

import numpy as np

from epigram.chain.metrics import TaggingReport, evaluate_ids
from epigram.chain.model import ChainModel
from epigram.chain.storage import FAMILY, chain_model
from epigram.errors import DataWarning, InputError, ModelFileError, WrongInputWarning
from epigram.features.columns import Column, Columns
from epigram.features.formats import (
    CONLLU_TAG,
    ColumnSpec,
    by_name,
    cells_of,
    fill_columns,
    head_lines,
    parse_columns,
)
from epigram.features.sequences import Sequences
from epigram.files import read_bytes
from epigram.protocols import Ints
from epigram.storage import ModelFile
from epigram.storage.file import blaming
from epigram.tagging.stacked.reranker import LabellingReranker, reranker_of

NOTHING = "\0"  # no line begins with it
MANY_LABELS, LONG = 100, 1000


@dataclass(frozen=True)
class ColumnTagger:
    """A tagger from a model file, for files of columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epigram.tagging import CRFTagger
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.epigram"
    >>> CRFTagger("U:%x[0,0]\\nB\\n", l1=0.01).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]).save(path)
    >>> tagger = ColumnTagger.load(path)
    >>> columns = tagger.read_bytes(b"the\\ndog\\n", "tiny.txt")
    >>> observations = tagger.reading.observations(columns)  # whether the column of labels is there or not
    >>> tagger.names(tagger.decode(tagger.model.encode(observations), observations))
    ['D', 'N']
    """

    kind: str
    model: ChainModel = field(repr=False)
    reading: ColumnSpec
    beam: int = 5
    look: LabellingReranker | None = field(default=None, repr=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ColumnTagger:
        """Read a model file."""
        file = ModelFile.load(path, FAMILY)
        kind = file.header.get("kind")
        if file.header.get("template") is None:
            raise ModelFileError(
                "this model takes features, not columns: it has no template; use it from Python", path=path
            )
        if kind == "tree":
            raise ModelFileError("this model labels the nodes of trees; use epigram parse", path=path)
        with blaming(path):
            model = chain_model(file)
            look = reranker_of(file)
            return cls(str(kind), model, ColumnSpec.of_header(file.header), file.header.get("beam", 5), look)

    def read(self, path: str | PathLike[str], format: str | None = None) -> Columns:
        """A file to be tagged; ``-`` is standard input."""
        return self.read_bytes(read_bytes(path), str(path), format)

    def read_bytes(self, raw: bytes, path: str, format: str | None = None) -> Columns:
        """The same from its bytes; without a format, see :meth:`guess_format`.

        A model trained from CoNLL-U makes CoNLL-U of plain text, so that its labels have a column there too.
        """
        reading = self.reading
        format = format or self.guess_format(raw, path)
        if format is None:
            return reading.parse(raw, path)
        comments = reading.comments if format == reading.format else ()
        columns = replace(reading, format=format, comments=comments).parse(raw, path)
        return _as_conllu(columns) if format == "text" and reading.format == "conllu" else columns

    def guess_format(self, raw: bytes, path: str) -> str | None:
        """Guess ``text`` or ``conll`` from the first lines; None for the format of training.

        Text has no tabs, and lines that differ in their number of words, or one line that is no row of columns. It is
        refused where the model looks at more than words; so are lines that may be either text or columns.
        """
        reading = self.reading
        lines = [line for line in head_lines(raw) if not line.startswith(reading.comments or NOTHING)]
        conllu = reading.format == "conllu"
        if reading.format in ("text", "slash") or reading.separator or any("\t" in line for line in lines):
            return None
        if any("\ufffd" in line for line in lines):  # no UTF-8: the reader names the line
            return None
        if conllu and (by_name(path) == "conllu" or all(line.startswith("#") for line in lines)):
            return None
        rows = [cells_of(line) for line in lines]
        widths, fitting = {len(row) for row in rows}, sum(map(self._fits, rows))
        if not widths or widths == {1}:
            return "conll" if conllu and widths else None
        if len(widths) == 1 < len(rows):
            return self._uniform(rows, fitting, path)
        if fitting > 0.75 * len(rows):  # the reader names the line that is wrong
            return None
        if self.needs == 1:
            return "text"
        wanted = (
            f"CoNLL-U, of which it looks at columns {', '.join(map(str, reading.observed or ()))}, counted from 0"
            if conllu
            else f"{self.needs} columns, as in training: the word, then for example its part of speech"
        )
        raise InputError(
            f"this looks like text, but this model needs {wanted}. Write a token a line, blank lines between "
            "sentences; only a model that looks at words alone takes text",
            path=path,
        )

    def _uniform(self, rows: list[list[str]], fitting: int, path: str) -> str | None:
        """Tell columns from text whose lines all have the same number of words."""
        width, whole = len(rows[0]), self.reading.n_columns
        is_placeholder = width == whole and len({row[self.reading.label_column] for row in rows}) == 1
        if fitting or is_placeholder:
            return None
        if self.needs == 1:
            expected = (
                "" if whole is None or self.reading.format == "conllu" else f", and {whole} in training"
            )
            labels = ", but none of the model's labels" if width == whole else ""
            raise InputError(
                f"every line has {width} words{expected}{labels}: for text, a sentence a line, use --format text; "
                "for columns, give a token a line, with its label or without",
                path=path,
            )
        if width == whole:
            _warn(
                path,
                "the column of labels has none of the model's labels; if this is text, write a token a line",
            )
        return None

    def _fits(self, row: list[str]) -> bool:
        """Whether a row has a width that the model accepts, and a label in its place."""
        reading, n = self.reading, len(row)
        if reading.format == "conllu":
            return False
        whole = reading.n_columns or self.needs + 1
        if n == whole:
            return row[reading.label_column] in self._labels
        return n == 1 == self.needs or n == len(reading.observed or range(self.needs)) or n == whole - 1 > 1

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset(self.model.labels)

    def reading_for(self, columns: Columns) -> ColumnSpec:
        """Return the columns of training, or FORM and UPOS if the model records none."""
        if self.reading.n_columns is not None or columns.lines is None or not columns.lines.is_conllu:
            return self.reading
        if self.needs > 1:
            raise InputError(
                f"the model looks at {self.needs} columns and does not say which of CoNLL-U; give a token a line "
                "with these columns alone",
                path=columns.path,
            )
        _warn(
            columns.path,
            "the model does not say which columns it was trained on: words are FORM, labels UPOS",
        )
        return self.reading.completed(columns, "input.conllu", None, None)

    def observe(self, columns: Columns) -> Columns:
        """The columns of a file that the model looks at."""
        reading = self.reading_for(columns)
        if reading.n_columns is None and columns.n_columns > self.needs + 1:
            _warn(
                columns.path,
                f"{columns.n_columns} columns, of which the model looks at the first {self.needs}",
            )
        return reading.observations(columns)

    def fill(self, columns: Columns, labels: Sequence[str]) -> Iterator[str]:
        """Write a CoNLL-U file again with labels in the column that they had in training."""
        column = self.reading.label_column if self.reading.n_columns else CONLLU_TAG
        return fill_columns(columns, {column: labels})

    @property
    def needs(self) -> int:
        """Number of columns that the template uses."""
        template = self.model.template
        assert template is not None
        return max(template.n_columns, 1)

    def decode(self, sequences: Sequences, observations: Columns, threads: int = 1) -> Ints:
        """Label id of every token of some observations and what the model makes of them."""
        if self.look is not None:
            return self.look.decode(self.model, sequences, observations)
        if self.kind == "history":
            from epigram.tagging.history import decode_history

            return decode_history(self.model, sequences, self.beam)
        return self.model.decode(sequences, None, threads)

    def n_best(self, sequences: Sequences, observations: Columns, k: int) -> list[list[tuple[Ints, float]]]:
        """Return the k best labellings of each sentence with probabilities, best first."""
        if self.look is not None:
            return self.look.ranked(self.model, sequences, observations, k)
        return self.model.n_best(sequences, k)

    def names(self, ids: Ints) -> list[str]:
        """Label names of label ids."""
        labels = self.model.labels
        return [labels[k] for k in ids.tolist()]

    def evaluate(self, gold: Column, predicted: Ints, columns: Columns) -> TaggingReport:
        """Scores; a gold label the model does not have is a mistake like any other."""
        known = {label: k for k, label in enumerate(self.model.labels)}
        strings = [gold.strings[k] for k in np.unique(gold.ids).tolist()]
        everyone = [*self.model.labels, *(label for label in strings if label not in known)]
        index = {label: k for k, label in enumerate(everyone)}
        ids = np.array([index.get(label, 0) for label in gold.strings], dtype=np.int32)[gold.ids]
        return evaluate_ids(ids, predicted, everyone, columns.sentence_ptr)


def _as_conllu(words: Columns) -> Columns:
    """CoNLL-U with the words of plain text and nothing else."""
    others = "\t_" * 8 + "\n"
    sentences = (
        "".join(f"{k}\t{word}{others}" for k, (word,) in enumerate(rows, 1)) for rows in words.rows()
    )
    return parse_columns("\n".join(sentences).encode(), words.path or "input", "conllu")


def warn_of_labels(path: object, labels: Sequence[str], n_words: int | None = None) -> None:
    """Warn of a single training label, or of about as many labels as words."""
    if len(labels) == 1:
        _warn(path, f"every token has the label {labels[0]!r}; is this the column of labels?")
    if n_words is not None and len(labels) >= max(MANY_LABELS, n_words / 2):
        found = f"{len(labels):,} different labels for {n_words:,} different words"
        _warn(path, f"{found}; is this the column of labels?")


def warn_of_lengths(path: object, n_sentences: int, n_tokens: int) -> None:
    """Warn of sentences of a thousand tokens and more on average."""
    if n_tokens == 1:
        said = f"{path}: one token in all; write a token a line with its label, blank lines between sentences"
        warnings.warn(WrongInputWarning(said), stacklevel=3)
    if n_tokens >= LONG * n_sentences:
        found = f"{n_sentences:,} sentence{'s' * (n_sentences != 1)} with {n_tokens:,} tokens"
        _warn(path, f"{found}; are the blank lines between sentences missing?")


def warn_of_unknown(labels: Iterable[str], known: Iterable[str], path: object) -> None:
    """Warn of a file whose labels are all unknown to the model: every one counts as a mistake."""
    found = list(labels)
    if not set(found).intersection(known):
        some = ", ".join(map(repr, sorted(found)[:3]))
        _warn(
            path,
            f"the model knows none of the labels ({some}); is this the right column, and the right model?",
        )


def _warn(path: object, message: str) -> None:
    warnings.warn(f"{path}: {message}", DataWarning, stacklevel=4)
