"""ScorerRecipe: a scorer by the names of its files, which any process can open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from epigram.errors import InputError
from epigram.files import GZIP_MAGIC
from epigram.filter.pieces import PieceModel
from epigram.filter.scorers import DocumentScorer, LabelProbability, Perplexity, PerplexityRatio
from epigram.lm.base import LanguageModel
from epigram.lm.ngram.arpa import looks_like_arpa, read_arpa
from epigram.protocols import Floats
from epigram.storage import load


@dataclass(frozen=True)
class ScorerRecipe:
    """A score: its field, its model, and the second model, label or tokens that it needs.

    ``model`` alone gives perplexities, with ``against`` those divided by the ones under that model, with ``label`` the
    probability of a label of a text classifier.
    """

    name: str
    model: str
    against: str | None = None
    label: str | None = None
    pieces: str | None = None
    ccnet: bool = False

    @classmethod
    def parse(cls, text: str, pieces: str | None, ccnet: bool) -> ScorerRecipe:
        """A recipe as the command line has it: ``NAME=MODEL[,against=MODEL][,label=NAME]``.

        Examples
        --------
        >>> ScorerRecipe.parse("ratio=good.epigram,against=all.arpa", None, False).against
        'all.arpa'
        """
        name, equals, rest = text.partition("=")
        model, *more = rest.split(",")
        settings = dict(part.partition("=")[::2] for part in more)
        if not (name and equals and model) or not settings.keys() <= {"against", "label"}:
            raise InputError(
                f"--also {text!r}: expected NAME=MODEL, with ,against=MODEL or ,label=NAME behind it"
            )
        is_lm = "label" not in settings
        return cls(name, model, **settings, pieces=pieces if is_lm else None, ccnet=ccnet and is_lm)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Scores of texts; every process opens the files once."""
        return _built(self)(texts)

    def build(self) -> DocumentScorer:
        """Open the files."""
        if self.label is not None:
            if self.against is not None:
                raise InputError(
                    "a label is of a text classifier, --against of language models; give one of them"
                )
            return LabelProbability(open_scored(self.model, "TextClassifier"), self.label)
        model = open_scored(self.model, "LanguageModel")
        pieces = None if self.pieces is None else PieceModel.read(self.pieces)
        if self.against is None:
            return Perplexity(model, pieces, self.ccnet)
        return PerplexityRatio(model, open_scored(self.against, "LanguageModel"), pieces, self.ccnet)


@lru_cache(8)
def _built(recipe: ScorerRecipe) -> DocumentScorer:
    return recipe.build()


def open_scored(path: str, kind: str) -> Any:
    """The language model or text classifier of a file."""
    from epigram.classify import TextClassifier

    is_arpa = False
    try:
        with open(path, "rb") as file:
            head = file.read(1 << 13)
            is_arpa = looks_like_arpa(head) or head[:2] == GZIP_MAGIC
    except OSError:
        pass  # an installed model, or an error that names the file
    found = read_arpa(path) if is_arpa else load(path)
    if kind == "LanguageModel" and not isinstance(found, LanguageModel):
        way = (
            "name its label with --label"
            if isinstance(found, TextClassifier)
            else "train one with epigram lm train"
        )
        raise InputError(f"is no language model; {way}", path=path)
    if kind == "TextClassifier" and not isinstance(found, TextClassifier):
        raise InputError("is no text classifier; train one with epigram classify train", path=path)
    return found
