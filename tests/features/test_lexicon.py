"""Word lists in templates: what each kind of file gives, phrases over several tokens, and models that carry them."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import CRFTagger
from epigram.chain.storage import to_model_file
from epigram.errors import EpigramError, InputError
from epigram.features.columns import Columns
from epigram.features.lexicon import WordTable, match_spans
from epigram.features.template import Template
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses, write_sizes
from epigram.storage import ModelFile


def lexicon(folder: Path, kind: str, text: str, size: str = "") -> WordTable:
    (folder / "list.txt").write_text(text)
    return WordTable.read(f"{kind}:list.txt{size}", folder)


def test_classes_are_found_as_written_then_with_marks_for_digits_then_in_lower_case(tmp_path: Path) -> None:
    found = lexicon(tmp_path, "class", "a\tThe\t9\nb\tthe\nc\til-#\nd\t####\n")
    assert [found(word) for word in ("The", "THE", "IL-2", "1984", "cat")] == [
        ("a",), ("b",), ("c",), ("d",), (),
    ]  # fmt: skip


def test_classes_of_several_sizes_are_values_of_their_own(tmp_path: Path) -> None:
    text = "3 17\tcat\t2\n3 20\tdog\t1\n"
    assert lexicon(tmp_path, "class", text)("dog") == ("1:3", "2:20")
    assert lexicon(tmp_path, "class", text, "#2")("dog") == ("20",)
    with pytest.raises(InputError, match="2 sizes; there is no #3"):
        lexicon(tmp_path, "class", text, "#3")


def test_what_lm_classes_writes_is_read(tmp_path: Path) -> None:
    corpus = Corpus.of(["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 3)
    sizes = [WordClasses.learn(corpus, k) for k in (3, 4)]
    write_sizes(tmp_path / "sizes", sizes, corpus.counts)
    found = WordTable.read("class:sizes", tmp_path)
    words = corpus.vocabulary.words
    expected = {
        word: (f"1:{sizes[0].class_of[k]}", f"2:{sizes[1].class_of[k]}") for k, word in enumerate(words)
    }
    assert found.table == expected
    with pytest.raises(InputError, match="2 sizes; a language model takes one"):
        WordClasses.read(tmp_path / "sizes")


def test_prefixes_of_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "paths").write_text("1010\tcat\t3\n10\tthe\t9\n")
    template = Template.parse("U:%x[0,0|class:paths|prefix:3]", str(tmp_path / "t"))
    columns = Columns.from_rows([["the", "cat"]])
    assert [list(template.expand(columns, t, template.nodes)) for t in (0, 1)] == [[], ["U:101"]]


def test_vectors_become_the_dimensions_in_which_they_stand_out(tmp_path: Path) -> None:
    found = lexicon(tmp_path, "vector", "3 2\na 4 -1\nb 2 -1\nc -1 -4\n")
    assert (found("a"), found("b"), found("c")) == (("0+",), (), ("0-", "1-"))
    with pytest.raises(InputError, match=r"list.txt:2: expected a word and 2 numbers"):
        lexicon(tmp_path, "vector", "a 1 2\nb 1\n")


def by_hand(phrases: dict[str, str], words: list[str]) -> list[str]:
    """Try every phrase at every place, longest first."""
    out, t = [""] * len(words), 0
    while t < len(words):
        fits = [p.split() for p in phrases if words[t : t + len(p.split())] == p.split()]
        longest = max(fits, key=len, default=None)
        if longest is None:
            t += 1
            continue
        n, kind = len(longest), phrases[" ".join(longest)]
        marks = ["S"] if n == 1 else ["B", *"I" * (n - 2), "E"]
        out[t : t + n] = [f"{mark}-{kind}" for mark in marks]
        t += n
    return out


WORDS = st.lists(st.sampled_from("abc"), max_size=6)
PHRASES = st.dictionaries(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(" ".join), st.sampled_from("xy"), max_size=5
)


@given(PHRASES, st.lists(WORDS, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_longest_phrases_from_left_to_right(phrases: dict[str, str], sentences: list[list[str]]) -> None:
    gazetteer = WordTable("in:x", {phrase: (kind,) for phrase, kind in phrases.items()})
    ptr = np.cumsum([0, *map(len, sentences)])
    ids = np.array(["abc".index(word) for s in sentences for word in s], dtype=np.int32)
    found, strings = match_spans(gazetteer, ptr, ids, list("abc"))
    assert [strings[k] for k in found] == [mark for s in sentences for mark in by_hand(phrases, s)]


def test_functions_before_a_gazetteer_apply_to_its_phrases_too(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("drug\tIL 2\n")
    template = Template.parse(
        "U:%x[0,0|lower|in:names]/%x[1,0]\nU1:%x[0,0|lower|in:names|prefix:1]", str(tmp_path / "t")
    )
    columns = Columns.from_rows([["il", "2", "x"]])
    found = [list(template.expand(columns, t, template.nodes)) for t in range(3)]
    assert found == [["U:B-drug/2", "U1:B"], ["U:E-drug/x", "U1:E"], []]


TEMPLATE = "U0:%x[0,0|class:list.txt]\nU1:%x[0,0|in:names.txt]\nB\n"


def fitted(folder: Path) -> tuple[CRFTagger, list[list[str]]]:
    (folder / "list.txt").write_text("1\tcat\n1\tdog\n2\tsees\n2\thears\n")
    (folder / "names.txt").write_text("New York\n")
    X = [["cat", "sees", "dog"], ["dog", "hears", "New", "York"]]
    y = [["N", "V", "N"], ["N", "V", "P", "P"]]
    template = Template.parse(TEMPLATE, str(folder / "template"))
    return CRFTagger(template, l1=0.01).fit(X, y), [["cat", "hears", "dog"], ["New", "York", "sees", "cat"]]


def test_a_model_file_has_its_word_lists_in_it(tmp_path: Path) -> None:
    tagger, X = fitted(tmp_path)
    assert tagger.predict(X) == [["N", "V", "N"], ["P", "P", "V", "N"]]
    content, pickled = tagger.to_bytes(), pickle.dumps(tagger)
    for name in ("list.txt", "names.txt"):
        (tmp_path / name).unlink()
    again = CRFTagger.from_bytes(content)
    assert again.predict(X) == tagger.predict(X) == pickle.loads(pickled).predict(X)
    again.partial_fit([["cat", "sees"]], [["N", "V"]])
    assert again.predict(X) == tagger.predict(X)


def test_a_model_file_never_reads_another_file(tmp_path: Path) -> None:
    file = to_model_file(fitted(tmp_path)[0])
    secret = tmp_path / "secret"
    secret.write_text("1\tcat\n")
    header = {**file.header, "template": f"U0:%x[0,0|class:{secret}]\n"}
    with pytest.raises(EpigramError, match="is not there"):
        CRFTagger.from_bytes(ModelFile(file.family, header, file.tensors).to_bytes())
    broken = {**file.tensors, "lexicon_0": file.tensors["lexicon_0"][:-3]}
    with pytest.raises(EpigramError, match="corrupt"):
        CRFTagger.from_bytes(ModelFile(file.family, file.header, broken).to_bytes())


def test_lists_are_added_to_a_built_in_template(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("1 2\tcat\n1 3\tdog\n")
    template = Template.load("pos").with_lists(classes=tmp_path / "c")
    columns = Columns.from_rows([["cat", "dog"]])
    names = set(itertools.chain(*(template.expand(columns, t, template.nodes) for t in (0, 1))))
    assert {"UL02:1:1", "UL02:2:2", "UL06:1/1"} <= names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U:%x[0,0|class:nowhere]", "nowhere: no such file, which the template asks for as class:nowhere"),
        ("U:%x[0,0|class:]", "class needs a file"),
        ("U:%x[0,0|in:empty]", "no entries"),
        ("U:%x[0,0|class:bad]", "bad:1: expected class<TAB>word<TAB>count"),
    ],
)
def test_refuses(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bad").write_text("alone\n")
    with pytest.raises(InputError, match=message):
        Template.parse(text, str(tmp_path / "t"))


MASKED = "U0:%x[0,0|frequent:2]\nU1:%x[0,0|lower|rare:3|suffix:1]\nB\n"


def test_masks_are_learnt_from_the_training_sentences(tmp_path: Path) -> None:
    X, y = [["a", "a", "A"], ["b", "bc"]], [["X", "X", "X"], ["Y", "Y"]]
    tagger = CRFTagger(MASKED, l1=0.001).fit(X, y)
    template = tagger.model_.template
    assert template is not None
    columns = Columns.from_rows([["a", "A", "b", "bc", "zc"]])
    found = [list(template.expand(columns, t, template.nodes)) for t in range(5)]
    assert found == [["U0:a"], [], ["U1:b"], ["U1:c"], ["U1:c"]]
    again = CRFTagger.from_bytes(tagger.to_bytes())
    assert again.predict([["a", "zc", "b"]]) == tagger.predict([["a", "zc", "b"]]) == [["X", "Y", "Y"]]
    assert pickle.loads(pickle.dumps(tagger)).predict(X) == y
    for one in (tagger, again):  # what was rare at first stays so
        one.partial_fit([["b"]] * 5, [["Y"]] * 5)
        assert one.model_.template is not None
        assert list(one.model_.template.expand(columns, 2, one.model_.template.nodes)) == ["U1:b"]
    tagger.fit([["b"], ["b"]], [["Y"], ["Y"]])
    assert tagger.model_.template is not None
    assert "U0:b" in list(tagger.model_.template.expand(columns, 2, tagger.model_.template.nodes))


def test_masks_are_refused_before_they_are_learnt() -> None:
    template = Template.parse(MASKED)
    with pytest.raises(ValueError, match="fit the tagger first"):
        list(template.expand(Columns.from_rows([["a"]]), 0, template.nodes))
    with pytest.raises(InputError, match="rare needs a whole number of at least 1"):
        Template.parse("U:%x[0,0|rare:0]")
