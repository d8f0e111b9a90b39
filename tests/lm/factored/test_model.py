"""The class-factored model: exact probabilities however asked, its search, explanations, files, and odd input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from small_texts import corpora

from epigram import FISTA, ClassFactoredLM, StochasticProximal
from epigram.errors import InputError, ModelFileError
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts
from epigram.lm.factored.loss import Factor
from epigram.lm.factored.problem import FactorProblem
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.penalties import PENALTIES, Strength, build_penalty
from epigram.lm.loglinear.select import largest, weight_importance
from epigram.lm.loglinear.tree import Positions
from epigram.lm.mixture import InterpolatedLM, interpolate, table_of
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.vocabulary import UNSEEN, Vocabulary
from epigram.storage import ModelFile, describe, load
from reference import factored as twin

TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat saw the dog", "the dog saw a cat"]
STRENGTH = Strength(0.2, 1.2, 0.05, 1.5)
GIVEN = {
    "classes": 4,
    "order": 3,
    "class_strength": STRENGTH,
    "word_strength": STRENGTH,
    "open_vocabulary": False,
}
CONTEXTS = ["", "<s>", "the", "<s> the", "sat on the", "the zebra sat on", "zebra", "the </s> a"]


def fitted(sentences=TEXT, **settings):
    return ClassFactoredLM(**{**GIVEN, **settings}).fit(sentences)


MODEL = fitted(order=4)


def symbols_of(model, contexts, history):
    """The suffixes of each tree after some ids, back to the last cut, as (tree, symbols oldest first)."""
    found = []
    for tree, kinds in enumerate(contexts.trees):
        symbols = []
        found.append((tree, ()))
        for kind, lag in kinds:
            if lag > len(history):
                break
            word = history[-lag]
            symbols.append(
                int(model.classes_.class_of[word]) if kind == "c" else model.classes_.n_classes + word
            )
            found.append((tree, tuple(symbols[::-1])))
    return found


def brute_force(model, context):
    """P of every word from sums of weights in dictionaries, normalised over classes and words of a class."""
    history = []
    for token in context.split():
        word = model.vocabulary_.id(token)
        history = [] if word == UNSEEN else [0] if word == 0 else [*history, word]
    parts = []
    for part in (model.class_model_, model.word_model_):
        weights, suffixes = twin.weights_of_model(part), symbols_of(model, part.contexts, history)
        parts.append(
            [
                twin.probabilities([(tree, root, symbols) for tree, symbols in suffixes], n, weights)
                for root, n in enumerate(part.n_candidates.tolist())
            ]
        )
    out = np.empty(len(model.vocabulary_))
    for k in range(model.classes_.n_classes):
        out[model.classes_.class_of == k] = parts[0][0][k] * parts[1][k]
    return out


@pytest.mark.parametrize("context", CONTEXTS)
def test_distribution_equals_brute_force_and_sums_to_one(context):
    found = MODEL.distribution(context)
    np.testing.assert_allclose(found, brute_force(MODEL, context), rtol=1e-10)
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert (found > 0).all()


@settings(max_examples=15)
@given(corpora, st.integers(2, 7), st.integers(2, 5), st.sampled_from(sorted(PENALTIES)), st.data())
def test_random_models_are_exact(sentences, classes, order, penalty, draw):
    model = fitted(sentences, classes=classes, order=order, penalty=penalty, tolerance=1e-4)
    context = " ".join(draw.draw(st.lists(st.sampled_from(["<s>", "a", "b", "c", "zebra"]), max_size=6)))
    found = model.distribution(context)
    np.testing.assert_allclose(found, brute_force(model, context), rtol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-9)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["the", "cat", "sat", "on", "dog", "zebra"]), max_size=8))
def test_all_ways_to_score_agree(sentence):
    scores = MODEL.word_scores(sentence)
    ids = MODEL.vocabulary_.ids([*sentence, "</s>"])
    np.testing.assert_array_equal(MODEL.score_stream(ids), scores)
    state = stepped = MODEL.start()
    for word, k, score in zip([*sentence, "</s>"], ids.tolist(), scores, strict=True):
        assert hash(state) == hash(tuple(state))
        p = MODEL.distribution(state)
        state, logp = MODEL.advance(state, word)
        stepped, same = MODEL.step(stepped, k)
        np.testing.assert_equal((stepped, same), (state, logp))
        np.testing.assert_allclose(logp, score, rtol=1e-12)
        if k == UNSEEN:
            assert math.isnan(score)
        else:
            assert math.exp(score) == pytest.approx(p[k], rel=1e-12)
    assert state == MODEL.start()


def test_two_sentences_of_a_stream_are_scored_apart():
    both = MODEL.score_stream(np.concatenate([MODEL.vocabulary_.ids([*s.split(), "</s>"]) for s in TEXT]))
    np.testing.assert_array_equal(both, np.concatenate([MODEL.word_scores(s) for s in TEXT]))
    assert MODEL.perplexity(TEXT) == pytest.approx(math.exp(-both.mean()))
    assert MODEL.score_stream(np.empty(0, np.int32)).size == 0


def test_unseen_words_cut_the_context():
    np.testing.assert_array_equal(MODEL.distribution("the zebra cat"), MODEL.distribution("cat"))
    np.testing.assert_array_equal(MODEL.distribution("the zebra"), MODEL.distribution(""))
    assert not np.array_equal(MODEL.distribution("the cat"), MODEL.distribution("cat"))
    np.testing.assert_allclose(
        MODEL.word_scores("zebra cat")[1], np.log(MODEL.distribution("")[MODEL.vocabulary_.id("cat")])
    )
    found = MODEL.evaluate(["zebra yak", "gnu"])
    assert (found.oov, found.tokens) == (3, 3)
    assert np.isnan(found.perplexity_without_end)


def test_state_forgets_what_no_context_looks_at():
    assert MODEL.state("cat sat on the") == MODEL.state(["dog", "cat", "sat", "on", "the"][1:])
    assert MODEL.state("the dog sat on the mat") == MODEL.state(["sat", "on", "the", "mat"][1:])
    far = fitted(class_contexts="c1; c25", word_contexts="w1 w3")
    long = " ".join(["the cat sat"] * 9)
    state = far.state(long)
    np.testing.assert_array_equal(far.distribution(state), far.distribution(long))


def test_mixture_with_kneser_ney():
    other = KneserNeyLM(2).fit(["the cat is here", "a dog is here", "zebra"])
    far = fitted(class_contexts="c1 w1; c30")
    mixture = interpolate([MODEL, other, far], ["the cat sat here", "zebra"])
    for context in CONTEXTS:
        p = mixture.distribution(context)
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        expected = dict.fromkeys(mixture.vocabulary_, 0.0)
        for model, weight in zip((MODEL, other, far), mixture.weights, strict=True):
            for word, share in zip(model.vocabulary_, model.distribution(context), strict=True):
                expected[word] += weight * share
        np.testing.assert_allclose(p, list(expected.values()), rtol=1e-12)
    sentence = " ".join(["the cat sat zebra here"] * 6)
    state = mixture.start()
    for word, score in zip([*sentence.split(), "</s>"], mixture.word_scores(sentence), strict=True):
        state, logp = mixture.advance(state, word)
        assert logp == pytest.approx(score, rel=1e-12)
    with pytest.raises(InputError, match="a class-factored model has no table of n-grams"):
        table_of(mixture)


def test_samples_follow_the_seed_and_the_model():
    assert MODEL.sample(4, seed=7) == MODEL.sample(4, seed=7)
    assert MODEL.sample(9, seed=7) != MODEL.sample(9, seed=8)
    first = [words[0] if words else "</s>" for words in MODEL.sample(300, seed=1, max_words=1)]
    p = MODEL.distribution("<s>")[MODEL.vocabulary_.id("the")]
    assert first.count("the") / 300 == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 300))
    best = MODEL.next_words("sat on", 3)
    assert best[0][0] == "the"
    assert best[0][1] == MODEL.distribution("sat on").max()


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("word", ["cat", "the", "</s>"])
def test_explanation_adds_up(context, word):
    why = MODEL.explain(context, word)
    assert why.probability == pytest.approx(
        MODEL.distribution(context)[MODEL.vocabulary_.id(word)], rel=1e-12
    )
    assert why.probability == pytest.approx(why.class_part.probability * why.word_part.probability)
    own = int(MODEL.classes_.class_of[MODEL.vocabulary_.id(word)])
    rivals = {
        "class": [MODEL.classes_.words(k)[0] for k in range(MODEL.classes_.n_classes)],
        "word": MODEL.classes_.words(own),
    }
    for name, part in (("class", why.class_part), ("word", why.word_part)):
        assert part.terms[-1][1].probability == pytest.approx(part.probability)
        # Each rival's own explanation gives its sum of weights; the sum of their exponentials normalises.
        z = sum(math.exp(total(MODEL.explain(context, rival), name)) for rival in rivals[name])
        assert math.exp(total(why, name)) / z == pytest.approx(part.probability, rel=1e-9)


def total(why, part):
    return sum(step.weight for _, step in getattr(why, f"{part}_part").terms)


def test_explanation_spells_contexts_and_counts():
    model = fitted(class_contexts="c1 w1; w2", word_contexts="w1 w2", penalty="l2", nonnegative=False)
    why = model.explain("<s> the", "cat")
    k = int(model.classes_.class_of[model.vocabulary_.id("the")])
    assert why.word == why.word_part.choice == "cat"
    assert "cat" in why.class_part.choice
    assert [name for name, _ in why.class_part.terms] == [
        "",
        f"c1={model.class_name(k)}",
        f"c1={model.class_name(k)} w1=the",
        "w2=<s>",
    ]
    assert [name for name, _ in why.word_part.terms] == ["", "w1=the", "w1=the w2=<s>"]
    assert [step.count for _, step in why.word_part.terms] == [3, 1, 1]  # the cat, a cat, a cat
    assert [step.tree for _, step in why.class_part.terms] == [0, 0, 0, 1]
    sparse = fitted(class_strength=Strength(1e6, 1.0, 1.0)).explain("<s> the", "cat").class_part
    assert [(step.weight, step.count) for _, step in sparse.terms] == [(0.0, None)]
    assert [name for name, _ in model.explain("zebra", "cat").word_part.terms] == [""]
    with pytest.raises(InputError, match="'zebra' is not in the vocabulary"):
        model.explain("the", "zebra")


@pytest.mark.parametrize("bits", [0, 8])
def test_saved_model_is_the_same_model(tmp_path, bits):
    path = tmp_path / "model.epigram"
    MODEL.save(path, bits)
    again = ClassFactoredLM.load(path)
    assert isinstance(load(path), ClassFactoredLM)
    for context in CONTEXTS:
        found = again.distribution(context)
        np.testing.assert_allclose(found, MODEL.distribution(context), rtol=0.05 if bits else 1e-5)
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert again.state("sat on the") == MODEL.state("sat on the")
    assert again.n_nonzero_ == MODEL.n_nonzero_
    assert (again.class_strength_, again.word_strength_) == (STRENGTH, STRENGTH)
    assert (again.objective_, again.n_iter_) == (MODEL.objective_, MODEL.n_iter_)
    assert again.get_params()["order"] == 4
    why, before = again.explain("sat on the", "mat"), MODEL.explain("sat on the", "mat")
    assert [name for name, _ in why.word_part.terms] == [name for name, _ in before.word_part.terms]
    assert all(step.count is None for _, step in why.word_part.terms)
    twice = tmp_path / "twice.epigram"
    again.save(twice, bits)
    np.testing.assert_allclose(
        ClassFactoredLM.load(twice).distribution("the"), again.distribution("the"), rtol=1e-6
    )


def test_saved_model_can_be_fitted_again(tmp_path):
    MODEL.save(tmp_path / "model.epigram")
    again = ClassFactoredLM.load(tmp_path / "model.epigram")
    np.testing.assert_allclose(
        clone(again).fit(TEXT).distribution("the"), MODEL.distribution("the"), rtol=1e-5
    )


def test_model_without_weights_has_a_file(tmp_path):
    nothing = fitted(class_strength=Strength(1e6, 1.0, 1.0), word_strength=Strength(1e6, 1.0, 1.0))
    assert nothing.n_nonzero_ == 0
    for bits in (0, 8):
        nothing.save(tmp_path / "model.epigram", bits)
        found = ClassFactoredLM.load(tmp_path / "model.epigram").distribution("the")
        np.testing.assert_allclose(found, nothing.distribution("cat sat"))
        assert describe(tmp_path / "model.epigram")[1]


def test_description_counts_every_weight(tmp_path):
    path = tmp_path / "model.epigram"
    MODEL.save(path)
    sections = {section.title: section for section in describe(path)[1]}
    counted = 0
    for part, model in (("class", MODEL.class_model_), ("word", MODEL.word_model_)):
        rows = sections[f"weights of the {part} part"].records()
        assert [row["context"] for row in rows[:3]] == ["(none)", "c1", "c1 w1"]
        assert len(rows) == sum(len(tree) + 1 for tree in model.contexts.trees)
        assert sum(row["sum of sizes"] for row in rows) == pytest.approx(np.abs(model.w).sum(), rel=1e-6)
        counted += sum(row["not zero"] for row in rows)
        heaviest = sections[f"heaviest of the {part} part"].rows
        assert [row[2] for row in heaviest] == sorted((row[2] for row in heaviest), reverse=True)
        assert all("=" in row[0] for row in heaviest)
    assert counted == MODEL.n_nonzero_
    classes = sections["most frequent classes"].rows
    assert [row[0] for row in classes] == [1, 2, 3]
    assert sorted(" ".join(row[1] for row in classes).split()) == sorted(MODEL.vocabulary_.words[1:])


def test_heaviest_weights_are_those_of_their_contexts():
    for part, root in ((MODEL.class_model_, 0), (MODEL.word_model_, None)):
        weights = twin.weights_of_model(part)
        for context, own, chosen, w in part.heaviest(5, str):
            assert root in (None, own)
            symbols = tuple(int(item.split("=")[1]) for item in context.split())[::-1]
            trees = [k for k in range(len(part.contexts.trees)) if ((k, own, symbols), chosen) in weights]
            assert w in [weights[(k, own, symbols), chosen] for k in trees]


def test_damaged_files_give_one_sentence(tmp_path):
    path = tmp_path / "model.epigram"
    MODEL.save(path)
    content = path.read_bytes()
    for cut in (0, 7, 100, len(content) // 2, len(content) - 20):
        path.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize("part", ["class", "word"])
@pytest.mark.parametrize("name", ["choices", "parents", "symbols", "pairs", "targets", "weights"])
def test_arrays_that_do_not_fit_are_refused(tmp_path, part, name):
    path = tmp_path / "model.epigram"
    MODEL.save(path)
    file = ModelFile.load(path)
    whole = file.tensors[f"{part}.{name}"]
    file.tensors[f"{part}.{name}"] = whole[:-1]
    file.save(path)
    with pytest.raises(ModelFileError):
        load(path)
    if name != "weights":
        file.tensors[f"{part}.{name}"] = np.zeros(30, np.uint8)
        file.save(path)
        with pytest.raises(ModelFileError):
            load(path)


def test_classes_that_do_not_fit_the_vocabulary_are_refused(tmp_path):

    MODEL.save(tmp_path / "model.epigram")
    file = ModelFile.load(tmp_path / "model.epigram")
    wrong = np.array(MODEL.classes_.class_of)
    for class_of in (wrong[:-1], np.zeros_like(wrong), np.where(wrong == 3, 2, wrong), wrong[::-1]):
        file.tensors["class_of"] = class_of
        file.save(tmp_path / "wrong.epigram")
        with pytest.raises(InputError):
            load(tmp_path / "wrong.epigram")


def test_another_kind_of_model_is_refused(tmp_path):
    KneserNeyLM(2).fit(TEXT).save(tmp_path / "kn.epigram")
    with pytest.raises(InputError, match="holds a BackoffModel, not a ClassFactoredLM"):
        ClassFactoredLM.load(tmp_path / "kn.epigram")


def test_classes_as_number_object_and_file(tmp_path):
    learned = WordClasses.learn(Corpus.of(TEXT), 4)
    learned.write(tmp_path / "classes")
    expected = MODEL.distribution("on the")
    for classes in (learned, tmp_path / "classes", str(tmp_path / "classes"), np.int64(4)):
        model = fitted(order=4, classes=classes)
        assert model.classes_.n_classes == 4
        p = dict(zip(model.vocabulary_, model.distribution("on the"), strict=True))
        np.testing.assert_allclose([p[word] for word in MODEL.vocabulary_], expected, rtol=1e-3)


def test_classes_of_other_words(tmp_path):
    (tmp_path / "classes").write_text("x\tthe\nx\ta\ny\tcat\ny\tzebra\n")
    model = fitted(classes=tmp_path / "classes")
    assert model.classes_.n_classes == 4  # </s>, x, y and the words that the file lacks
    assert model.distribution("the").sum() == pytest.approx(1.0, abs=1e-9)
    (tmp_path / "classes").write_text("x\tzebra\n")
    with pytest.raises(InputError, match="none of its 1 words"):
        fitted(classes=tmp_path / "classes")
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        fitted(classes=tmp_path / "nowhere.txt")


def test_search_lowers_held_out_perplexity_and_reports_it():
    trials = []
    model = ClassFactoredLM(order=3, budget=600, tolerance=1e-3, held_out=0.34)
    model.fit(TEXT * 2, on_trial=lambda trial: trials.append(trial) or len(trials) >= 12)
    assert model.trials_ == trials
    assert len(trials) == 12
    assert {trial.n_classes for trial in trials if trial.part == "both"} == {5, 2, 10}
    assert [trial.best for trial in trials] == np.minimum.accumulate([t.perplexity for t in trials]).tolist()
    assert trials[-1].best < trials[0].perplexity
    assert model.valid_perplexity_ == trials[-1].best
    assert [trial.seconds for trial in trials] == sorted(trial.seconds for trial in trials)


def test_search_on_given_held_out_text_keeps_the_best_model():
    valid = ["the cat saw the log", "a dog sat"]
    trials = []
    model = ClassFactoredLM(classes=4, order=3, budget=600, tolerance=1e-9, open_vocabulary=False)
    model.fit(TEXT, valid=valid, on_trial=lambda trial: trials.append(trial) or len(trials) >= 15)
    assert model.valid_perplexity_ == model.perplexity(valid)
    assert model.valid_perplexity_ == pytest.approx(min(trial.perplexity for trial in trials), rel=1e-3)
    assert {trial.n_classes for trial in trials} == {4}
    assert len({(trial.part, trial.strength) for trial in trials}) == len(trials) == 15
    again = ClassFactoredLM(classes=4, order=3, tolerance=1e-9, open_vocabulary=False).set_params(
        class_strength=model.class_strength_, word_strength=model.word_strength_
    )
    assert again.fit(TEXT).perplexity(valid) == pytest.approx(model.valid_perplexity_, rel=1e-3)
    assert not again.trials_
    assert not hasattr(again, "valid_perplexity_")


def test_only_the_open_price_is_searched():
    model = ClassFactoredLM(classes=4, order=3, class_strength=STRENGTH, budget=600, tolerance=1e-3)
    trials = []
    model.fit(TEXT, valid=TEXT[:2], on_trial=lambda trial: trials.append(trial) or len(trials) >= 4)
    assert [trial.part for trial in trials] == ["both", "word", "word", "word"]
    assert model.class_strength_ == STRENGTH


def test_budget_of_zero_takes_the_first_prices():
    from epigram.lm.factored.problem import first_strength

    for penalty in ("elastic", "l1"):
        model = ClassFactoredLM(order=3, penalty=penalty, budget=0, tolerance=1e-3).fit(TEXT, valid=TEXT[:2])
        assert model.trials_ == []
        assert model.class_strength_ == first_strength(penalty, "class")
        assert model.word_strength_ == first_strength(penalty, "word")
        assert model.valid_perplexity_ == model.perplexity(TEXT[:2])
    assert not hasattr(model.fit(TEXT), "valid_perplexity_")


def test_interrupted_training_leaves_a_usable_model():
    model = ClassFactoredLM(**GIVEN).fit(TEXT, callback=lambda now: now.number >= 2)
    assert 2 <= model.n_iter_ <= 4
    assert model.distribution("the").sum() == pytest.approx(1.0)
    searched = ClassFactoredLM(order=3, budget=600).fit(TEXT, callback=lambda now: True)
    assert len(searched.trials_) == 1
    assert searched.distribution("the").sum() == pytest.approx(1.0)


@pytest.mark.parametrize("penalty", sorted(PENALTIES))
@pytest.mark.parametrize("solver", [FISTA(2e-5, 60), StochasticProximal(passes=60)])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_all_penalties_and_solvers(penalty, solver, nonnegative):
    strength = Strength(0.2, 1.2, 0.05 if penalty == "elastic" else 0.0)
    settings = {
        "penalty": penalty,
        "class_strength": strength,
        "word_strength": strength,
        "nonnegative": nonnegative,
    }
    model = fitted(TEXT * 3, solver=solver, **settings)
    nothing = fitted(TEXT * 3, class_strength=Strength(1e6, 1.0, 1.0), word_strength=Strength(1e6, 1.0, 1.0))
    assert model.perplexity(TEXT) < 0.7 * nothing.perplexity(TEXT)
    assert model.distribution("the").sum() == pytest.approx(1.0, abs=1e-9)
    assert nonnegative <= bool((model.class_model_.w > 0).all())


def test_threads_and_seeds():
    one, two = fitted(TEXT * 3, tolerance=1e-10), fitted(TEXT * 3, tolerance=1e-10, threads=2)
    np.testing.assert_allclose(one.distribution("the"), two.distribution("the"), rtol=1e-4)
    same = [fitted(random_state=5, solver="stochastic").distribution("the") for _ in range(2)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("text", [["a"], ["a a a a"], ["a", "a"], ["a b", "b a"]])
@pytest.mark.parametrize("classes", ["auto", 2, 50])
@pytest.mark.parametrize("valid", [None, ["a a zebra"]])
def test_tiny_texts(text, classes, valid):
    model = ClassFactoredLM(classes=classes, order=3, budget=0.05, tolerance=1e-3).fit(text, valid=valid)
    for context in ("", "a", "<s> a"):
        assert model.distribution(context).sum() == pytest.approx(1.0, abs=1e-9)
    assert (
        1.0 < model.perplexity(text) <= 4.0 + 1e-9
    )  # that of four words alike, if nothing else predicts held-out text


def test_limits_of_the_vocabulary(tmp_path):
    assert len(fitted(min_count=2).vocabulary_) == 9  # without mat and log, with <unk> and </s>
    small = fitted(max_words=3)
    assert small.vocabulary_.words == ["</s>", "the", "cat", "dog", "<unk>"]
    assert small.distribution("the <unk>").sum() == pytest.approx(1.0, abs=1e-9)
    given = fitted(vocabulary=Vocabulary(["the", "cat", "gnu"]))
    assert given.vocabulary_.words == ["</s>", "the", "cat", "gnu", "<unk>"]
    assert given.distribution("the")[given.vocabulary_.id("gnu")] > 0
    (tmp_path / "text").write_text("\n".join(TEXT))
    np.testing.assert_array_equal(
        fitted(tmp_path / "text").distribution("the"), fitted(Corpus.of(TEXT)).distribution("the")
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 1}, "order from 2 to 16, not 1"),
        ({"order": 17}, "order from 2 to 16, not 17"),
        ({"order": 0}, "order from 2 to 16, not 0"),
        ({"class_contexts": "c1 q2"}, "'q2'"),
        ({"word_contexts": "c1;"}, "empty tree"),
        ({"word_contexts": "c9999999999"}, "too far back"),
        ({"penalty": "l3"}, "unknown penalty 'l3'"),
        ({"solver": "adam"}, "unknown solver 'adam'"),
        ({"budget": -1}, "0 seconds or more, not -1"),
        ({"budget": float("nan")}, "0 seconds or more, not nan"),
        ({"classes": 1}, ">= 2, not 1"),
        ({"classes": 2.5}, "not 2.5"),
        ({"classes": None}, "not None"),
        ({"class_strength": None, "held_out": 1.0}, "cannot hold out"),
        ({"threads": 0}, "threads must be a whole number >= 1"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        fitted(**settings)


@pytest.mark.parametrize("text", [[], ["", "  "]])
def test_empty_text_is_refused(text):
    with pytest.raises(InputError, match="no words"):
        fitted(text)
    with pytest.raises(InputError, match="held-out text is empty"):
        ClassFactoredLM(**GIVEN).fit(TEXT, valid=text)


def test_estimator_conventions(tmp_path):
    model = ClassFactoredLM(**GIVEN, class_contexts="c1; w2")
    assert clone(model).get_params() == model.get_params()
    given = WordClasses.learn(Corpus.of(TEXT), 3)
    assert clone(ClassFactoredLM(given)).classes.class_of.tolist() == given.class_of.tolist()
    for use in (
        lambda: model.distribution("a"),
        lambda: model.word_scores("a"),
        lambda: model.start(),
        lambda: model.step(0, 1),
        lambda: model.explain("a", "a"),
        lambda: model.n_nonzero_,
        lambda: model.save(tmp_path / "model.epigram"),
    ):
        with pytest.raises(InputError, match="not fitted"):
            use()
    assert model.fit(TEXT) is model


def test_contexts_by_order_and_by_hand():
    assert str(ClassFactoredLM(order=2).contexts_of("class")) == "c1 w1"
    assert str(ClassFactoredLM(order=4).contexts_of("class")) == "c1 w1 c2 w2 c3 w3; c2 w2; c3 w3"
    assert str(ClassFactoredLM(order=5).contexts_of("word")) == "c1 w1 c2 w2; c2 w2; c3 w3"
    model = fitted(class_contexts="w1 c2", word_contexts="w1; c2")
    assert str(model.class_model_.contexts) == "w1 c2"
    np.testing.assert_allclose(model.distribution("sat on"), brute_force(model, "sat on"), rtol=1e-10)


def test_stored_parts_are_plain_arrays():
    for part in (MODEL.class_model_, MODEL.word_model_):
        again = FactorScorer.from_tensors(part.contexts, part.tensors(16))
        np.testing.assert_allclose(again.w, part.w, rtol=1e-4, atol=1e-4)


def test_beats_kneser_ney_of_the_same_order_on_newswire(data):
    text = Corpus.read(data / "ptb" / "ptb.train.txt.gz").take(0, 3000)
    train = Corpus.of(list(text.sentences()), max_words=1000)
    valid = Corpus.read(data / "ptb" / "ptb.valid.txt", train.vocabulary).take(0, 800)
    rival = KneserNeyLM(3).fit(train)
    model = ClassFactoredLM(classes=30, order=3, budget=0, tolerance=1e-4).fit(train, valid=valid)
    assert model.valid_perplexity_ < 0.985 * rival.perplexity(valid)
    mixed = InterpolatedLM([model, rival], [0.5, 0.5]).perplexity(valid)
    assert mixed < model.valid_perplexity_


def test_max_weights_keeps_those_worth_most_and_fits_them_again():
    text = ["a b c a d", "b b c e", "c a d f", "d d a b", "e f a", "f e c b"] * 3
    settings = {"classes": 3, "order": 3, "budget": 0, "tolerance": 1e-7}
    whole = ClassFactoredLM(**settings).fit(text)
    assert ClassFactoredLM(**settings, max_weights=10**6).fit(text).n_nonzero_ == whole.n_nonzero_
    few = ClassFactoredLM(**settings, max_weights=20).fit(text)
    assert 10 <= few.n_nonzero_ <= 20
    assert few.objective_ > whole.objective_
    assert few.distribution("a b").sum() == pytest.approx(1, abs=1e-12)
    assert few.partial_fit(["a b c a d"]).n_nonzero_ <= 20
    with pytest.raises(InputError, match="max_weights"):
        ClassFactoredLM(max_weights=0).fit(text)


def test_a_fit_of_kept_weights_is_the_best_with_the_others_at_0():
    corpus = Corpus.of(["a b c a d", "b b c e", "c a d f", "d d a b", "e f a", "f e c b"])
    classes = WordClasses(corpus.vocabulary, np.array([0, 1, 2, 1, 2, 1, 2], np.int32))
    problem = FactorProblem.of(Factor("class", classes, Contexts.parse("c1 w1; c2")), Positions.of(corpus))
    solver, strength = FISTA(1e-12), Strength(0.2, 1.1, 0.05, 2.0)
    whole = problem.solve(solver, strength).w
    kept = largest(weight_importance(problem.loss, whole), 6)
    found = problem.solve(solver, strength, np.where(kept, whole, 0.0), kept=kept)
    assert not found.w[~kept].any()
    penalty = build_penalty("elastic", problem.loss.tree, strength, True, problem.loss.is_side)

    def objective(w):
        return problem.loss.value(w) + penalty.value(w)

    assert objective(whole) < objective(found.w) < objective(np.where(kept, whole, 0.0))
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = np.maximum(found.w + np.where(kept, rng.normal(0, 1e-2, kept.size), 0.0), 0.0)
        assert objective(near) >= objective(found.w) - 1e-9
