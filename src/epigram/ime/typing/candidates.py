"""Order of candidates: last choices, variants of a word, dates, numbers and emoji.

The order is: the best text, what the user chose last for the reading, variants of the best text (行う and
行なう, 子供 and 子ども), a few further words, then dates, numbers and emoji, then the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files

from epigram.ime.corrections import Lesson
from epigram.ime.kana import is_hiragana, to_wide
from epigram.ime.lexicon.dictionary_formats import has_kanji
from epigram.ime.numbers import LARGEST, ways_to_write
from epigram.ime.segmentation import Segment

REMEMBERED = 200
"""Number of last corrections whose words stand first among candidates."""
AHEAD = 3
"""Words of the model before dates, numbers and emoji."""
PROBABLE = 12
"""Most probable texts among which variants are looked for."""
_DAYS = {
    "おととい": -2, "きのう": -1, "さくじつ": -1, "きょう": 0, "ほんじつ": 0, "あした": 1, "あす": 1, "あさって": 2,
    "せんしゅう": -7, "らいしゅう": 7,
}  # fmt: skip
_YEARS = {"おととし": -2, "きょねん": -1, "さくねん": -1, "ことし": 0, "らいねん": 1, "さらいねん": 2}
_MONTHS = {"せんげつ": -1, "こんげつ": 0, "らいげつ": 1}
_STRAY_KATAKANA = re.compile("(?<=[ぁ-ゖ一-鿿])(?![ノヶケ])[ァ-ヺ](?![ァ-ヺー])")
_WEEKDAYS = "月火水木金土日"
REIWA = 2018
"""Year before the first of the era Reiwa."""


def arrange(segment: Segment, lessons: Sequence[Lesson], now: datetime) -> Segment:
    """Put the last choices and variants first, and add dates, numbers and emoji.

    Examples
    --------
    >>> found = arrange(Segment("こども", "子供", ["子供", "小ども", "子ども"]), [], datetime(2026, 11, 19))
    >>> found.alternatives
    ['子供', '子ども', '小ども', '🧒']
    """
    first, *rest = segment.alternatives
    variants = [text for text in rest[:PROBABLE] if is_variant(first, text)]
    others = [text for text in rest if text not in variants]
    computed = [*times(segment.reading, now), *numbers(segment.reading), *emoji().get(segment.reading, ())]
    ways = [
        first,
        *chosen_last(segment.reading, lessons),
        *variants,
        *others[:AHEAD],
        *computed,
        *sorted(others[AHEAD:], key=has_stray_katakana),
    ]
    return segment._replace(alternatives=list(dict.fromkeys(ways)))


def has_stray_katakana(text: str) -> bool:
    """Whether a single katakana stands after hiragana or kanji, as hardly anybody writes.

    Examples
    --------
    >>> [has_stray_katakana(text) for text in ("食べル。", "橋ヲ渡る", "サボる", "中ノ島", "カ")]
    [True, True, False, False, False]
    """
    return _STRAY_KATAKANA.search(text) is not None


def chosen_last(reading: str, lessons: Sequence[Lesson]) -> Iterator[str]:
    """Texts of a reading in the last corrections, the last first."""
    for lesson in reversed(lessons[-REMEMBERED:]):
        words = [
            (lesson.chosen, lesson.reading),
            *(word for phrase in lesson.phrases for word in phrase.words),
        ]
        yield from (surface for surface, own in words if own == reading)


def is_variant(one: str, other: str) -> bool:
    """Whether two texts of one reading differ only in which kanji are written as hiragana.

    A last hiragana stays, since it may be a particle.

    Examples
    --------
    >>> is_variant("行う", "行なう"), is_variant("取り組み", "取組み"), is_variant("箸", "橋"), is_variant("箸", "はし")
    (True, True, False, False)
    >>> is_variant("子ども", "子供"), is_variant("子供が", "子供画")
    (True, False)
    """
    if len(one) == len(other) and one[:-1] == other[:-1]:
        return False
    texts = sorted(
        ("".join(char for char in text if not is_hiragana(char)) for text in (one, other)), key=len
    )
    short, long = ("".join(filter(has_kanji, text)) for text in texts)
    kanji = iter(long)
    same = [[char for char in text if not has_kanji(char)] for text in texts]
    return short != "" and same[0] == same[1] and all(char in kanji for char in short)


def times(reading: str, now: datetime) -> list[str]:
    """Dates and times of words such as きょう, ことし and いま.

    Examples
    --------
    >>> times("きょう", datetime(2026, 11, 19)), times("いま", datetime(2026, 11, 19, 9, 5))
    (['2026年11月19日', '11月19日', '2026/11/19', '2026-11-19', '令和8年11月19日', '木曜日'], ['9時5分', '9:05'])
    """
    if reading in _DAYS:
        day = now + timedelta(_DAYS[reading])
        short = f"{day.month}月{day.day}日"
        dates = [
            f"{day.year}年{short}",
            short,
            f"{day:%Y/%m/%d}",
            f"{day:%Y-%m-%d}",
            f"令和{day.year - REIWA}年{short}",
        ]
        return [*dates, f"{_WEEKDAYS[day.weekday()]}曜日"]
    if reading in _YEARS:
        year = now.year + _YEARS[reading]
        return [f"{year}年", f"令和{year - REIWA}年"]
    if reading in _MONTHS:
        months = 12 * now.year + now.month - 1 + _MONTHS[reading]
        return [f"{months % 12 + 1}月", f"{months // 12}年{months % 12 + 1}月"]
    return (
        [f"{now.hour}時{now.minute}分", f"{now.hour}:{now.minute:02}"]
        if reading in ("いま", "じこく")
        else []
    )


def numbers(reading: str) -> list[str]:
    """Other ways to write typed digits.

    Examples
    --------
    >>> numbers("1500"), numbers("007")
    (['1,500', '千五百', '一五〇〇', '１５００'], ['００７'])
    """
    if not (reading.isascii() and reading.isdigit()):
        return []
    value = int(reading)
    if reading[0] == "0" or value >= LARGEST:
        return [to_wide(reading)]
    return [text for text in ways_to_write(value).values() if text != reading]


@cache
def emoji() -> dict[str, list[str]]:
    """Emoji by reading."""
    lines = files("epigram.ime.typing").joinpath("emoji.tsv").read_text("utf-8").splitlines()
    return {reading: signs.split(" ") for reading, signs in (line.split("\t") for line in lines)}


def is_fleeting(reading: str, text: str, now: datetime) -> bool:
    """Whether a text holds only now or only for its digits, so that choosing it teaches nothing."""
    return text in times(reading, now) or text in numbers(reading)
