"""Kana layout of Japanese keyboards (JIS X 6002): each key is a kana.

Keys are given by the characters that they have on a Japanese keyboard. A voiced mark joins the kana before it.
"""

from __future__ import annotations

import unicodedata

_ROWS = {
    "1234567890-^\\": "ぬふあうえおやゆよわほへー",
    "qwertyuiop@[": "たていすかんなにらせ\u3099\u309a",
    "asdfghjkl;:]": "ちとしはきくまのりれけむ",
    "zxcvbnm,./": "つさそひこみもねるめ",
    "#$%&'()~EZ<>?_|{}+*=": "ぁぅぇぉゃゅょをぃっ、。・ろー「」れけほ",
}
KEYS = {key: kana for keys, row in _ROWS.items() for key, kana in zip(keys, row, strict=True)}


def from_kana_keys(typed: str) -> str:
    """Convert keys of the kana layout to hiragana; keeps other text.

    Examples
    --------
    >>> from_kana_keys("t@Zb4"), from_kana_keys("f["), from_kana_keys("あ@")
    ('がっこう', 'ぱ', 'あ゛')
    """
    text = unicodedata.normalize("NFC", "".join(KEYS.get(key, key) for key in typed))
    return text.translate({0x3099: "゛", 0x309A: "゜"})
