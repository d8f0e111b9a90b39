"""CCNet's normalisation: the table of C against the steps one after the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.filter import normalise
from epigram.filter.streams import TextStream
from epigram.lm.vocabulary import Vocabulary


def test_every_character_has_its_form() -> None:
    pages, fold_of, ptr, content = normalise.table()
    raw = content.tobytes()
    for point in [
        *range(0x3400),
        *range(0xA000, 0xD800),
        *range(0xE000, 0x30000, 7),
        *range(0xE0100, 0xE01F0),
    ]:
        form = int(fold_of[256 * int(pages[point >> 8]) + (point & 255)])
        found = raw[ptr[form] : ptr[form + 1]].decode() if form else chr(point)
        wanted = normalise.normalise(f"x{chr(point)}x")[1:-1]
        assert found == wanted, hex(point)


@given(st.text(st.sampled_from("aÉΣσ1２…—“\x07\n é漢\u0301\u0300한İ"), max_size=12))
def test_words_are_those_of_the_normalised_text(text: str) -> None:
    wanted = normalise.normalise(text).split()
    vocabulary = Vocabulary([*wanted, "é", "É"])
    stream, _, unknown = TextStream(vocabulary, ccnet=True)([text])
    assert [vocabulary.words[k] for k in stream.tolist()] == [*wanted, *(["</s>"] if wanted else [])]
    assert unknown.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" Été 2019 — “Oui…” ", 'ete 0000  -  "oui..."'),
        ("ΟΔΟΣ ΣΑΣ", "οδος σας"),
        ("a\tb\nc", "abc"),
        ("١٢", "00"),
    ],
)
def test_the_steps(text: str, wanted: str) -> None:
    assert normalise.normalise(text) == wanted
