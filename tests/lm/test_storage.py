"""Mixtures and models with a cache are models: saved, loaded, inspected, explained, and made by the command."""

import numpy as np
import pytest

import epigram
from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM
from epigram.errors import ModelFileError
from epigram.lm.cache import CachedLM
from epigram.lm.mixture import InterpolatedLM
from epigram.storage import ModelFile, describe
from epigram.storage.file import weights

TEXT = ["a b c a", "b b c", "c a d", "d d a b"]
OTHER = ["a e", "e e b", "b a e"]


@pytest.fixture(scope="module")
def parts():
    loglinear = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01).fit(TEXT)
    return [loglinear, KneserNeyLM(2).fit(OTHER), ClassFactoredLM(classes=3, budget=0).fit(TEXT)]


@pytest.fixture(scope="module")
def mixture(parts):
    return InterpolatedLM(parts, [0.5, 0.2, 0.3])


def test_a_loaded_mixture_answers_as_before(mixture, tmp_path):
    cached = CachedLM(mixture, 3, 0.2)
    for name, model in (("mixture", mixture), ("cached", cached)):
        model.save(tmp_path / f"{name}.epigram")
        again = epigram.load(tmp_path / f"{name}.epigram")
        assert type(again) is type(model)
        for context in ("", "a b", "<s> e"):
            np.testing.assert_allclose(again.distribution(context), model.distribution(context), rtol=1e-6)
            assert model.distribution(context).sum() == pytest.approx(1, abs=1e-12)
        assert again.perplexity(TEXT) == pytest.approx(model.perplexity(TEXT), rel=1e-6)
        assert again.sample(2, seed=1) == model.sample(2, seed=1)
        titles = [section.title for section in describe(tmp_path / f"{name}.epigram")[1]]
        assert titles[0] == "shares"
        assert any(title.startswith("part 0: ") for title in titles)
        columns, rows = weights(tmp_path / f"{name}.epigram")
        assert columns[-3:] == ("attribute", "label", "weight")
        assert len(list(rows)) > 10


def test_reasons_of_a_mixture_are_those_of_its_parts(mixture, parts):
    why = mixture.explain("a b", "c")
    assert why.probability == pytest.approx(mixture.distribution("a b")[mixture.vocabulary_.id("c")])
    assert [part.share for part in why.parts] == [0.5, 0.2, 0.3]
    assert why.parts[0].why == parts[0].explain("a b", "c")
    assert why.parts[1].probability == 0.0  # it has no c


def test_a_mixture_without_its_parts_is_damaged(mixture):
    file = mixture.to_model_file()
    for header in (
        {**file.header, "parts": []},
        {**file.header, "parts": [{}]},
        {**file.header, "parts": [1, 2, 3]},
        {**file.header, "settings": {**file.header["settings"], "weights": ["x"]}},
    ):
        broken = ModelFile.from_bytes(ModelFile("lm", header, file.tensors, file.unbounded).to_bytes())
        with pytest.raises((ModelFileError, epigram.errors.InputError)):
            epigram.lm.storage.from_model_file(broken)
