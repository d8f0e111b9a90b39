"""Files that are not compressed: the same answers to the last bit, no array copied, all arrays checked."""

from __future__ import annotations

import random

import numpy as np
import pytest

import epigram
from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM
from epigram._core import bindings
from epigram.errors import EpigramError, InputError, ModelFileError
from epigram.lm import CachedLM, DocumentLM, InterpolatedLM
from epigram.lm.factored.scorer import FactorScorer, ScoringTables
from epigram.lm.ngram.storage import ARRAYS_IN_PLACE
from epigram.lm.storage import from_model_file
from epigram.storage import ModelFile, describe
from epigram.storage.file import weights
from reference import mapped as reference

TEXT = ["a b c a", "b b c", "c a d", "d d a b", "a b c a d", "b a"]
CONTEXTS = ("", "a", "<s> b b", "<s>", "c a d a b", "zebra a")


def models():
    loglinear = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01).fit(TEXT)
    kneser_ney, factored = KneserNeyLM(3).fit(TEXT), ClassFactoredLM(classes=3, budget=0).fit(TEXT)
    mixture = InterpolatedLM([loglinear, kneser_ney, factored], [0.3, 0.3, 0.4])
    return {
        "loglinear": loglinear,
        "unbounded": LogLinearLM(order=0, penalty="tree-linf", strength=0.1, depth_weight=0.8).fit(TEXT),
        "sparse": LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01, max_weights=12).fit(TEXT),
        "kneser-ney": kneser_ney,
        "factored": factored,
        "document": DocumentLM.chosen(factored, TEXT),
        "mixture": mixture,
        "cached": CachedLM(mixture, 3, 0.2),
    }


KINDS = ["loglinear", "unbounded", "sparse", "kneser-ney", "factored", "document", "mixture", "cached"]


@pytest.mark.parametrize("name", KINDS)
def test_probabilities_sum_to_one(tmp_path_factory, name):
    model = models()[name]
    path = tmp_path_factory.mktemp("sums") / name
    model.save(path, compress=False)
    mapped = epigram.load(path)
    for context in CONTEXTS:
        assert np.array_equal(mapped.distribution(context), model.distribution(context))
        assert mapped.distribution(context).sum() == pytest.approx(1, abs=1e-9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Each kind of model as an ordinary file, and what that file holds as a mapped one."""
    home = tmp_path_factory.mktemp("mapped")
    for name, model in models().items():
        model.save(home / name)
        epigram.load(home / name).save(home / f"{name}.mapped", compress=False)
    return home


@pytest.mark.parametrize("name", KINDS)
def test_answers_are_the_same_to_the_last_bit(folder, name):
    plain, mapped = epigram.load(folder / name), epigram.load(folder / f"{name}.mapped")
    assert type(mapped) is type(plain)
    assert mapped.vocabulary_ == plain.vocabulary_
    for context in CONTEXTS:
        assert np.array_equal(mapped.distribution(context), plain.distribution(context))
    assert mapped.evaluate([*TEXT, "a zebra b"]) == plain.evaluate([*TEXT, "a zebra b"])
    assert mapped.sample(3, seed=1) == plain.sample(3, seed=1)
    state, logp = mapped.advance(mapped.start(), "b")
    assert (state, logp) == plain.advance(plain.start(), "b")
    if hasattr(plain, "explain"):
        assert mapped.explain("a b", "c") == plain.explain("a b", "c")
    assert describe(folder / f"{name}.mapped")[1] == describe(folder / name)[1]
    assert list(weights(folder / f"{name}.mapped")[1]) == list(weights(folder / name)[1])


@pytest.mark.parametrize("name", KINDS)
def test_a_mapped_model_is_mapped_again_and_packed_again(folder, tmp_path, name):
    mapped = epigram.load(folder / f"{name}.mapped")
    mapped.save(tmp_path / "again", compress=False)
    assert (tmp_path / "again").read_bytes() == (folder / f"{name}.mapped").read_bytes()
    mapped.save(tmp_path / "packed")
    packed, plain = ModelFile.load(tmp_path / "packed").tensors, ModelFile.load(folder / name).tensors
    assert packed.keys() == plain.keys()
    assert all(np.array_equal(packed[key], plain[key]) for key in plain)


def used_arrays(model, prefix=""):
    """The arrays that scoring reads, by their names in the file."""
    if isinstance(model, InterpolatedLM):
        return {
            k: v for j, part in enumerate(model.models) for k, v in used_arrays(part, f"{prefix}{j}.").items()
        }
    if isinstance(model, CachedLM | DocumentLM):
        return used_arrays(model.model, f"{prefix}0.")
    if isinstance(model, ClassFactoredLM):
        parts = {"class": model.class_model_, "word": model.word_model_}
        return {
            f"{prefix}{part}.mapped.{name}": array
            for part, scorer in parts.items()
            for name, array in {
                **{
                    name: getattr(scorer, name) for name in ("parent", "symbol", "pair_ptr", "candidate", "w")
                },
                **scorer._tables._asdict(),
                "choices": scorer.n_candidates,
            }.items()
        }
    backoff = model.backoff_ if isinstance(model, LogLinearLM) else model
    return {f"{prefix}mapped.{name}": getattr(backoff, name) for name in ARRAYS_IN_PLACE}


@pytest.mark.parametrize("name", KINDS)
def test_no_array_is_copied(folder, name):
    file = ModelFile.load(folder / f"{name}.mapped")
    model = from_model_file(file)
    model.perplexity(TEXT)
    used = used_arrays(model)
    assert used.keys() == {key for key in file.tensors if "mapped." in key}
    for key, array in used.items():
        assert array.size == 0 or np.shares_memory(array, file.tensors[key]), key
    if isinstance(model, LogLinearLM):
        assert model._loss is None  # its weights were not decoded


def test_a_mapped_log_linear_model_goes_on(folder):
    plain, mapped = epigram.load(folder / "loglinear"), epigram.load(folder / "loglinear.mapped")
    for model in (plain, mapped):
        model.partial_fit(["d c b", "e a"])
    assert np.array_equal(plain.distribution("d c"), mapped.distribution("d c"))
    assert mapped.n_nonzero_ == plain.n_nonzero_


def test_bits_are_refused_and_text_is_kept(tmp_path):
    model = models()["loglinear"]
    with pytest.raises(InputError, match="compress=False stores weights in full; leave out bits"):
        model.save(tmp_path / "x", compress=False, bits=8)
    model.save(tmp_path / "x", compress=False, text=True)
    assert epigram.load(tmp_path / "x").corpus_.n_sentences == len(TEXT)


def changed(array, rng):
    """A copy with one number replaced by one nearby, or by any."""
    out = np.array(array)
    at = tuple(rng.randrange(n) for n in out.shape)
    if out.dtype.kind == "f":
        out[at] = rng.choice((np.nan, np.inf, -np.inf, 0.5, -1.0, 2.0))
    else:
        nearby = int(out[at]) - 1, int(out[at]) + 1, -1, 0, 1, rng.randrange(40), -(2**31), 2**31 - 1
        out[at] = min(max(rng.choice(nearby), -(2**31)), 2**31 - 1)
    return out


def test_links_are_checked_as_the_twin_checks_them(folder):
    model, rng = epigram.load(folder / "kneser-ney.mapped"), random.Random(1)
    names = ("node_pair", "pair_ptr", "pair_word", "pair_node_of", "node_parent", "node_depth", "pair_next")
    arrays = {name: np.array(getattr(model, name)) for name in names}
    verdicts = []
    for _ in range(1500):
        name = rng.choice(names)
        found = {**arrays, name: changed(arrays[name], rng)}
        fine = bindings.ngram_is_linked(len(model.vocabulary_), *found.values())
        assert fine == reference.is_linked(
            len(model.vocabulary_), *(array.tolist() for array in found.values())
        ), (
            name,
            found[name],
        )
        verdicts.append(fine)
    assert 100 < sum(verdicts) < 1400


@pytest.mark.parametrize("part", ["class_model_", "word_model_"])
def test_tables_are_checked_as_the_twin_checks_them(folder, part):
    scorer, rng = getattr(epigram.load(folder / "factored.mapped"), part), random.Random(2)
    arrays = {name: np.array(getattr(scorer, name)) for name in ("parent", "symbol", "pair_ptr", "candidate")}
    arrays |= {name: np.array(array) for name, array in scorer._tables._asdict().items()}
    longest, n_symbols, verdicts = max(map(len, scorer.contexts.trees)), 8, []
    for _ in range(1500):
        name = rng.choice([name for name in arrays if name != "rows"])
        mine = {key: np.array(array) for key, array in arrays.items()}
        if name == "pairs":
            pairs = mine["pairs"].view(reference.PAIR)
            field = rng.choice(pairs.dtype.names)
            pairs[field] = changed(pairs[field], rng)
        else:
            mine[name] = changed(mine[name], rng)
        parent, symbol, pair_ptr, candidate, *tables = mine.values()
        broken = FactorScorer(
            scorer.contexts, scorer.n_candidates, parent, symbol, pair_ptr, candidate, scorer.w
        )
        broken.__dict__["_tables"] = ScoringTables(*tables)
        room = np.empty((2, parent.size), np.int32)
        fine = bindings.factored_scorer_is_packed(
            broken._core,
            parent,
            symbol,
            n_symbols,
            longest,
            pair_ptr,
            mine["row_at"],
            candidate,
            *room,
        )
        assert fine == reference.is_packed(
            scorer.n_candidates.tolist(), len(scorer.contexts.trees), n_symbols, longest, parent.tolist(),
            symbol.tolist(), pair_ptr.tolist(), candidate.tolist(), mine["row_at"].tolist(),
            mine["steps"].reshape(-1, 4).tolist(), mine["pairs"].view(reference.PAIR), mine["rows"].size,
        ), name  # fmt: skip
        verdicts.append(fine)
    assert 100 < sum(verdicts) < 1400


@pytest.mark.parametrize("name", ["loglinear", "kneser-ney", "factored", "document", "cached"])
def test_damage_is_refused_or_harmless(folder, name):
    file, rng, refused = ModelFile.load(folder / f"{name}.mapped"), random.Random(3), 0
    for _ in range(300):
        key = rng.choice([key for key in file.tensors if "mapped." in key and file.tensors[key].size])
        tensors = {**file.tensors, key: changed(file.tensors[key], rng)}
        if rng.random() < 0.2:
            tensors[key] = file.tensors[key].ravel()[: rng.randrange(file.tensors[key].size)]
        try:
            model = from_model_file(ModelFile(file.family, file.header, tensors))
        except (ModelFileError, EpigramError):
            refused += 1
            continue
        with np.errstate(all="ignore"):
            model.perplexity(TEXT)
            model.distribution("a b")
    assert refused > 100


def test_a_file_without_one_of_its_arrays_is_damaged(folder):
    for name in ("loglinear", "factored"):
        file = ModelFile.load(folder / f"{name}.mapped")
        for key in [key for key in file.tensors if "mapped." in key]:
            if key.endswith(("mapped.pair_ptr", "mapped.choices")):
                continue  # by these a reader sees that the file is a mapped one
            rest = {other: array for other, array in file.tensors.items() if other != key}
            with pytest.raises(EpigramError):
                from_model_file(ModelFile(file.family, file.header, rest))


def test_places_of_a_table_that_are_free_are_all_alike(folder):
    """They are written to the file too: the same model, the same bytes."""
    model = epigram.load(folder / "factored.mapped")
    for part in (model.class_model_, model.word_model_):
        steps = np.array(part._tables.steps).reshape(-1, 4)
        free = steps[steps[:, 2] < 0]
        assert len(free)
        assert (free == [0, 0, -1, 0]).all()
