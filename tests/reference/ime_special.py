"""Numbers, signs and spelled-out letters of a reading, by regular expressions (_core/ime_special.c)."""

from __future__ import annotations

import math
import re

from epigram.ime.numbers import COUNTED, FORMS, NumberForms, SpecialEdge, counted
from epigram.ime.signs import LETTER, LETTERS, NEXT_SIGN, SIGN, SIGNS, SPELLED

ONES = {
    "いち": 1, "いっ": 1, "に": 2, "さん": 3, "よん": 4, "よ": 4, "し": 4, "ご": 5, "ろく": 6, "ろっ": 6,
    "なな": 7, "しち": 7, "はち": 8, "はっ": 8, "きゅう": 9, "く": 9,
}  # fmt: skip
UNITS = {
    **dict.fromkeys(("じゅう", "じゅっ", "じっ"), 10),
    **dict.fromkeys(("ひゃく", "ひゃっ", "びゃく", "びゃっ", "ぴゃく", "ぴゃっ"), 100),
    **dict.fromkeys(("せん", "ぜん"), 1000),
}
LARGE = {"まん": 10**4, "おく": 10**8, "ちょう": 10**12, "おっ": 10**8}


def longest(words):
    return re.compile("|".join(sorted(words, key=len, reverse=True)))


PIECE, NAME = longest([*ONES, *UNITS, *LARGE]), longest(LETTERS)


def read_numbers(reading, start):
    done, group, one, last_unit, last_large = 0, 0, 0, 10_000, 10**16
    while match := PIECE.match(reading, start):
        piece, start = match[0], match.end()
        if piece in ONES:
            if one:
                return
            one = ONES[piece]
        elif piece in UNITS:
            if UNITS[piece] >= last_unit:
                return
            last_unit = UNITS[piece]
            group, one = group + (one or 1) * last_unit, 0
        else:
            if LARGE[piece] >= last_large or not group + one:
                return
            last_large = LARGE[piece]
            done, group, one, last_unit = done + (group + one) * last_large, 0, 0, 10_000
        if done + group + one >= 10:
            yield start, done + group + one


def in_groups(value, write):
    out = ""
    for large, name in ((10**12, "兆"), (10**8, "億"), (10**4, "万"), (1, "")):
        part, value = divmod(value, large)
        out += write(part) + name if part else ""
    return out


def in_kanji(value):
    out = ""
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, unit)
        if digit:
            out += ("" if digit == 1 and name else "〇一二三四五六七八九"[digit]) + name
    return out


def ways_to_write(value):
    digits = str(value)
    texts = (
        digits, f"{value:,}", in_groups(value, str), in_groups(value, in_kanji),
        "".join("〇一二三四五六七八九"[int(digit)] for digit in digits) if len(digits) < 5 else digits,
        "".join(chr(ord(digit) + 0xFEE0) for digit in digits),
    )  # fmt: skip
    ways = zip(FORMS, texts, strict=True)
    return {form: text for form, text in ways if form == "digits" or text != digits}


def special_edges(reading, numbers: NumberForms):
    found, one = [], numbers.logp + COUNTED + math.log(numbers.shares["digits"] / 10)
    for start in range(len(reading)):
        for end, value in read_numbers(reading, start):
            for form, text in ways_to_write(value).items():
                logp = numbers.logp - len(str(value)) * math.log(10) + math.log(numbers.shares[form])
                found.append(SpecialEdge(start, end, text, logp, numbers.classes.get(form, 0)))
        rests = [reading[start:end] for end in range(start + 1, len(reading) + 1)]
        found += [
            SpecialEdge(start, start + len(r), text, one, 0) for r in rests for text in counted().get(r, ())
        ]
        for name, signs in SIGNS.items():
            if reading.startswith(name, start):
                ranked = enumerate(signs)
                found += [
                    SpecialEdge(start, start + len(name), s, SIGN + k * NEXT_SIGN, 0) for k, s in ranked
                ]
        letters, at = "", start
        while match := NAME.match(reading, at):
            letters, at = letters + LETTERS[match[0]], match.end()
            if len(letters) > 1 and "ー" in reading[start:at]:
                found.append(SpecialEdge(start, at, letters, SPELLED + LETTER * len(letters), 0))
    return found
