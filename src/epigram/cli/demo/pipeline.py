"""Pipeline tour: raw English text becomes sentences, words, tags, lemmas and trees."""

from __future__ import annotations

from typing import Any

from epigram.cli import console
from epigram.datasets import sample

TEXT = "The old sailor didn't answer. Who had watched his ship leave the harbour at 5.30 a.m.? Nobody knew."
SAMPLE_TEXT = "The cook washes three pans . She is carrying the bread ."
SENTENCES = 200  # of the sample treebank, where no English model is installed


def show(seed: int) -> None:
    """Analyse a text with the installed English model, or with one of the sample treebank."""
    import epigram
    from epigram.parsing.drawing import terminal_picture
    from epigram.storage.installed import installed_models

    screen = console.stdout()
    screen.rule("[bold]a pipeline analyses raw text", style="dim")
    if "english" in installed_models():
        nlp, text = epigram.load("english"), TEXT
    else:
        nlp, text = _trained(seed), SAMPLE_TEXT
        screen.print(
            "No English model is installed (pip install ./models/english); "
            f"this one has learnt from {SENTENCES} sentences.",
            style="dim",
        )
    screen.print(f"  {text}\n", highlight=False, markup=False)
    for sentence in nlp(text):
        words = sentence.words
        names = [f"{word.text} {word.upos}" + (f" {word.lemma}" if word.lemma else "") for word in words]
        if words[0].head is None:
            picture = "\n".join(names)
        else:
            heads, relations = [word.head or 0 for word in words], [word.relation or "" for word in words]
            picture = terminal_picture(names, heads, relations)
        screen.print(
            "\n".join("  " + line for line in picture.splitlines()) + "\n", highlight=False, markup=False
        )


def _trained(seed: int) -> Any:
    """Train tokens and tags on the sample treebank."""
    from epigram.pipeline.analysis import read_gold
    from epigram.pipeline.pipeline import Pipeline

    sentences = sample.treebank("train", seed=seed).split("\n\n")[:SENTENCES]
    gold, _ = read_gold(("\n\n".join(sentences) + "\n\n").encode(), "the sample treebank")
    return Pipeline(("tokens", "tags"), folds=0, tag_passes=5, token_passes=5, random_state=seed).fit(gold)
