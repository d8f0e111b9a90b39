"""``epigram lm classes``: learns word classes and lists the largest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli import console
from epigram.cli.options import Json, Seed
from epigram.cli.run import EXIT_CODE, GracefulStop
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.factored.classes import WordClasses
    from epigram.lm.factored.exchange import Bigrams, ExchangePass
    from epigram.lm.vocabulary import Vocabulary
    from epigram.protocols import Offsets

SHOWN_CLASSES = 20
SHOWN_WORDS = 10


def command(
    text: Path,
    output: Path,
    k: str = "200",
    min_count: int = 1,
    max_words: int | None = None,
    max_passes: int = 20,
    threads: int = 1,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn word classes; writes a text file of class, word and count.

    Parameters
    ----------
    text : One sentence a line (gzip too); - is stdin.
    output -o FILE : File of classes to write, one word per line.
    k -k K|K,K : How many classes, that of </s> included; for taggers several sizes.
    min_count >= 1 : Least number of occurrences of a word; rarer ones are read as <unk>.
    max_words >= 1 : Size of the vocabulary; rarer words are read as <unk>.
    max_passes >= 1 : Most passes over the text.
    threads >= 1 : Number of threads; they do not change the result.
    """
    from epigram.files import check_writable
    from epigram.lm.factored.classes import write_sizes

    numbers = _sizes(k)
    check_writable(output)
    watch = console.Stopwatch()
    vocabulary, bigrams = _read(text, min_count, max_words)
    counts = bigrams.word_count
    learnt = []
    for size in numbers:
        classes, passes, interrupted = _learn(vocabulary, bigrams, size, threads, max_passes, seed)
        learnt.append(classes)
        if interrupted:
            break
    write_sizes(output, learnt, counts)
    record = {
        "classes": classes.n_classes if len(numbers) == 1 else [one.n_classes for one in learnt],
        "words": len(vocabulary),
        "tokens": int(counts[1:].sum()),
        "passes": len(passes),
        "log_likelihood": passes[-1].log_likelihood if passes else None,
        "perplexity_class_bigram": passes[-1].perplexity if passes else None,
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "interrupted": interrupted,
    }
    shown = _most_frequent(classes, counts)
    if json:
        console.print_json({**record, "most_frequent": shown})
    else:
        rows = [(one["class"], one["size"], one["tokens"], " ".join(one["words"])) for one in shown]
        console.table("most frequent classes", ("class", "words", "tokens", "most frequent words"), rows)
        console.facts(str(output), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def _read(text: Path, min_count: int, max_words: int | None) -> tuple[Vocabulary, Bigrams]:
    """The words of a text, and how often they stand beside each other."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.exchange import Bigrams

    corpus = Corpus.read(text, min_count=min_count, max_words=max_words)
    return corpus.vocabulary, Bigrams.of(corpus)


def _sizes(text: str) -> list[int]:
    """``200`` or ``100,500``."""
    if not all(part.isdecimal() and int(part) >= 2 for part in text.split(",")):
        raise InputError(f"-k is a number of classes, 2 at least, or several such as 100,500, not {text!r}")
    return [int(part) for part in text.split(",")]


def _learn(
    vocabulary: Vocabulary, bigrams: Bigrams, k: int, threads: int, max_passes: int, seed: int
) -> tuple[WordClasses, list[ExchangePass], bool]:
    """Learn with a progress bar; a first Ctrl-C ends it with the classes so far."""
    from epigram.lm.factored.classes import WordClasses

    passes: list[ExchangePass] = []
    with console.progress() as bar, GracefulStop(lambda: bar.log("stopping after this pass")) as stop:
        task = bar.add_task("classes", total=max_passes, status="")

        def on_pass(now: ExchangePass) -> bool:
            passes.append(now)
            status = f"class bigram perplexity {now.perplexity:.2f}, {now.moved:,} words moved"
            bar.update(task, completed=now.number, status=status)
            return stop.asked

        classes = WordClasses.of_bigrams(
            vocabulary, bigrams, k, threads=threads, max_passes=max_passes, seed=seed, callback=on_pass
        )
        bar.update(task, total=len(passes))
    return classes, passes, stop.asked


def _most_frequent(classes: WordClasses, counts: Offsets) -> list[dict[str, Any]]:
    """The classes with most tokens, each with its most frequent words."""
    import numpy as np

    tokens = np.bincount(classes.class_of, weights=counts).astype(np.int64)
    shown = []
    for k in range(1, min(classes.n_classes, SHOWN_CLASSES + 1)):
        ids = np.flatnonzero(classes.class_of == k)
        ids = ids[np.argsort(-counts[ids], kind="stable")[:SHOWN_WORDS]]
        words = [classes.vocabulary.words[i] for i in ids.tolist()]
        shown.append({"class": k, "size": int(classes.sizes[k]), "tokens": int(tokens[k]), "words": words})
    return shown
