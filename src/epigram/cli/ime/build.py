"""``epigram ime build``: builds a kana-kanji converter from text or from SudachiDict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli import console
from epigram.cli.ime.arguments import Quantise, Raw, describe, read_sentences
from epigram.cli.options import EVERY, Json, Output, Resume, Seconds, derived, parameters
from epigram.errors import InputError
from epigram.files import write_atomically

if TYPE_CHECKING:
    from epigram.ime import KanaKanjiConverter, WordList


def _limits(
    prune: int = 0, prune_bigrams: int = 0, max_words: int | None = None, rescore_scale: float = 1.0
) -> None:
    """Limits of what a converter keeps of the text.

    Parameters
    ----------
    prune >= 0 : Drop trigrams that occur at most this often: a smaller model.
    prune_bigrams >= 0 : Drop bigrams, and trigrams, that occur at most this often.
    max_words >= 1 : Number of words to keep, the most frequent first  [default: all]
    rescore_scale >= 0.0 : Factor on the least counts of the rescorer's n-grams and word pairs; 3 is a third of the
        size.
    """


@derived(parameters(_limits))
def command(
    context: typer.Context,
    output: Output,
    texts: list[Path] | None = None,
    lexicon: list[Path] | None = None,
    sudachi: bool = False,
    rescore: bool = True,
    max_size: str | None = None,
    raw: Raw = False,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    quantise: Quantise = False,
    json: Json = False,
    **limits: Any,
) -> None:
    """Build a converter from text with readings and word lists, or from SudachiDict alone.

    Parameters
    ----------
    texts TEXT... : Files of surface/reading tokens; needed unless --sudachi is given.
    lexicon FILE : Word list: surface, reading and optionally cost and part of speech, separated by tabs.
    sudachi : Add the words of the installed SudachiDict; without TEXT, use its costs too.
    rescore --rescore/--no-rescore : Add a rescorer of the best conversions: fewer errors, at half the speed.
    max_size SIZE : Size of the file, such as 15MB: a quantised one of at most so many bytes, its other limits
        chosen on sentences of the text that are held out.
    """
    from epigram.cli.run import TrainingRun
    from epigram.ime import KanaKanjiConverter

    building = TrainingRun(output, None, json, checkpoint, resume, context=context)
    if not texts:
        with console.stderr().status("reading SudachiDict"):
            converter = _from_dictionary(sudachi, lexicon)
        building.finish(describe(converter, output), lambda: converter.save(output, quantise=quantise))
        return
    sources: list[str | PathLike[str]] = [*texts]
    if raw:
        sources = [" ".join(tokens) for path in texts for tokens in read_sentences(path, raw)]
    if max_size is not None:
        if limits != {"prune": 0, "prune_bigrams": 0, "max_words": None, "rescore_scale": 1.0}:
            raise InputError(
                "--max-size chooses --prune, --prune-bigrams, --max-words and --rescore-scale; give it alone"
            )
        converter, content = _build_within(max_size, sources, _word_lists(lexicon or (), sudachi), rescore)
        building.finish(describe(converter, output), lambda: write_atomically(output, content))
        return
    with console.stderr().status("counting"), building.checkpoint:
        converter = KanaKanjiConverter.build(
            sources,
            _word_lists(lexicon or (), sudachi),
            rescore=rescore,
            **limits,
        )
    building.finish(describe(converter, output), lambda: converter.save(output, quantise=quantise))


def _build_within(
    size: str, sources: list[str | PathLike[str]], words: WordList, rescore: bool
) -> tuple[KanaKanjiConverter, bytes]:
    """Build a converter of at most a size; prints the candidates."""
    from epigram.ime.build import read_corpus, with_plain_tokens
    from epigram.ime.size import build_within

    allowed = parse_size(size)
    with console.stderr().status("counting"):
        text = with_plain_tokens(read_corpus(sources))
        return build_within(allowed, text, words, rescore=rescore, callback=console.note)


def parse_size(text: str) -> int:
    """Number of bytes of a size such as 15MB.

    Examples
    --------
    >>> parse_size("15MB"), parse_size("1.5 kB"), parse_size("800")
    (15000000, 1500, 800)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMG]?)B?\s*", text)
    if found is None:
        raise InputError(f"--max-size {text!r} is no size; expected a number of bytes such as 800kB or 15MB")
    return int(float(found[1]) * {"": 1, "k": 1000, "M": 10**6, "G": 10**9}[found[2]])


def _from_dictionary(sudachi: bool, lexicon: list[Path] | None) -> KanaKanjiConverter:
    """Build a converter without text."""
    from epigram.ime import KanaKanjiConverter

    if not sudachi or lexicon:
        raise InputError(
            "no text to build from; give files of surface/reading tokens, or --sudachi without --lexicon for a "
            "converter by the costs of SudachiDict alone"
        )
    return KanaKanjiConverter.from_sudachi()


def _word_lists(paths: Iterable[Path], sudachi: bool) -> WordList:
    """Read word lists, and the words of SudachiDict."""
    from epigram.ime import WordList, read_word_list

    lists = [read_word_list(path) for path in paths]
    if sudachi:
        from epigram.ime.lexicon.sudachi import read_sudachi

        lists.append(read_sudachi().words())
    return WordList.joined(lists)
