"""ARPA in and out: our own round trip, the kenlm package as judge, dialects, and broken files by line."""

from __future__ import annotations

import gzip
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.arpa import parse_arpa, read_arpa, write_arpa
from epigram.lm.ngram.kneser_ney import KneserNeyLM

SMALL = """\
\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-0.5\t</s>
-0.4\ta\t-0.2
-0.7\tb

\\2-grams:
-0.1\t<s> a
-0.2\ta b
-0.3\ta </s>

\\end\\
"""


def parse(text: str):
    return parse_arpa(text.encode(), "x.arpa")


def kenlm_perplexity(model: Any, corpus: Corpus) -> float:
    """Words of the vocabulary and ends of sentences, as everywhere here."""
    total, n = 0.0, 0
    for sentence in corpus.sentences():
        for logp, _, unknown in model.full_scores(" ".join(sentence)):
            if not unknown:
                total += logp
                n += 1
    return 10 ** (-total / n)


def test_small_file_has_the_probabilities_it_says():
    model = parse(SMALL)
    scores = model.word_scores("a b") / math.log(10)
    np.testing.assert_allclose(scores, [-0.1, -0.2, -0.5], atol=1e-12)
    np.testing.assert_allclose(model.word_scores("b a") / math.log(10), [-1.0, -0.4, -0.3], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "é", "日本", "<unk>"]), min_size=1, max_size=6), min_size=1, max_size=8
    ),
    st.integers(1, 4),
)
def test_round_trip(tmp_path_factory, sentences, order):
    model = KneserNeyLM(order).fit(sentences).backoff_
    path = tmp_path_factory.mktemp("arpa") / "m.arpa.gz"
    write_arpa(model, path)
    again = read_arpa(path)
    assert set(again.vocabulary_) == set(model.vocabulary_)
    assert again.n_ngrams == model.n_ngrams
    for sentence in [*sentences, ["a", "a", "zebra", "é"]]:
        np.testing.assert_allclose(again.word_scores(sentence), model.word_scores(sentence), atol=1e-5)


def test_kenlm_reads_what_we_write_and_agrees(tmp_path, data):
    kenlm = pytest.importorskip("kenlm")
    stem = data / "lm-splits" / "apnews.s0"
    train = Corpus.read(f"{stem}.train.txt.gz")
    test = Corpus.read(f"{stem}.test.txt.gz", train.vocabulary)
    for order, prune in ((5, 0), (3, 1), (2, 0)):
        model = KneserNeyLM(order, prune=prune).fit(train)
        path = tmp_path / f"{order}.arpa"
        write_arpa(model.backoff_, path)
        ours = model.perplexity(test)
        assert kenlm_perplexity(kenlm.Model(str(path)), test) == pytest.approx(ours, rel=1e-4)
        assert read_arpa(path).perplexity(test) == pytest.approx(ours, rel=1e-5)


def test_dialects_spaces_capitals_missing_columns_text_before_gzip(tmp_path):
    text = SMALL.replace("\t", "  ").replace("<s>", "<S>").replace("</s>", "</S>").replace("\n", "\r\n")
    text = "made by hand\r\n\r\n" + text.replace("ngram 1=4", "ngram 1 = 5").replace(
        "-0.7  b", "-0.7  b\r\n-1e+0 <UNK>"
    )
    path = tmp_path / "x.arpa"
    path.write_bytes(gzip.compress(text.encode()))
    model = read_arpa(path)
    assert model.vocabulary_.words == ["</s>", "a", "b", "<unk>"]
    np.testing.assert_allclose(model.word_scores("a b"), parse(SMALL).word_scores("a b"))
    assert model.word_scores("<unk>")[0] == pytest.approx(-1.3 * math.log(10))


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(tmp_path_factory, random):
    model = KneserNeyLM(3).fit(["a b c a b", "c b a", "a b c"]).backoff_
    path = tmp_path_factory.mktemp("arpa") / "m.arpa"
    write_arpa(model, path)
    sections = path.read_text().split("\n\n")
    for k in range(1, len(sections) - 1):
        title, *rows = sections[k].split("\n")
        random.shuffle(rows)
        sections[k] = "\n".join([title, *rows])
    shuffled = parse("\n\n".join(sections))
    for sentence in ("a b c a b", "c c a", "b zebra c b a"):
        np.testing.assert_allclose(shuffled.word_scores(sentence), model.word_scores(sentence), atol=1e-6)


def test_a_probability_rounded_above_1_is_1():
    assert parse(SMALL.replace("-0.1\t<s> a", "0.00002\t<s> a")).word_scores("a b")[0] == 0.0


def test_ngrams_across_boundaries_are_dropped():
    text = SMALL.replace("ngram 2=3", "ngram 2=5").replace(
        "-0.3\ta </s>", "-0.3\ta </s>\n-1\t</s> a\n-1\tb <s>"
    )
    np.testing.assert_array_equal(parse(text).word_scores("a b"), parse(SMALL).word_scores("a b"))


def test_contexts_with_missing_suffixes_back_off_past_them():
    text = (
        SMALL.replace("ngram 2=3", "ngram 2=3\nngram 3=1")
        .replace("-0.2\ta b\n", "-0.2\ta b\t-0.25\n")
        .replace("\n\\end", "\n\\3-grams:\n-0.05\ta b b\n\\end")
    )
    model = parse(text)
    assert model.order == 3
    np.testing.assert_allclose(model.word_scores("a b b a") / math.log(10), [-0.1, -0.2, -0.05, -0.4, -0.3])


BROKEN = {
    "more rows than said": (("ngram 2=3", "ngram 2=2"), r"x\.arpa:14: more 2-grams"),
    "fewer rows than said": (
        ("ngram 2=3", "ngram 2=4"),
        r"x\.arpa:1[456]: 3 2-grams where the header says 4",
    ),
    "fewer 1-grams than said": (("ngram 1=4", "ngram 1=5"), r"x\.arpa:6: 4 1-grams where the header says 5"),
    "missing back-off": (("-0.4\ta\t-0.2", "-0.4\ta"), r"x\.arpa:8: no back-off weight"),
    "nan": (("-0.2\ta b", "nan\ta b"), r"x\.arpa:13: .*not a number"),
    "nan 1-gram": (("-0.7\tb", "NaN\tb"), r"x\.arpa:9: 'NaN' is not a number"),
    "nan weight": (("-0.4\ta\t-0.2", "-0.4\ta\tnan"), r"x\.arpa:8: 'nan'"),
    "not a number": (("-0.2\ta b", "-0.2x\ta b"), r"x\.arpa:13: .*not a number"),
    "probability above 1": (("-0.2\ta b", "31\ta b"), r"x\.arpa:13: log-probability 31 is above 0"),
    "infinite probability": (("-0.7\tb", "inf\tb"), r"x\.arpa:9: log-probability inf is above 0"),
    "infinite back-off": (("-0.4\ta\t-0.2", "-0.4\ta\tinf"), r"x\.arpa:8: back-off weight inf is not"),
    "huge back-off": (("-0.4\ta\t-0.2", "-0.4\ta\t400"), r"x\.arpa:8: back-off weight 400 is not"),
    "unlisted word": (("-0.2\ta b", "-0.2\ta c"), r"x\.arpa:13: a word that is not among"),
    "too few fields": (("-0.2\ta b", "-0.2\ta"), r"x\.arpa:13: expected a log-probability, 2 words"),
    "too many fields": (("-0.2\ta b", "-0.2\ta b 1 2"), r"x\.arpa:13: expected"),
    "a word twice": (("-0.7\tb", "-0.7\ta"), r"x\.arpa:9: the 1-gram 'a' is listed twice"),
    "truncated": (("\\end\\", ""), r"no \\end\\ mark"),
    "no section": (("\\2-grams:", ""), r"x\.arpa:6: 7 1-grams where|there is no"),
    "no header": (("\\data\\", ""), r"no \\data\\ section"),
    "gap in orders": (("ngram 2=3", "ngram 3=3"), r"without gaps"),
    "junk in header": (("ngram 2=3", "ngrams two"), r"x\.arpa:3: expected 'ngram N=COUNT'"),
    "same n-gram twice": (("-0.3\ta </s>", "-0.3\ta b"), r"x\.arpa:14: this n-gram is listed twice"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named_by_line(name):
    (old, new), message = BROKEN[name]
    assert old in SMALL
    with pytest.raises(InputError, match=message):
        parse(SMALL.replace(old, new, 1))


def test_a_context_that_is_not_listed_is_named():
    text = SMALL.replace("ngram 2=3", "ngram 2=3\nngram 3=1").replace(
        "\n\\end", "\n\\3-grams:\n-0.05\tb a b\n\\end"
    )
    with pytest.raises(InputError, match=r"x\.arpa:18: the context of this 3-gram"):
        parse(text)


def test_invalid_utf8_is_named():
    with pytest.raises(InputError, match=r"x\.arpa:9: invalid UTF-8"):
        parse_arpa(SMALL.encode().replace(b"\tb\n", b"\t\xff\n"), "x.arpa")


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, width=32), st.sampled_from(["{:.7g}", "{:.3e}", "{}", "{:.4f}"]))
def test_numbers_are_read_as_python_reads_them(value, form):
    text = form.format(value)
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    assert bindings.arpa_parse_number(raw) == pytest.approx(float(text), rel=1e-14)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(SMALL)), st.integers(0, 12), st.text("\\-0123 ab\n\t<>s/", max_size=4))
def test_damage_gives_a_model_or_one_sentence(at, cut, junk):
    try:
        model = parse(SMALL[:at] + junk + SMALL[at + cut :])
    except InputError:
        return
    assert model.word_scores("a b").size == 3
