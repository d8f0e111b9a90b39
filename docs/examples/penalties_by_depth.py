"""
What a penalty does to a tree
=============================

The same text, the same contexts, four penalties: how many weights stay alive at each depth of the context tree.
"""

import matplotlib.pyplot as plt
import numpy as np

from epigram import LogLinearLM
from epigram.datasets.sample import plain

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for penalty in ("l1", "l2", "tree-l2", "tree-linf"):
    model = LogLinearLM(order=5, penalty=penalty, strength=3.0, depth_weight=1.0, collapse=False)
    model.fit(plain("train"))
    depth = np.repeat(model.tree_.depth, np.diff(model.tree_.pair_ptr))
    alive = np.bincount(depth[model.weights_ != 0], minlength=6)
    axes.plot(np.arange(alive.size), alive, "o-", label=f"{penalty}: {model.perplexity(plain('test')):.1f}")
axes.set(xlabel="words in the context", ylabel="weights that are not zero", yscale="symlog")
axes.legend(title="penalty: perplexity")
plt.show()
