"""Groups the words of a conversion into phrases (bunsetsu), which arrows move by.

A phrase is a content word with the prefix, number or short compound that it ends, and the function words after it.
Parts of speech are taken from the word classes of the model; without them, words in hiragana count as function words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from epigram.ime.decoder import Decoder, Word
from epigram.ime.kana import is_content, is_hiragana

FUNCTION = ("助詞", "助動詞", "接尾辞", "補助記号", "記号")
PREFIXES = ("お", "ご", "御")


def phrase_ends(decoder: Decoder, words: Sequence[Word]) -> list[int]:
    """Number of words up to the end of each phrase.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["東京/とうきょう に 住ん/すん で いる", "2026/にせん 年/ねん の 橋/はし"]).decoder
    >>> phrase_ends(decoder, decoder.best("とうきょうにすんでいる").words)
    [2, 5]
    """
    return list(_ends(decoder, words))


def _ends(decoder: Decoder, words: Sequence[Word]) -> Iterator[int]:
    for k in range(1, len(words)):
        if not _joins(decoder, words[k - 1], words[k]):
            yield k
    if words:
        yield len(words)


def _joins(decoder: Decoder, before: Word, word: Word) -> bool:
    """Whether a word belongs to the phrase of the word before it."""
    part_before, part = part_of(decoder, before), part_of(decoder, word)
    is_stem = is_content(before.surface) and not is_hiragana(before.surface[-1])
    compound = len(word.surface) == 1 and is_content(word.surface) and is_stem
    return (
        part_before.startswith("接頭辞")
        or before.surface in PREFIXES
        or before.surface[-1:].isdecimal()
        or (compound and not _is_function(before.surface, part_before))
        or _is_function(word.surface, part)
        or (_is_auxiliary(word, part) and _takes_auxiliary(before, part_before, part))
    )


def part_of(decoder: Decoder, word: Word) -> str:
    """Part of speech of a word by its class; empty if unknown."""
    if word.id < 0:
        return ""
    name = decoder.scorer.class_names[decoder.scorer.word_class[word.id]]
    return "" if name in ("any", "edge") or name.startswith("?") else name.rpartition(" ")[2]


def _is_function(surface: str, part: str) -> bool:
    if not any(char.isalnum() for char in surface):
        return True
    if not part:
        return is_hiragana(surface)
    return part.startswith(FUNCTION)


def _is_auxiliary(word: Word, part: str) -> bool:
    return part.startswith(("動詞", "形容詞")) and is_hiragana(word.surface)


def _takes_auxiliary(before: Word, part_before: str, part: str) -> bool:
    """Whether a verb in hiragana joins the word before it: して いる, but not 今日は いい."""
    if before.surface in ("て", "で"):
        return True
    return "非自立可能" in part and not _is_function(before.surface, part_before)
