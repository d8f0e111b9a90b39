"""
The path of a lasso
===================

BLasso adds features to a reranker one small step at a time, and takes some of them back.
Every point of the path is a model.
"""

import matplotlib.pyplot as plt
import numpy as np

from epigram import BLasso, Boosting, KanaKanjiConverter, Reranker
from epigram.datasets.sample import BACKGROUND, DOMAIN, WORDS
from epigram.ime.decoder import convert_text

converter = KanaKanjiConverter.build(BACKGROUND, WORDS)
lists = convert_text(converter.decoder, [line.split() for line in DOMAIN], 10)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for name, learner in {"BLasso": BLasso(steps=300, eps=0.1), "boosting": Boosting(steps=300)}.items():
    reranker = Reranker(learner, min_count=1).fit(lists)
    curves = reranker.curves_
    steps = np.arange(len(curves.losses))
    left.plot(steps, curves.losses, label=name)
    right.plot(steps, curves.l1_norms, label=name)
left.set(xlabel="steps", ylabel="exponential loss", yscale="log")
right.set(xlabel="steps", ylabel="L1 norm of the weights")
right.legend()
plt.show()
