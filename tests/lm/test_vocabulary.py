"""Words and ids: reserved words, limits, word lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epigram.errors import InputError
from epigram.lm.vocabulary import Vocabulary


def test_boundary_is_zero_both_ways_and_duplicates_vanish():
    vocabulary = Vocabulary(["a", "<s>", "a", "</s>", "b"])
    assert vocabulary.words == ["</s>", "a", "b"]
    assert vocabulary.ids(["<s>", "</s>", "b", "z"]).tolist() == [0, 0, 2, -1]


def test_word_list_with_counts_and_blank_lines(tmp_path: Path):
    path = tmp_path / "v.txt"
    path.write_text("the 100\n\nof\t50\n")
    assert Vocabulary.read(path).words == ["</s>", "the", "of"]


def test_bad_limits_and_empty_lists_are_refused(tmp_path: Path):
    path = tmp_path / "v.txt"
    path.write_text("\n")
    with pytest.raises(InputError, match="empty vocabulary"):
        Vocabulary.read(path)
    with pytest.raises(InputError, match="min_count"):
        Vocabulary.from_counts(["a"], np.array([1]), min_count=0)
    with pytest.raises(InputError, match="at least 1 word"):
        Vocabulary.from_counts(["a"], np.array([1]), size=0)
