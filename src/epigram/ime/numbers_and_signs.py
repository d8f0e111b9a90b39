"""Numbers, signs and abbreviations by their reading: ``やじるし`` as →, ``えーぴーあい`` as API, numbers in many forms.

``せんきゅうひゃくはちじゅうよん`` is 1984, 1,984, 千九百八十四, 一九八四. Numbers below ten, and those that the text
has, are words like any other; here are the others. Each way to write a number is an edge of the lattice, as probable
as numbers are in the text, times the share that the text gives to such a form, times one in ten for each digit. Sound
changes before a counter (``じゅっ``, ``ひゃっ``) are read too. Numbers below ten with a counter, and the sound changes
between them (いっぽん 1本, さんびき 3匹), are edges as well, in digits.

Signs are edges of the lattice that are seldom first and always offered; letters that are spelled out, two and more, are
written in capitals. Words of the lexicon with the same reading are as probable as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from epigram.ime.trigram import ANY

FORMS = ("digits", "grouped", "mixed", "kanji", "places", "wide")
"""15, 1,500, 1億2000万, 千五百, 一五〇〇, and full-width digits."""
_ONES = {
    "いち": 1, "いっ": 1, "に": 2, "さん": 3, "よん": 4, "よ": 4, "し": 4, "ご": 5, "ろく": 6, "ろっ": 6,
    "なな": 7, "しち": 7, "はち": 8, "はっ": 8, "きゅう": 9, "く": 9,
}  # fmt: skip
_TENS = ("じゅう", "じゅっ", "じっ")
_HUNDREDS = ("ひゃく", "ひゃっ", "びゃく", "びゃっ", "ぴゃく", "ぴゃっ")
_THOUSANDS = ("せん", "ぜん")
_LARGE = {"まん": 10**4, "おく": 10**8, "ちょう": 10**12, "おっ": 10**8}
_UNITS = dict.fromkeys(_TENS, 10) | dict.fromkeys(_HUNDREDS, 100) | dict.fromkeys(_THOUSANDS, 1000)
_PIECE = re.compile("|".join(sorted([*_ONES, *_UNITS, *_LARGE], key=len, reverse=True)))
_DIGITS = "〇一二三四五六七八九"
_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
LARGEST = 10**16
LONGEST_COUNTED = 9
COUNTED = -2.7
"""Log-probability of a counter after a number."""
_PLAIN = ("いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう")
_BEFORE_K = ("いっ", "に", "さん", "よん", "ご", "ろっ", "なな", "はっ", "きゅう")
_BEFORE_S = ("いっ", "に", "さん", "よん", "ご", "ろく", "なな", "はっ", "きゅう")
_HOURS = ("いち", "に", "さん", "よ", "ご", "ろく", "しち", "はち", "く")
_KINDS = {
    _PLAIN: {"枚": "まい", "円": "えん", "番": "ばん", "台": "だい", "度": "ど", "倍": "ばい", "名": "めい"},
    _BEFORE_K: {"回": "かい", "階": "かい", "個": "こ", "か月": "かげつ"},
    _BEFORE_S: {"冊": "さつ", "歳": "さい", "週間": "しゅうかん"},
    _HOURS: {"時": "じ", "時間": "じかん"},
}
_CHANGING = {"本": "ほん ぼん ぽん", "匹": "ひき びき ぴき", "杯": "はい ばい ぱい", "分": "ふん ぷん ぷん"}
"""After most numbers, after 3, and after 1, 6 and 8."""
SIGNS = {
    "かっこ": "（）「」『』【】〔〕〈〉《》［］｛｝",
    "まるかっこ": "（）",
    "かぎかっこ": "「」『』",
    "すみつきかっこ": "【】",
    "だいかっこ": "［］",
    "ちゅうかっこ": "｛｝",
    "やまかっこ": "〈〉《》",
    "やじるし": "→←↑↓↔⇒⇔⇐",
    "みぎ": "→",
    "ひだり": "←",
    "うえ": "↑",
    "した": "↓",
    "まる": "○●◎。",
    "にじゅうまる": "◎",
    "ばつ": "×✕",
    "しかく": "□■◇◆",
    "さんかく": "△▲▽▼",
    "ひしがた": "◇◆",
    "ほし": "☆★※",
    "ほしじるし": "☆★",
    "こめ": "※",
    "こめじるし": "※",
    "おんぷ": "♪♫♬",
    "はーと": "♡♥",
    "ゆうびん": "〒",
    "ゆうびんばんごう": "〒",
    "でんわ": "☎",
    "おんせん": "♨",
    "なかぐろ": "・",
    "なかてん": "・",
    "さんてんりーだー": "…",
    "てんてん": "…‥",
    "てん": "、・…",
    "くてん": "。",
    "とうてん": "、",
    "くとうてん": "、。",
    "だっしゅ": "―—–",
    "なみ": "〜～",
    "なみせん": "〜",
    "から": "〜",
    "はいふん": "-‐",
    "あんだーばー": "_＿",
    "すらっしゅ": "/／",
    "ばっくすらっしゅ": "\\＼",
    "ころん": ":：",
    "せみころん": ";；",
    "こんま": ",，",
    "かんま": ",，",
    "ぴりおど": ".．",
    "どっと": ".．",
    "びっくり": "！",
    "びっくりまーく": "！",
    "はてな": "？",
    "はてなまーく": "？",
    "ぎもんふ": "？",
    "かんたんふ": "！",
    "あっとまーく": "@＠",
    "あすたりすく": "*＊",
    "あんぱさんど": "&＆",
    "あんど": "&＆",
    "しゃーぷ": "#＃♯",
    "いげた": "#＃",
    "ぱーせんと": "%％",
    "ちるだ": "~〜",
    "ぱいぷ": "|｜",
    "たてぼう": "|｜",
    "ぷらす": "+＋",
    "たす": "+＋",
    "まいなす": "-−",
    "ひく": "−",
    "ぷらすまいなす": "±",
    "かける": "×",
    "わる": "÷",
    "いこーる": "=＝",
    "のっといこーる": "≠",
    "にありーいこーる": "≒",
    "しょうなり": "<＜≦",
    "だいなり": ">＞≧",
    "むげん": "∞",
    "むげんだい": "∞",
    "るーと": "√",
    "しぐま": "Σσ",
    "せきぶん": "∫",
    "ゆえに": "∴",
    "なぜなら": "∵",
    "ど": "°",
    "どしー": "℃",
    "えん": "¥￥",
    "どる": "$＄",
    "ゆーろ": "€",
    "ぽんど": "£",
    "せんと": "¢",
    "しーじるし": "©",
    "かぶしきがいしゃ": "㈱",
    "おなじ": "々〃",
    "くりかえし": "々〃ゝヽ",
    "おどりじ": "々〃ゝヽ",
    "あるふぁ": "αΑ",
    "べーた": "βΒ",
    "がんま": "γΓ",
    "でるた": "δΔ",
    "おめが": "ωΩ",
    "みゅー": "μ",
    "ぱい": "π",
    "しめ": "〆",
}
LETTERS = {
    "えー": "A", "えい": "A", "びー": "B", "しー": "C", "でぃー": "D", "いー": "E", "えふ": "F", "じー": "G",
    "えいち": "H", "えっち": "H", "あい": "I", "じぇー": "J", "じぇい": "J", "けー": "K", "けい": "K", "える": "L",
    "えむ": "M", "えぬ": "N", "おー": "O", "ぴー": "P", "きゅー": "Q", "あーる": "R", "えす": "S", "てぃー": "T",
    "てぃ": "T", "ゆー": "U", "ぶい": "V", "だぶりゅー": "W", "だぶる": "W", "えっくす": "X", "わい": "Y",
    "ぜっと": "Z",
}  # fmt: skip
SIGN, NEXT_SIGN = -15.0, -0.4
"""Log-probability of the first sign of a reading, and what each further one has less."""
SPELLED, LETTER = -9.0, -2.6
"""Log-probability of a word that is spelled out, and of each of its letters."""
_LETTER = re.compile("|".join(sorted(LETTERS, key=len, reverse=True)))
_FIRST_OF_SIGN = {
    first: [name for name in SIGNS if name[0] == first] for first in {name[0] for name in SIGNS}
}
_FIRST_OF_LETTER = frozenset(name[0] for name in LETTERS)


class Number(NamedTuple):
    """A number in a reading: where it ends, and its value."""

    end: int
    value: int


def read_numbers(reading: str, start: int) -> Iterator[Number]:
    """All numbers of ten and more that begin at a place of a reading.

    Examples
    --------
    >>> [(reading[: n.end], n.value) for reading in ("にじゅうにおく",) for n in read_numbers(reading, 0)]
    [('にじゅう', 20), ('にじゅうに', 22), ('にじゅうにおく', 2200000000)]
    >>> [n.value for n in read_numbers("ごにん", 0)]
    []
    """
    done, group, one, last_unit, last_large = 0, 0, 0, 10_000, LARGEST
    at = start
    while match := _PIECE.match(reading, at):
        piece = match[0]
        if piece in _ONES:
            if one:
                return
            one = _ONES[piece]
        elif piece in _UNITS:
            unit = _UNITS[piece]
            if unit >= last_unit:
                return
            group, one, last_unit = group + (one or 1) * unit, 0, unit
        else:
            large = _LARGE[piece]
            if large >= last_large or not group + one:
                return
            done, group, one, last_unit, last_large = done + (group + one) * large, 0, 0, 10_000, large
        at = match.end()
        value = done + group + one
        if value >= 10:
            yield Number(at, value)


def ways_to_write(value: int) -> dict[str, str]:
    """A number in each form, where forms differ.

    Examples
    --------
    >>> ways_to_write(15)
    {'digits': '15', 'kanji': '十五', 'places': '一五', 'wide': '１５'}
    >>> ways_to_write(12_000)["mixed"], ways_to_write(1984)["kanji"], ways_to_write(1984)["places"]
    ('1万2000', '千九百八十四', '一九八四')
    """
    digits = str(value)
    out = {
        "digits": digits,
        "grouped": f"{value:,}",
        "mixed": _with_large(value, str),
        "kanji": _with_large(value, _kanji_group),
        "places": "".join(_DIGITS[int(digit)] for digit in digits),
        "wide": digits.translate(_WIDE),
    }
    if len(digits) > 4:
        del out["places"]
    return {form: text for form, text in out.items() if form == "digits" or text != digits}


def _with_large(value: int, write: Callable[[int], str]) -> str:
    out = ""
    for large, name in ((10**12, "兆"), (10**8, "億"), (10**4, "万"), (1, "")):
        part, value = divmod(value, large)
        if part:
            out += write(part) + name
    return out


def _kanji_group(value: int) -> str:
    """A number below ten thousand as 千二百三十四."""
    out = ""
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, unit)
        if digit:
            out += ("" if digit == 1 and name else _DIGITS[digit]) + name
    return out


class OwnEdge(NamedTuple):
    """A piece of a reading with a text of its own: a way to write a number, a word of the user."""

    start: int
    end: int
    text: str
    logp: float
    word_class: int


@dataclass(frozen=True)
class NumberForms:
    """How probable numbers are, which share each form has, and the class of words each form belongs to.

    Examples
    --------
    >>> forms = NumberForms()
    >>> [edge.text for edge in forms.edges("じゅうご")][:2]
    ['10', '十']
    """

    logp: float = -6.0
    shares: dict[str, float] = field(
        default_factory=lambda: {
            "digits": 0.6, "grouped": 0.1, "mixed": 0.05, "kanji": 0.2, "places": 0.02, "wide": 0.03
        }
    )  # fmt: skip
    classes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def learn(cls, words: Iterable[tuple[str, str, int, int]]) -> NumberForms:
        """From surface, reading, count and class of the words of a text.

        Examples
        --------
        >>> forms = NumberForms.learn([("15", "じゅうご", 8, 3), ("十五", "じゅうご", 1, 4), ("本", "ほん", 1, 5)])
        >>> forms.shares["digits"] > forms.shares["kanji"] > forms.shares["wide"], forms.classes["digits"]
        (True, 3)
        """
        counts, classes, total = dict.fromkeys(FORMS, 0.5), dict[str, dict[int, int]](), 0
        for surface, reading, count, word_class in words:
            total += count
            form = form_of(surface, reading)
            if form is not None:
                counts[form] += count
                of_form = classes.setdefault(form, {})
                of_form[word_class] = of_form.get(word_class, 0) + count
        mass = sum(counts.values())
        if mass < 10:
            return cls()
        usual = {form: max(of_form, key=lambda c: of_form[c]) for form, of_form in classes.items()}
        return cls(float(np.log(mass / total)), {form: n / mass for form, n in counts.items()}, usual)

    def edges(self, reading: str) -> list[OwnEdge]:
        """Every way to write every number of a reading."""
        out = []
        one_counted = self.logp + COUNTED + float(np.log(self.shares["digits"] / 10))
        for start, char in enumerate(reading):
            if char not in _FIRST:
                continue
            for end, value in read_numbers(reading, start):
                ways = ways_to_write(value)
                spelled = self.logp - len(str(value)) * float(np.log(10))
                for form, text in ways.items():
                    logp = spelled + float(np.log(self.shares[form]))
                    out.append(OwnEdge(start, end, text, logp, self.classes.get(form, ANY)))
            for end in range(start + 2, min(len(reading), start + LONGEST_COUNTED) + 1):
                for text in counted().get(reading[start:end], ()):
                    out.append(OwnEdge(start, end, text, one_counted, ANY))
        return out


def form_of(surface: str, reading: str) -> str | None:
    """The form in which a word writes the number it is read as, if it is one of ten and more."""
    if not _LOOKS_LIKE.match(surface):
        return None
    for number in read_numbers(reading, 0):
        if number.end == len(reading):
            ways = ways_to_write(number.value)
            return next((form for form, text in ways.items() if text == surface), None)
    return None


_FIRST = frozenset(piece[0] for piece in (*_ONES, *_UNITS))
_LOOKS_LIKE = re.compile("[0-9０-９〇一二三四五六七八九十百千万億兆,]+$")


@cache
def counted() -> dict[str, list[str]]:
    """Readings of numbers below ten with a counter, and how digits write them.

    Examples
    --------
    >>> counted()["さんぼん"], counted()["いっかい"], counted()["よんぷん"]
    (['3本'], ['1回', '1階'], ['4分'])
    """
    out: dict[str, list[str]] = {}
    for numbers, counters in _KINDS.items():
        for value, number in enumerate(numbers, 1):
            for surface, reading in counters.items():
                out.setdefault(number + reading, []).append(f"{value}{surface}")
    for surface, readings in _CHANGING.items():
        soft, after_three, hard = readings.split()
        for value, number in enumerate(_BEFORE_K, 1):
            changed = {1: hard, 3: after_three, 6: hard, 8: hard}.get(value, soft)
            if surface == "分" and value == 4:
                changed = hard
            out.setdefault(number + changed, []).append(f"{value}{surface}")
    return out


def signs_of(reading: str) -> list[str]:
    """The signs of a reading, and the abbreviation that it spells out.

    Examples
    --------
    >>> signs_of("すらっしゅ"), signs_of("しーぴーゆー"), signs_of("はし")
    (['/', '／'], ['CPU'], [])
    """
    return [edge.text for edge in sign_edges(reading) if edge.start == 0 and edge.end == len(reading)]


def sign_edges(reading: str) -> list[OwnEdge]:
    """Every sign and abbreviation of a reading."""
    found = []
    for start, first in enumerate(reading):
        for name in _FIRST_OF_SIGN.get(first, ()):
            if reading.startswith(name, start):
                for rank, sign in enumerate(SIGNS[name]):
                    logp = SIGN + rank * NEXT_SIGN
                    found.append(OwnEdge(start, start + len(name), sign, logp, ANY))
        if first in _FIRST_OF_LETTER:
            for end, letters in _spelled(reading, start):
                found.append(OwnEdge(start, end, letters, SPELLED + LETTER * len(letters), ANY))
    return found


def _spelled(reading: str, start: int) -> Iterator[tuple[int, str]]:
    """Ends and letters of what is spelled out from a place: two letters and more, one of them drawn out."""
    letters, at = "", start
    while match := _LETTER.match(reading, at):
        letters, at = letters + LETTERS[match[0]], match.end()
        if len(letters) > 1 and "ー" in reading[start:at]:
            yield at, letters
