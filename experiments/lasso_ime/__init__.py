"""Gao, Suzuki and Yu 2006, "Approximation Lasso Methods for Language Modeling" (COLING/ACL 2006), run again.

Table 1 (character error rates of adaptation methods on four domains and three sizes), Figures 3 to 8 (L1 norms and
test errors along the paths of BLasso, F-Boosting, FSLR and boosting, with and without headword bigrams), tests of
significance, and the sentences of section 5 that say what they show.

Where we differ: the data (the paper's corpora are not free; each domain has a stand-in of the same kind), the
background (9.0 M words instead of 36 M), the lexicon, headwords (words that begin with kanji or katakana). MAP is run
in the paper's form, with P_a smoothed by Kneser-Ney, and with the words of the adaptation text in its lexicon. Beside
the paper: exact L1 and L2 penalties, minimum sample risk.
"""

from experiments.lasso_ime.report import plan, run

__all__ = ["plan", "run"]
