"""KenLM's own binaries: read as KenLM reads them; without words, damaged or truncated, one sentence."""

from __future__ import annotations

import itertools
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import load
from epigram.compat import kenlm as ours
from epigram.compat.kenlm.binary import read_binary, read_model
from epigram.compat.kenlm.probing import A, B, Entries, join
from epigram.errors import EpigramError, ModelFileError
from epigram.lm.ngram.arpa import parse_arpa
from in_process import epigram
from reference.kenlm import grams_of, key
from reference.kenlm_files import FILES, arpa_by_rule, binary

EXACT = ("probing", "trie", "array", "rest")
SENTENCES = ["a b 日本", "", "h g f e d c b a", "a zebra a b", "<unk> d", "日本 日本 c", "b a c a"]
HAS_WORDS = 88 + 12  # the place of a flag of the header


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.binary"
    path.write_bytes(binary(request.param))
    return path


def test_scores_are_kenlms_on_the_same_file(file: Path) -> None:
    mine, theirs = ours.Model(file), pytest.importorskip("kenlm").Model(str(file))
    assert mine.order == theirs.order == 3
    n = 0
    for sentence, bos, eos in itertools.product(SENTENCES, (True, False), (True, False)):
        expected = list(theirs.full_scores(sentence, bos=bos, eos=eos))
        found = list(mine.full_scores(sentence, bos=bos, eos=eos))
        np.testing.assert_allclose([x[0] for x in found], [x[0] for x in expected], atol=1e-5)
        assert [x[1:] for x in found] == [x[1:] for x in expected]
        n += len(found)
    assert n > 100
    assert [w in mine for w in ("a", "日本", "zebra")] == [w in theirs for w in ("a", "日本", "zebra")]


@pytest.mark.parametrize("name", EXACT)
def test_the_file_holds_what_its_arpa_text_does(name: str) -> None:
    text, found = parse_arpa(arpa_by_rule().encode()), read_binary(binary(name))
    assert set(found.vocabulary_.words) == set(text.vocabulary_.words)
    assert found.n_ngrams > text.n_ngrams  # KenLM adds the suffixes that are missing
    for sentence in SENTENCES:
        a, b = (model.word_scores(sentence) for model in (text, found))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_commands_read_it(tmp_path: Path) -> None:
    path, text = tmp_path / "m.binary", tmp_path / "text"
    path.write_bytes(binary("probing"))
    text.write_text("a b c\nh a\n")
    done = epigram("lm", "eval", path, text, "--json")
    assert done.returncode == 0, done.stderr
    expected = parse_arpa(arpa_by_rule().encode()).perplexity(["a b c", "h a"])
    assert json.loads(done.stdout)["perplexity"] == pytest.approx(expected, rel=1e-5)
    assert epigram("lm", "export-arpa", path, tmp_path / "m.arpa").returncode == 0
    again = ours.Model(tmp_path / "m.arpa")
    assert again.score("a b 日本 d") == pytest.approx(ours.Model(path).score("a b 日本 d"), abs=1e-5)
    assert epigram("inspect", path).returncode == 0
    assert load(path).order == 3


def test_n_grams_are_found_from_their_hashes() -> None:
    rng = np.random.default_rng(0)
    chosen = sorted({tuple(row) for row in rng.integers(0, 9, (40, 2)).tolist()})
    longer = sorted({(u, v, w) for u, v in chosen for v2, w in chosen if v == v2})[::3]
    weights = np.zeros(9, [("logp", "<f4"), ("bow", "<f4")])
    words = np.arange(9)
    level = Entries(words[:, None].astype(np.int32), words.astype(np.uint64), weights, words * 0, words * 0)
    for n, grams, n_groups in ((2, chosen, 1), (3, longer, 9)):
        table = np.zeros(len(grams), [("key", "<u8"), *weights.dtype.descr])
        table["key"] = [key(gram) for gram in grams]
        level = join(level, table, n_groups)
        assert [tuple(row) for row in level.grams.tolist()] == grams == grams_of(table["key"].tolist(), 9, n)
    assert (int(A), int(B)) == (8978948897894561157, 17894857484156487943)
    with pytest.raises(ModelFileError, match="hashes of n-grams"):
        join(level, np.array([(12345, 0.0, 0.0)], table.dtype), len(chosen))


def test_a_file_without_words_names_the_way(tmp_path: Path) -> None:
    content = bytearray(binary("trie"))
    assert content[HAS_WORDS] == 1
    content[HAS_WORDS] = 0
    (tmp_path / "m").write_bytes(content)
    for read in (load, ours.Model):
        with pytest.raises(ModelFileError, match=r"without its vocabulary.*use the ARPA file"):
            read(tmp_path / "m")
    done = epigram("lm", "export-arpa", tmp_path / "m", tmp_path / "m.arpa")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("place", "new", "said"),
    [
        (49, b"4", "another version"),
        (62, b"\0", "kind of machine"),
        (96, b"\x09", "unknown kind 9"),
        (88, b"\x01", "order 1"),
        (92, struct.pack("<f", 0.5), "multiplier 0.5"),
        (108, struct.pack("<Q", 2**60), "truncated"),
    ],
)
def test_headers_that_are_not_read(place: int, new: bytes, said: str) -> None:
    content = bytearray(binary("probing"))
    content[place : place + len(new)] = new
    with pytest.raises(ModelFileError, match=said):
        read_model(bytes(content))


@pytest.mark.parametrize("name", FILES)
def test_truncated_and_hostile_files_get_one_sentence(name: str) -> None:
    content, choices = binary(name), random.Random(0)
    said: list[str] = []
    for length in range(60, len(content), 97):
        with pytest.raises(ModelFileError) as caught:
            read_model(content[:length])
        said.append(str(caught.value))
    for _ in range(150):
        damaged: Any = bytearray(content)
        for _ in range(choices.randint(1, 3)):
            at = (
                choices.randrange(88, 132)
                if choices.random() < 0.5
                else choices.randrange(88, len(content) - 8)
            )
            damaged[at : at + 4] = struct.pack("<I", choices.choice([0, 1, 255, 2**31, 2**32 - 1]))
        try:
            read_binary(bytes(damaged)).word_scores("a b c")
        except EpigramError as error:
            said.append(str(error))
        except (ValueError, LookupError, MemoryError, OverflowError):  # what load makes a sentence of
            with pytest.raises(ModelFileError) as caught:
                read_model(bytes(damaged))
            said.append(str(caught.value))
    assert not any("\n" in sentence for sentence in said)
