"""Rerankers of n-best lists: Gao, Suzuki and Yu 2006, "Approximation Lasso Methods for Language Modeling"."""

from laconic.rerank.features import FeatureSpace
from laconic.rerank.losses import ExponentialLoss, SoftmaxLoss
from laconic.rerank.nbest import NBest
from laconic.rerank.pairs import Pairs
from laconic.rerank.readers import read_nbest, write_nbest

__all__ = ["ExponentialLoss", "FeatureSpace", "NBest", "Pairs", "SoftmaxLoss", "read_nbest", "write_nbest"]
