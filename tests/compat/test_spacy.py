"""Our taggers in spaCy's pipelines."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from epigram import CRFTagger
from epigram.errors import InputError

spacy = pytest.importorskip("spacy")
SENTENCES = [["Ann", "met", "Bob", "Lee", "."], ["The", "cat", "saw", "Ann", "."]]
NAMES = [["B-PER", "O", "B-PER", "I-PER", "O"], ["O", "O", "O", "B-PER", "O"]]
TAGS = [["NNP", "VBD", "NNP", "NNP", "."], ["DT", "NN", "VBD", "NNP", "."]]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("spacy")
    CRFTagger(TEMPLATE, l1=0.01).fit(SENTENCES, NAMES).save(folder / "names.epigram")
    CRFTagger(TEMPLATE, l1=0.01).fit(SENTENCES, TAGS).save(folder / "tags.epigram")
    two = [list(zip(words, tags, strict=True)) for words, tags in zip(SENTENCES, TAGS, strict=True)]
    CRFTagger("U0:%x[0,0]\nU1:%x[0,1]\nB\n", l1=0.01).fit(two, NAMES).save(folder / "two.epigram")
    return {path.stem: str(path) for path in folder.iterdir()}


def pipeline(*parts: tuple[str, dict[str, object]]) -> Any:
    import_module("epigram.compat.spacy")  # an installed epigram is found without
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for name, config in parts:
        nlp.add_pipe(name, config=config)
    return nlp


def seen(doc: Any) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def test_names_and_tags_of_one_and_of_many_texts(files: dict[str, str], tmp_path: Path) -> None:
    tags, two = (shutil.copy(files[name], tmp_path / name) for name in ("tags", "two"))
    nlp = pipeline(
        ("epigram_tagger", {"model": str(tags)}),
        ("epigram_ner", {"model": str(two), "columns": ["text", "tag_"]}),
    )
    text = " ".join(word for sentence in SENTENCES for word in sentence)
    doc = nlp(text)
    assert [token.tag_ for token in doc] == [tag for tags in TAGS for tag in tags]
    assert seen(doc) == [("Ann", "PER"), ("Bob Lee", "PER"), ("Ann", "PER")]
    many = list(nlp.pipe([text, "", "Ann ."] * 3, batch_size=2))
    assert [seen(one) for one in many[:3]] == [seen(doc), [], [("Ann", "PER")]]
    nlp.to_disk(tmp_path / "saved")
    for path in (tags, two):
        Path(path).unlink()
    assert seen(spacy.load(tmp_path / "saved")(text)) == seen(doc)
    again = pipeline(("epigram_tagger", {}), ("epigram_ner", {"columns": ["text", "tag_"]}))
    again.from_bytes(nlp.to_bytes())
    assert seen(again(text)) == seen(doc)


def test_names_that_are_there_stay(files: dict[str, str]) -> None:
    nlp = pipeline(("entity_ruler", {}), ("epigram_ner", {"model": files["names"]}))
    ruler = nlp.get_pipe("entity_ruler")
    ruler.add_patterns([{"label": "ANIMAL", "pattern": "cat"}, {"label": "THING", "pattern": "saw Ann"}])
    assert seen(nlp("The cat saw Ann .")) == [("cat", "ANIMAL"), ("Ann", "PER")]


def test_what_does_not_fit_is_refused(files: dict[str, str]) -> None:
    from epigram.compat.spacy import EntityRecognizer, TaggerComponent

    with pytest.raises(InputError, match="columns"):
        TaggerComponent(files["two"])
    with pytest.raises(InputError, match="B-PER"):
        EntityRecognizer(files["tags"])
    with pytest.raises(InputError, match="template"):
        TaggerComponent(CRFTagger(l1=0.1).fit([[["a"], ["b"]]], [["X", "Y"]]))
    for gone, words in ((None, "no model"), ("nowhere.epigram", "no such file: nowhere")):
        with pytest.raises(InputError, match=words):
            TaggerComponent(gone)(spacy.blank("en")("a"))
    with pytest.raises(InputError, match="fitted"):
        TaggerComponent(CRFTagger())
