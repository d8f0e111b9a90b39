"""Document features against a slow twin: features, probabilities, gradient, sums; files, states and the command."""

import numpy as np
import pytest

import epigram
from epigram import ClassFactoredLM
from epigram.errors import InputError, ModelFileError
from epigram.lm.cache import CachedLM
from epigram.lm.corpus import Corpus
from epigram.lm.document.features import DocumentFeatures, Windows
from epigram.lm.document.model import DocumentLM, PastLoss, PastWeights, fit_document
from epigram.lm.factored.loss import PARTS
from epigram.lm.loglinear.tree import Positions
from epigram.lm.mixture import InterpolatedLM
from epigram.storage import ModelFile, describe
from reference import document as slow

TEXT = ["a b c a", "b b c", "c a d e", "d d a b", "e f a", "f e c b", "g a"]
LATER = ["a a b", "a zebra c", "f f e", "f d", "b a f", "d d d"]
HORIZONS, PRIOR, WINDOW = (2.0, 7.0), 1.5, 6


@pytest.fixture(scope="module")
def base():
    return ClassFactoredLM(classes=4, order=3, budget=0, open_vocabulary=False).fit(TEXT)


@pytest.fixture(scope="module")
def model(base):
    rng = np.random.default_rng(3)
    recent = DocumentFeatures(base.classes_, base.corpus_.counts, HORIZONS, WINDOW, PRIOR)
    n = base.classes_.n_classes
    weights = {
        part: PastWeights.of(rng.normal(0, 0.5, (1 + n) * recent.n_features(part)), recent.n_features(part))
        for part in PARTS
    }
    return DocumentLM(base, recent, weights)


def expected_distribution(model, inner, before):
    """By the twin: all classes, then all words of each."""
    base, recent = model.model, model.recent
    class_of, counts = base.classes_.class_of, recent.counts
    p = base.distribution(inner)
    n = base.classes_.n_classes
    of_class = np.bincount(class_of, p, n)
    shared, own = model.weights["class"].shared, model.weights["class"].own
    features = [slow.class_features(before, c, class_of, counts, HORIZONS, PRIOR) for c in range(n)]
    classes = slow.probabilities(of_class, features, [shared + own[c] for c in range(n)])
    out = np.empty(p.size)
    for c in range(n):
        words = np.flatnonzero(class_of == c)
        features = [slow.word_features(before, w, class_of, counts, HORIZONS, PRIOR) for w in words.tolist()]
        weights = [model.weights["word"].shared + model.weights["word"].own[c]] * words.size
        out[words] = classes[c] * slow.probabilities(p[words] / p[words].sum(), features, weights)
    return out


def test_probabilities_are_those_of_the_twin_whatever_came_before(model):
    state, before, sentence = model.start(), [], []
    for word in Corpus.of(LATER, model.vocabulary_).stream()[1:].tolist():
        want = expected_distribution(model, state[0], before[-WINDOW:])
        np.testing.assert_allclose(model.distribution(state), want, rtol=1e-10)
        assert want.sum() == pytest.approx(1, abs=1e-12)
        state, logp = model.step(state, word)
        assert np.isnan(logp) if word < 0 else logp == pytest.approx(np.log(want[word]), rel=1e-9)
        if word == 0:
            before, sentence = before + sentence, []
        else:
            sentence.append(word)


def test_streams_are_scored_as_single_steps(model, monkeypatch):
    monkeypatch.setattr("epigram.lm.document.model.AT_ONCE", 2)
    stream = Corpus.of(LATER, model.vocabulary_).stream()[1:]
    state, want = model.start(), []
    for word in stream.tolist():
        state, logp = model.step(state, word)
        want.append(logp)
    np.testing.assert_allclose(model.score_stream(stream), want, rtol=1e-10)


def test_a_blank_line_begins_a_new_document(model, tmp_path):
    path = tmp_path / "text"
    path.write_text("\n".join([*LATER[:3], "", " ", *LATER[3:], ""]))
    parted = Corpus.read(path, model.vocabulary_)
    assert parted.document_ptr.tolist() == [0, 3]
    assert Corpus.of([*LATER[:3], "", *LATER[3:]]).document_ptr.tolist() == [0, 3]
    assert parted.take(1, 5).document_ptr.tolist() == [0, 2]
    assert Corpus.of(["", *LATER]).document_ptr is None
    halves = [model.score_corpus(Corpus.of(half, model.vocabulary_)) for half in (LATER[:3], LATER[3:])]
    np.testing.assert_allclose(model.score_corpus(parted), np.concatenate(halves))
    mixed = InterpolatedLM([model, model.model], [0.5, 0.5])
    found = CachedLM(mixed, 5, 0.0).score_corpus(parted)
    even = (np.exp(np.concatenate(halves)) + np.exp(model.model.score_corpus(parted))) / 2
    np.testing.assert_allclose(np.exp(found), even)


@pytest.mark.parametrize("part", PARTS)
def test_gradient_by_finite_differences(base, part):
    recent = DocumentFeatures(base.classes_, base.corpus_.counts, HORIZONS, WINDOW, PRIOR)
    stream = Corpus.of(LATER, base.vocabulary_).stream()
    windows, sentence = Windows.of_stream(stream[1:], WINDOW)
    words = Positions.of_stream(stream, len(base.vocabulary_))
    factor, scorer = base.part(part)
    entries, row_of = recent.entries(part, factor, windows, sentence[words.end - 1], words.target)
    loss = PastLoss(scorer, factor.examples(words), entries, row_of, recent.classes.n_classes)
    w = np.random.default_rng(0).normal(0, 0.3, loss.n_weights)
    gradient, rest = np.empty(w.size), np.empty(w.size)
    loss.value_and_gradient(w, gradient)
    for k, step in enumerate(np.eye(w.size) * 1e-6):
        high, low = loss.value_and_gradient(w + step, rest), loss.value_and_gradient(w - step, rest)
        assert gradient[k] == pytest.approx((high - low) / 2e-6, abs=1e-5)


def test_held_out_text_in_order_gains(base, tmp_path):
    topics = ["a b a", "a b", "b a b", "a a b"] * 5 + ["e f", "f e", "f f e", "e f e"] * 5
    found = DocumentLM.chosen(base, topics, horizons=(5.0,), window=20)
    assert found.perplexity(topics) < 0.9 * base.perplexity(topics)
    # A price that leaves no weights leaves the model alone.
    same = DocumentLM.chosen(base, topics, ridge=1e9)
    assert same.perplexity(topics) == pytest.approx(base.perplexity(topics), rel=1e-4)
    with pytest.raises(InputError, match="fewer than two sentences"):
        DocumentLM.chosen(base, ["a b"])
    base.save(tmp_path / "m.epigram")
    with pytest.raises(InputError, match="save it with text=True"):
        DocumentLM.chosen(epigram.load(tmp_path / "m.epigram"), topics)


def test_without_valid_text_the_end_weighs_and_all_is_learnt():
    text = (["a b a", "a b", "b a b", "a a b"] * 4 + ["e f", "f e", "f f e", "e f e"] * 4) * 3
    plain = ClassFactoredLM(classes=3, order=2, budget=0, held_out=0.3)
    found = fit_document(plain, text)
    alone = ClassFactoredLM(classes=3, order=2, budget=0).fit(text)
    assert found.model.perplexity(text) == pytest.approx(alone.perplexity(text))
    assert found.perplexity(text) < alone.perplexity(text)
    assert found.recent.counts.tolist() == Corpus.of(text).counts.tolist()


def test_a_file_holds_it_all(model, tmp_path):
    path = tmp_path / "m.epigram"
    model.save(path)
    again = epigram.load(path)
    assert isinstance(again, DocumentLM)
    assert again.perplexity(LATER) == pytest.approx(model.perplexity(LATER), rel=1e-6)
    assert describe(path)[1][0].title == "the text before"
    why = again.explain(again.start(), "a")
    assert why.probability == pytest.approx(again.distribution(again.start())[again.vocabulary_.id("a")])
    assert why.word_part.terms[-1][0] == "the text before"
    file = ModelFile.load(path)
    for name, value in (("window", 0), ("horizons", [0.0, 1.0]), ("horizons", [1.0])):
        header = {**file.header, "settings": {**file.header["settings"], name: value}}
        with pytest.raises(ModelFileError, match="corrupt"):
            epigram.lm.storage.from_model_file(ModelFile(file.family, header, file.tensors))
