"""Log-linear models over all suffixes of the context. Nelakanti et al. 2013."""
