"""``epigram classify train``: trains a text classifier on labelled documents."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from epigram.cli.classify.arguments import FileFormat, Files, LabelField
from epigram.cli.documents import Field
from epigram.cli.options import (
    EVERY,
    Json,
    ModelOutput,
    Resume,
    Seconds,
    Threads,
    derived,
    parameters,
    weights_or_word,
)
from epigram.errors import DataWarning, InputError

ClassWeight = Annotated[
    str | None,
    typer.Option(
        parser=partial(weights_or_word, name="class_weight", words=["balanced"]),
        metavar="balanced|LABEL=W,...",
        help="Weights of labels; balanced: the same total for every label.",
        rich_help_panel="Training",
    ),
]


def _settings(
    words: int | None = None,
    chars: str | None = None,
    across: bool = True,
    cased: bool | None = None,
    weighting: Literal["binary", "log"] | None = None,
    normalise: Literal["NFC", "NFKC", "none"] = "NFC",
    l1: float | None = None,
    l2: float | None = None,
    small: bool = False,
    max_features: int | None = None,
    class_weight: ClassWeight = None,
    bits: int = 8,
    budget: str = "60s",
) -> None:
    """Settings of a classifier.

    N-grams
    -------
    words >= 0 <= 3 : Longest word n-grams; 0: none [default: chosen].
    chars N-N : Character n-grams, such as 2-6 [default: chosen].
    across --across/--inside : With --chars: across words or inside them.
    cased --cased/--lower : Keep capitals or make them small [default: chosen].
    weighting : Values of n-grams: 1, or 1 + log count [default: chosen].
    normalise : Unicode normalisation.

    Training
    --------
    l1 >= 0.0 : Strength of l1 * sum |w| [default: 0.001].
    l2 >= 0.0 : Strength of l2 * sum w^2 [default: chosen].
    small : L1 alone: a tenth of the size, some 3 points less on sentiment.
    max_features >= 0 : Largest number of weights; 0: all [default: as the file size allows].
    bits : Bits of a stored weight: 8, 16, or 0 for float32.
    budget SECONDS : CPU time that the choice may take.
    """


@derived(parameters(_settings))
def command(
    context: typer.Context,
    files: Files,
    output: ModelOutput,
    field: Field = None,
    label: LabelField = None,
    format: FileFormat = None,
    several: bool | None = None,
    threads: Threads = 1,
    seed: int = 0,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    json: Json = False,
    **given: Any,
) -> None:
    """Train a text classifier; what is not given is chosen on held-out parts of the files.

    Parameters
    ----------
    several --several/--single : Several labels per text [default: if the file has such texts].
    seed : Seed of the order of samples.
    """
    from epigram.classify import TextClassifier
    from epigram.cli.classify.arguments import read_labelled
    from epigram.cli.run import TrainingRun

    run = TrainingRun(output, None, json, checkpoint, resume, context)
    texts, labels = read_labelled(files, field, label, format)
    texts, labels = clean(texts, labels, several, files[0])
    if several is None:
        several = any(len(names) != 1 for names in labels)
    unknown = set(given["class_weight"] or ()) - {"balanced", *(name for names in labels for name in names)}
    if unknown and given["class_weight"] != "balanced":
        raise InputError(f"--class-weight: no document has the label {min(unknown)!r}")
    cased, normalise = given["cased"], given["normalise"]
    settings = {name: given[name] for name in ("words", "across", "weighting", "l1", "max_features", "bits")}
    settings |= {
        "chars": range_of(given["chars"]), "lowercase": None if cased is None else not cased,
        "normalise": "" if normalise == "none" else normalise, "l2": 0.0 if given["small"] else given["l2"],
        "several": several, "class_weight": given["class_weight"],
        "budget": seconds_of(given["budget"]), "threads": threads, "random_state": seed,
    }  # fmt: skip
    classifier = TextClassifier(**settings)
    with run.progress("choosing") as show:
        y = labels if several else [names[0] for names in labels]
        classifier.fit(texts, y, callback=lambda said: show(0, said))
    record = {name: value for name, value in classifier.fit_.items() if json or name != "trials"}
    run.finish(record, save=lambda: classifier.save(output))


def clean(
    texts: list[str], labels: list[tuple[str, ...]], several: bool | None, path: Path
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Leave out texts without labels, unless ``several``; warn of empty texts and copies."""
    kept = [k for k, names in enumerate(labels) if names or several]
    for n, said in (
        (len(texts) - len(kept), "documents have no label and are left out"),
        (sum(not texts[k].strip() for k in kept), "documents have no text"),
        (len(kept) - len({texts[k] for k in kept}), "documents are copies of others"),
    ):
        if n:
            warnings.warn(DataWarning(f"{path}: {n:,} {said}"), stacklevel=2)
    return [texts[k] for k in kept], [labels[k] for k in kept]


def range_of(chars: str | None) -> tuple[int, int] | None:
    """``2-6`` as numbers."""
    if chars is None:
        return None
    least, _, most = chars.partition("-")
    if not (least.isdecimal() and (most or least).isdecimal()):
        raise InputError(f"--chars {chars}: expected two lengths, such as 2-6")
    return int(least), int(most or least)


def seconds_of(budget: str) -> float:
    """``60s``, ``2m`` or ``90`` in seconds.

    Examples
    --------
    >>> seconds_of("60s"), seconds_of("2m"), seconds_of("1.5")
    (60.0, 120.0, 1.5)
    """
    number, unit = (budget[:-1], budget[-1]) if budget[-1:] in ("s", "m") else (budget, "s")
    try:
        return float(number) * (60.0 if unit == "m" else 1.0)
    except ValueError:
        raise InputError(f"--budget {budget}: expected seconds or minutes, such as 60s or 2m") from None
