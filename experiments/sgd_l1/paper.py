"""The figures of Tsuruoka, Tsujii and Ananiadou 2009, typed in from the paper: Tables 1 to 3, and section 4.1.

Times are on Xeon 2.13 GHz processors. Objectives are L_w / N, to be maximised.
"""

from __future__ import annotations

from dataclasses import dataclass

CITATION = (
    "Yoshimasa Tsuruoka, Jun'ichi Tsujii and Sophia Ananiadou. 2009. Stochastic Gradient Descent Training for "
    "L1-regularized Log-linear Models with Cumulative Penalty. In Proceedings of ACL-IJCNLP 2009, pages 477-485."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of one of the paper's tables."""

    passes: int
    objective: float
    active: int
    seconds: int
    score: float


METHODS = {
    "owl-qn": "OWL-QN",
    "naive": "SGD-L1 (Naive)",
    "clipping": "SGD-L1 (Clipping + Lazy-Update)",
    "cumulative": "SGD-L1 (Cumulative)",
    "exponential": "SGD-L1 (Cumulative + Exponential-Decay)",
}

TABLE_1 = {
    "owl-qn": Row(160, -1.583, 18_109, 598, 93.62),
    "naive": Row(30, -1.671, 455_651, 1_117, 93.64),
    "clipping": Row(30, -1.671, 87_792, 144, 93.65),
    "cumulative": Row(30, -1.653, 28_189, 149, 93.68),
    "exponential": Row(30, -1.622, 23_584, 148, 93.66),
}
"""CoNLL-2000 chunking: F-score on the test data."""

TABLE_2 = {
    "owl-qn": Row(161, -2.448, 30_710, 2_253, 71.76),
    "naive": Row(30, -2.537, 1_032_962, 4_528, 71.20),
    "clipping": Row(30, -2.538, 279_886, 585, 71.20),
    "cumulative": Row(30, -2.479, 31_986, 631, 71.40),
    "exponential": Row(30, -2.443, 25_965, 631, 71.63),
}
"""NLPBA 2004 named entities: F-score on the test data."""

TABLE_3 = {
    "owl-qn": Row(124, -1.941, 50_870, 5_623, 97.16),
    "naive": Row(30, -2.013, 2_142_130, 18_471, 97.18),
    "clipping": Row(30, -2.013, 323_199, 1_680, 97.18),
    "cumulative": Row(30, -1.987, 62_043, 1_777, 97.19),
    "exponential": Row(30, -1.954, 51_857, 1_774, 97.17),
}
"""Parts of speech of the Wall Street Journal: accuracy on the test data."""

TABLES = {
    "conll2000": TABLE_1,
    "jnlpba": TABLE_2,
    "genia-pos": TABLE_3,
    "ud-ewt": TABLE_3,
    "wsj-sample": TABLE_3,
}

PASSES = 30
"""Over the training data in SGD, for the tables and when rates are chosen, section 4.1."""

RATES = (1.0, 0.5, 0.2, 0.1)
"""eta_0 tried, section 4.1."""

DECAYS = (0.9, 0.85, 0.8)
"""alpha tried at that eta_0, section 4.1."""

RULE_OF_THUMB = 0.85
"""alpha that "always produced near best results in 30 passes", section 5."""

RATE_LADDER = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DECAY_LADDER = (0.975, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
"""Where to go on, in the steps of the paper's grids, if the best value lies at an edge of them."""

CRFSUITE_SECONDS = 382
"""CRFsuite 0.4 on the features of Table 1, Xeon 3.0 GHz, reported in section 4.1."""
