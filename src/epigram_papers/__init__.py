"""``epigram reproduce``: the experiments of three papers, run here, with the papers' figures beside ours.

Each paper is a package of its own (:mod:`~epigram_papers.sgd_l1`, :mod:`~epigram_papers.structured_lm`,
:mod:`~epigram_papers.lasso_ime`): pure functions that run one experiment each, the paper's figures typed in
with their source, and the sentences that compare them. Each exports ``plan(quick)``, the expected CPU seconds of its
experiments by name, and ``run(runner)``, which runs them and returns the report. :mod:`~epigram_papers.runner` runs the
experiments and keeps what is finished; :mod:`~epigram_papers.report` is what they hand over to be written down.
"""
