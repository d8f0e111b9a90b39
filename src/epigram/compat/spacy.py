"""Our taggers as components of a spaCy pipeline: ``epigram_tagger`` sets ``token.tag_``, ``epigram_ner`` ``doc.ents``.

Needs spaCy (``pip install '.[spacy]'`` in a checkout), which finds both by their names: ``nlp.add_pipe("epigram_ner",
config={"model": "names.epigram"})``. Sentences are tagged one by one where something in the pipeline has set them, else
the whole text is one sentence. A pipeline that is saved holds the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from epigram.chain.chunks import are_chunk_labels, chunks
from epigram.errors import InputError
from epigram.storage import load
from epigram.storage.file import loads

FILE = "model.epigram"


class Component:
    """What both components do: tokens into columns, one call of the model for many texts, saving.

    Parameters
    ----------
    model : a fitted tagger with a template, or the name of its file; None, or a file that is gone, where one is read
        later: a pipeline that was saved still names the file it was made with.
    columns : attributes of spaCy's tokens, one for each column that the model looks at.
    """

    def __init__(self, model: str | PathLike[str] | Any | None, columns: Sequence[str] = ("text",)) -> None:
        self.columns = tuple(columns)
        self.model: Any = None
        self._missing = model if isinstance(model, str | PathLike) and not Path(model).exists() else None
        if model is not None and self._missing is None:
            self._take(load(model) if isinstance(model, str | PathLike) else model)

    def _take(self, model: Any) -> None:
        if not hasattr(model, "model_") or not hasattr(model, "predict"):
            raise InputError(f"spaCy's component needs a fitted tagger, not a {type(model).__name__}")
        template = model.model_.template
        if template is None:
            raise InputError(
                "this model takes features that only its makers can make; train one with a template"
            )
        if template.n_columns > len(self.columns):
            raise InputError(
                f"the model looks at {template.n_columns} columns; name as many attributes of tokens: "
                'config={"columns": ["text", "tag_"]}'
            )
        self.model = model

    def __call__(self, doc: Doc) -> Doc:
        """Tag one text."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Tag many texts, so many in one call of the model."""
        if self.model is None:
            missing = f"no such file: {self._missing}" if self._missing else "no model yet"
            raise InputError(f'{missing}; give one: nlp.add_pipe(..., config={{"model": FILE}})')
        for docs in minibatch(stream, batch_size):
            spans = [sentence for doc in docs for sentence in _sentences(doc)]
            rows = [[tuple(getattr(token, name) for name in self.columns) for token in one] for one in spans]
            labels = iter(self.model.predict(rows) if rows else [])
            for doc in docs:
                self.write(doc, [(sentence, next(labels)) for sentence in _sentences(doc)])
                yield doc

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """Put the labels of each sentence into the text."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as the content of a file."""
        content: bytes = self.model.to_bytes()
        return content

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Take the model of such content."""
        self._take(loads(content, "tagger"))
        return self

    def to_disk(self, path: str | PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / FILE).write_bytes(self.to_bytes())

    def from_disk(self, path: str | PathLike[str], *, exclude: Iterable[str] = ()) -> Component:
        """Read the model from such a folder."""
        self._take(load(Path(path) / FILE))
        return self


class Tagger(Component):
    """Sets ``token.tag_``."""

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """One label a token."""
        for sentence, labels in found:
            for token, label in zip(sentence, labels, strict=True):
                token.tag_ = label


class EntityRecognizer(Component):
    """Sets ``doc.ents`` from labels such as ``B-PER``; entities that are there already and are not met stay."""

    def _take(self, model: Any) -> None:
        super()._take(model)
        if not are_chunk_labels(model.model_.labels):
            raise InputError("epigram_ner needs labels such as B-PER and O; use epigram_tagger for others")

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """One entity a chunk."""
        ents = [
            Span(doc, sentence.start + first, sentence.start + last, label=kind)
            for sentence, labels in found
            for kind, first, last in chunks(labels)
        ]
        taken = {token.i for ent in ents for token in ent}
        old = [ent for ent in doc.ents if not any(token.i in taken for token in ent)]
        doc.set_ents(ents + old)


def _sentences(doc: Doc) -> list[Span]:
    """The sentences of a text, without empty ones."""
    if not len(doc):
        return []
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


_SETTINGS: dict[str, Any] = {"model": None, "columns": ["text"]}


def make_tagger(nlp: Language, name: str, model: str | None, columns: list[str]) -> Tagger:
    """The component ``epigram_tagger``."""
    return Tagger(model, columns)


def make_ner(nlp: Language, name: str, model: str | None, columns: list[str]) -> EntityRecognizer:
    """The component ``epigram_ner``."""
    return EntityRecognizer(model, columns)


Language.factory("epigram_tagger", default_config=_SETTINGS, assigns=["token.tag"], func=make_tagger)
Language.factory(
    "epigram_ner",
    default_config=_SETTINGS,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    func=make_ner,
)
