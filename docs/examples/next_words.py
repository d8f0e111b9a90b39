"""
What comes next, and why
========================

A log-linear language model adds one weight for each suffix of the context. So every probability can be taken apart.
"""

import matplotlib.pyplot as plt

from epigram import LogLinearLM
from epigram.datasets.sample import plain

model = LogLinearLM(order=4, strength=0.3, depth_weight=1.5, ridge=0.05).fit(plain("train"))
print(f"perplexity of other sentences: {model.perplexity(plain('test')):.1f}")

context = "in the"
words, probabilities = zip(*model.next_words(context, 10), strict=True)
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.barh(words[::-1], probabilities[::-1])
axes.set(xlabel="probability", title=f"after '{context}'")
plt.show()

# %%
# Which suffixes of the context speak for the first of them:

explanation = model.explain(context, words[0])
for term in explanation.terms:
    suffix = " ".join(term.context) or "(no context)"
    print(
        f"{suffix:12s} weight {term.weight:6.3f}, seen {term.count:4d} times, probability so far {term.probability:.3f}"
    )
