"""Signs and Latin abbreviations by their reading: ``かっこ`` as （, ``やじるし`` as →, ``えーぴーあい`` as API.

Signs are edges of the lattice that are seldom first and always offered; letters that are spelled out, two and more, are
written in capitals. Words of the lexicon with the same reading are as probable as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from epigram.ime.classes import ANY
from epigram.ime.numbers import OwnEdge

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
_LETTER = re.compile("|".join(sorted(LETTERS, key=lambda name: -len(name))))
_FIRST_OF_SIGN: dict[str, list[str]] = {}
for _reading in SIGNS:
    _FIRST_OF_SIGN.setdefault(_reading[0], []).append(_reading)


def signs_of(reading: str) -> list[str]:
    """The signs of a reading, and the abbreviation that it spells out.

    Examples
    --------
    >>> signs_of("すらっしゅ"), signs_of("しーぴーゆー"), signs_of("はし")
    (['/', '／'], ['CPU'], [])
    """
    return [edge.text for edge in edges(reading) if edge.start == 0 and edge.end == len(reading)]


def edges(reading: str) -> list[OwnEdge]:
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


_FIRST_OF_LETTER = frozenset(name[0] for name in LETTERS)
