from epigram.classify.estimator import TextClassifier as TextClassifier
from epigram.classify.metrics import evaluate as evaluate
