"""Choose the best of several candidates: "Approximation Lasso Methods for Language Modeling", Gao et al. 2006."""

from epigram.rerank.explain import Explanation
from epigram.rerank.features import FeatureSpace
from epigram.rerank.formats import parse_nbest, read_nbest, write_nbest
from epigram.rerank.language_models import with_language_models
from epigram.rerank.learners import Lasso, Perceptron, Ridge, Softmax
from epigram.rerank.metrics import compare, error_rate, sentence_accuracy
from epigram.rerank.model import Progress, Reranker
from epigram.rerank.nbest import NBest
from epigram.rerank.problem import ExponentialLoss, Pairs, RerankProblem, SoftmaxLoss
from epigram.rerank.ranking import bleu, mean_reciprocal_rank, ndcg
from epigram.rerank.sample_risk import MinimumSampleRisk, SampleRisk
from epigram.rerank.walk import Trial, Walk
from epigram.solvers.stagewise import FSLR, BLasso, Boosting, FBoosting, WeightPath

__all__ = [
    "FSLR",
    "BLasso",
    "Boosting",
    "Explanation",
    "ExponentialLoss",
    "FBoosting",
    "FeatureSpace",
    "Lasso",
    "MinimumSampleRisk",
    "NBest",
    "Pairs",
    "Perceptron",
    "Progress",
    "RerankProblem",
    "Reranker",
    "Ridge",
    "SampleRisk",
    "Softmax",
    "SoftmaxLoss",
    "Trial",
    "Walk",
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
