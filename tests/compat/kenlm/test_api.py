"""KenLM's documented behaviour, asked of ours and of the original on the same ARPA file."""

from __future__ import annotations

import copy
import gzip
import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM, prune, write_arpa
from epigram.compat import kenlm as ours
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.lm.cache import CachedLM
from epigram.lm.mixture import InterpolatedLM, table_of

TEXT = [" ".join(sentence) for sentence in sample.plain("train", 300)]
ASKED = [*TEXT[:20], "", "zebra", "the zebra the", TEXT[3].split()[0], "<unk> the", "a  b\tc"]


@pytest.fixture(scope="module", params=["open", "closed", "pruned", "sparse"])
def arpa(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kenlm") / f"{request.param}.arpa"
    if request.param == "sparse":
        model = LogLinearLM(order=3, penalty="l1").fit(TEXT).backoff_
    else:
        model = KneserNeyLM(order=3, min_count=2 if request.param == "open" else 1).fit(TEXT).backoff_
    write_arpa(prune(model, 1e-4) if request.param == "pruned" else model, path)
    return path


@pytest.fixture(scope="module")
def both(arpa: Path) -> tuple[ours.Model, Any]:
    return ours.Model(str(arpa)), pytest.importorskip("kenlm").Model(str(arpa))


def test_scores_are_those_of_kenlm(both: tuple[ours.Model, Any]) -> None:
    mine, theirs = both
    assert mine.order == theirs.order == 3
    for sentence in ASKED:
        for bos, eos in itertools.product([True, False], repeat=2):
            expected = theirs.score(sentence, bos=bos, eos=eos)
            assert mine.score(sentence, bos=bos, eos=eos) == pytest.approx(expected, abs=1e-4, rel=1e-5)
        assert mine.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-3)


def test_full_scores_are_those_of_kenlm(both: tuple[ours.Model, Any]) -> None:
    mine, theirs = both
    for sentence in ASKED:
        for bos in (True, False):
            a, b = list(mine.full_scores(sentence, bos=bos)), list(theirs.full_scores(sentence, bos=bos))
            assert [x[0] for x in a] == pytest.approx([x[0] for x in b], abs=1e-4)
            assert [x[2] for x in a] == [x[2] for x in b]
            lengths = [(x[1], y[1]) for x, y in zip(a, b, strict=True) if not x[2]]
            assert all(x == y or (x < y and "pruned" in mine.path) for x, y in lengths)  # KenLM fills gaps


def test_states_go_from_word_to_word(both: tuple[ours.Model, Any]) -> None:
    module = pytest.importorskip("kenlm")
    for sentence in ASKED:
        totals = []
        for kind, model in zip((ours, module), both, strict=True):
            state, other, total = kind.State(), kind.State(), 0.0
            model.BeginSentenceWrite(state)
            for word in (*sentence.split(), "</s>"):
                total += model.BaseScore(state, word, other)
                state, other = other, state
            totals.append(total)
            null = kind.State()
            model.NullContextWrite(null)
            assert model.BaseFullScore(null, "zebra", other).oov
        assert totals[0] == pytest.approx(totals[1], abs=1e-4, rel=1e-5)
        assert totals[0] == pytest.approx(both[0].score(sentence), abs=1e-9)


def test_states_are_values(arpa: Path) -> None:
    model = ours.Model(arpa)
    a, b = ours.State(), ours.State()
    model.BeginSentenceWrite(a)
    assert a != b
    assert copy.copy(a) == a == copy.deepcopy(a)
    assert len({a, copy.copy(a), b}) == 2


def test_words_that_are_known(both: tuple[ours.Model, Any]) -> None:
    for model in both:
        found = [word in model for word in ("<s>", "</s>", TEXT[0].split()[0], "zebra", "<unk>")]
        assert found == [True, True, True, False, False]


def test_every_line_below_the_highest_order_has_a_back_off(arpa: Path) -> None:
    order, n = 0, 0
    for line in arpa.read_text().split("\n"):
        if line.startswith("ngram "):
            order += 1
        elif line.startswith("\\") and line.endswith("-grams:"):
            n = int(line[1 : line.index("-")])
        elif line and n and not line.startswith("\\"):
            assert line.count("\t") == (2 if n < order else 1), line


def test_readers_that_want_three_columns_see_every_word(arpa: Path) -> None:
    """As pyctcdecode's loader does: unigrams are the lines of their section with three columns."""
    model = ours.Model(arpa)
    section = arpa.read_text().split("\\1-grams:\n")[1].split("\n\n")[0]
    seen = {line.split("\t")[1] for line in section.split("\n") if len(line.split("\t")) == 3}
    assert seen == {"<s>", *model.model.vocabulary_}


def test_pyctcdecode_sees_all_words_and_its_beams_score_as_with_kenlm(
    arpa: Path, both: tuple[ours.Model, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pyctcdecode = pytest.importorskip("pyctcdecode")
    module = pytest.importorskip("pyctcdecode.language_model")
    words = module.load_unigram_set_from_arpa(str(arpa))
    assert words == {"<s>", *both[0].model.vocabulary_}
    alphabet = ["", " ", *sorted({letter for text in TEXT for letter in text if letter != " "})]
    rng, found = np.random.default_rng(0), []
    spoken = [alphabet.index(letter) for letter in TEXT[0][:25]]
    logits = np.log(rng.dirichlet(np.full(len(alphabet), 0.05), len(spoken)) + 1e-4)
    logits[np.arange(len(spoken)), spoken] = np.log(0.5)
    for kind, model in zip((ours, pytest.importorskip("kenlm")), both, strict=True):
        monkeypatch.setattr(module, "kenlm", kind)
        language_model = pyctcdecode.LanguageModel(model, words)
        decoder = pyctcdecode.BeamSearchDecoderCTC(
            pyctcdecode.Alphabet.build_alphabet(alphabet), language_model
        )
        beams = decoder.decode_beams(logits.astype(np.float32), beam_width=20, beam_prune_logp=-40.0)
        found.append(({beam[0]: beam[-1] for beam in beams}, {beam[0]: beam[-2] for beam in beams}))
    assert len(found[0][0]) > 5
    for mine, theirs in zip(*found, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)


def test_files_of_ours_and_packed_ones(arpa: Path, tmp_path: Path) -> None:
    model = ours.Model(arpa)
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress(arpa.read_bytes()))
    assert ours.Model(tmp_path / "m.arpa.gz").score(TEXT[0]) == pytest.approx(model.score(TEXT[0]))
    model.model.save(tmp_path / "m.epigram")
    assert ours.Model(str(tmp_path / "m.epigram")).score(TEXT[0]) == pytest.approx(
        model.score(TEXT[0]), abs=1e-3
    )
    assert repr(model) == f"<Model from {arpa.name}>"


def test_binaries_and_other_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "m.binary").write_bytes(
        b"mmap lm http://kheafield.com/code format version 5\n\0" + b"\0" * 100
    )
    with pytest.raises(InputError, match="ARPA file it was built from"):
        ours.Model(tmp_path / "m.binary")
    with pytest.raises(OSError, match="No such file"):
        ours.Model(tmp_path / "none")


def test_long_sentences_and_odd_words(both: tuple[ours.Model, Any]) -> None:
    mine, theirs = both
    sentence = " ".join([*TEXT[:30], "zebra", *TEXT[5:20]])  # more words than are looked up at once
    assert len(sentence.split()) > 3 * 64
    assert mine.score(sentence) == pytest.approx(theirs.score(sentence), rel=1e-5)
    assert len(list(mine.full_scores(sentence))) == len(sentence.split()) + 1
    for k in (63, 64, 65):
        some = " ".join(sentence.split()[:k])
        for eos in (True, False):
            assert mine.score(some, eos=eos) == pytest.approx(theirs.score(some, eos=eos), rel=1e-5)
            found = sum(p for p, _, _ in mine.full_scores(some, eos=eos))
            assert found == pytest.approx(mine.score(some, eos=eos))
    assert mine.score("the\N{NO-BREAK SPACE}cook") == pytest.approx(theirs.score("the\N{NO-BREAK SPACE}cook"))
    assert mine.score(b"the cook") == mine.score("the cook")


def test_a_state_of_another_model_is_refused(arpa: Path) -> None:
    model, far = ours.Model(arpa), ours.State(10**9)
    with pytest.raises(ValueError, match="belongs to another model"):
        model.BaseScore(far, "the", ours.State())


def test_words_with_blanks_do_not_shift_the_others(tmp_path: Path) -> None:
    path = tmp_path / "m.epigram"
    model = KneserNeyLM(2).fit([["New York", "is", "large"], ["York", "is", "old"]])
    model.save(path)
    assert ours.Model(path).score("York is old") == pytest.approx(
        float(model.word_scores("York is old").sum()) / np.log(10), rel=1e-5
    )


def test_mixtures_of_ngram_models_are_merged(tmp_path: Path) -> None:
    parts = [KneserNeyLM(3).fit(TEXT), LogLinearLM(order=2, penalty="l1", strength=0.3).fit(TEXT)]
    mixture = InterpolatedLM(parts, [0.5, 0.5])
    mixture.save(tmp_path / "mixture")
    found = ours.Model(tmp_path / "mixture")
    write_arpa(table_of(mixture), tmp_path / "mixture.arpa")
    theirs = pytest.importorskip("kenlm").Model(str(tmp_path / "mixture.arpa"))
    for sentence in ASKED:
        assert found.score(sentence) == pytest.approx(theirs.score(sentence), abs=1e-4, rel=1e-5)


@pytest.mark.parametrize(
    ("wrap", "reason"),
    [
        (lambda model: model, "a class-factored model has no table of n-grams"),
        (lambda model: InterpolatedLM([model, model], [0.5, 0.5]), "a class-factored model has no table"),
        (lambda model: CachedLM(model), "a model with a cache has no table of n-grams"),
    ],
)
def test_models_without_ngrams_are_refused_with_the_reason(tmp_path: Path, wrap: Any, reason: str) -> None:
    wrap(ClassFactoredLM(classes=3, order=2, budget=0).fit(TEXT[:30])).save(tmp_path / "m")
    with pytest.raises(InputError, match=reason):
        ours.Model(tmp_path / "m")


def test_the_module_can_stand_in_for_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    ours.replace_original()
    assert importlib.import_module("kenlm") is ours
