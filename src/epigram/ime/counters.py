"""Small numbers with their counters, and the sound changes between them: いっぽん 1本, さんびき 3匹, はっさつ 8冊."""

from __future__ import annotations

from functools import cache

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
