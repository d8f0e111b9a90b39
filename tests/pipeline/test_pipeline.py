"""Pipelines from raw text to trees: exact offsets for any text, files, updates, treebanks that lack columns."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_texts import check_formats, check_offsets, random_texts

import epigram
from epigram.errors import InputError
from epigram.pipeline import Pipeline
from epigram.pipeline.analysis import Analysis, read_gold
from epigram.pipeline.evaluate import evaluate_analysis

WORDS = st.sampled_from(
    ["Dogs", "thru", "the", "house", ".", "Dr.", "3.5", "ก็", "日本語", "שלום", "a\u0301", "👩‍👩‍👧", "\x00"]
)
BLANKS = st.sampled_from([" ", "", "\n", "\n\n", "\t", "\u00a0", "\u3000", "\r\n", "  ", "\x1c", "\u2029"])
TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.tuples(WORDS, BLANKS), max_size=20).map(lambda pairs: "".join(a + b for a, b in pairs)),
)


@given(TEXT)
@example("")
@example(" \n ")
@example("İstanbul'da ǅ ﬁ ß\u0345")
def test_offsets_are_exact_for_any_text(nlp: Pipeline, text: str) -> None:
    check_offsets(nlp(text), text)


def test_random_texts_keep_their_offsets_and_are_read_back(nlp: Pipeline) -> None:
    texts = list(random_texts(400, seed=0))
    for text, document in zip(texts, nlp.pipe(texts), strict=True):
        check_offsets(document, text)
        check_formats(document)


@given(st.lists(TEXT, max_size=5))
def test_texts_together_are_as_texts_alone(nlp: Pipeline, texts: list[str]) -> None:
    for text, document in zip(texts, nlp.pipe(iter(texts), batch=3), strict=True):
        assert document.to_json() == nlp(text).to_json()


@pytest.mark.parametrize("piece", ["a", "a ", "。", "Dogs see the house", "\n", "x\u0301"])
def test_a_long_text_without_an_end_takes_linear_time(nlp: Pipeline, piece: str) -> None:
    only = ("tokens", "words", "tags", "lemmas")
    used = []
    for size in (20_000, 80_000):
        text = piece * (size // len(piece))
        start = time.process_time()
        found = nlp(text, only)
        used.append(time.process_time() - start)
        assert "".join(token.text for token in found.tokens) == "".join(text.split())
    assert used[1] < 16 * used[0] + 1.0  # four times the text; a square would be sixteen


def test_it_learns_the_toy_language(nlp: Pipeline, treebank: Path) -> None:
    gold, _ = read_gold(treebank.read_bytes(), str(treebank))
    scores = evaluate_analysis(gold, nlp.analyse(gold.tokens.text))
    for name in ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "LAS"):
        assert scores[name].f1 > 0.97, name


def test_a_multiword_token_has_words(nlp: Pipeline) -> None:
    token = nlp("Dogs see thru house.").tokens[2]
    assert token.text == "thru"
    assert [word.text for word in token.words] == ["through", "the"]


def test_a_saved_model_gives_the_same_analysis(nlp: Pipeline, tmp_path: Path) -> None:
    nlp.save(tmp_path / "toy.epigram")
    again = epigram.load(tmp_path / "toy.epigram")
    text = "Cats like thru tree. Dogs find near the bird.\n\nBirds see near the house."
    assert again(text).to_conllu() == nlp(text).to_conllu()
    again.save(tmp_path / "again.epigram")
    epigram.load(tmp_path / "again.epigram").save(tmp_path / "third.epigram")
    assert (tmp_path / "again.epigram").read_bytes() == (tmp_path / "third.epigram").read_bytes()


def test_the_same_training_gives_the_same_bytes(treebank: Path) -> None:
    first, second = (Pipeline(("tokens", "tags"), folds=0).fit(treebank).to_bytes() for _ in range(2))
    assert first == second


def test_only_some_parts(nlp: Pipeline) -> None:
    word = nlp("Dogs see thru house.", ("tokens", "words", "tags")).words[0]
    assert word.upos == "NOUN"
    assert (word.lemma, word.head, word.relation) == (None, None, None)
    assert [w.text for w in nlp("Dogs see thru house.", ("tokens",)).words][2] == "thru"


def test_given_tags_are_kept(nlp: Pipeline, treebank: Path) -> None:
    gold, _ = read_gold(treebank.read_bytes(), str(treebank))
    wrong = gold.columns["upos"]
    given_tags = {"form": gold.columns["form"], "upos": type(wrong)(wrong.ids, ["X"] * len(wrong.strings))}
    found = nlp.annotate(Analysis(gold.tokens, gold.word_ptr, given_tags))
    assert set(found.cells("upos")) == {"X"}


def test_columns_that_are_empty_are_left_out(treebank: Path, tmp_path: Path) -> None:
    lines = []
    for line in treebank.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) == 10:
            cells[4] = cells[5] = "_"
        lines.append("\t".join(cells))
    bare = tmp_path / "bare.conllu"
    bare.write_text("\n".join(lines) + "\n\n", "utf-8")
    found = Pipeline(folds=2).fit(bare)("Dogs see near the house.")
    assert (found.words[0].xpos, found.words[0].feats) == (None, None)
    assert found.words[0].upos == "NOUN"


def test_it_learns_on(nlp: Pipeline, tmp_path: Path) -> None:
    more = tmp_path / "more.conllu"
    rows = [
        "1 Zebras zebra NOUN N Number=Plur 2 nsubj",
        "2 sing sing VERB V _ 0 root",
        "3 . . PUNCT . _ 2 punct",
    ]
    block = "".join(
        "\t".join([*r.split(), "_", "SpaceAfter=No" if r[0] == "2" else "_"]) + "\n" for r in rows
    )
    more.write_text((block + "\n") * 20, "utf-8")
    nlp.save(tmp_path / "model.epigram")
    again = Pipeline.load(tmp_path / "model.epigram").partial_fit(more)
    assert again.fit_["sentences"] == nlp.fit_["sentences"] + 20
    assert [word.lemma for word in again("Zebras sing.").words] == ["zebra", "sing", "."]


def test_confidences_are_probabilities(nlp: Pipeline) -> None:
    for word in nlp("Dogs see thru house. Cats like near the tree.").words:
        assert 0.3 < word.confidence <= 1.0 + 1e-9
        assert 0.0 < word.head_confidence <= 1.0 + 1e-9


def test_parts_are_explained(nlp: Pipeline) -> None:
    why = nlp("Dogs see thru house.").explain(0, 1)
    assert set(why) == {"tags", "feats", "lemmas", "trees"}
    assert all(abs(sum(term.lift for term in part.terms) - part.lead) < 1e-6 for part in why.values())


def test_what_is_no_text_is_refused(nlp: Pipeline) -> None:
    with pytest.raises(InputError, match="text must be a string"):
        nlp(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not Unicode text"):
        nlp("half a character: \ud800")
    with pytest.raises(ValueError, match="parts are"):
        Pipeline(("tokenizer",)).fit(Path("nothing.conllu"))


def test_sentences_without_trees_are_left_out_of_the_parser(treebank: Path, tmp_path: Path) -> None:
    text = treebank.read_text("utf-8")
    broken = tmp_path / "broken.conllu"
    broken.write_text(text.replace("\t0\troot", "\t2\troot", 3), "utf-8")
    found = Pipeline(folds=2).fit(broken)
    assert found.parser_ is not None
    assert np.isfinite(found.parser_.fit_["objective"])
