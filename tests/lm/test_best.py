"""The best mixture in a time budget, against its members and the default on text that none has learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import epigram
from epigram import ClassFactoredLM, InputError, LogLinearLM
from epigram.datasets import sample
from epigram.lm.best import Best, fit_best
from epigram.lm.corpus import Corpus
from epigram.lm.default import fit_beside
from epigram.lm.document.model import DocumentLM
from epigram.lm.mixture import InterpolatedLM

LINES = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 160)]
HELD_OUT = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("test", 40)]


def fitted(text: list[str], **settings: object) -> Best:
    return fit_best(LogLinearLM(order=3), ClassFactoredLM(order=3, classes=12, budget=0), text, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def best() -> Best:
    return fitted(LINES)


def test_its_perplexities_are_those_of_models_of_all_but_the_end(best: Best) -> None:
    text, held_out = Corpus.of(LINES).split_known(0.1)
    default = fit_beside(LogLinearLM(order=3), text).mixture
    factored = ClassFactoredLM(order=3, classes=12, budget=0).fit(text)
    assert best.default == pytest.approx(default.perplexity(held_out), rel=1e-9)
    assert best.alone["class-factored"] == pytest.approx(factored.perplexity(held_out), rel=1e-9)
    assert best.together <= min(best.default, *best.alone.values())


def test_members_learn_the_whole_text(best: Best, tmp_path: Path) -> None:
    assert isinstance(best.model, InterpolatedLM)
    words = set(" ".join(LINES).split())
    assert all(words <= set(member.vocabulary_.words) for member in best.model.models)
    assert sum(best.shares.values()) == pytest.approx(1)
    best.model.save(tmp_path / "m.epigram")
    again = epigram.load(tmp_path / "m.epigram")
    assert again.perplexity(HELD_OUT) == pytest.approx(best.model.perplexity(HELD_OUT), rel=1e-7)


def test_words_that_only_the_end_has_join_the_classes_of_its_documents(tmp_path: Path) -> None:
    text = [line for k, line in enumerate(LINES) for line in ([line] if k % 5 else ["", line])]
    best = fitted(text)
    members = best.model.models if isinstance(best.model, InterpolatedLM) else [best.model]
    assert sum(isinstance(member, DocumentLM) for member in members) == 1
    p = best.model.distribution("the")
    assert p.min() > 0
    assert p.sum() == pytest.approx(1)
    best.model.save(tmp_path / "m.epigram")
    assert np.allclose(epigram.load(tmp_path / "m.epigram").distribution("the"), p, rtol=1e-5, atol=0)


def test_held_out_text_is_not_learnt() -> None:
    best = fitted(LINES, valid=HELD_OUT)
    assert set(best.model.vocabulary_.words) - {"</s>", "<unk>"} == set(" ".join(LINES).split())
    assert best.model.perplexity(HELD_OUT) == pytest.approx(best.together, rel=1e-6)


def test_held_out_text_of_unknown_words_is_refused() -> None:
    with pytest.raises(InputError, match="no word of the training text"):
        fitted(LINES, valid=["qqq zzz"])
