"""Word classes: the objective and every move against the twin, threads, seeds, other vocabularies and class files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.exchange import Bigrams, Exchange, first_classes
from epigram.lm.vocabulary import Vocabulary
from reference.word_classes import log_likelihood, worth_of_moves

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=8)


def random_text(n_words, n_sentences, seed=0):
    """Sentences whose words follow hidden classes, so that there is something to find."""
    chance = np.random.default_rng(seed)
    hidden = 5
    follows = chance.dirichlet(np.full(hidden, 0.3), hidden)
    sentences = []
    for _ in range(n_sentences):
        k, sentence = int(chance.integers(hidden)), []
        for _ in range(int(chance.integers(1, 12))):
            sentence.append(f"w{hidden * int(n_words / hidden * chance.random() ** 3) + k}")
            k = int(chance.choice(hidden, p=follows[k]))
        sentences.append(sentence)
    return Corpus.of(sentences)


def begin(corpus, n_classes, seed=0):
    bigrams = Bigrams.of(corpus)
    words = np.argsort(-bigrams.word_count, kind="stable").astype(np.int32)
    words = words[words != 0]
    n_classes = min(n_classes, words.size + 1)
    class_of = np.zeros(len(corpus.vocabulary), np.int32)
    class_of[words] = first_classes(words, n_classes, seed)
    return Exchange(bigrams, words, class_of, n_classes), n_classes


@settings(max_examples=60)
@given(SENTENCES, st.integers(2, 6), st.integers(0, 3))
def test_best_moves_equal_brute_force(sentences, n_classes, seed):
    corpus = Corpus.of(sentences)
    exchange, n_classes = begin(corpus, n_classes, seed)
    stream = corpus.stream().tolist()
    for word in exchange.words:
        now = log_likelihood(stream, exchange.class_of)
        assert exchange.log_likelihood == pytest.approx(now, abs=1e-8)
        worths = worth_of_moves(stream, exchange.class_of, word, n_classes)
        best = exchange.best_moves(np.array([word], np.int32), everywhere=True)
        alone = np.count_nonzero(exchange.class_of == exchange.class_of[word]) == 1
        expected = now if alone else max(worths.values())
        assert worths[int(best[0])] == pytest.approx(expected, abs=1e-7)
        moved, gained = exchange.make_moves(np.array([word], np.int32), best)
        assert gained == pytest.approx(expected - now, abs=1e-7)
        assert moved == (gained > 0)
    assert exchange.log_likelihood == pytest.approx(log_likelihood(stream, exchange.class_of), abs=1e-8)


def test_counts_stay_exact_over_many_moves():
    corpus = random_text(300, 400)
    exchange, n_classes = begin(corpus, 20)
    exchange.run(5)
    fresh = Exchange(Bigrams.of(corpus), exchange.words, exchange.class_of.copy(), n_classes)
    for kept, counted in zip(exchange._state, fresh._state, strict=True):
        np.testing.assert_array_equal(kept, counted)
    assert exchange.log_likelihood == pytest.approx(
        log_likelihood(corpus.stream().tolist(), exchange.class_of), rel=1e-12
    )


def test_no_pass_lowers_the_objective_and_all_find_the_gain_they_report():
    corpus = random_text(400, 500)
    exchange, _ = begin(corpus, 30)
    before = exchange.log_likelihood
    for everywhere in (True, True, False, False, False, True):
        moved, gained = exchange.run_pass(everywhere, None, 1)
        after = exchange.log_likelihood
        assert gained >= 0
        assert (moved > 0) == (gained > 0)
        assert after - before == pytest.approx(gained, abs=1e-6)
        before = after


def test_candidates_are_the_best_classes_and_bound_later_moves():
    corpus = random_text(400, 300)
    exchange, n_classes = begin(corpus, 40)
    exchange.best_moves(exchange.words, everywhere=True)
    stream = corpus.stream().tolist()
    n_kept = exchange._candidates.shape[1]
    assert n_kept < n_classes - 1
    for word in exchange.words[:5]:
        worths = worth_of_moves(stream, exchange.class_of, word, n_classes)
        best = sorted(worths.values(), reverse=True)[:n_kept]
        noted = [worths[k] for k in exchange._candidates[word].tolist()]
        np.testing.assert_allclose(noted, best, atol=1e-6)
    among_all = exchange.best_moves(exchange.words, everywhere=True)
    among_few = exchange.best_moves(exchange.words, everywhere=False)
    for k in np.flatnonzero(among_all != among_few).tolist():  # only where two classes are worth the same
        worths = worth_of_moves(stream, exchange.class_of, exchange.words[k], n_classes)
        assert worths[int(among_all[k])] == pytest.approx(worths[int(among_few[k])], abs=1e-6)
    exchange._candidates[:] = 7  # now only class 7 may be entered
    moves = exchange.best_moves(exchange.words, everywhere=False)
    assert (moves == 7).any()
    assert set(moves[moves != exchange.class_of[exchange.words]].tolist()) == {7}


@pytest.mark.parametrize("seed", [0, 3])
def test_threads_change_nothing(seed):
    corpus = random_text(600, 600)
    passes = [], []
    one = WordClasses.learn(corpus, 25, seed=seed, callback=passes[0].append)
    three = WordClasses.learn(corpus, 25, seed=seed, threads=3, callback=passes[1].append)
    np.testing.assert_array_equal(one.class_of, three.class_of)
    assert [p.log_likelihood for p in passes[0]] == [p.log_likelihood for p in passes[1]]
    assert len(passes[0]) > 2


def test_seeds_start_elsewhere_and_repeat():
    corpus = random_text(600, 600)
    found = [WordClasses.learn(corpus, 25, seed=seed).class_of for seed in (0, 0, 1, 1, 2)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], found[3])
    assert (found[0] != found[2]).any()
    assert (found[2] != found[4]).any()
    words = np.arange(1, 24, dtype=np.int32)
    dealt = first_classes(words, 6, 5)
    for lo in range(0, 20, 5):  # each round has every class once
        assert sorted(dealt[lo : lo + 5].tolist()) == [1, 2, 3, 4, 5]


def test_hidden_classes_are_found():
    corpus = random_text(60, 3000)
    classes = WordClasses.learn(corpus, 6)
    hidden = np.array([int(word[1:]) % 5 for word in corpus.vocabulary.words[1:]])
    frequent = corpus.counts[1:] > 50
    for k in range(1, 6):
        assert len(set(hidden[frequent & (classes.class_of[1:] == k)].tolist())) == 1


@settings(max_examples=40)
@given(SENTENCES, st.integers(2, 9), st.sampled_from(["", "x", "<unk>", "x <unk>"]))
@example([["c", "d"], list("dadeb")], 5, "")  # a word alone in its class at first, not alone later
def test_every_result_is_in_order(sentences, n_classes, extra):
    seen = dict.fromkeys(word for sentence in sentences for word in sentence)
    vocabulary = Vocabulary([*extra.split(), *seen])
    classes = WordClasses.learn(Corpus.of(sentences, vocabulary), n_classes)
    assert classes.n_classes == min(n_classes, len(seen) + 1)
    assert classes.class_of.dtype == np.int32
    assert classes.class_of.shape == (len(vocabulary),)
    assert classes.words(0) == ["</s>"]
    assert classes.sizes[0] == 1
    assert (classes.sizes > 0).all()
    assert classes.sizes.sum() == len(vocabulary)
    counts = Corpus.of(sentences, vocabulary).counts
    tokens = np.bincount(classes.class_of, weights=counts)[1:]
    assert (np.diff(tokens) <= 0).all()
    for word in extra.split():  # neither x nor <unk> occurs
        assert classes.class_of[vocabulary.id(word)] == classes.n_classes - 1


def test_words_that_never_occur_go_with_unk():
    vocabulary = Vocabulary(["a", "b", "never", "<unk>"])
    corpus = Corpus.of(["a z a z a y b b"] * 2, vocabulary, training=True)
    classes = WordClasses.learn(corpus, 4)
    assert classes.class_of[3] == classes.class_of[4] != classes.n_classes - 1


def test_a_word_outside_the_vocabulary_is_a_boundary():
    vocabulary = Vocabulary(["a", "b", "c"])
    cut = WordClasses.learn(Corpus.of(["a b z c a", "c b a"], vocabulary), 3)
    apart = WordClasses.learn(Corpus.of(["a b", "c a", "c b a"], vocabulary), 3)
    np.testing.assert_array_equal(cut.class_of, apart.class_of)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"n_classes": 1}, "n_classes must be a whole number >= 2, not 1"),
        ({"n_classes": 3, "threads": 0}, "threads must be a whole number >= 1"),
        ({"n_classes": 3, "seed": -1}, "seed must be a whole number >= 0"),
        ({"n_classes": 3, "max_passes": -1}, "max_passes must be a whole number >= 0"),
    ],
)
def test_settings_out_of_range(settings_, message):
    with pytest.raises(InputError, match=message):
        WordClasses.learn(Corpus.of(["a b c"]), **settings_)


def test_no_words_at_all():
    with pytest.raises(InputError, match="no words"):
        WordClasses.learn(Corpus.of(["x y"], Vocabulary(["a"])), 3)


def test_a_callback_ends_the_search():
    passes = []
    corpus = random_text(400, 300)
    WordClasses.learn(corpus, 20, callback=lambda one: passes.append(one) or len(passes) == 2)
    assert [one.number for one in passes] == [1, 2]
    assert passes[1].perplexity < passes[0].perplexity
    assert passes[0].perplexity == pytest.approx(
        np.exp(-passes[0].log_likelihood / (corpus.n_tokens + corpus.n_sentences))
    )


@settings(max_examples=30)
@given(SENTENCES, st.integers(2, 7), st.booleans())
def test_files_come_back_as_written(tmp_path_factory, sentences, n_classes, with_counts):
    corpus = Corpus.of(sentences)
    classes = WordClasses.learn(corpus, n_classes)
    path = tmp_path_factory.mktemp("classes") / "classes.txt"
    classes.write(path, corpus.counts if with_counts else None)
    back = WordClasses.read(path, corpus.vocabulary)
    np.testing.assert_array_equal(back.class_of, classes.class_of)
    alone = WordClasses.read(path)
    assert {w: int(k) for w, k in zip(alone.vocabulary, alone.class_of, strict=True)} == {
        w: int(k) for w, k in zip(classes.vocabulary, classes.class_of, strict=True)
    }


def test_the_file_is_sorted_by_class_and_count(tmp_path):
    corpus = Corpus.of(["b a a a", "b c a", "d"])
    classes = WordClasses(corpus.vocabulary, np.array([0, 2, 1, 1, 1], np.int32))
    assert corpus.vocabulary.words == ["</s>", "a", "b", "c", "d"]
    classes.write(tmp_path / "f", corpus.counts)
    assert (tmp_path / "f").read_text() == "0\t</s>\t3\n1\tb\t2\n1\tc\t1\n1\td\t1\n2\ta\t4\n"


def test_brown_paths_are_read(tmp_path):
    path = tmp_path / "paths"
    path.write_text("0010\tcat\t3\n0010\tdog\t4\r\n\n011\tthe\t90\n011\t</s>\t5\n1\tgone\t999\n")
    vocabulary = Vocabulary(["the", "dog", "cat"])
    assert WordClasses.read(path, vocabulary).class_of.tolist() == [0, 1, 2, 2]
    assert WordClasses.read(path).words(1) == ["gone"]


def test_words_the_file_lacks(tmp_path):
    path = tmp_path / "f"
    path.write_text("x\ta\ny\tb\n")
    assert WordClasses.read(path, Vocabulary(["new", "b", "a", "newer"])).class_of.tolist() == [0, 3, 2, 1, 3]
    path.write_text("x\ta\ny\tb\ny\t<unk>\n")
    assert WordClasses.read(path, Vocabulary(["new", "b", "a", "<unk>"])).class_of.tolist() == [0, 2, 2, 1, 2]
    with pytest.raises(InputError, match="none of its 3 words is in the vocabulary"):
        WordClasses.read(path, Vocabulary(["c"]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\ta\t3\nb\n", ":2: expected class<TAB>word<TAB>count .*'b'"),
        ("1\t\t3\n", ":1: expected class"),
        ("1\ta\t3\t4\n", ":1: expected class"),
        ("1 a 3\n", ":1: expected class"),
        ("1\ta\n\n2\ta\n", ":3: the word 'a' has a class already, on line 1; leave one"),
        ("1\ta\tmany\n", ":1: the count 'many' of 'a' is not a whole number"),
        ("1\ta\t-2\n", ":1: the count '-2'"),
        ("", "no words"),
        ("0\t</s>\t3\n", "no words"),
    ],
)
def test_bad_files_say_where_and_what(tmp_path, content, message):
    path = tmp_path / "classes.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        WordClasses.read(path)


@settings(max_examples=60)
@given(st.text(alphabet="a1\t\n\r -é", max_size=30))
def test_any_text_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("classes") / "f"
    path.write_text(content, newline="")
    try:
        classes = WordClasses.read(path)
    except InputError:
        return
    assert (classes.sizes > 0).all()
    assert classes.words(0) == ["</s>"]


def test_words_with_tabs_cannot_be_written(tmp_path):
    classes = WordClasses(Vocabulary(["a\tb"]), np.array([0, 1], np.int32))
    with pytest.raises(InputError, match=r"'a\\tb' cannot stand in a class file"):
        classes.write(tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_other_vocabularies():
    classes = WordClasses(Vocabulary(["a", "b", "c", "d"]), np.array([0, 3, 1, 2, 3], np.int32))
    assert classes.for_vocabulary(Vocabulary(["d", "c", "a"])).class_of.tolist() == [0, 2, 1, 2]
    assert classes.for_vocabulary(Vocabulary(["new", "b", "d"])).class_of.tolist() == [0, 3, 1, 2]
    assert classes.for_vocabulary(Vocabulary(["new", "<unk>", "d"])).class_of.tolist() == [0, 2, 2, 1]
    known = WordClasses(Vocabulary(["a", "<unk>"]), np.array([0, 1, 2], np.int32))
    assert known.for_vocabulary(Vocabulary(["new", "<unk>", "a"])).class_of.tolist() == [0, 2, 2, 1]


@pytest.mark.parametrize("class_of", [[0, 1], [1, 1, 2], [0, 0, 1], [0, 1, 3], [0, -1, 1]])
def test_classes_that_break_the_contract(class_of):
    with pytest.raises(InputError, match="class"):
        WordClasses(Vocabulary(["a", "b"]), np.array(class_of, np.int32))


def test_penn_treebank(data):
    corpus = Corpus.read(data / "ptb" / "ptb.train.txt.gz")
    passes = []
    classes = WordClasses.learn(corpus, 200, max_passes=3, callback=passes.append)
    assert classes.n_classes == 200
    assert len(passes) == 3
    assert passes[-1].perplexity < 240  # the words dealt out by count: 461.6
    expected = log_likelihood(corpus.stream().tolist(), classes.class_of.tolist())
    assert passes[-1].log_likelihood == pytest.approx(expected, rel=1e-10)
    days = {int(classes.class_of[corpus.vocabulary.id(day)]) for day in ("monday", "tuesday", "friday")}
    assert len(days) == 1
