"""Error rates, significance tests and rankings against other programs, enumeration and definitions."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from epigram import BLasso, InputError, KneserNeyLM, Reranker
from epigram.rerank import (
    NBest,
    bleu,
    compare,
    error_rate,
    mean_reciprocal_rank,
    ndcg,
    sentence_accuracy,
    with_language_models,
)
from epigram.rerank.metrics import base_choice, errors_of, matched_pairs, paired_bootstrap
from in_process import epigram


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def random_lists(rng: np.random.Generator, n: int) -> list[dict[str, object]]:
    """Sentences of three letters, with references and few distinct scores."""
    found = []
    for k in range(n):
        texts = [" ".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(rng.integers(1, 7))]
        candidates = [{"text": text, "score": float(rng.integers(0, 3))} for text in texts]
        reference = " ".join(rng.choice(list("abc"), rng.integers(1, 9)))
        found.append({"id": str(k), "reference": reference, "candidates": candidates})
    return found


def test_ndcg_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    lists = NBest.from_lists([one for one in random_lists(rng, 60) if len(one["candidates"]) > 1])  # type: ignore[arg-type]
    errors = lists.errors("wer")
    for k in (None, 1, 3):
        expected = []
        for i in range(len(lists)):
            span = slice(lists.list_ptr[i], lists.list_ptr[i + 1])
            gains = errors[span].max() - errors[span]
            expected.append(metrics.ndcg_score([gains], [lists.scores[span]], k=k))
        assert ndcg(lists, lists.scores, k, "wer") == pytest.approx(np.mean(expected), abs=1e-12)


def test_bleu_is_that_of_sacrebleu(rng: np.random.Generator) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    for n in (1, 2, 5, 40):
        lists = NBest.from_lists(random_lists(rng, n))
        choice = np.zeros(n, np.int64)
        chosen = [lists.texts[c] for c in lists.list_ptr[:-1]]
        references = [" ".join(words) for _, words in lists.references]  # type: ignore[misc]
        theirs = sacrebleu.corpus_bleu(chosen, [references], tokenize="none", force=True).score
        assert bleu(lists, choice) == pytest.approx(theirs, abs=1e-9)


def test_ranks_by_hand() -> None:
    lists = NBest.from_lists(
        {"candidates": [{"text": x, "score": 0, "errors": e} for x, e in zip("abcd", errors, strict=True)]}
        for errors in ([2, 1, 0, 3], [0, 0, 1, 1])
    )
    scores = np.array([4.0, 2.0, 3.0, 1.0, 0.0, 1.0, 2.0, 3.0])
    assert mean_reciprocal_rank(lists, scores) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert mean_reciprocal_rank(lists, np.zeros(8)) == pytest.approx((1 / 3 + 1) / 2)
    assert bleu(lists, np.zeros(2, np.int64)) is None


def lists_of_words(n: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """A sentence that a language model likes, behind one that it does not."""
    found = []
    for _ in range(n):
        words = ["the", "a", "dog", "cat", "sees", "runs"]
        right = [words[rng.integers(2)], words[2 + rng.integers(2)], words[4 + rng.integers(2)]]
        wrong = [right[k] for k in rng.permutation(3)]
        candidates = [{"tokens": wrong, "score": 0.1}, {"tokens": right, "score": 0.0}]
        found.append({"reference": right, "candidates": candidates})
    return found


def test_a_language_model_helps(rng: np.random.Generator, tmp_path: Path) -> None:
    lm = KneserNeyLM(order=2).fit(
        [f"{a} {b} {c}" for a in ("the", "a") for b in ("dog", "cat") for c in ("sees", "runs")]
    )
    lm.save(tmp_path / "lm.epigram")
    lists = NBest.from_lists(lists_of_words(60, rng))
    more = with_language_models(lists, [lm])
    owner = np.repeat(np.arange(more.n_candidates), np.diff(more.named_ptr))
    for c in range(4):
        values = dict(
            zip([more.names[k] for k in more.named[owner == c]], more.named_values[owner == c], strict=True)
        )
        assert values == {"lm": pytest.approx(lm.word_scores(lists.words(c)).sum()), "lm:unknown": 0.0}
    path, model = tmp_path / "lists.jsonl", tmp_path / "reranker.epigram"
    path.write_text("".join(json.dumps(one) + "\n" for one in lists_of_words(60, rng)))
    lm_path = str(tmp_path / "lm.epigram")
    train = [
        "train",
        str(path),
        "-o",
        str(model),
        "--min-count",
        "1000",
        "--measure",
        "wer",
        "--steps",
        "100",
    ]
    assert epigram("rerank", *train, "--lm", lm_path).returncode == 0
    evaluate = ["rerank", "eval", str(model), str(path), "--json"]
    missing = epigram(*evaluate)
    assert missing.returncode == 2
    assert b"--lm" in missing.stderr
    record = json.loads(epigram(*evaluate, "--lm", lm_path).stdout)
    assert record["wer"] == 0.0 < record["wer_base"]
    assert record["mrr"] == 1.0 > record["mrr_base"]
    with pytest.raises(InputError, match="already"):
        more.with_features({"lm": np.zeros(more.n_candidates)})


def test_the_first_stays_unless_another_leads_enough(rng: np.random.Generator, tmp_path: Path) -> None:
    """The chosen lead makes no more held-out errors than any other, and files keep it."""
    train, dev = (NBest.from_lists(random_lists(rng, n)) for n in (80, 60))
    model = Reranker(BLasso(steps=40, eps=0.1), measure="wer", least_lead="dev").fit(train, dev=dev)
    scores, base = model.scores(dev), base_choice(dev)
    starts = dev.list_ptr[:-1]
    best = dev.choose(scores)
    lead = scores[starts + best] - scores[starts + base]

    def errors(least: float) -> float:
        return float(errors_of(dev, np.where(lead > least, best, base), "wer").sum())

    every = [errors(least) for least in (0.0, *lead.tolist())]
    assert errors(model.least_lead_) == min(every)
    assert errors_of(dev, model.predict(dev), "wer").sum() == min(every)
    assert [ranks[0] for ranks in model.rank(dev)] == model.predict(dev).tolist()
    model.save(tmp_path / "model.epigram")
    read = Reranker.load(tmp_path / "model.epigram")
    assert read.least_lead_ == model.least_lead_
    assert read.predict(dev).tolist() == model.predict(dev).tolist()
    never = Reranker(BLasso(steps=40), least_lead=1e9).fit(train)
    assert never.predict(dev).tolist() == base.tolist()
    for wrong in (-1.0, "test", float("nan")):
        with pytest.raises(ValueError, match="least_lead"):
            Reranker(least_lead=wrong).fit(train)


def test_rates_sum_over_lists() -> None:
    lists = NBest.from_lists(
        [
            {"reference": "abcd", "candidates": [{"text": "abxx", "score": 0}, {"text": "abcd", "score": 1}]},
            {"reference": "x y", "candidates": [{"text": "x y z", "score": 0}]},
        ]
    )
    choice = np.array([0, 0])
    assert error_rate(lists, choice, "cer") == pytest.approx(100 * 3 / 6)
    assert error_rate(lists, choice, "wer") == pytest.approx(100 * 2 / 3)
    assert sentence_accuracy(lists, np.array([1, 0])) == 50.0


def test_matched_pairs_is_the_z_test() -> None:
    difference = np.random.default_rng(0).integers(-2, 4, 200).astype(float)
    z = difference.mean() / (difference.std(ddof=1) / math.sqrt(200))
    assert matched_pairs(difference) == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert matched_pairs(difference) == pytest.approx(stats.ttest_1samp(difference, 0).pvalue, abs=0.01)


def test_bootstrap_equals_enumeration_on_tiny_samples() -> None:
    difference = np.array([2.0, 1.0, -1.0, 1.0, 0.0])
    sums = [sum(sample) for sample in itertools.product(difference, repeat=5)]
    exact = 2 * np.mean(np.array(sums) <= 0)
    assert paired_bootstrap(difference, samples=200_000) == pytest.approx(exact, abs=0.01)
    assert paired_bootstrap(-difference, samples=200_000) == pytest.approx(exact, abs=0.01)


def test_same_systems_do_not_differ_and_wrong_sizes_are_refused() -> None:
    errors = np.array([1.0, 0.0, 2.0])
    assert compare(errors, errors).p_matched_pairs == compare(errors, errors).p_bootstrap == 1.0
    with pytest.raises(ValueError, match="3 and 2 lists"):
        compare(errors, errors[:2])


def test_p_values_under_no_difference_are_about_uniform() -> None:
    generator = np.random.default_rng(1)
    values = [matched_pairs(generator.normal(size=60)) for _ in range(400)]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09
