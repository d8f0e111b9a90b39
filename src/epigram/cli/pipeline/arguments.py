"""Arguments that the commands of ``epigram pipeline`` share, and readers of their inputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.pipeline.analysis import Analysis
    from epigram.pipeline.evaluate import ConllScore
    from epigram.pipeline.pipeline import Pipeline

BLOCK = 1 << 18  # characters that are analysed at a time
Parts = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="PART,PART",
        help="Of tokens, words, tags, lemmas, trees [default: all that the model or treebank has].",
    ),
]
PipelineModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A *.epigram file, or the name of an installed model.")
]


def chosen_parts(only: str | None) -> tuple[str, ...] | None:
    """Return the parts that ``--only`` names."""
    from epigram.pipeline.pipeline import PARTS

    if only is None:
        return None
    names = tuple(name.strip() for name in only.split(","))
    for name in names:
        if name not in PARTS:
            raise InputError(f"--only: there is no part {name!r}; parts are {', '.join(PARTS)}")
    return names


def load_pipeline(name: str | Path, threads: int = 1) -> Pipeline:
    """Return the pipeline of a file, or of an installed model."""
    from epigram.storage import load

    found: Pipeline = load(name, "pipeline")
    found.threads = threads
    return found


def score_file(
    pipeline: Pipeline, gold: Path, paragraphs: bool = True, tokens: bool = False
) -> dict[str, ConllScore]:
    """Return the scores on a gold file, from its raw text or, with ``tokens``, from its words."""
    from epigram.files import read_bytes
    from epigram.pipeline.analysis import read_gold
    from epigram.pipeline.evaluate import evaluate_analysis

    truth, _ = read_gold(read_bytes(gold), str(gold), paragraphs)
    if tokens or pipeline.splitter_ is None:
        return evaluate_analysis(truth, pipeline.annotate(truth.bare(), ("tags", "lemmas", "trees")))
    return evaluate_analysis(truth, pipeline.analyse(truth.tokens.text))


def input_files(sources: list[Path]) -> Iterator[Path]:
    """Yield files, and those of folders by name; ``-`` is standard input."""
    for source in sources or [Path("-")]:
        if source.is_dir():
            found = sorted(path for path in source.rglob("*") if path.is_file())
            if not found:
                raise InputError("holds no files", path=source)
            yield from found
        else:
            yield source


def text_blocks(text: str, size: int = BLOCK) -> Iterator[tuple[int, str]]:
    """Cut a text at blank lines into blocks of about ``size`` characters, each with its offset.

    Examples
    --------
    >>> list(text_blocks("a\\n\\nb\\n\\nc", 2))
    [(0, 'a\\n\\n'), (3, 'b\\n\\n'), (6, 'c')]
    """
    at = 0
    while at < len(text):
        cut = text.find("\n\n", at + size - 1)
        end = len(text) if cut < 0 else cut + 2
        while end < len(text) and text[end].isspace():
            end += 1
        yield at, text[at:end]
        at = end


def split_input(raw: bytes, path: str, form: str) -> Analysis:
    """Return the tokens of text that is split already: a token a line, or a sentence a line."""
    from epigram.features.formats import parse_columns
    from epigram.pipeline.analysis import Analysis, as_column
    from epigram.pipeline.tokenization import tokenization_of

    columns = parse_columns(
        raw, path, "text" if form == "lines" else "conll", None if form == "lines" else "\t"
    )
    sentences: list[list[tuple[str, str]]] = []
    forms: list[str] = []
    for row in columns.rows():
        own = [cells[0] for cells in row]
        forms += own
        sentences.append([(one, " ") for one in own[:-1]] + [(one, "\n") for one in own[-1:]])
    tokens = tokenization_of(sentences, [k == 0 for k in range(len(sentences))])
    import numpy as np

    return Analysis(tokens, np.arange(len(forms) + 1), {"form": as_column(forms)})


def shifted(record: Any, by: int) -> Any:
    """Add an offset to all ``start`` and ``end`` of a record."""
    if isinstance(record, dict):
        return {k: v + by if k in ("start", "end") else shifted(v, by) for k, v in record.items()}
    return [shifted(item, by) for item in record] if isinstance(record, list) else record
