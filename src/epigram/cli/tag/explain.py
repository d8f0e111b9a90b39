"""``epigram tag explain``: lists the weights behind the label of each token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli import console
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.chain.explain import LabelExplanation


def command(
    model: Path,
    source: Path = Path("-"),
    sentence: int = 0,
    token: int | None = None,
    top: int = 10,
    json: bool = False,
) -> None:
    """Show the weights behind the label of each token; they sum to its lead.

    Parameters
    ----------
    model : CRF (*.epigram or *.crfsuite).
    source [INPUT] : Sentences, as for tag run; CRFsuite's items for its models; - reads standard input.
    sentence >= 0 : Number of the sentence in the input, from 0.
    token >= 0 : Number of the token, from 0 [default: all tokens]
    top >= 1 : Number of terms to print per token.
    json : Print one JSON object with all terms.
    """
    explain_token, sequences, words = _read(model, source)
    if sentence >= sequences.n_sentences:
        raise InputError(
            f"there is no sentence {sentence}; the input has {sequences.n_sentences}, counted from 0"
        )
    first = int(sequences.word_ptr[sentence])
    tokens = range(int(sequences.word_lengths[sentence])) if token is None else [token]
    found = [explain_token(sentence, t) for t in tokens]
    if json:
        console.print_json(
            {"sentence": sentence, "tokens": [_record(why, words[first + why.token]) for why in found]}
        )
        return
    for why in found:
        title = f"{words[first + why.token]}: {why.label} against {why.other or 'nothing'}, by {why.lead:.3f}"
        rows = [(term.token, term.feature, term.label, f"{term.lift:+.3f}") for term in why.terms[:top]]
        console.table(title, ("token", "feature", "label", "lift"), rows)


def _record(why: LabelExplanation, word: str) -> dict[str, Any]:
    shown = {"token": why.token, "word": word, "label": why.label, "runner_up": why.other, "lead": why.lead}
    return {**shown, "terms": [asdict(term) for term in why.terms]}


def _read(model: Path, source: Path) -> tuple[Callable[[int, int], LabelExplanation], Any, list[str]]:
    """Return the function that explains a token, the encoded input and its words."""
    from epigram.chain.explain import explain as explain_token
    from epigram.chain.storage import FAMILY, chain_model
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming

    file = ModelFile.load(model, FAMILY)
    if file.header.get("kind") not in ("crf", "segment"):
        raise InputError("only a CRF explains its labels; train with --model crf", path=model)
    if file.header.get("template") is None:
        from epigram.cli.tag.items import read_known_items

        with blaming(model):
            chain = chain_model(file)
        items = read_known_items(source, chain)
        names = [max(token, key=len, default="") for sentence in items.features for token in sentence]
        features = chain.encode(items.features)
        return lambda s, t: explain_token(chain, features.take([s]), t), features, names
    from epigram.tagging.column_tagger import ColumnTagger

    tagger = ColumnTagger.load(model)
    corpus = tagger.read(source)
    observations = tagger.observe(corpus)
    first, sequences = observations.columns[0], tagger.model.encode(observations)

    def why(sentence: int, token: int) -> LabelExplanation:
        if tagger.look is not None:
            return tagger.look.explain(tagger.model, sequences, observations, sentence, token)
        return explain_token(tagger.model, sequences.take([sentence]), token)

    return why, sequences, [first.strings[k] for k in first.ids.tolist()]
