"""The sample data: the same everywhere, well formed, and worth tagging."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from epigram.datasets import dataset, fetch, sample
from epigram.errors import InputError
from epigram.parsing.projective import projectivise
from epigram.parsing.treebank import parse_treebank


def words(part: str) -> set[str]:
    return {word.lower() for sentence in sample.tagged(part) for word, _, _ in sentence}


@pytest.mark.parametrize("part", sample.SIZES)
def test_the_bytes_never_change(part: str) -> None:
    files = [file for file in dataset("sample").files if file.name.startswith(part)]
    assert len(files) == 4
    assert all(file.is_right(sample.content(file.name).encode()) for file in files)


def test_fetch_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPIGRAM_CACHE", str(tmp_path))
    monkeypatch.setenv("EPIGRAM_DATA", str(tmp_path / "none"))
    assert (fetch("sample") / "train.txt").read_text() == sample.columns("train")
    assert (fetch("sample") / "train.conllu").read_text() == sample.treebank("train")


def test_seeds_and_parts_differ_and_lengths_are_kept() -> None:
    assert sample.tagged("train", n=50) == sample.tagged("train")[:50]
    assert sample.tagged("train", n=50, seed=1) != sample.tagged("train", n=50)
    assert sample.tagged("dev", n=50) != sample.tagged("train", n=50)
    assert len(sample.tagged("test", n=7)) == 7
    assert sample.tagged("train", n=0) == []


@pytest.mark.parametrize("seed", range(3))
def test_chunks_are_iob2(seed: int) -> None:
    for sentence in sample.tagged("test", seed=seed):
        before = "O"
        for word, pos, chunk in sentence:
            assert word
            assert not set(word + pos) & {" ", "_", "<", "["}
            assert chunk == "O" or chunk[:2] in ("B-", "I-")
            if chunk.startswith("I-"):
                assert before[2:] == chunk[2:]
            before = chunk
        assert sentence[0][0][0].isupper()
        assert sentence[-1][0] in ".?"


@pytest.mark.parametrize("seed", range(3))
def test_trees_have_one_root_and_no_arcs_that_cross(seed: int) -> None:
    bank = parse_treebank(sample.treebank("test", seed=seed).encode())
    bank.check_heads()
    heads, n_lifted, _ = projectivise(bank.heads, bank.sentence_ptr)
    assert (n_lifted, heads.tolist()) == (0, bank.heads.tolist())
    assert [[row[0] for row in rows] for rows in bank.observed(["form"]).rows()] == [
        [word for word, _, _ in rows] for rows in sample.tagged("test", seed=seed)
    ]


def test_relations_are_those_that_a_reader_expects() -> None:
    above = defaultdict(set)
    for sentence in sample.treebank("train").strip().split("\n\n"):
        rows = [line.split("\t") for line in sentence.splitlines()]
        for _, _, _, _, pos, _, head, relation, *_ in rows:
            above[relation].add((pos, "root" if head == "0" else rows[int(head) - 1][7]))
    assert all(parent in ("nmod:poss", "obl", "nmod") for _, parent in above["case"])
    assert {pos for pos, _ in above["aux:pass"]} <= {"VBD", "VBZ", "VBP", "VBN", "NNS", "NN"}
    assert {parent for _, parent in above["root"]} == {"root"}
    assert "dep" not in above
    assert "" not in above


def test_words_have_several_parts_of_speech_even_without_mistakes() -> None:
    tags = defaultdict(set)
    sentences = sample.tagged("train", pos_errors=0.0)
    for sentence in sentences:
        for word, pos, _ in sentence:
            tags[word.lower()].add(pos)
    tokens = [word.lower() for sentence in sentences for word, _, _ in sentence]
    assert sum(len(tags[word]) > 1 for word in tokens) > 0.15 * len(tokens)
    assert {"NN", "VB"} <= tags["cook"]
    assert tags["that"] >= {"DT", "IN", "WDT"}


def test_one_part_of_speech_opens_several_chunks() -> None:
    chunks = {chunk for s in sample.tagged("train") for w, _, chunk in s if w == "before"}
    assert chunks == {"B-PP", "B-SBAR"}
    assert {chunk for s in sample.tagged("train") for w, _, chunk in s if w == "and"} == {"I-NP", "O"}


def test_test_part_has_unseen_words_and_dev_has_few() -> None:
    seen = words("train")
    tokens = [word.lower() for sentence in sample.tagged("test") for word, _, _ in sentence]
    assert 0.03 < sum(word not in seen for word in tokens) / len(tokens) < 0.15
    assert len(words("dev") - seen) < 0.1 * len(words("dev"))


def test_mistaken_parts_of_speech_change_nothing_else() -> None:
    gold, noisy = sample.tagged("train", pos_errors=0.0), sample.tagged("train")
    tokens = [(a, b) for s, t in zip(gold, noisy, strict=True) for a, b in zip(s, t, strict=True)]
    assert all((a[0], a[2]) == (b[0], b[2]) for a, b in tokens)
    assert 0.01 < sum(a[1] != b[1] for a, b in tokens) / len(tokens) < 0.08


def test_plain_is_lower_case_without_the_last_mark() -> None:
    for sentence, tagged in zip(sample.plain("dev"), sample.tagged("dev"), strict=True):
        assert sentence == [word.lower() for word, _, _ in tagged[:-1]]
        assert sentence


def test_unknown_part() -> None:
    with pytest.raises(InputError, match="no part 'valid'; choose one of train, dev, test"):
        sample.tagged("valid")
