"""Names what a page cannot reproduce: features of models that JavaScript does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from epigram.storage import ModelFile

TAGGERS = {"crf", "history"}
TABLES = {"backoff", "loglinear"}
"""Kinds of language models that are tables of n-grams."""
FAMILIES = {
    "tagger": "taggers",
    "pipeline": "pipelines",
    "classifier": "text classifiers",
    "lm": "n-gram and log-linear language models",
    "ime": "Japanese converters",
}
"""Families of models that pages can be made of, in words."""
_UNLIKE = re.compile(r"\(\?(?!:)|\\[A-Zbux0-9]|\[:")
"""Syntax of regular expressions that JavaScript lacks, or reads in another way."""


def obstacles(file: ModelFile) -> list[str]:
    """Return the features of a model that a page cannot reproduce; none where it can.

    Examples
    --------
    >>> header = {"kind": "segment", "template": "U:%x[0,0|in:places.txt]"}
    >>> obstacles(ModelFile("tagger", header, {}))
    ['taggers of kind segment', 'the function in:places.txt of its template (phrases of several words)']
    """
    if file.family not in FAMILIES:
        return [f"models of family {file.family}"]
    return list(dict.fromkeys(_obstacles(file)))


def _obstacles(file: ModelFile) -> Iterator[str]:
    if file.family == "tagger":
        yield from _of_tagger(file.header)
    elif file.family == "pipeline":
        yield from _of_pipeline(file.header)
    elif file.family == "ime":
        if "rerank" in file.header:
            yield "rerankers of a converter"
        if file.header["lessons"] or file.header.get("user_words"):
            yield "corrections and words of a user"
    elif file.family == "lm":
        yield from _of_language_model(file)


def _of_tagger(header: dict[str, Any]) -> Iterator[str]:
    kind, template = header.get("kind"), header.get("template")
    if kind not in TAGGERS:
        yield f"taggers of kind {kind}"
    if "reranker" in header:
        yield "rerankers of taggers"
    if template is None:
        yield "models that read features, not columns of words (they have no template)"
        return
    for line in template.splitlines():
        if line.strip().startswith("S"):
            yield "S lines of its template (segments)"
        if line.strip().startswith("#"):
            continue
        for name in re.findall(r"[|](in:[^|\]]*)", line):
            yield f"the function {name} of its template (phrases of several words)"
        for pattern in re.findall(r"[|]match:(.*?)\](?=[^\]]*(?:%x|$))", line):
            if _UNLIKE.search(pattern):
                yield f"the regular expression {pattern} of its template"


def _of_pipeline(header: dict[str, Any]) -> Iterator[str]:
    parts = {part["name"]: part["header"] for part in header["parts"]}
    if "tokens" not in parts:
        yield "pipelines without a tokenizer"
    for name, own in parts.items():
        if name != "trees":
            yield from _of_tagger(own)
        elif own["settings"]["decoding"] != "mbr" or own.get("pruner") is None or own.get("classes"):
            yield "parsers of first order, with word classes, or that prune no arcs"


def _of_language_model(file: ModelFile) -> Iterator[str]:
    header = file.header
    for part in header["parts"] if header["settings"]["model"] == "mixture" else [header]:
        if part["settings"]["model"] not in TABLES:
            yield f"language models of kind {part['settings']['model']}"
    for name, tensor in file.tensors.items():
        kind = tensor.tobytes().split(b"\n")[0].decode() if name.endswith("words.pieces") else "chars"
        if kind != "chars":
            yield f"the tokenizer {kind} of a language model"
