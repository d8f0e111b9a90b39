"""``epigram lm eval``: perplexity and entropy of a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from warnings import warn

from epigram.cli import console
from epigram.cli.documents import Field, plain_text
from epigram.cli.lm.models import Model, Text, open_model
from epigram.cli.options import Json
from epigram.errors import DataWarning

if TYPE_CHECKING:
    from epigram.lm.base import Evaluation, LanguageModel
    from epigram.lm.corpus import Corpus

MANY_UNKNOWN = 0.1


def command(
    model: Model,
    text: Text,
    by: Literal["sentence", "word"] | None = None,
    unknown: bool = False,
    k: int = 20,
    cache: int = 0,
    valid: Path | None = None,
    cache_weight: float = 0.1,
    field: Field = None,
    json: Json = False,
) -> None:
    """Compute the perplexity of a text, of known words and of all words.

    The first figure leaves out words outside the vocabulary, so it compares models of one vocabulary; the second counts
    them as <unk>. A closed model (lm train --closed) has the first only.

    Parameters
    ----------
    by : Also print the sentences, or the words, with the most bits.
    unknown : Also print the words that the model does not know.
    k -k >= 1 : Number of sentences or words to print.
    cache N >= 0 : Number of last words in a cache, whose perplexity is printed too; 0 for none.
    valid FILE : Held-out text that the weight of the cache is chosen on.
    cache_weight : Weight of the cache, without --valid.
    """
    from epigram.lm.corpus import Corpus
    from epigram.lm.score_report import Report

    language_model = open_model(model)
    whole = Corpus.read(plain_text(text, field), tokenizer=language_model.vocabulary_.tokenizer)
    corpus = whole.with_vocabulary(language_model.vocabulary_)
    language_model.score_stream(corpus.stream()[:2])
    watch = console.Stopwatch()
    found = language_model.evaluate(corpus)
    seconds = max(watch.cpu_seconds, 1e-9)
    warn_of_text(language_model, corpus, found)
    record = {
        "perplexity": found.perplexity,
        **({"perplexity_with_unknown": found.perplexity_with_unknown} if language_model.is_open else {}),
        **({"perplexity_without_end": found.perplexity_without_end} if found.oov < found.tokens else {}),
        "tokens": found.tokens,
        "sentences": found.sentences,
        "oov": found.oov,
        "words_per_second": (found.tokens + found.sentences) / seconds,
    }
    if cache:
        from epigram.lm.cache import CachedLM

        cached = CachedLM(language_model, cache, cache_weight)
        if valid is not None:
            cached = CachedLM.chosen(language_model, plain_text(valid, field), cache)
        record["cache_weight"] = cached.weight
        record["perplexity_with_cache"] = cached.perplexity(corpus)
    tables: list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = []
    if by is not None or unknown:
        report = Report.of(language_model, whole)
        if by == "sentence":
            tables.append(
                ("sentences", ("number", "perplexity", "oov", "sentence"), _worst(report, whole, k))
            )
        if by == "word":
            tables.append(("words", ("word", "count", "bits"), report.by_word()[:k]))
        if unknown:
            tables.append(("unknown", ("word", "count"), report.unknown()[:k]))
    if json:
        rows = {
            name: [dict(zip(columns, row, strict=True)) for row in rows] for name, columns, rows in tables
        }
        console.print_json(record | rows)
        return
    console.facts(str(model), record)
    for name, columns, found_rows in tables:
        console.table(name, columns, found_rows)


def warn_of_text(model: LanguageModel, corpus: Corpus, found: Evaluation) -> None:
    """Warn of a text with many unknown words, and of the training text."""
    if found.oov > MANY_UNKNOWN * found.tokens:
        warn(
            f"{found.oov:,} of {found.tokens:,} words are unknown to the model, so the perplexity of known words says "
            "little; is this text of another language, spelled or cut differently from the training text?",
            DataWarning,
            stacklevel=3,
        )
    if model.is_training_text(corpus):
        warn(
            "this is the text that the model was trained on: the perplexity is far too low. Give other text.",
            DataWarning,
            stacklevel=3,
        )


def _worst(report: Any, text: Any, k: int) -> list[tuple[Any, ...]]:
    """The sentences of highest perplexity: number, perplexity, unknown words, text."""
    import numpy as np

    perplexities, unknown = report.perplexities, report.n_unknown
    worst = np.argsort(-perplexities, kind="stable")[:k].tolist()
    words = {n: next(iter(text.take(n, n + 1).sentences())) for n in worst}
    return [(n + 1, float(perplexities[n]), int(unknown[n]), " ".join(words[n])) for n in worst]
