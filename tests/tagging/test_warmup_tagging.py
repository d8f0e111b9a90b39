"""After the warm-up nothing of the taggers is left to compile."""

from __future__ import annotations

from typing import Any

from numba.core import event

from epigram import LBFGS, OWLQN, SGD, CRFTagger, MaxentClassifier, MaxentTagger
from epigram.tagging import evaluate
from epigram.tagging.formats import parse_columns
from epigram.tagging.warmup import warm
from reference.chain_data import TEMPLATE, features, part


def test_real_work_compiles_nothing_more() -> None:
    warm()
    rows, labels = part("train", 20)
    X: Any = features(rows)
    text = "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in rows)
    with event.install_recorder("numba:compile") as record:
        columns = parse_columns(text.encode(), "text", "conll")
        for solver in (SGD(passes=1), SGD("lazy", passes=1, batch_size=3), SGD("naive", passes=1)):
            CRFTagger("chunking", solver=solver).fit(columns, labels)
        tagger = CRFTagger(TEMPLATE, constrain="iob2", solver=OWLQN(max_iterations=2), threads=2)
        tagger.fit(rows, labels, dev=(rows, labels))
        tagger = CRFTagger.from_bytes(tagger.to_bytes())
        evaluate(labels, tagger.predict(rows))
        tagger.predict(rows, allowed=[None] * len(rows))
        tagger.marginals(rows)
        tagger.predict_nbest(rows, 3)
        CRFTagger(l1=0.0, l2=1.0, solver=LBFGS(max_iterations=2)).fit(X, labels).predict(X)
        MaxentTagger("pos", solver=SGD(passes=1)).fit(rows, labels).predict(rows)
        MaxentClassifier().fit([[0.0, 1.0], [1.0, 0.5]], ["a", "b"]).predict([[0.0, 1.0]])
        CRFTagger().partial_fit(X, labels)
    assert [data.data["dispatcher"].py_func.__name__ for _, data in record.buffer if data.is_start] == []
