"""``epigram reproduce``: the experiments of three papers, run here, with the papers' figures beside ours.

Each paper is a package of its own (:mod:`~epigram.reproduce.sgd_l1`, :mod:`~epigram.reproduce.structured_lm`,
:mod:`~epigram.reproduce.lasso_ime`): pure functions that run one experiment each, the paper's figures typed in
with their source, and the sentences that compare them. :mod:`~epigram.reproduce.lab` runs the experiments and keeps
what is finished; :mod:`~epigram.reproduce.report` is what they hand over to be written down.
"""
