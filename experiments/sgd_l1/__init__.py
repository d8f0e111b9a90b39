"""Tsuruoka, Tsujii and Ananiadou 2009: SGD for l1-regularised log-linear models with cumulative penalty.

Run: Tables 1 to 3 and Figures 3 to 6 on CoNLL-2000, JNLPBA, GENIA-POS, UD-EWT and a sample of the Wall Street Journal,
OWL-QN and four kinds of SGD, a row for our automatic settings, python-crfsuite beside them; and what section 5 wishes
for, constrained and adaptive training, on CoNLL-2000 and UD-EWT. Differs: the whole Wall Street Journal of Table 3 is
not free, GENIA, UD-EWT and the sample stand for it; JNLPBA's parts of speech and chunks come from taggers of ours; on
the large sets C is chosen on part of the sentences.
"""

from experiments.sgd_l1.report import plan, run

__all__ = ["plan", "run"]
