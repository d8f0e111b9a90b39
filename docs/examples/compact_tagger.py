"""
A tagger whose weights are mostly zero
======================================

A CRF learns to find phrases. The cumulative penalty keeps few weights and costs hardly any
accuracy; without it (clipping) many more stay alive.
"""

import matplotlib.pyplot as plt

from epigram import SGD, CRFTagger, read_columns
from epigram.datasets import fetch

folder = fetch("sample")
train, labels = read_columns(folder / "train.txt").split(-1)
test, truth = read_columns(folder / "test.txt").split(-1)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for method in ("cumulative", "clipping"):
    tagger = CRFTagger("chunking", l1=0.5, solver=SGD(passes=15, method=method)).fit(train, labels)
    passes = [entry["iteration"] for entry in tagger.history_]
    left.plot(passes, [entry["objective"] for entry in tagger.history_], label=method)
    right.plot(passes, [entry["nonzero"] for entry in tagger.history_], label=method)
    print(f"{method}: accuracy {tagger.score(test, truth):.4f}, {tagger.history_[-1]['nonzero']:,} weights")
left.set(xlabel="passes", ylabel="objective", yscale="log")
right.set(xlabel="passes", ylabel="weights that are not zero")
right.legend()
plt.show()

# %%
# What the compact one does with a new sentence:

sentence = [["The", "DT"], ["old", "JJ"], ["dog", "NN"], ["sleeps", "VBZ"], [".", "."]]
print(CRFTagger("chunking", l1=0.5).fit(train, labels).predict([sentence]))
