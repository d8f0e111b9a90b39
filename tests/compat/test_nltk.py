"""Our taggers with nltk's manners."""

from __future__ import annotations

from pathlib import Path

import pytest

from epigram import CRFTagger
from epigram.compat.crfsuite.file import write_model
from epigram.errors import InputError

pytest.importorskip("nltk")
SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
LABELS = [["DT", "NN", "VB"]] * 2


def test_models_of_columns_take_tokens(tmp_path: Path) -> None:
    from epigram.compat.nltk import EpigramTagger

    model = CRFTagger("U:%x[0,0]\nB\n", l1=0.01).fit(SENTENCES, LABELS)
    model.save(tmp_path / "m.epigram")
    gold = [list(zip(s, y, strict=True)) for s, y in zip(SENTENCES, LABELS, strict=True)]
    for given in (model, tmp_path / "m.epigram", str(tmp_path / "m.epigram")):
        tagger = EpigramTagger(given)
        assert tagger.tag(SENTENCES[0]) == gold[0]
        assert tagger.tag_sents(SENTENCES) == gold
        assert tagger.accuracy(gold) == 1.0
    assert tagger.tag([]) == []


def test_models_of_features_take_a_function(tmp_path: Path) -> None:
    from epigram.compat.nltk import EpigramTagger

    def features(tokens: list[str], t: int) -> list[str]:
        return [f"w={tokens[t]}"]

    model = CRFTagger(l1=0.01).fit([[features(s, t) for t in range(3)] for s in SENTENCES], LABELS)
    (tmp_path / "m.crfsuite").write_bytes(write_model(model.model_))
    tagger = EpigramTagger(tmp_path / "m.crfsuite", features)
    assert tagger.tag(["a", "dog"]) == [("a", "DT"), ("dog", "NN")]
    with pytest.raises(InputError, match="feature_func"):
        EpigramTagger(model)
    with pytest.raises(InputError, match="needs a fitted tagger"):
        EpigramTagger(CRFTagger())
