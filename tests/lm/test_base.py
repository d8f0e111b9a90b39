"""Open vocabulary: words outside it have a probability, distributions with ``<unk>`` sum to one, in every family."""

import random

import numpy as np
import pytest

from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM, load, write_arpa
from epigram.lm.base import added_unknown
from epigram.lm.cache import CachedLM
from epigram.lm.corpus import Corpus
from epigram.lm.default import fit_beside
from epigram.lm.document.model import fit_document
from epigram.lm.mixture import InterpolatedLM, interpolate, table_of
from epigram.lm.ngram.arpa import read_arpa
from epigram.lm.ngram.kneser_ney import discounts
from epigram.lm.score_report import Report
from epigram.lm.vocabulary import Vocabulary
from reference.lm_suffix import weights_by_context

TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat saw the dog", "the dog saw a cat"] * 4
STRENGTH = {"strength": 0.3, "depth_weight": 1.2, "ridge": 0.05}
SENTENCE = ["the", "zebra", "sat", "on", "a", "zebra", "</s>"][:-1]
CONTEXTS = ["", "<s>", "the", "sat on the", "zebra", "the zebra sat", "<s> the dog saw a"]


def kneser_ney(**settings):
    return KneserNeyLM(3, **settings).fit(TEXT)


def loglinear(**settings):
    return LogLinearLM(order=3, **STRENGTH, **settings).fit(TEXT)


def factored(**settings):
    return ClassFactoredLM(classes=4, order=3, budget=0, **settings).fit(TEXT)


def document(**settings):
    return fit_document(ClassFactoredLM(classes=4, order=3, budget=0, **settings), TEXT)


def mixture(**settings):
    return InterpolatedLM([loglinear(**settings), kneser_ney(**settings)], [0.6, 0.4])


def cached(**settings):
    return CachedLM(kneser_ney(**settings), 20, 0.2)


FAMILIES = [kneser_ney, loglinear, factored, document, mixture, cached]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_ways_to_score_agree_and_distributions_sum_to_one(family, tmp_path):
    model = family()
    assert model.is_open
    unknown = model.vocabulary_.id("<unk>")
    state, found = model.start(), model.word_scores(SENTENCE)
    for word, logp in zip([*SENTENCE, "</s>"], found, strict=True):
        p = model.distribution(state)
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        assert p.size == len(model.vocabulary_)
        known = model.vocabulary_.id(word)
        assert logp == pytest.approx(np.log(p[unknown if known < 0 else known]), rel=1e-9)
        state, stepped = model.advance(state, word)
        assert stepped == pytest.approx(logp, rel=1e-9)
    for context in CONTEXTS:
        assert model.distribution(context).sum() == pytest.approx(1.0, abs=1e-9)
    corpus = Corpus.known([SENTENCE], model.vocabulary_)
    np.testing.assert_allclose(model.score_corpus(corpus), found, rtol=1e-9)
    evaluation = model.evaluate([SENTENCE])
    assert evaluation.oov == 2
    assert evaluation.perplexity_with_unknown == pytest.approx(np.exp(-found.mean()))
    assert evaluation.perplexity == pytest.approx(np.exp(-np.delete(found, [1, 5]).mean()))
    assert evaluation.perplexity_with_unknown == pytest.approx(Report.of(model, [SENTENCE]).perplexities[0])
    for settings in ({}, {"compress": False}, {"bits": 8}):
        model.save(tmp_path / "m.epigram", **settings)
        again = load(tmp_path / "m.epigram")
        assert again.vocabulary_.words == model.vocabulary_.words
        tolerance = {"atol": 0.2} if "bits" in settings else {"rtol": 1e-5}
        np.testing.assert_allclose(again.word_scores(SENTENCE), found, **tolerance)
        assert again.distribution("the").sum() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_closed_models_are_as_they_were(family, tmp_path):
    model = family(open_vocabulary=False)
    assert not model.is_open
    assert np.isnan(model.word_scores(SENTENCE)).tolist() == [word == "zebra" for word in [*SENTENCE, "</s>"]]
    assert np.isnan(model.evaluate([SENTENCE]).perplexity_with_unknown)
    assert "<unk>" not in model.vocabulary_
    model.save(tmp_path / "m.epigram")
    assert not load(tmp_path / "m.epigram").is_open


@pytest.mark.parametrize("fit", [kneser_ney, loglinear, factored])
def test_weights_do_not_change(fit):
    opened, closed = fit(), fit(open_vocabulary=False)
    if fit is loglinear:
        np.testing.assert_array_equal(opened.weights_, closed.weights_)
    if fit is not kneser_ney:  # there, all probabilities of single words make room
        for context in ("the", "sat on the"):
            one, other = opened.distribution(context)[:-1], closed.distribution(context)
            np.testing.assert_allclose(one / one.sum(), other, rtol=1e-9)


def test_kneser_ney_has_the_value_of_lmplz():
    model = KneserNeyLM(2).fit(["a b a b", "b a c", "c a"])
    corpus = Corpus.of(["a b a b", "b a c", "c a"])
    before = {w: set() for w in range(4)}
    for left, right in zip(corpus.stream()[:-1].tolist(), corpus.stream()[1:].tolist(), strict=True):
        before[right].add(left)
    counts = np.array([len(before[w]) for w in range(4)])  # distinct words before each word, </s> first
    d = discounts(np.bincount(counts, minlength=5), modified=True)
    gamma = d[np.minimum(counts, 3)].sum() / counts.sum()
    # the uniform distribution is over words, </s> and <unk>
    assert model.distribution("")[-1] == pytest.approx(gamma / 5)


def test_a_log_linear_model_has_one_more_weight():
    model = loglinear()
    weights = weights_by_context(model.tree_, model.weights_)
    n = len(model.vocabulary_) - 1
    root = np.array([weights.get(((0, ()), u), 0.0) for u in range(n)])
    added = np.log(np.exp(root).sum() * model.unknown_ / (1 - model.unknown_))
    for context in ("", "the", "the dog"):
        ids = tuple(model.vocabulary_.ids(context.split()).tolist())
        suffixes = [(0, ids[len(ids) - d :]) for d in range(len(ids) + 1)]
        scores = [sum(weights.get((c, u), 0.0) for c in suffixes) for u in range(n)]
        expected = np.exp([*scores, added])
        np.testing.assert_allclose(model.distribution(context), expected / expected.sum(), rtol=1e-9)
        assert model.explain(context, "cat").probability == pytest.approx(
            model.distribution(context)[model.vocabulary_.id("cat")]
        )


@pytest.mark.parametrize("fit", [kneser_ney, loglinear, factored])
def test_a_text_that_has_unk_keeps_it_as_that_word(fit):
    text = [*TEXT, "the <unk> sat on the <unk>"]
    model = fit().fit(text)
    assert model.vocabulary_.words.count("<unk>") == 1
    assert model.unknown_ == 0.0
    closed = fit(open_vocabulary=False).fit(text)
    np.testing.assert_allclose(model.distribution("the"), closed.distribution("the"), rtol=1e-9)
    assert model.word_scores("the zebra")[1] == model.word_scores("the <unk>")[1]


def test_probability_of_an_unknown_word():
    vocabulary = Vocabulary(["a", "b"])
    assert added_unknown(True, vocabulary, 9990) == pytest.approx(1e-3)
    assert added_unknown(True, vocabulary, 3) == 0.25  # </s>, a, b and <unk> alike
    assert added_unknown(False, vocabulary, 100) == added_unknown(True, Vocabulary(["<unk>"]), 100) == 0.0


@pytest.mark.parametrize("fit", [loglinear, factored])
def test_going_on_gives_unknown_words_what_training_on_all_text_does(fit, tmp_path):
    model = fit()
    model.save(tmp_path / "m.epigram", text=True)
    more = ["the zebra saw the dog", "a cat sat on a zebra"] * 30
    again = load(tmp_path / "m.epigram").partial_fit(more).partial_fit(more)
    whole = fit().fit([*TEXT, *more, *more])
    assert sorted(again.vocabulary_) == sorted(whole.vocabulary_)
    assert again.unknown_ == pytest.approx(whole.unknown_)
    assert again.distribution("the").sum() == pytest.approx(1.0)


def test_mixture_weights_are_those_of_known_words():
    parts = [loglinear(), kneser_ney()]
    with_unknown = interpolate(parts, ["the cat saw the zebra", "a dog sat"])
    ignored = interpolate(parts, ["the cat saw the zebra"[:19], "a dog sat"])
    assert abs(with_unknown.weights[0] - ignored.weights[0]) < 0.2
    assert fit_beside(LogLinearLM(order=2), TEXT).mixture.is_open
    assert not fit_beside(LogLinearLM(order=2, open_vocabulary=False), TEXT).mixture.is_open


@pytest.mark.parametrize("fit", [kneser_ney, loglinear, mixture])
def test_kenlm_agrees_on_unknown_words(fit, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    model = fit()
    table = table_of(model) if fit is mixture else model.backoff_
    write_arpa(table, tmp_path / "m.arpa")
    other = kenlm.Model(str(tmp_path / "m.arpa"))
    again = read_arpa(tmp_path / "m.arpa")
    for line in (*TEXT[:4], " ".join(SENTENCE), "zebra", "zebra zebra the dog"):
        assert table.word_scores(line).sum() / np.log(10) == pytest.approx(other.score(line), abs=1e-4)
        assert again.word_scores(line).sum() / np.log(10) == pytest.approx(other.score(line), abs=1e-4)
        assert [oov for _, _, oov in other.full_scores(line)][:-1] == [w == "zebra" for w in line.split()]


def consonants(n, seed=0):
    """Lines of random consonants."""
    draw = random.Random(seed)
    word = lambda: "".join(draw.choices("bcdfghjklmnpqrstvwxz", k=draw.randint(4, 8)))  # noqa: E731
    return [" ".join(word() for _ in range(draw.randint(5, 12))) for _ in range(n)]


@pytest.fixture(scope="module")
def news(data):
    corpus = Corpus.read(data / "lm-splits" / "apnews.s0.train.txt.gz")
    lines = [" ".join(words) for words in corpus.take(0, 1280).sentences()]
    return lines[:1200], lines[1200:]


@pytest.mark.parametrize(
    "make",
    [
        lambda: KneserNeyLM(3),
        lambda: LogLinearLM(order=3, tolerance=1e-4, **STRENGTH),
        lambda: ClassFactoredLM(classes=40, order=3, budget=0, tolerance=1e-3),
    ],
)
def test_nonsense_is_less_likely_than_any_text(make, news):
    train, good = news
    report = Report.of(make().fit(train), [*good, *consonants(20)])
    found = report.perplexities
    assert found[80:].min() > 4 * np.median(found[:80])
    assert (np.argsort(found)[:60] < 80).all()
