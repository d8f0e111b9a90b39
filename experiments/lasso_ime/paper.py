"""Figures of Gao, Suzuki and Yu 2006, as printed, each with its place. The curves have no printed numbers."""

from __future__ import annotations

from typing import NamedTuple

CITATION = (
    "Jianfeng Gao, Hisami Suzuki and Bin Yu. 2006. Approximation Lasso Methods for Language Modeling. In "
    "Proceedings of COLING/ACL 2006, pages 225-232."
)


class Row(NamedTuple):
    """A row of Table 1: bits a word under the background, character error rates in percent."""

    entropy: float
    baseline: float
    map: float
    boosting: float
    blasso: float


SIZES = ("800", "8K", "72K")
"""Training sentences, Table 1, column 1."""

TABLE_1: dict[str, dict[str, Row]] = {
    "Yomiuri": {
        "800": Row(7.69, 3.70, 3.70, 3.13, 3.01),
        "8K": Row(7.69, 3.70, 3.69, 2.88, 2.85),
        "72K": Row(7.69, 3.70, 3.69, 2.78, 2.73),
    },
    "TuneUp": {
        "800": Row(7.95, 5.81, 5.81, 5.69, 5.63),
        "8K": Row(7.95, 5.81, 5.70, 5.48, 5.33),
        "72K": Row(7.95, 5.81, 5.47, 5.33, 5.05),
    },
    "Encarta": {
        "800": Row(9.30, 10.24, 9.60, 9.82, 9.18),
        "8K": Row(9.30, 10.24, 8.64, 8.54, 8.04),
        "72K": Row(9.30, 10.24, 7.98, 7.53, 7.20),
    },
    "Shincho": {
        "800": Row(9.40, 12.18, 11.86, 11.91, 11.79),
        "8K": Row(9.40, 12.18, 11.15, 11.09, 10.73),
        "72K": Row(9.40, 12.18, 10.76, 10.25, 9.64),
    },
}

STANDS_FOR = {"wikinews": "Yomiuri", "tanaka": "TuneUp", "mdn": "Encarta", "aozora": "Shincho"}
"""Our domain, and the paper's of the same kind (section 5.1)."""

KINDS = {"wikinews": "news", "tanaka": "everyday sentences", "mdn": "reference", "aozora": "novels"}

MINUTES = {"boosting": 15.0, "blasso": 30.0}
"""Training on 8K sentences, "around", on a 1.90 GHz Xeon MP (section 5.2)."""

TIMED_SENTENCES = 8000

LEVEL = 0.01
"""Of the significance of BLasso over boosting "on all test sets" (section 5.2)."""

FULL_OVERLAP = (25.0, 47.0)
"""Percent of headword bigrams all of whose instances are word bigrams too, by domain (section 5.3)."""

VARIABLE_OVERLAP = 20.0
"""Fewer percent of headword bigrams than this are sometimes word bigrams and sometimes not (section 5.3)."""
