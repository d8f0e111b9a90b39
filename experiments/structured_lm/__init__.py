"""Nelakanti, Archambeau, Mairal, Bach, Bouchard 2013: structured penalties for log-linear language models.

Run: Figures 2a to 2c (perplexity and size of l1, squared l2, tree-l2 and tree-linf models of orders 2 to 12 on four
splits of AP news), Figures 3a and 3b (time of the proximal steps), k of section 4.5, Table 1 (growth of memory and
time), weights of either sign against positive ones, one pass over a large text, and training online.

Where we differ from the paper: training is exact, to a tolerance, where the paper makes stochastic passes; the splits
are our own cut of AP news, with a vocabulary of about 8,000 words; the collapsed tree joins contexts only where this
changes nothing (:mod:`epigram.lm.loglinear.tree`); the large text is English novels.
"""

from experiments.structured_lm.report import plan, run

__all__ = ["plan", "run"]
