"""Numbers, dates, times, counters and money by their reading: is the wanted form among the first three?

    python benchmarks/ime_numbers.py MODEL

300 readings, written from the rules of Japanese numerals with their sound changes. The wanted form has digits; for
things counted by つ and for one or two people kanji will do; numbers of 1,000 and more may be grouped or use 万.
"""

from __future__ import annotations

import re
import sys

from epigram import KanaKanjiConverter

COUNTED = {
    "本": "いっぽん にほん さんぼん よんほん ごほん ろっぽん ななほん はっぽん きゅうほん じゅっぽん",
    "匹": "いっぴき にひき さんびき よんひき ごひき ろっぴき ななひき はっぴき きゅうひき じゅっぴき",
    "杯": "いっぱい にはい さんばい よんはい ごはい ろっぱい ななはい はっぱい きゅうはい じゅっぱい",
    "冊": "いっさつ にさつ さんさつ よんさつ ごさつ ろくさつ ななさつ はっさつ きゅうさつ じゅっさつ",
    "回": "いっかい にかい さんかい よんかい ごかい ろっかい ななかい はっかい きゅうかい じゅっかい",
    "個": "いっこ にこ さんこ よんこ ごこ ろっこ ななこ はっこ きゅうこ じゅっこ",
    "分": "いっぷん にふん さんぷん よんぷん ごふん ろっぷん ななふん はっぷん きゅうふん じゅっぷん",
    "枚": "いちまい にまい さんまい よんまい ごまい ろくまい ななまい はちまい きゅうまい じゅうまい",
    "歳": "いっさい にさい さんさい よんさい ごさい ろくさい ななさい はっさい きゅうさい じゅっさい",
    "人": "ひとり ふたり さんにん よにん ごにん ろくにん しちにん はちにん きゅうにん じゅうにん",
    "年": "いちねん にねん さんねん よねん ごねん ろくねん ななねん はちねん きゅうねん じゅうねん",
    "円": "いちえん にえん さんえん よえん ごえん ろくえん ななえん はちえん きゅうえん じゅうえん",
}
THINGS = "ひとつ ふたつ みっつ よっつ いつつ むっつ ななつ やっつ ここのつ"
MONTHS = "いち に さん し ご ろく しち はち く じゅう じゅういち じゅうに"
HOURS = "いち に さん よ ご ろく しち はち く じゅう じゅういち じゅうに"
DAYS = """
ついたち ふつか みっか よっか いつか むいか なのか ようか ここのか とおか じゅういちにち
じゅうににち じゅうさんにち じゅうよっか じゅうごにち じゅうろくにち じゅうしちにち
じゅうはちにち じゅうくにち はつか にじゅういちにち にじゅうににち にじゅうさんにち
にじゅうよっか にじゅうごにち にじゅうろくにち にじゅうしちにち にじゅうはちにち にじゅうくにち
さんじゅうにち さんじゅういちにち
"""
OTHERS = """
じゅういち 11|じゅうに 12|じゅうご 15|にじゅう 20|にじゅうさん 23|さんじゅうろく 36
よんじゅうに 42|ごじゅうご 55|ろくじゅうはち 68|ななじゅうなな 77|はちじゅうよん 84
きゅうじゅうきゅう 99|ひゃく 100|ひゃくに 102|ひゃくじゅう 110|ひゃくにじゅうご 125
にひゃく 200|にひゃくごじゅう 250|さんびゃく 300|さんびゃくろくじゅうご 365
よんひゃくきゅう 409|ごひゃく 500|ろっぴゃく 600|ななひゃくななじゅう 770
はっぴゃくはちじゅうはち 888|きゅうひゃくきゅうじゅうきゅう 999|せん 1000|せんに 1002
せんにひゃく 1200|にせん 2000|さんぜん 3000|よんせんごひゃく 4500|はっせん 8000
きゅうせんはっぴゃく 9800|いちまん 10000|いちまんにせん 12000|さんまんごせん 35000
じゅうまん 100000|じゅうにまん 120000|ひゃくまん 1000000|ひゃくごじゅうまん 1500000
いっせんまん 10000000|いちおく 100000000|にじゅうにおく 2200000000
ひゃくえん 100円|ひゃくごじゅうえん 150円|さんびゃくえん 300円|ごひゃくえん 500円
ろっぴゃくはちじゅうえん 680円|せんえん 1000円|せんにひゃくえん 1200円
せんきゅうひゃくはちじゅうえん 1980円|さんぜんえん 3000円|ごせんえん 5000円
いちまんえん 10000円|さんまんえん 30000円|じゅうまんえん 100000円
ひゃくまんえん 1000000円|にじゅうにおくえん 2200000000円
せんきゅうひゃくはちじゅうよねん 1984年|せんきゅうひゃくきゅうじゅうきゅうねん 1999年
にせんねん 2000年|にせんじゅういちねん 2011年|にせんにじゅうねん 2020年
にせんにじゅうろくねん 2026年|しょうわごじゅうねん 昭和50年|へいせいにじゅうねん 平成20年
れいわはちねん 令和8年|にじはん 2時半|さんじはん 3時半|くじはん 9時半|じゅうじはん 10時半
ごじじゅうごふん 5時15分|しちじさんじゅっぷん 7時30分|じゅうにじよんじゅうごふん 12時45分
にじゅうふん 20分|さんじゅっぷん 30分|よんじゅうごふん 45分|ろくじゅっぷん 60分
きゅうじゅっぷん 90分|にじかん 2時間|さんじかん 3時間|にじゅうよじかん 24時間|いちじかんはん 1時間半
じゅうびょう 10秒|さんじゅうびょう 30秒|だいいっかい 第1回|だいにかい 第2回|だいさんしょう 第3章
だいじゅっかい 第10回|だいにじゅういっかい 第21回|さんばんめ 3番目|ごばんめ 5番目|いちばん 1番
さんにんめ 3人目|にかいめ 2回目|ごじゅっぱーせんと 50%|ひゃくぱーせんと 100%
さんじゅうぱーせんと 30%|じゅっきろ 10キロ|ひゃくめーとる 100メートル|ごきろめーとる 5キロメートル
さんじゅうど 30度|さんじゅうはちど 38度|にじゅっさい 20歳|さんじゅっさい 30歳
ろくじゅうごさい 65歳|にじゅうにん 20人|さんじゅうにん 30人|ひゃくにん 100人|せんにん 1000人
にじゅっこ 20個|さんじゅっぽん 30本|じゅうにほん 12本|ひゃっぽん 100本|ひゃっかい 100回
さんびゃっかい 300回|にじゅっかい 20回|さんかげつ 3か月|ろっかげつ 6か月|にしゅうかん 2週間
さんしゅうかん 3週間|とおかかん 10日間|みっかかん 3日間|いっしゅうかん 1週間|にじゅうねん 20年
さんじゅうねん 30年|ひゃくねん 100年|ごじゅうねん 50年|じゅうねんかん 10年間|さんねんかん 3年間
にねんせい 2年生|ろくねんせい 6年生|さんだい 3台|じゅうだい 10台|にじゅうまい 20枚
ひゃくまい 100枚|よんじゅうはちじかん 48時間|じゅうごばん 15番|にちょう 2丁|さんちょうめ 3丁目
ごかい 5階|じゅっかい 10階|にじゅうごど 25度|ひゃくななじゅっせんち 170センチ
ろくじゅっきろ 60キロ
"""
KANJI = str.maketrans("0123456789", "〇一二三四五六七八九")


def cases() -> list[tuple[str, str]]:
    """Readings and the form that is wanted."""
    out = [
        (reading, f"{n}{counter}")
        for counter, readings in COUNTED.items()
        for n, reading in enumerate(readings.split(), 1)
    ]
    out += [(reading, f"{n}つ") for n, reading in enumerate(THINGS.split(), 1)]
    out += [(f"{reading}がつ", f"{n}月") for n, reading in enumerate(MONTHS.split(), 1)]
    out += [(f"{reading}じ", f"{n}時") for n, reading in enumerate(HOURS.split(), 1)]
    out += [(f"らいげつの{reading}", f"来月の{n}日") for n, reading in enumerate(DAYS.split(), 1)]
    rows = [row.split() for line in OTHERS.split("\n") for row in line.split("|") if row.strip()]
    return (out + [(reading, wanted) for reading, wanted in rows])[:300]


def accepted(wanted: str) -> set[str]:
    """The wanted form, and what will do for it."""
    found = re.search("[0-9]+", wanted)
    assert found is not None, wanted
    digits, before, after = found[0], wanted[: found.start()], wanted[found.end() :]
    value = int(digits)
    ways = [digits]
    if value >= 1000:
        ways.append(f"{value:,}")
    if value >= 10_000:
        high, rest = divmod(value, 10_000)
        large = f"{high}万" if high < 10_000 else f"{high // 10_000}億"
        ways.append(large + (str(rest) if rest else ""))
    if value == 10_000_000:
        ways.append("1千万")
    if (after == "つ") or (after == "人" and value < 3):
        ways.append(digits.translate(KANJI))
    ends = {after, after.replace("か月", "ヶ月"), after.replace("%", "パーセント")}
    return {before + way + end for way in ways for end in ends}


def main() -> None:
    """Convert every reading and print the misses."""
    if len(sys.argv) < 2:
        print("usage: python benchmarks/ime_numbers.py MODEL. Nothing measured.")
        return
    converter = KanaKanjiConverter.load(sys.argv[1])
    good = 0
    for reading, wanted in (table := cases()):
        first = [way.text for way in converter.nbest(reading, 3)]
        if accepted(wanted) & set(first):
            good += 1
        else:
            print(f"missed {reading} {wanted}: {' '.join(first)}")
    share = 100 * good / len(table)
    print(f"{good} of {len(table)} among the first three: {share:.1f} % (bar 97)")
    sys.exit(0 if share >= 97 else 1)


if __name__ == "__main__":
    main()
