"""``epigram pipeline explain``: the weights behind the analysis of a word."""

from __future__ import annotations

from dataclasses import asdict

from epigram.cli import console
from epigram.cli.options import Json
from epigram.cli.pipeline.arguments import PipelineModel, load_pipeline
from epigram.errors import InputError

SHOWN = 8


def command(
    model: PipelineModel,
    text: str,
    sentence: int = 1,
    word: int = 1,
    json: Json = False,
) -> None:
    """Explain the tags, lemma and head of a word by the weights against the next best choice.

    Parameters
    ----------
    text : The text.
    sentence >= 1 : Number of the sentence.
    word >= 1 : Number of the word in its sentence.
    """
    document = load_pipeline(model)(text)
    if sentence > len(document) or word > len(document.sentences[sentence - 1].words):
        raise InputError(
            f"there is no word {word} of sentence {sentence}; the text has {len(document)} sentences"
        )
    found = document.explain(sentence - 1, word)
    chosen = document.sentences[sentence - 1].words[word - 1]
    if json:
        console.print_json({"word": chosen.text, **{name: asdict(why) for name, why in found.items()}})
        return
    for name, why in found.items():
        label, other = (why.head, why.other) if name == "trees" else (why.label, why.other)
        rows = [(term.feature, term.lift) for term in why.terms[:SHOWN]]
        title = f"{name}: {chosen.text} is {label}, {why.lead:+.2f} over {other}".replace("\t", " ")
        console.table(title, ("feature", "lift"), rows)
