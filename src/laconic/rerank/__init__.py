"""Rerankers of n-best lists: Gao, Suzuki and Yu 2006, "Approximation Lasso Methods for Language Modeling"."""

from laconic.rerank.explain import Explanation
from laconic.rerank.features import FeatureSpace
from laconic.rerank.learners import Lasso, Perceptron, Softmax
from laconic.rerank.losses import ExponentialLoss, SoftmaxLoss
from laconic.rerank.measures import compare, error_rate, sentence_accuracy
from laconic.rerank.model import Progress, Reranker
from laconic.rerank.nbest import NBest
from laconic.rerank.pairs import Pairs
from laconic.rerank.readers import read_nbest, write_nbest
from laconic.solvers.stagewise import FSLR, BLasso, Boosting, FBoosting, Path

__all__ = [
    "FSLR",
    "BLasso",
    "Boosting",
    "Explanation",
    "ExponentialLoss",
    "FBoosting",
    "FeatureSpace",
    "Lasso",
    "NBest",
    "Pairs",
    "Path",
    "Perceptron",
    "Progress",
    "Reranker",
    "Softmax",
    "SoftmaxLoss",
    "compare",
    "error_rate",
    "read_nbest",
    "sentence_accuracy",
    "write_nbest",
]
