"""A tagger from a model file tags and evaluates files of columns, without scikit-learn.

A model trained from a file remembers how the file was read: its format, its number of columns, which were
observations and which held the labels. Files to be tagged may come with or without the column of labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.protocols import Ints
from epigram.storage import ModelFile
from epigram.storage.file import blaming
from epigram.tagging.corpus import Sequences
from epigram.tagging.formats import Column, Columns, ColumnSpec, parse_columns
from epigram.tagging.metrics import Report, evaluate_ids
from epigram.tagging.model import ChainModel
from epigram.tagging.second_look import SecondLook, second_look_of
from epigram.tagging.storage import FAMILY, SECOND_LOOK, chain_model
from epigram.text import read_bytes


@dataclass(frozen=True, slots=True)
class FileTagger:
    """A tagger from a model file, for files of columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epigram.tagging import CRFTagger
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.epigram"
    >>> CRFTagger("U:%x[0,0]\\nB\\n", l1=0.01).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]).save(path)
    >>> tagger = FileTagger.load(path)
    >>> columns = tagger.read_bytes(b"the\\ndog\\n", "tiny.txt")
    >>> observations = tagger.reading.observations(columns)  # whether the column of labels is there or not
    >>> tagger.names(tagger.decode(tagger.model.encode(observations), observations))
    ['D', 'N']
    """

    kind: str
    model: ChainModel = field(repr=False)
    reading: ColumnSpec
    beam: int = 5
    look: SecondLook | None = field(default=None, repr=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> FileTagger:
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
            look = None if SECOND_LOOK not in file.header else second_look_of(file)
            return cls(str(kind), model, ColumnSpec.of_header(file.header), file.header.get("beam", 5), look)

    def read(self, path: str | PathLike[str], format: str | None = None) -> Columns:
        """A file to be tagged; ``-`` is standard input."""
        return self.read_bytes(read_bytes(path), str(path), format)

    def read_bytes(self, raw: bytes, path: str, format: str | None = None) -> Columns:
        """The same from its bytes.

        Where the model looks at words alone and no format is named, lines without tabs are sentences of plain
        text unless they make a file of columns: one a line, or as many as in training, the last a label.
        """
        reading = self.reading
        if format is not None:
            comments = reading.comments if format == reading.format else ()
            return replace(reading, format=format, comments=comments).parse(raw, path)
        if self.needs > 1 or reading.format not in ("auto", "conll") or b"\t" in raw:
            return reading.parse(raw, path)
        try:
            columns = reading.parse(raw, path)
        except InputError as error:
            if error.line is None or "columns" not in str(error):
                raise
        else:
            if columns.n_columns == 1 or self._has_labels(columns):
                return columns
        return parse_columns(raw, path, "text")

    def _has_labels(self, columns: Columns) -> bool:
        """Whether a file has as many columns as in training, and labels of the model where they were."""
        if columns.n_columns != (self.reading.n_columns or 2):
            return False
        _, labels = columns.split(self.reading.label_column)
        return set(labels.strings) <= set(self.model.labels)

    @property
    def needs(self) -> int:
        """How many columns the template looks at."""
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
        """The k best labellings of each sentence with their probabilities, what ``decode`` takes first."""
        if self.look is not None:
            return self.look.ranked(self.model, sequences, observations, k)
        return self.model.n_best(sequences, k)

    def names(self, ids: Ints) -> list[str]:
        """Label names of label ids."""
        labels = self.model.labels
        return [labels[k] for k in ids.tolist()]

    def evaluate(self, gold: Column, predicted: Ints, columns: Columns) -> Report:
        """Scores; a gold label the model does not have is a mistake like any other."""
        known = {label: k for k, label in enumerate(self.model.labels)}
        strings = [gold.strings[k] for k in np.unique(gold.ids).tolist()]
        everyone = [*self.model.labels, *(label for label in strings if label not in known)]
        index = {label: k for k, label in enumerate(everyone)}
        ids = np.array([index.get(label, 0) for label in gold.strings], dtype=np.int32)[gold.ids]
        return evaluate_ids(ids, predicted, everyone, columns.sentence_ptr)
