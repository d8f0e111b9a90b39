"""Compiles every kernel of the taggers by using each once on two tiny sentences."""

from __future__ import annotations

from epigram.solvers import OWLQN, SGD, AdaGrad, ProjectedSGD
from epigram.solvers.sgd import METHODS
from epigram.tagging import CRFTagger, MaxentClassifier, MaxentTagger
from epigram.tagging.formats import add_columns, parse_columns
from epigram.tagging.metrics import evaluate

TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1|suffix:1]\nU2:%x[0,0|substrings:3]\nB\nB1:%x[0,0]\n"


def warm() -> None:
    """Read, fit with every solver, tag in every way, score, store and write."""
    columns = parse_columns(b"a x B-A\nb x O\n\nb y B-A\nc y I-A\n", "warmup", "conll")
    parse_columns(b"a b\n", "warmup", "text")
    X, labels = columns.split(-1)
    y = [["B-A", "O"], ["B-A", "I-A"]]
    for method in METHODS:
        solver = SGD(method, passes=1, batch_size=1 + (method == "cumulative"))
        CRFTagger(TEMPLATE, l1=0.01, solver=solver).fit(X, labels)
    CRFTagger(TEMPLATE, l1=0.01, solver=AdaGrad(passes=1)).fit(X, labels)
    CRFTagger(TEMPLATE, l1=0.0, solver=ProjectedSGD(1.0, passes=1, project_every=1)).fit(X, labels)
    CRFTagger(TEMPLATE, l1=0.01, solver=OWLQN(max_iterations=1)).fit(X, y)
    tagger = CRFTagger(TEMPLATE, l1=0.01, solver=SGD(passes=1)).fit(X, labels, dev=(X, labels))
    tagger = CRFTagger.from_bytes(tagger.to_bytes())
    tagger.marginals(X)
    tagger.predict_nbest(X, 2)
    MaxentTagger("U0:%x[0,0]\n", l1=0.01, solver=SGD(passes=1)).fit(X, labels).predict(X)
    MaxentClassifier().fit([{"a": 0.5}, ["b"]], [0, 1]).predict([["a"]])
    CRFTagger(l1=0.01).partial_fit([[["a"], ["b"]]], [["x", "y"]])
    predicted = tagger.predict(X)
    evaluate(y, predicted)
    "".join(add_columns(columns, [[label for sentence in predicted for label in sentence]]))
