"""``epigram pipeline run``: analyses raw text, or text that is split already."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epigram.cli import console
from epigram.cli.documents import Field, plain_text
from epigram.cli.options import Threads
from epigram.cli.pipeline.arguments import (
    Parts,
    PipelineModel,
    chosen_parts,
    input_files,
    load_pipeline,
    shifted,
    split_input,
    text_blocks,
)
from epigram.errors import DataWarning, InputError

if TYPE_CHECKING:
    from epigram.pipeline.analysis import Analysis
    from epigram.pipeline.pipeline import Pipeline

InputFormat = Literal["text", "conllu", "vertical", "lines"]
OutputFormat = Literal["conllu", "jsonl", "vertical", "lines"]
SHOWN = ("form", "lemma", "upos", "xpos", "feats")


def command(
    model: PipelineModel,
    sources: list[Path] | None = None,
    form: InputFormat = "text",
    output: OutputFormat = "conllu",
    field: Field = None,
    only: Parts = None,
    picture: bool = False,
    tagger: Path | None = None,
    threads: Threads = 1,
) -> None:
    """Analyse text: sentences, tokens, words, tags, lemmas and trees.

    Parameters
    ----------
    sources [FILE]... : Files or folders, may be gzipped; - is stdin.
    form --input : Raw text, CoNLL-U, a token a line, or a sentence of tokens between blanks a line.
    output : CoNLL-U, a JSON object a sentence, a word a line, or a sentence a line.
    picture : Draw the trees instead.
    tagger TAGGER : A tagger trained from CoNLL-U that replaces a column's tags.
    """
    pipeline = load_pipeline(model, threads)
    if tagger is not None:
        replace_tagger(pipeline, tagger)
    parts = chosen_parts(only)
    if picture and (pipeline.parser_ is None or (parts is not None and "trees" not in parts)):
        raise InputError("--picture draws trees, but none are predicted; use a model with trees")
    watch, n_words, writer = console.Stopwatch(), 0, Writer("picture" if picture else output)
    blank = []
    for path in input_files(sources or []):
        before = n_words
        writer.begin_file(path)
        for offset, analysis, source in _analyses(
            pipeline, plain_text(path, field) if form == "text" else path, form, parts
        ):
            console.write(writer.pieces(analysis, offset, source))
            n_words += analysis.n_words
        if n_words == before:
            blank.append("standard input" if str(path) == "-" else str(path))
    if blank and not n_words:
        more = f" and {len(blank) - 1} more are" if len(blank) > 1 else " is"
        raise InputError(f"no text: {blank[0]}{more} empty or blank")
    for name in blank:
        warnings.warn(DataWarning(f"{name} is empty or blank"), stacklevel=1)
    seconds = max(watch.cpu_seconds, 1e-9)
    console.stderr().print(f"{n_words:,} words, {n_words / seconds:,.0f} a CPU second", style="dim")


def replace_tagger(pipeline: Pipeline, path: Path) -> None:
    """Let a tagger's labels take the place of those of a column."""
    from epigram.parsing.treebank import FIELDS
    from epigram.pipeline.analysis import TAGS
    from epigram.pipeline.stages import Stage
    from epigram.storage import load
    from epigram.tagging.crf import CRFTagger

    found = load(path)
    spec = getattr(found, "columns_", None)
    if not isinstance(found, CRFTagger) or spec is None or spec.format not in ("conllu", "auto"):
        raise InputError("is no tagger trained from CoNLL-U; train one with epigram tag train", path=path)
    column = FIELDS[spec.label_column % len(FIELDS)]
    reads = tuple(FIELDS[k] for k in spec.observed or ())
    if column not in TAGS or reads != ("form",):
        raise InputError(
            f"reads {', '.join(reads)} and writes {column}; it has to read form and write a tag", path=path
        )
    pipeline.stages_.insert(0, Stage("tagger", reads, (column,), found))
    pipeline.stages_.sort(key=lambda stage: stage.name != "words")


def _analyses(
    pipeline: Pipeline, path: Path, form: str, parts: tuple[str, ...] | None
) -> Iterator[tuple[int, Analysis, Any]]:
    """Yield the analyses of a file with their offsets and the treebank that they were read from."""
    from epigram.features.formats import CONLLU_LINE, head_lines
    from epigram.files import check_sentences, decode, read_bytes
    from epigram.pipeline.analysis import read_gold

    raw = read_bytes(path)
    if form == "text":
        lines = [line for line in head_lines(raw) if not line.startswith("#")]
        if lines and CONLLU_LINE.fullmatch(lines[0]):
            raise InputError("CoNLL-U, but text is expected; --input conllu reads it", path=path)
        check_sentences(raw, path)
        for offset, block in text_blocks(decode(raw, path).removeprefix("\ufeff")):
            yield offset, pipeline.analyse(block, parts), None
    elif form == "conllu":
        from epigram.parsing.treebank import parse_treebank

        given, _ = read_gold(raw, str(path))
        wanted = tuple(p for p in parts or ("tags", "lemmas", "trees") if p not in ("tokens", "words"))
        yield 0, pipeline.annotate(given.bare(), wanted), parse_treebank(raw, str(path))
    else:
        yield 0, pipeline.annotate(split_input(raw, str(path), form), parts), None


class Writer:
    """Writes analyses in one format, with sentences numbered through all blocks."""

    def __init__(self, output: str) -> None:
        self.output, self.path, self._n, self._is_new = output, Path("-"), 1, True

    def begin_file(self, path: Path) -> None:
        """Note the file that the next analyses are of."""
        self.path, self._is_new = path, True

    def pieces(self, analysis: Analysis, offset: int, source: Any) -> Iterator[str]:
        """Yield the text of an analysis."""
        if not analysis.tokens.n_sentences:
            return
        method = getattr(self, f"_{self.output}")
        yield from method(analysis, offset, source)
        self._n += analysis.tokens.n_sentences
        self._is_new = False

    def _conllu(self, analysis: Analysis, _: int, source: Any) -> Iterator[str]:
        from epigram.pipeline.document import conllu_lines

        if source is not None:
            changed = {name: analysis.cells(name) for name in analysis.columns if name != "form"}
            yield from source.written(analysis.heads, changed)
            return
        lines = conllu_lines(analysis, self._n, None if str(self.path) == "-" else self.path.name)
        first = next(lines)
        if self._is_new:
            yield first
        yield from lines

    def _jsonl(self, analysis: Analysis, offset: int, _: Any) -> Iterator[str]:
        from epigram.pipeline.document import Doc

        for sentence in Doc(analysis).to_json()["sentences"]:
            yield json.dumps(shifted(sentence, offset), ensure_ascii=False) + "\n"

    def _vertical(self, analysis: Analysis, *_: Any) -> Iterator[str]:
        columns = [analysis.cells(name) for name in SHOWN if name in analysis.columns]
        if analysis.heads is not None:
            columns += [list(map(str, analysis.heads.tolist())), analysis.cells("deprel")]
        rows = list(zip(*columns, strict=True))
        ptr = analysis.sentence_ptr.tolist()
        for a, b in itertools.pairwise(ptr):
            yield "".join("\t".join(row) + "\n" for row in rows[a:b]) + "\n"

    def _lines(self, analysis: Analysis, *_: Any) -> Iterator[str]:
        forms = ["_".join(form.split()) for form in analysis.tokens.forms()]
        for a, b in analysis.tokens.sentences():
            yield " ".join(forms[a:b]) + "\n"

    def _picture(self, analysis: Analysis, *_: Any) -> Iterator[str]:
        from epigram.parsing.drawing import terminal_picture

        assert analysis.heads is not None
        forms, relations, heads = analysis.cells("form"), analysis.cells("deprel"), analysis.heads.tolist()
        ptr = analysis.sentence_ptr.tolist()
        for a, b in itertools.pairwise(ptr):
            yield terminal_picture(forms[a:b], heads[a:b], relations[a:b]) + "\n\n"
