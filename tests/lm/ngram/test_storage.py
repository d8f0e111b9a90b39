"""N-gram models in files: their probabilities sum to 1, alone and as parts of others; other models are rounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import epigram
from epigram import KneserNeyLM, LogLinearLM
from epigram.errors import ModelFileError
from epigram.lm.cache import CachedLM
from epigram.lm.default import fit_beside
from epigram.lm.mixture import InterpolatedLM, table_of
from epigram.lm.ngram.arpa import read_arpa, write_arpa
from epigram.lm.ngram.backoff import BackoffModel, as_backoff
from epigram.lm.ngram.prune import prune
from epigram.lm.ngram.storage import from_model_file
from epigram.lm.vocabulary import Vocabulary
from reference import backoff as reference

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=10)
CLOSED = [
    list("abcd"),
    list("dcba"),
    list("aabbccdd"),
    list("acbd"),
] * 2  # all words follow <s>, or nearly all
OLD = Path(__file__).parents[2] / "storage" / "old" / "kneser-ney.laconic"


def grams_of(model: BackoffModel):
    """The n-grams and the contexts of a model as dictionaries."""
    contexts = [tuple(model.spell(np.array([x], np.int32))[0].tolist()) for x in range(model.node_pair.size)]
    pairs = zip(model.pair_node.tolist(), model.pair_word.tolist(), model.pair_logp.tolist(), strict=True)
    grams = {(*contexts[node], word): logp for node, word, logp in pairs}
    return grams, dict(zip(contexts, model.node_bow.tolist(), strict=True))


def furthest_from_one(model: BackoffModel) -> float:
    return max(abs(model.distribution(x).sum() - 1) for x in range(model.node_pair.size))


@settings(max_examples=80, deadline=None)
@given(SENTENCES, st.integers(1, 5), st.sampled_from([0, [0, 0, 1], [0, 1]]))
@example(CLOSED, 4, 0)
@example([["a"]], 3, 0)
def test_a_stored_model_is_the_twin_and_sums_to_one(sentences, order, pruned):
    model = KneserNeyLM(order, prune=pruned).fit(sentences).backoff_
    file = model.to_model_file()
    loaded = from_model_file(file)
    assert "bow.fine" in file.tensors
    assert furthest_from_one(loaded) < 1e-9
    for found, wanted in zip(grams_of(loaded), reference.as_stored(*grams_of(model)), strict=True):
        assert found == pytest.approx(wanted, abs=1e-9)
    for x in range(model.node_pair.size):
        np.testing.assert_allclose(loaded.distribution(x), model.distribution(x), rtol=1e-5)
    again = loaded.to_model_file()
    assert again.header == file.header
    assert {name: array.tobytes() for name, array in again.tensors.items()} == {
        name: array.tobytes() for name, array in file.tensors.items()
    }


def text(rng: np.random.Generator, lines: int) -> list[str]:
    """Lines of words of all frequencies, each likely to bring on the next."""
    out = []
    for _ in range(lines):
        words = np.minimum(rng.zipf(1.4, rng.integers(1, 20)), 300)
        out.append(" ".join(f"w{word} v{word % 17}" for word in words.tolist()))
    return out


def test_larger_models_mixtures_and_caches_sum_to_one(tmp_path):
    rng = np.random.default_rng(7)
    lines = text(rng, 1500)
    kneser_ney = KneserNeyLM(5).fit(lines)
    loglinear = LogLinearLM(order=3, strength=0.5, depth_weight=1.2, ridge=0.01)
    beside = fit_beside(loglinear, lines[:400], valid=lines[400:500]).mixture
    other = KneserNeyLM(3).fit(text(rng, 300))
    models = {
        "kneser-ney": kneser_ney,
        "pruned": prune(kneser_ney.backoff_, n_ngrams=3000),
        "merged": table_of(InterpolatedLM([kneser_ney, other], [0.6, 0.4])),
        "log-linear as n-grams": as_backoff(LogLinearLM(order=3, strength=0.5).fit(lines[:400])),
        "beside": beside,
        "cached": CachedLM(beside, 50, 0.1),
    }
    contexts = [
        "",
        "<s>",
        *(" ".join(line.split()[: rng.integers(1, 9)]) for line in lines[:60] + text(rng, 60)),
    ]
    for name, model in models.items():
        model.save(tmp_path / "model")
        loaded = epigram.load(tmp_path / "model")
        for context in contexts:
            assert loaded.distribution(context).sum() == pytest.approx(1, abs=1e-9), name
        if isinstance(loaded, BackoffModel):
            assert (
                max(abs(loaded.distribution(x).sum() - 1) for x in range(0, loaded.node_pair.size, 29)) < 1e-9
            )
        loaded.save(tmp_path / "again")
        loaded.load(tmp_path / "again").save(tmp_path / "once more")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "once more").read_bytes(), name


def test_models_that_do_not_sum_to_one_are_only_rounded(tmp_path):
    trained = KneserNeyLM(3).fit(CLOSED).backoff_
    write_arpa(trained, tmp_path / "arpa")
    rows = (tmp_path / "arpa").read_text().splitlines()
    short = [
        "\t".join([row.split("\t")[0][:6], *row.split("\t")[1:]]) if "\t" in row else row for row in rows
    ]
    (tmp_path / "arpa").write_text("\n".join(short) + "\n")
    for model in (read_arpa(tmp_path / "arpa"), epigram.load(OLD)):
        assert furthest_from_one(model) > 1e-9
        file = model.to_model_file()
        assert not {"exact", "logp.fine", "bow.fine"} & set(file.tensors)
        loaded = from_model_file(file)
        assert loaded.pair_logp.tolist() == model.pair_logp.astype(np.float32).tolist()
        assert loaded.node_bow.tolist() == model.node_bow.astype(np.float32).tolist()


def test_zero_probabilities_and_very_small_ones_are_kept():
    logps = [
        np.log([0.5, 0.5, np.exp(-200), 0.0], where=[1, 1, 1, 0], out=np.full(4, -np.inf)),
        np.log([0.5]),
    ]
    grams = [np.arange(4)[:, None], np.array([[1, 2]])]
    model = BackoffModel.from_ngrams(Vocabulary("abc"), grams, logps, [np.array([[1]])], [np.log([0.5])])
    loaded = from_model_file(model.to_model_file())
    assert furthest_from_one(loaded) < 1e-9
    np.testing.assert_allclose(loaded.pair_logp, model.pair_logp, rtol=1e-7)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("exact", np.array([0, 10**6])),
        ("exact", np.zeros(1000, np.int64)),
        ("logp.fine", np.zeros(3, np.int16)),
        ("bow.fine", np.zeros(3, np.int16)),
        ("bow.fine", np.full(3, 0.5)),
    ],
)
def test_damaged_files_are_refused(name, array):
    file = KneserNeyLM(3).fit(CLOSED).to_model_file()
    file.tensors[name] = array
    with pytest.raises(ModelFileError, match="corrupt"):
        from_model_file(file)


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 4), st.integers(2, 8))
@example(CLOSED, 4, 2)
def test_codes_of_a_few_bits_are_divided_by_their_sums(sentences, order, bits):
    model = KneserNeyLM(order).fit(sentences).backoff_
    file = model.to_model_file(bits=bits)
    loaded = from_model_file(file)
    assert furthest_from_one(loaded) < 1e-12
    del file.header["settings"]["normalised"]
    for found, wanted in zip(
        grams_of(loaded), reference.divided_by_sums(*grams_of(from_model_file(file))), strict=True
    ):
        assert found == pytest.approx(wanted, abs=1e-9)


def test_codes_of_a_model_that_does_not_sum_to_one_stay_as_they_are(tmp_path):
    (tmp_path / "m.arpa").write_text(
        "\\data\\\nngram 1=3\n\n\\1-grams:\n-0.1 </s>\n-0.1 a\n-0.1 <unk>\n\n\\end\\\n"
    )
    model = as_backoff(read_arpa(tmp_path / "m.arpa"))
    file = model.to_model_file(bits=8)
    assert "normalised" not in file.header["settings"]
    assert from_model_file(file).distribution(0).sum() == pytest.approx(model.distribution(0).sum(), rel=1e-2)
