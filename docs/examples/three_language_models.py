"""
Kneser-Ney, log-linear, class-factored
======================================

Three models of the same text. The class-factored one first chooses the class of the next word, then the
word in its class.
"""

import matplotlib.pyplot as plt

from epigram import ClassFactoredLM, Corpus, KneserNeyLM, LogLinearLM, WordClasses
from epigram.datasets.sample import plain

train, test = plain("train"), plain("test")
models = {
    "Kneser-Ney": KneserNeyLM(order=4).fit(train),
    "log-linear": LogLinearLM(order=4, strength=0.3, depth_weight=1.5, ridge=0.05).fit(train),
    "class-factored": ClassFactoredLM(order=4, classes=20).fit(train),
}
perplexities = {name: model.perplexity(test) for name, model in models.items()}

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bars = axes.barh(list(perplexities), list(perplexities.values()))
axes.bar_label(bars, fmt="%.1f")
axes.set(xlabel="perplexity of other sentences; lower is better")
plt.show()

# %%
# Classes that the text gives by itself:

classes = WordClasses.learn(Corpus.of(train), 20)
for k in range(1, 6):
    print(" ".join(classes.words(k)[:10]))
