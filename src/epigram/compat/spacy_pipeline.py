"""Documents of pipelines as documents of spaCy, and a tokenizer that makes them of raw text.

``nlp = spacy.blank("en"); nlp.tokenizer = PipelineTokenizer("english", nlp.vocab)`` gives a spaCy pipeline whose
documents have sentences, tags, lemmas, features, heads and relations. A multiword token has those of its first word
whose head is outside the token.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from spacy.tokens import Doc as SpacyDoc
from spacy.vocab import Vocab

from epigram.pipeline.document import Doc, SyntacticWord, Token
from epigram.pipeline.pipeline import Pipeline
from epigram.storage import load


class PipelineTokenizer:
    """Makes spaCy's documents of raw text with a pipeline.

    Parameters
    ----------
    model : a fitted pipeline, or the file or name of one.
    vocab : of the spaCy pipeline.
    """

    def __init__(self, model: Pipeline | str | PathLike[str], vocab: Vocab) -> None:
        self.pipeline = model if isinstance(model, Pipeline) else load(model, "pipeline")
        self.vocab = vocab

    def __call__(self, text: str) -> SpacyDoc:
        """Analyse a text."""
        return to_spacy(self.pipeline(text), self.vocab)

    def to_bytes(self, **_: Any) -> bytes:
        """Return the model file."""
        return self.pipeline.to_bytes()

    def from_bytes(self, content: bytes, **_: Any) -> PipelineTokenizer:
        """Read a model file."""
        self.pipeline = Pipeline.from_bytes(content)
        return self

    def to_disk(self, path: str | PathLike[str], **_: Any) -> None:
        """Write the model file."""
        self.pipeline.save(path)

    def from_disk(self, path: str | PathLike[str], **_: Any) -> PipelineTokenizer:
        """Read a model file."""
        self.pipeline = Pipeline.load(path)
        return self


def to_spacy(document: Doc, vocab: Vocab) -> SpacyDoc:
    """Return an analysed text as a document of spaCy, with the same text and offsets.

    Blanks beyond one space after a token are tokens, as in spaCy; they hang from the token before.
    """
    rows: list[tuple[str, bool, Token | None]] = []
    index: dict[int, int] = {}  # first word of a token -> row
    gaps = document.analysis.tokens.gaps()
    opening = set()
    if gaps[0]:
        rows.append((gaps[0], False, None))
    for sentence in document.sentences:
        opening.add(sentence.tokens[0].start)
    for token, gap in zip(document.tokens, gaps[1:], strict=True):
        index |= {word.number: len(rows) for word in token.words}
        rows.append((token.text, gap.startswith(" "), token))
        if rest := gap.removeprefix(" "):
            rows.append((rest, False, None))
    firsts = {
        token.start: sentence.words[0].number for sentence in document.sentences for token in sentence.tokens
    }
    columns: dict[str, list[Any]] = {
        name: [] for name in ("tags", "pos", "morphs", "lemmas", "heads", "deps")
    }
    starts: list[bool] = []
    for k, (text, _, own) in enumerate(rows):
        opens = own is not None and own.start in opening
        starts.append(k == 0 or (opens and not (k == 1 and rows[0][2] is None)))
        word = None if own is None else main_word(own)
        columns["tags"].append((word and word.xpos) or "")
        columns["pos"].append((word and word.upos) or "")
        columns["morphs"].append("|".join(f"{a}={b}" for a, b in ((word and word.feats) or {}).items()))
        columns["lemmas"].append((word and word.lemma) or text)
        if word is None or own is None:
            columns["heads"].append(max(k - 1, 0) if k else min(1, len(rows) - 1))
            columns["deps"].append("dep" if len(rows) > 1 else "ROOT")
        else:
            head = index[firsts[own.start] + word.head - 1] if word.head else k
            columns["heads"].append(head)
            columns["deps"].append("ROOT" if head == k else word.relation or "dep")
    given: dict[str, Any] = columns
    if document.analysis.heads is None:
        given = {name: columns[name] for name in ("tags", "pos", "morphs", "lemmas")} | {
            "sent_starts": starts
        }
    return SpacyDoc(vocab, words=[row[0] for row in rows], spaces=[row[1] for row in rows], **given)


def main_word(token: Token) -> SyntacticWord:
    """Return the first word of a token whose head is not in the token."""
    inside = {word.index for word in token.words}
    return next((word for word in token.words if word.head not in inside), token.words[0])
