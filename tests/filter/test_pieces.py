"""Sentencepiece models: files read, segmentations equal to brute force and to the package."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.errors import InputError, ModelFileError
from epigram.filter.pieces import PieceModel
from epigram.filter.streams import TextStream
from epigram.lm.vocabulary import Vocabulary
from reference.piece_models import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    best_segmentation,
    merged,
    model_bytes,
)  # fmt: skip

PIECES: list[Piece] = [
    ("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("▁", -2.0, NORMAL), ("a", -1.5, NORMAL), ("b", -2.25, NORMAL),
    ("ab", -2.5, NORMAL), ("▁a", -2.75, NORMAL), ("ba", -3.5, NORMAL), ("aba", -4.0, NORMAL), ("▁ab", -5.0, NORMAL),
]  # fmt: skip
TEXTS = st.text("ab c", max_size=9)


def cut(content: bytes, texts: Sequence[str], words: Sequence[str]) -> list[list[str]]:
    """Pieces of each text; those that are no word are ``?``."""
    vocabulary = Vocabulary(words)
    stream, ptr, _ = TextStream(vocabulary, PieceModel.from_bytes(content))(texts)
    names = [*vocabulary.words, "?"]
    return [[names[k] for k in stream[a:b].tolist() if k] for a, b in pairwise(ptr.tolist())]


@given(TEXTS)
def test_unigrams_are_the_best_of_all_segmentations(text: str) -> None:
    scores = {piece: score for piece, score, _ in PIECES}
    (found,) = cut(model_bytes(PIECES), [text], [piece for piece, *_ in PIECES])
    blanks = "▁" + "▁".join(text.split()) if text.strip() else ""
    assert "".join(one for one in found if one != "?") == blanks.replace("c", "")
    runs = sum(one == "?" for one in found)
    own = sum(scores[one] for one in found if one != "?") + (-15.0) * blanks.count("c")
    assert runs <= blanks.count("c")
    assert own == pytest.approx(best_segmentation(blanks, PIECES)) or not blanks


@given(TEXTS)
def test_bpe_merges_the_best_pair_first(text: str) -> None:
    pieces = [piece for piece in PIECES if piece[0] not in ("<unk>", "<s>")]
    (found,) = cut(
        model_bytes(PIECES, bpe=True), [text], ["c", "cc", "ccc", *(piece for piece, *_ in pieces)]
    )
    wanted = merged("▁" + "▁".join(text.split()), pieces) if text.strip() else []
    assert "".join(found) == "".join(wanted).replace("c" * 4, "?") or "?" in found
    assert [one for one in found if set(one) != {"c"} and one != "?"] == [one for one in wanted if one != "c"]


def test_rules_bytes_and_pieces_of_the_user() -> None:
    rules = {"A": "a", "B": "b ", "!!": "", "x": "ab"}
    words = [piece for piece, *_ in PIECES]
    assert cut(model_bytes(PIECES, rules=rules), ["AB", "x!!", "B"], words) == [
        ["▁", "ab"],
        ["▁", "ab"],
        ["▁", "b"],
    ]
    by_bytes = [*PIECES, *((f"<0x{k:02X}>", 0.0, BYTE) for k in range(256))]
    found = cut(model_bytes(by_bytes, has_bytes=True), ["aé"], [*words, "<0xC3>", "<0xA9>"])
    assert found == [["▁a", "<0xC3>", "<0xA9>"]]
    own = [*PIECES, ("a▁", 0.0, USER_DEFINED)]
    assert cut(model_bytes(own), ["ba▁b"], [*words, "a▁"]) == [["▁", "b", "a▁", "b"]]
    assert cut(model_bytes(PIECES, adds_blank=False, trims=False), ["a  b "], words) == [
        ["a", "▁", "▁", "b", "▁"]
    ]


def test_runs_of_unknown_characters_are_one_word() -> None:
    assert cut(model_bytes(PIECES), ["cc a"], ["cc", "▁", "▁a"]) == [["▁", "cc", "▁a"]]
    assert cut(model_bytes(PIECES), ["cc a"], ["c", "▁", "▁a"]) == [["▁", "?", "▁a"]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no pieces"),
        (b"no model", "truncated or of another format"),
        (model_bytes(PIECES)[:-3], "truncated"),
        (model_bytes([*PIECES, PIECES[3]]), "one twice"),
        (model_bytes(PIECES).replace(b"\x18\x01", b"\x18\x04", 1), "words or characters|kind of a piece"),
        (model_bytes([("a", float("nan"), NORMAL)]), "a score or kind"),
    ],
)
def test_files_that_cannot_be_read(content: bytes, said: str) -> None:
    with pytest.raises(ModelFileError, match=said):
        PieceModel.from_bytes(content)


def test_a_file_that_is_missing(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        PieceModel.read(tmp_path / "none.model")


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"model_type": "bpe"}, {"model_type": "bpe", "byte_fallback": True}, {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"user_defined_symbols": ["the king", "@"], "normalization_rule_name": "identity",
         "remove_extra_whitespaces": False},
    ],
)  # fmt: skip
def test_pieces_are_those_of_sentencepiece(settings: dict[str, object]) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    rng = random.Random(0)
    words = [
        "king",
        "kings",
        "queen",
        "the",
        "theme",
        "a",
        "of",
        "offer",
        "offers",
        "…",
        "Été",
        "ﬁne",
        "漢字",
        "12",
    ]
    lines = [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(400)]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, vocab_size=330 if "byte_fallback" in settings else 70,
        hard_vocab_limit=False, num_threads=1, minloglevel=2, **settings,
    )  # fmt: skip
    signs = [*"abekginqtuf …é漢の\u0301\u200b\u3000①½ﬁ㍿한😀@.▁Ａ", "the king", "theme", "ÿ"]
    texts = [*lines[:200], *("".join(rng.choices(signs, k=rng.randint(0, 30))) for _ in range(400))]
    processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    wanted = [processor.encode(text, out_type=str) for text in texts]
    found = cut(out.getvalue(), texts, sorted({piece for pieces in wanted for piece in pieces}))
    blanks = str.maketrans(dict.fromkeys("\u3000", " "))
    assert found == [[piece.translate(blanks) for piece in pieces] for pieces in wanted] or found == wanted
    assert np.mean([len(pieces) for pieces in found]) > 3
