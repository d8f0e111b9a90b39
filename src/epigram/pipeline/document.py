"""Doc: an analysed text as sentences, tokens and words, and in the formats of others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.pipeline.analysis import TAGS, Analysis

if TYPE_CHECKING:
    from epigram.pipeline.pipeline import Pipeline

ESCAPES = str.maketrans({"\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p"})


@dataclass(frozen=True, slots=True)
class SyntacticWord:
    """A syntactic word, with what the pipeline says of it; None for what it does not know.

    ``index`` counts from 1 in the sentence, ``head`` too, and 0 is the root. ``start`` and ``end`` are the offsets of
    the word's token in the text.
    """

    text: str
    index: int
    start: int
    end: int
    lemma: str | None
    upos: str | None
    xpos: str | None
    feats: dict[str, str] | None
    head: int | None
    relation: str | None
    document: Doc
    number: int  # in the document, from 0

    @property
    def confidence(self) -> float | None:
        """Probability of the word's first tag; None without tags."""
        found = self.document.confidences
        return None if found is None else float(found[self.number])

    @property
    def head_confidence(self) -> float | None:
        """Probability of the word's head; None without trees."""
        found = self.document.head_confidences
        return None if found is None else float(found[self.number])

    def __repr__(self) -> str:
        return f"SyntacticWord({self.text!r}, {self.upos}, head={self.head}, {self.relation})"


@dataclass(frozen=True, slots=True)
class Token:
    """A token: ``document.text[start:end]``, of one or more words."""

    text: str
    start: int
    end: int
    words: list[SyntacticWord]

    def __repr__(self) -> str:
        return f"Token({self.text!r}, {self.start}:{self.end})"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its tokens and words, and its offsets in the text."""

    text: str
    start: int
    end: int
    tokens: list[Token]
    opens_paragraph: bool

    @property
    def words(self) -> list[SyntacticWord]:
        """All words, in order."""
        return [word for token in self.tokens for word in token.words]

    def __repr__(self) -> str:
        return f"Sentence({self.text!r})"


class Doc:
    """An analysed text.

    Examples
    --------
    >>> from epigram.pipeline.analysis import single_words
    >>> from epigram.pipeline.tokenization import tokenization_of
    >>> document = Doc(single_words(tokenization_of([[("Hi", ""), ("!", "\\n")]], [True])))
    >>> document.sentences
    [Sentence('Hi!')]
    >>> document.to_conllu().splitlines()[4].split()[:2]
    ['1', 'Hi']
    """

    def __init__(self, analysis: Analysis, pipeline: Pipeline | None = None) -> None:
        self.analysis, self._pipeline = analysis, pipeline

    @property
    def text(self) -> str:
        """The text."""
        return self.analysis.tokens.text

    @cached_property
    def sentences(self) -> list[Sentence]:
        """All sentences, in order."""
        tokens, text, found, first = self._tokens, self.text, [], 0
        opens = self.analysis.tokens.opens_paragraph.tolist()
        for (first, last), is_first in zip(self.analysis.tokens.sentences(), opens, strict=True):
            own = tokens[first:last]
            start, end = own[0].start, own[-1].end
            found.append(Sentence(text[start:end], start, end, own, is_first))
        return found

    @property
    def tokens(self) -> list[Token]:
        """All tokens, in order."""
        return self._tokens

    @property
    def words(self) -> list[SyntacticWord]:
        """All words, in order."""
        return [word for token in self._tokens for word in token.words]

    @cached_property
    def _tokens(self) -> list[Token]:
        analysis = self.analysis
        starts, ends = analysis.tokens.starts.tolist(), analysis.tokens.ends.tolist()
        known = [
            analysis.cells(name) if name in analysis.columns else [None] * analysis.n_words
            for name in ("form", "lemma", "upos", "xpos", "feats", "deprel")
        ]
        heads = [None] * analysis.n_words if analysis.heads is None else analysis.heads.tolist()
        ptr = analysis.word_ptr.tolist()
        firsts = np.repeat(analysis.sentence_ptr[:-1], np.diff(analysis.sentence_ptr)).tolist()
        found = []
        for t, (a, b) in enumerate(itertools.pairwise(ptr)):
            words = []
            for k in range(a, b):
                form, lemma, upos, xpos, feats, relation = (column[k] for column in known)
                words.append(SyntacticWord(
                    form or "", k - firsts[k] + 1, starts[t], ends[t], lemma, upos, xpos, parse_feats(feats),
                    heads[k], relation, self, k,
                ))  # fmt: skip
            found.append(Token(self.text[starts[t] : ends[t]], starts[t], ends[t], words))
        return found

    @cached_property
    def confidences(self) -> Any:
        """Probability of the first tag of every word; None without tags."""
        stage = next((s for s in self._stages() if s.writes[0] in TAGS), None)
        if stage is None or not self.analysis.n_words or stage.writes[0] not in self.analysis.columns:
            return None
        observed = self.analysis.observed(stage.reads)
        model = stage.tagger.fitted_model()
        sequences = model.encode(observed)
        p = model.marginals(sequences)[0]
        first = [str(name).partition("\t")[0] for name in model.labels]
        cells = self.analysis.cells(stage.writes[0])
        rows = {name: np.array([label == name for label in first]) for name in set(cells)}
        return np.array([p[t, rows[name]].sum() for t, name in enumerate(cells)])

    @cached_property
    def head_confidences(self) -> Any:
        """Probability of the head of every word; None without trees."""
        parser = None if self._pipeline is None else self._pipeline.parser_
        if parser is None or self.analysis.heads is None or not self.analysis.n_words:
            return None
        found = parser.predict_marginals(self.analysis.observed(parser.observed.split(",")))
        heads = self.analysis.heads
        ranges = itertools.pairwise(self.analysis.sentence_ptr.tolist())
        return np.concatenate(
            [p[heads[a:b], np.arange(b - a)] for p, (a, b) in zip(found, ranges, strict=True)]
        )

    def _stages(self) -> list[Any]:
        return [] if self._pipeline is None else self._pipeline.stages_

    def to_conllu(self, first_id: int = 1, document_id: str | None = None) -> str:
        """Return CoNLL-U; MISC holds blanks that are not one space, as UDPipe's ``SpacesAfter``."""
        return "".join(conllu_lines(self.analysis, first_id, document_id))

    def to_json(self) -> dict[str, Any]:
        """Return sentences and words as plain types."""
        return {
            "text": self.text,
            "sentences": [
                {
                    "text": sentence.text,
                    "start": sentence.start,
                    "end": sentence.end,
                    "opens_paragraph": sentence.opens_paragraph,
                    "tokens": [_token_record(token) for token in sentence.tokens],
                }
                for sentence in self.sentences
            ],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a record per word, as data frames take them."""
        return [
            {"sentence": s, "token": t, **_word_record(word), "start": word.start, "end": word.end}
            for s, sentence in enumerate(self.sentences)
            for t, token in enumerate(sentence.tokens)
            for word in token.words
        ]

    def explain(self, sentence: int, word: int) -> dict[str, Any]:
        """Explain a word (from 1) by the weights of each part's choice against the next best."""
        if self._pipeline is None:
            raise ValueError("a document without a pipeline cannot be explained.")
        from epigram.pipeline.explain import explain_word

        return explain_word(self._pipeline, self.analysis, sentence, word)

    def __len__(self) -> int:
        return self.analysis.tokens.n_sentences

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        return f"Doc({self.text[:40]!r}, {len(self)} sentences)"


def parse_feats(feats: str | None) -> dict[str, str] | None:
    """Return the features of a FEATS cell.

    Examples
    --------
    >>> parse_feats("Case=Nom|Number=Sing"), parse_feats("_")
    ({'Case': 'Nom', 'Number': 'Sing'}, {})
    """
    if feats is None:
        return None
    pairs = (pair.partition("=") for pair in feats.split("|") if "=" in pair)
    return {name: value for name, _, value in pairs}


def _word_record(word: SyntacticWord) -> dict[str, Any]:
    record = {
        "id": word.index, "text": word.text, "lemma": word.lemma, "upos": word.upos, "xpos": word.xpos,
        "feats": None if word.feats is None else "|".join(f"{k}={v}" for k, v in word.feats.items()) or "_",
        "head": word.head, "relation": word.relation,
    }  # fmt: skip
    return {name: value for name, value in record.items() if value is not None}


def _token_record(token: Token) -> dict[str, Any]:
    words = [_word_record(word) for word in token.words]
    return {"text": token.text, "start": token.start, "end": token.end, "words": words}


def conllu_lines(analysis: Analysis, first_id: int = 1, document_id: str | None = None) -> Iterator[str]:
    """Yield the lines of an analysis in CoNLL-U, sentence by sentence."""
    tokens = analysis.tokens
    forms, gaps = tokens.forms(), tokens.gaps()
    columns = [analysis.cells(name) for name in ("form", "lemma", *TAGS)]
    heads = ["_"] * analysis.n_words if analysis.heads is None else list(map(str, analysis.heads.tolist()))
    rows = list(zip(*columns, heads, analysis.cells("deprel"), strict=True))
    ptr, opens = analysis.word_ptr.tolist(), tokens.opens_paragraph.tolist()
    yield "# newdoc\n" if document_id is None else f"# newdoc id = {document_id}\n"
    for s, (first, last) in enumerate(tokens.sentences()):
        if opens[s]:
            yield "# newpar\n"
        yield f"# sent_id = {first_id + s}\n# text = {sentence_text(forms[first:last], gaps[first + 1 : last])}\n"
        index = 1
        for t in range(first, last):
            misc = _misc(forms[t], gaps[t + 1], gaps[0] if t == 0 else "")
            a, b = ptr[t], ptr[t + 1]
            if b - a > 1:
                yield f"{index}-{index + b - a - 1}\t{_plain(forms[t])}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n"
                misc = "_"
            for row in rows[a:b]:
                yield f"{index}\t" + "\t".join(row) + f"\t_\t{misc}\n"
                index += 1
        yield "\n"


def sentence_text(forms: list[str], gaps: list[str]) -> str:
    """Return the text of a sentence with one space for every run of blanks."""
    pieces = [forms[0] and _plain(forms[0])]
    for form, gap in zip(forms[1:], gaps, strict=True):
        pieces += [" " if gap else "", _plain(form)]
    return "".join(pieces)


def _plain(form: str) -> str:
    return form if form.isalnum() else " ".join(form.split())


def _misc(form: str, after: str, before: str) -> str:
    """Return the MISC cell of a token: the blanks around and inside it."""
    found = []
    if not after:
        found.append("SpaceAfter=No")
    if after not in ("", " "):
        found.append(f"SpacesAfter={after.translate(ESCAPES)}")
    if before:
        found.append(f"SpacesBefore={before.translate(ESCAPES)}")
    if not form.isalnum() and " ".join(form.split()) != form:
        found.append(f"SpacesInToken={form.translate(ESCAPES)}")
    return "|".join(found) or "_"
