"""
An input method that adapts
===========================

Kana become text by a word trigram. A few sentences of a domain change what it prefers.
"""

import matplotlib.pyplot as plt

from epigram import KanaKanjiConverter
from epigram.datasets.sample import BACKGROUND, DOMAIN, READINGS, WORDS

converter = KanaKanjiConverter.build(BACKGROUND, WORDS)
for kana in list(READINGS)[:3]:
    print(kana, converter.convert(kana))

adapted = converter.adapt([line.split() for line in DOMAIN])

# %%
# How sure each is of what it writes for きのはし, and how many other ways it sees:

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, one in {"before": converter, "after adapting": adapted}.items():
    ways = one.nbest("きのはし", 6)
    print(name, [way.text for way in ways])
    axes.plot(range(1, len(ways) + 1), [way.score for way in ways], "o-", label=name)
axes.set(xlabel="candidate", ylabel="log-probability")
axes.legend()
plt.show()
