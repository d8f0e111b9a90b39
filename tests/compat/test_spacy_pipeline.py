"""Analysed texts as documents of spaCy: the same text, offsets, sentences and trees."""

from __future__ import annotations

import pytest

from epigram import Pipeline

spacy = pytest.importorskip("spacy")
ROWS = [
    "1 Dogs dog NOUN N Number=Plur 2 nsubj _ _",
    "2-3 dunno _ _ _ _ _ _ _ SpaceAfter=No",
    "2 do do AUX V _ 3 aux _ _",
    "3 know know VERB V _ 0 root _ _",
    "4 . . PUNCT . _ 3 punct _ _",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    path = tmp_path_factory.mktemp("spacy") / "toy.conllu"
    rows = [row.split() for row in ROWS]
    rows[0][6] = "3"
    path.write_text(("".join("\t".join(row) + "\n" for row in rows) + "\n") * 12, "utf-8")
    return Pipeline(folds=2, token_l1=0.05, tag_l1=0.05, lemma_l1=0.05).fit(path)


@pytest.mark.parametrize(
    "text", ["Dogs dunno.", "  Dogs  dunno.\n\nDogs dunno.", "Dogs dunno. Dogs dunno. \n"]
)
def test_documents_have_text_sentences_and_trees(model: Pipeline, text: str) -> None:
    from epigram.compat.spacy_pipeline import PipelineTokenizer

    nlp = spacy.blank("en")
    nlp.tokenizer = PipelineTokenizer(model, nlp.vocab)
    doc, own = nlp(text), model(text)
    assert doc.text == text
    words = [token for token in doc if not token.is_space]
    assert [(token.text, token.idx) for token in words] == [(token.text, token.start) for token in own.tokens]
    assert [token.text for token in words[:3]] == ["Dogs", "dunno", "."]
    assert [token.lemma_ for token in words[:3]] == ["dog", "know", "."]
    assert [token.head.text for token in words[:3]] == ["dunno", "dunno", "dunno"]
    assert [token.pos_ for token in words[:3]] == ["NOUN", "VERB", "PUNCT"]
    assert sum(token.is_sent_start for token in words) <= len(own.sentences)


def test_without_trees_sentences_are_kept(model: Pipeline) -> None:
    from epigram.compat.spacy_pipeline import to_spacy

    own = model("Dogs dunno. Dogs dunno.", ("tokens", "words", "tags"))
    doc = to_spacy(own, spacy.blank("en").vocab)
    assert [sentence.text for sentence in doc.sents] == ["Dogs dunno.", "Dogs dunno."]
