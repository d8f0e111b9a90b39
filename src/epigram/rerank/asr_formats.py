"""Reads n-best lists of NeMo, ESPnet, Kaldi, HyPoradise and LETOR.

NeMo
    ``text<TAB>score`` a line, the same number of lines (the beam) for every utterance and nothing between them.
ESPnet
    a folder with ``1best_recog``, ``2best_recog``, ..., each with ``text`` and ``score`` (``id words``, ``id number``).
Kaldi
    a folder with ``words_text``, ``ac_cost`` and ``lm_cost``, whose ids are ``utterance-1``, ``utterance-2``, ...
HyPoradise
    one JSON array of ``{"input": [hypothesis, ...], "output": reference}``; the rank is the score.
LETOR, SVMlight
    ``relevance qid:id number:value ... # document`` a line; errors are what the relevance lacks of the list's best.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from epigram.files import parse_json, read_lines
from epigram.rerank.nbest import Builder

_LETOR = re.compile(r"^\s*-?\d+(\.\d+)?\s+qid:\S+(\s|$)")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|-?inf")
_RANKED = re.compile(r"(\d+)best_recog$")


def is_letor(line: str) -> bool:
    """Whether a line is in LETOR format."""
    return _LETOR.match(line) is not None


def is_nemo(line: str) -> bool:
    """Whether a line is a text, a tab and a number."""
    _, tab, score = line.rpartition("\t")
    return bool(tab) and _NUMBER.fullmatch(score.strip()) is not None


def read_nemo(lines: list[str], builder: Builder, beam: int | None) -> None:
    """Lists of ``beam`` lines each."""
    full = [(number, line) for number, line in enumerate(lines, 1) if line]
    if beam is None:
        raise builder.fail(
            "lines of text and score: say how many an utterance has (beam), or give references", 1
        )
    if beam < 1 or len(full) % beam:
        raise builder.fail(f"{len(full)} lines are no whole number of lists of {beam} (beam)", len(lines))
    for k, (number, line) in enumerate(full):
        if k % beam == 0:
            builder.begin(str(k // beam + 1), None, None)
        text, _, score = line.rpartition("\t")
        builder.candidate(text.split(), builder.parse_number(score, "score", number), number)


def read_letor(lines: list[str], builder: Builder) -> None:
    """Documents of each query, in the order of the file."""
    queries: dict[str, list[tuple[float, dict[str, float], str, int]]] = {}
    for number, line in enumerate(lines, 1):
        content, _, comment = line.partition("#")
        fields = content.split()
        if not fields:
            continue
        if len(fields) < 2 or not fields[1].startswith("qid:"):
            raise builder.fail("expected 'relevance qid:id number:value ...'", number)
        named: dict[str, float] = {}
        for field in fields[2:]:
            name, colon, value = field.partition(":")
            if not colon:
                raise builder.fail(f"expected number:value, found {field!r}", number)
            named[name] = builder.parse_number(value, f"feature {name}", number)
        documents = queries.setdefault(fields[1][4:], [])
        relevance = builder.parse_number(fields[0], "relevance", number)
        documents.append((relevance, named, comment.strip(), number))
    for query, documents in queries.items():
        builder.begin(query, None, None)
        best = max(relevance for relevance, *_ in documents)
        for k, (relevance, named, comment, number) in enumerate(documents, 1):
            text = comment or f"document {k}"
            builder.candidate(text.split(), 0.0, number, named, text, best - relevance)


def read_hyporadise(text: str, builder: Builder) -> None:
    """Hypotheses of each utterance, best first."""
    records = parse_json(text, builder.path)
    for k, record in enumerate(records if isinstance(records, list) else [records], 1):
        found = record.get("input") if isinstance(record, dict) else None
        if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
            raise builder.fail(f"entry {k} has no 'input' with hypotheses", None)
        reference = record.get("output")
        if reference is not None and not isinstance(reference, str):
            raise builder.fail(f"'output' of entry {k} must be a string", None)
        words = None if reference is None else reference.split()
        builder.begin(str(record.get("id", k)), None if words is None else " ".join(words), words)
        for rank, hypothesis in enumerate(found):
            builder.candidate(hypothesis.split(), -float(rank), None)


def read_folder(folder: Path, builder: Builder) -> bool:
    """Read a folder of ESPnet or Kaldi; returns False for other folders."""
    ranked = {int(found[1]): path for path in folder.iterdir() if (found := _RANKED.match(path.name))}
    if ranked:
        _read_espnet([ranked[k] for k in sorted(ranked)], builder)
    elif (folder / "words_text").exists():
        _read_kaldi(folder, builder)
    else:
        return False
    return True


def _read_espnet(folders: list[Path], builder: Builder) -> None:
    texts, scores = ([_table(folder / name, builder) for folder in folders] for name in ("text", "score"))
    for id in texts[0]:
        builder.begin(id, None, None)
        for text, score in zip(texts, scores, strict=True):
            if id not in text:
                continue
            found = _NUMBER.search(score.get(id, ""))  # newer versions write tensor(-1.5)
            if found is None:
                raise builder.fail(f"the score of {id!r} is missing or no number", None)
            builder.candidate(text[id].split(), float(found[0]), None)


def _read_kaldi(folder: Path, builder: Builder) -> None:
    texts = _table(folder / "words_text", builder)
    costs = {
        name: _table(folder / f"{name}_cost", builder)
        for name in ("ac", "lm")
        if (folder / f"{name}_cost").exists()
    }
    current = None
    for id, text in texts.items():
        utterance = id.rpartition("-")[0] or id
        if utterance != current:
            current = utterance
            builder.begin(utterance, None, None)
        named = {
            name: -builder.parse_number(table.get(id, ""), "cost", None) for name, table in costs.items()
        }
        builder.candidate(text.split(), sum(named.values()), None, named)


def _table(path: str | PathLike[str], builder: Builder) -> dict[str, str]:
    """Parse lines ``id rest``."""
    builder.path = path
    pairs = (line.split(maxsplit=1) for line in read_lines(path) if line.strip())
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}
