"""Rerankers: choose the best candidate of an n-best list (Gao et al. 2006)."""

from epigram.rerank.explain import Explanation
from epigram.rerank.features import FeatureSpace
from epigram.rerank.formats import parse_nbest, read_nbest, write_nbest
from epigram.rerank.learners import Lasso, Perceptron, Softmax
from epigram.rerank.lm_features import with_language_models
from epigram.rerank.losses import ExponentialLoss, SoftmaxLoss
from epigram.rerank.metrics import bleu, compare, error_rate, mean_reciprocal_rank, ndcg, sentence_accuracy
from epigram.rerank.model import Progress, Reranker
from epigram.rerank.nbest import NBest
from epigram.rerank.pairs import Pairs
from epigram.rerank.paths import LearnedPath, RerankProblem, Trial
from epigram.rerank.stagewise import FSLR, BLasso, Boosting, FBoosting, WeightPath

__all__ = [
    "FSLR",
    "BLasso",
    "Boosting",
    "Explanation",
    "ExponentialLoss",
    "FBoosting",
    "FeatureSpace",
    "Lasso",
    "LearnedPath",
    "NBest",
    "Pairs",
    "Perceptron",
    "Progress",
    "RerankProblem",
    "Reranker",
    "Softmax",
    "SoftmaxLoss",
    "Trial",
    "WeightPath",
    "bleu",
    "compare",
    "error_rate",
    "mean_reciprocal_rank",
    "ndcg",
    "parse_nbest",
    "read_nbest",
    "sentence_accuracy",
    "with_language_models",
    "write_nbest",
]
