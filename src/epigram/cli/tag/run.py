"""``epigram tag run``: labels the tokens of a file or of standard input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from epigram.cli import console
from epigram.cli.documents import Field, may_hold_records, plain_text
from epigram.cli.options import JsonLines, Model, Threads
from epigram.cli.tag.arguments import Format
from epigram.errors import InputError
from epigram.files import read_bytes

if TYPE_CHECKING:
    from epigram.features.columns import Columns
    from epigram.tagging.column_tagger import ColumnTagger


def command(
    model: Model,
    source: Path = Path("-"),
    format: Format | None = None,
    field: Field = None,
    marginals: bool = False,
    all_marginals: bool = False,
    nbest: int | None = None,
    reach: int = 0,
    threads: Threads = 1,
    json: JsonLines = False,
) -> None:
    """Tag a file or standard input; prints it with the labels as further columns.

    Parameters
    ----------
    source [INPUT] : Columns, or one sentence per line for models of words alone; - reads standard input.
    format : Format of the input [default: as in training, or plain text]
    marginals : Add the probability of each label chosen.
    all_marginals : Add LABEL:probability for every label.
    nbest K >= 1 : Number of best labellings to add, each with its probability.
    reach >= 0 : Number of sentences around one whose labels of the same words become a column.
    """
    from epigram.cli.tag import items as tag_items
    from epigram.cli.tag.output import add_labels, add_nbest, add_nearby, json_lines
    from epigram.features.columns import Column
    from epigram.features.formats import add_columns
    from epigram.tagging.column_tagger import ColumnTagger

    if tag_items.is_meant(model):
        tag_items.run(model, source, marginals, threads, json)
        return
    if nbest is not None and (marginals or all_marginals):
        raise InputError("--nbest and --marginals add different probabilities; choose one")
    if reach and nbest is not None:
        raise InputError("--reach is about the best labels of a whole text: leave out --nbest")
    tagger = ColumnTagger.load(model)
    if tagger.kind == "history" and (nbest is not None or marginals or all_marginals):
        raise InputError("a history-based model has no marginals and no n-best; train with --model crf")
    corpus = _read(tagger, source, format, field)
    is_conllu = corpus.lines is not None and corpus.lines.is_conllu
    if is_conllu and not json and (marginals or all_marginals or nbest is not None or reach):
        raise InputError(
            "CoNLL-U has no columns for --marginals, --all-marginals, --nbest and --reach; add --json"
        )
    observations = tagger.observe(corpus)
    sequences = tagger.model.encode(observations)
    if nbest is not None:
        added, records = add_nbest(tagger, sequences, observations, nbest)
    else:
        ids = tagger.decode(sequences, observations, threads)
        added, records = add_labels(tagger, sequences, ids, marginals, all_marginals)
        if reach:
            add_nearby(added, records, observations, Column(ids, list(tagger.model.labels)), reach)
    if json:
        lines = json_lines(observations, sequences, records)
    elif is_conllu:
        lines = tagger.fill(corpus, added[0])
    else:
        lines = iter(add_columns(corpus, added, tagger.reading.separator))
    console.write(lines)


def _read(tagger: ColumnTagger, source: Path, format: str | None, field: str | None) -> Columns:
    """The input, of records the lines of their text; a note says where it is taken for text."""
    if field is not None or (format is None and tagger.needs == 1 and _holds_fields(source)):
        source, format = plain_text(source, field), "text"
    raw = read_bytes(source)
    if format is None and (format := tagger.guess_format(raw, str(source))) == "text":
        console.stderr().print("[dim]read as plain text, a sentence a line; --format says otherwise[/dim]")
    return tagger.read_bytes(raw, str(source), format)


def _holds_fields(source: Path) -> bool:
    """Whether a file has named fields; rows without names are columns of a tagger."""
    if not may_hold_records(source):
        return False
    from epigram.records import recognise_file

    found = recognise_file(str(source))
    return found is not None and (found.name in ("json", "fasttext", "parquet") or found.header is not None)
