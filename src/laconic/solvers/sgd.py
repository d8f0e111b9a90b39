"""SGD for l1-regularised log-linear models: naive, clipping, lazy, cumulative. Tsuruoka et al. 2009.

Rates: inverse eta_k = eta_0 / (1 + k/N) (5), exponential eta_k = eta_0 decay^(k/N) (6, whose rate must
fall: the printed sign of the exponent is a slip). Penalty totals: u_k = C/N sum eta_t (3). The steps
themselves are the loss's, in one kernel call a pass. Differs: ``eta0="auto"`` calibrates eta_0 on a sample.
"""
