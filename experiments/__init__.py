"""Experiments of three papers, run by ``python -m experiments``, with the papers' figures beside ours.

Each paper is a package of its own (:mod:`~experiments.sgd_l1`, :mod:`~experiments.structured_lm`,
:mod:`~experiments.lasso_ime`): pure functions that run one experiment each, the paper's figures typed in
with their source, and the sentences that compare them. Each exports ``plan(quick)``, the expected CPU seconds of its
experiments by name, and ``run(runner)``, which runs them and returns the report. :mod:`~experiments.runner` runs the
experiments and keeps what is finished; :mod:`~experiments.report` is what they hand over to be written down.
"""
