"""``epigram lm prepare``: normalises text for training."""

from __future__ import annotations

import gzip
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from epigram.cli import console
from epigram.cli.options import Json
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.normalise import Preparation, Replaced

EVERY = 10_000
"""Sentences between two lines of progress."""


def command(
    text: Path,
    output: Path,
    like: Path | None = None,
    save: Path | None = None,
    min_count: int = 2,
    tokens: str | None = None,
    names: bool = False,
    split: bool = False,
    keep_case: bool = False,
    keep_numbers: bool = False,
    json: Json = False,
) -> None:
    """Prepare a text for training: lower case, symbols for numbers, rare words and proper nouns.

    Parameters
    ----------
    text : One sentence a line (gzip too); - is stdin.
    output -o OUT : Text file to write; *.gz is compressed; - writes to standard output.
    like FILE : File that --save wrote for the training text; prepares other text in the same way.
    save FILE : File to write settings, words and proper nouns to, for --like.
    min_count >= 1 : Least number of occurrences of a word; rarer ones become <unk>.
    tokens chars|words|FILE : Only split the text: into characters, words, or pieces of a sentencepiece (*.model) or
        tokenizers (*.json) model.
    names : Replace proper nouns (capitalised inside a sentence, never in lower case) by <name>.
    split : Separate punctuation from words.
    keep_case : Keep capital letters.
    keep_numbers : Keep numbers; otherwise they become #n.
    """
    from epigram.files import check_writable, read_lines
    from epigram.lm.normalise import Preparation, Replaced

    to_stdout = str(output) == "-"
    if to_stdout and json:
        raise InputError("the text goes to standard output; leave out --json, or give -o a file.")
    settings_given = min_count != 2 or names or split or keep_case or keep_numbers
    if like is not None and settings_given:
        raise InputError("--like has its own settings; leave out the others.")
    if tokens is not None and (settings_given or like is not None or save is not None):
        raise InputError("--tokens only cuts the text; leave out the other settings.")
    for target in (output, save):
        if target is not None and str(target) != "-":
            check_writable(target)
    lines = list(read_lines(text, sentences=True))
    if tokens is not None:
        _cut(text, lines, tokens, output, json)
        return
    with console.progress() as bar:
        task = bar.add_task("reading", total=len(lines), status="")

        def advance(number: int) -> None:
            if number % EVERY == 0:
                bar.update(task, completed=number)

        if like is not None:
            how = Preparation.read(like)
        else:
            how = Preparation.learn(
                lines,
                lower=not keep_case,
                numbers=not keep_numbers,
                names=names,
                split=split,
                min_count=min_count,
                progress=advance,
            )
        bar.update(task, completed=len(lines))
    replaced = Replaced()
    content = "".join(" ".join(words) + "\n" for words in how.apply(lines, replaced)).encode()
    if replaced.tokens == 0:
        raise InputError("no words; expected one sentence a line", path=text)
    write_text(output, content)
    if save is not None:
        how.write(save)
    if not to_stdout:
        record = _report(how, replaced)
        console.report(record, str(output), json)


def _cut(text: Path, lines: list[str], tokens: str, output: Path, json: bool) -> None:
    """The lines in pieces; blank lines stay, as they part documents."""
    from epigram.lm.tokenizer import Tokenizer
    from epigram.lm.vocabulary import tokens_of

    tokenizer = Tokenizer.of(tokens)
    cut = tokens_of if tokenizer is None else tokenizer.cut
    pieces = [cut(line) for line in lines]
    n_tokens = sum(map(len, pieces))
    if n_tokens == 0:
        raise InputError("no words; expected one sentence a line", path=text)
    write_text(output, "".join(" ".join(line) + "\n" for line in pieces).encode())
    if str(output) != "-":
        record = {"sentences": sum(len(line) > 0 for line in pieces), "tokens": n_tokens}
        console.report(record, str(output), json)


def _report(how: Preparation, replaced: Replaced) -> dict[str, int]:
    counts = asdict(replaced)
    renamed = {"numbers": "numbers_replaced", "names": "names_replaced", "rare": "rare_words_replaced"}
    return {renamed.get(name, name): count for name, count in counts.items()} | {"words_kept": how.n_words}


def write_text(output: Path, content: bytes) -> None:
    """A text to a file, packed where its name ends in .gz, or to standard output."""
    from epigram.files import write_atomically

    if str(output) == "-":
        sys.stdout.buffer.write(content)
    else:
        write_atomically(output, gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)
