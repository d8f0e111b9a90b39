"""``epigram lm counts``: the n-grams of a text and how often each occurs, as a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram import cli
from epigram.cli.lm_training import vocabulary_of
from epigram.errors import InputError


def command(
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line (gzip too); - is stdin.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Counts; *.gz is packed; - is stdout.")
    ],
    order: Annotated[int, typer.Option(min=1, help="Longest n-gram.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Occurrences a word needs; others are <unk>.")] = 1,
    max_words: Annotated[int | None, typer.Option(min=1, help="Most words of the vocabulary.")] = None,
    vocab: Annotated[Path | None, typer.Option(metavar="FILE", help="The vocabulary, a word a line.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Count the n-grams of a text, for `lm train --counts` or SRILM's ngram-count -read.

    One n-gram a line: its words, a tab, how often. Files put end to end are the counts of both texts.
    """
    from epigram.cli.lm_prepare import write_text
    from epigram.lm.corpus import Corpus
    from epigram.lm.ngram.counts import count_lines
    from epigram.lm.ngram.kneser_ney import count_ngrams
    from epigram.text import check_writable

    to_stdout = str(output) == "-"
    if to_stdout and json:
        raise InputError("the counts go to standard output; leave out --json, or give -o a file.")
    if not to_stdout:
        check_writable(output)
    corpus = Corpus.for_training(text, vocabulary_of(vocab), min_count, max_words)
    levels = count_ngrams(corpus, order)
    write_text(output, "".join(f"{line}\n" for line in count_lines(corpus.vocabulary, levels)).encode())
    record = {
        "sentences": corpus.n_sentences,
        "tokens": corpus.n_tokens,
        "words": len(corpus.vocabulary),
        "ngrams": [int((level.count > 0).sum()) for level in levels],
    }
    if not to_stdout:
        cli.print_json(record) if json else cli.facts(str(output), record)
