"""spaCy pipeline components for tagging and entity recognition.

``epigram_tagger`` sets ``token.tag_``, ``epigram_ner`` sets ``doc.ents``. They need spaCy (``pip install '.[spacy]'``
in a checkout), which finds both by name: ``nlp.add_pipe("epigram_ner", config={"model": "names.epigram"})``. Sentences
are those that the pipeline has set before; without any, the text is one sentence. A saved pipeline contains the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

from epigram.chain.chunks import are_chunk_labels, chunks
from epigram.errors import InputError
from epigram.storage import load
from epigram.storage.file import loads

FILE = "model.epigram"


class Component:
    """Base class of both components: converts tokens to columns, calls the model, and saves it.

    Parameters
    ----------
    model : a fitted tagger with a template, or the name of its file; None, or a missing file, if a model is read later:
        a saved pipeline still names the file it was made with.
    columns : attributes of spaCy's tokens, one for each column that the model reads.
    """

    def __init__(self, model: str | PathLike[str] | Any | None, columns: Sequence[str] = ("text",)) -> None:
        self.columns = tuple(columns)
        self.model: Any = None
        self._missing = model if isinstance(model, str | PathLike) and not Path(model).exists() else None
        if model is not None and self._missing is None:
            self._take(load(model) if isinstance(model, str | PathLike) else model)

    def _take(self, model: Any) -> None:
        if not hasattr(model, "model_") or not hasattr(model, "predict"):
            raise InputError(f"a spaCy component needs a fitted tagger, not a {type(model).__name__}")
        template = model.model_.template
        if template is None:
            raise InputError(
                "this model was trained on features, which spaCy's tokens do not have; train one with a template"
            )
        if template.n_columns > len(self.columns):
            raise InputError(
                f"the model reads {template.n_columns} columns; name as many attributes of tokens: "
                'config={"columns": ["text", "tag_"]}'
            )
        self.model = model

    def __call__(self, doc: Doc) -> Doc:
        """Tag one text."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Tag many texts, ``batch_size`` texts per call of the model."""
        if self.model is None:
            missing = f"no such file: {self._missing}" if self._missing else "no model yet"
            raise InputError(f'{missing}; give one: nlp.add_pipe(..., config={{"model": FILE}})')
        texts = iter(stream)
        while docs := list(islice(texts, batch_size)):
            spans = [sentence for doc in docs for sentence in _sentences(doc)]
            rows = [[tuple(getattr(token, name) for name in self.columns) for token in one] for one in spans]
            labels = iter(self.model.predict(rows) if rows else [])
            for doc in docs:
                self.write(doc, [(sentence, next(labels)) for sentence in _sentences(doc)])
                yield doc

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """Write the labels of each sentence to the text."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as the content of a file."""
        content: bytes = self.model.to_bytes()
        return content

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model from the content of a file."""
        self._take(loads(content, "tagger"))
        return self

    def to_disk(self, path: str | PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / FILE).write_bytes(self.to_bytes())

    def from_disk(self, path: str | PathLike[str], *, exclude: Iterable[str] = ()) -> Component:
        """Read the model from a folder."""
        self._take(load(Path(path) / FILE))
        return self


class TaggerComponent(Component):
    """Sets ``token.tag_`` to the labels."""

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """Set the tag of each token."""
        for sentence, labels in found:
            for token, label in zip(sentence, labels, strict=True):
                token.tag_ = label


class EntityRecognizer(Component):
    """Sets ``doc.ents`` from labels such as ``B-PER``; keeps entities that do not overlap."""

    def _take(self, model: Any) -> None:
        super()._take(model)
        if not are_chunk_labels(model.model_.labels):
            raise InputError("epigram_ner needs labels such as B-PER and O; use epigram_tagger for others")

    def write(self, doc: Doc, found: list[tuple[Span, list[str]]]) -> None:
        """Set an entity for each chunk."""
        ents = [
            Span(doc, sentence.start + first, sentence.start + last, label=kind)
            for sentence, labels in found
            for kind, first, last in chunks(labels)
        ]
        taken = {token.i for ent in ents for token in ent}
        old = [ent for ent in doc.ents if not any(token.i in taken for token in ent)]
        doc.set_ents(ents + old)


def _sentences(doc: Doc) -> list[Span]:
    """Return the sentences of a text, without empty ones."""
    if not len(doc):
        return []
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


_SETTINGS: dict[str, Any] = {"model": None, "columns": ["text"]}


def make_tagger(nlp: Language, name: str, model: str | None, columns: list[str]) -> TaggerComponent:
    """Make the component ``epigram_tagger``."""
    return TaggerComponent(model, columns)


def make_ner(nlp: Language, name: str, model: str | None, columns: list[str]) -> EntityRecognizer:
    """Make the component ``epigram_ner``."""
    return EntityRecognizer(model, columns)


Language.factory("epigram_tagger", default_config=_SETTINGS, assigns=["token.tag"], func=make_tagger)
Language.factory(
    "epigram_ner",
    default_config=_SETTINGS,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    func=make_ner,
)
