"""Training to a file: same bytes with any memory and after any stop, nothing left behind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import epigram
from epigram import KneserNeyLM
from epigram.errors import InputError
from epigram.lm.ngram import train
from epigram.lm.ngram.backoff import as_backoff, context_sums
from epigram.lm.ngram.storage import ARRAYS_IN_PLACE
from epigram.lm.ngram.train import Need, Training, default_memory
from epigram.outofcore.engine import Here, untold

MODEL = KneserNeyLM(4, prune=[0, 0, 1])


class Killed(BaseException):
    """Ends a training as a kill would: nothing is tidied up."""


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(3)
    words = np.minimum(rng.zipf(1.3, 6000), 300)
    lines = [" ".join(f"w{w}" for w in part) for part in np.array_split(words, 400)]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(text, output, memory=1, resume=False, told=untold, **settings):
    model = settings.pop("model", MODEL)
    training = Training(
        model, [text], output.with_suffix(".sorting"), memory, told=told, subject="s", **settings
    )
    training.run(output, resume)
    return output.read_bytes()


@pytest.mark.parametrize(("bits", "mapped"), [(0, False), (8, False), (0, True)])
def test_file_on_disk_equals_that_in_memory_and_the_saved_model(text, tmp_path, bits, mapped):
    one = trained(text, tmp_path / "one", 1, bits=bits, mapped=mapped)
    other = trained(text, tmp_path / "other", 1 << 40, bits=bits, mapped=mapped)
    assert one == other
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other", "text.txt"]
    KneserNeyLM(**MODEL.get_params()).fit(text).save(tmp_path / "saved", bits, compress=not mapped)
    streamed, saved = (as_backoff(epigram.load(tmp_path / name)) for name in ("one", "saved"))
    assert streamed.vocabulary_ == saved.vocabulary_
    assert streamed.text_digest_ == saved.text_digest_
    for name in ARRAYS_IN_PLACE:
        np.testing.assert_array_equal(getattr(streamed, name), getattr(saved, name), err_msg=name)
    assert np.abs(context_sums(streamed) - 1).max() < 1e-9


def test_stopped_anywhere_and_resumed_gives_the_same_bytes(text, tmp_path):
    calls = itertools.count()
    expected = trained(text, tmp_path / "whole", told=lambda *_: next(calls))
    n_calls = next(calls)
    for last in range(0, n_calls, 3):
        left = itertools.count()

        def told(*_, left=left, last=last):
            if next(left) == last:
                raise Killed

        output = tmp_path / f"stopped{last}"
        with pytest.raises(Killed):
            trained(text, output, told=told)
        assert output.with_suffix(".sorting").exists()
        assert trained(text, output, memory=[1, 1 << 40][last % 2], resume=True) == expected
        assert not output.with_suffix(".sorting").exists()


@pytest.mark.parametrize("threads", [1, 3])
def test_counting_by_ranges_of_words_gives_the_same_bytes(text, tmp_path, threads):
    def trained_on_workers(**settings):
        return trained(text, tmp_path / "ranges", 1, sorts=True, engine=Here(threads), **settings)

    expected = trained(text, tmp_path / "one")
    assert trained_on_workers() == expected
    seen = []

    def told(phase, at, of):
        seen.append(phase)
        if phase.startswith("smoothing"):
            raise Killed

    with pytest.raises(Killed):
        trained_on_workers(told=told)
    assert "counting n-grams" in seen
    seen.clear()
    assert trained_on_workers(resume=True, told=lambda phase, at, of: seen.append(phase)) == expected
    assert "counting n-grams" not in seen
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "ranges", "text.txt"]


def test_other_subjects_start_afresh_and_foreign_folders_are_refused(text, tmp_path):
    def told(phase, *_):
        if phase == "writing the model":
            raise Killed

    with pytest.raises(Killed):
        trained(text, tmp_path / "a", told=told)
    again = Training(KneserNeyLM(3), [text], tmp_path / "a.sorting", 1, subject="another")
    assert again.run(tmp_path / "a", resume=True) == KneserNeyLM(3).fit(text).backoff_.n_ngrams
    (tmp_path / "b.sorting").mkdir()
    (tmp_path / "b.sorting" / "mine").write_text("x")
    with pytest.raises(InputError, match="no working folder"):
        trained(text, tmp_path / "b")
    assert (tmp_path / "b.sorting" / "mine").read_text() == "x"


def test_too_little_disk_and_memory_are_said_before_anything_is_written(text, tmp_path, monkeypatch):
    need = Need.of([text], 4)
    assert need.words == pytest.approx(6400, rel=0.05)
    monkeypatch.setattr(train.shutil, "disk_usage", lambda _: type("Usage", (), {"free": need.disk - 1}))
    with pytest.raises(InputError, match="--tmp"):
        trained(text, tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]
    assert default_memory() >= train.LEAST_MEMORY


def test_vocabulary_limits_and_tokens_on_disk_equal_those_in_memory(text, tmp_path):
    from epigram.lm.tokenizer import Tokenizer

    for model in (KneserNeyLM(3, min_count=3), KneserNeyLM(3, max_words=20, open_vocabulary=False)):
        assert trained(text, tmp_path / "a", model=model) == trained(
            text, tmp_path / "b", 1 << 40, model=model
        )
    characters = Tokenizer.of("chars")
    settings = {"model": KneserNeyLM(6), "tokenizer": characters}
    assert trained(text, tmp_path / "a", **settings) == trained(text, tmp_path / "b", 1 << 40, **settings)
    assert epigram.load(tmp_path / "a").vocabulary_.tokenizer == characters
