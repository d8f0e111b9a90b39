"""Kneser-Ney from dictionaries of tuples, straight from the formulas. Slow and obvious.

Words are strings, ``<s>`` and ``</s>`` stand in the n-grams as they are written.
"""

from __future__ import annotations

from collections import Counter, defaultdict


class KneserNey:
    def __init__(self, sentences, vocabulary, order, modified, prune=None):
        self.vocabulary = vocabulary
        self.order = order
        prune = prune or [0] * order
        raw = [Counter() for _ in range(order + 1)]
        for sentence in sentences:
            tokens = ["<s>", *sentence, "</s>"]
            for end in range(1, len(tokens)):
                for n in range(1, min(order, end + 1) + 1):
                    raw[n][tuple(tokens[end - n + 1 : end + 1])] += 1
        while not raw[order]:
            order -= 1
        self.order = order
        self.counts = [Counter() for _ in range(order + 1)]
        self.counts[order] = raw[order]
        for n in range(1, order):
            for gram in raw[n + 1]:
                self.counts[n][gram[1:]] += 1
            for gram, count in raw[n].items():
                if gram[0] == "<s>":
                    self.counts[n][gram] = count
        self.kept = [
            {gram for gram, count in raw[n].items() if n == 1 or count > prune[n - 1]}
            for n in range(order + 1)
        ]
        self.d = [self.discount(Counter(counts.values()), modified) for counts in self.counts]
        self.after = defaultdict(list)
        for n in range(1, order + 1):
            for gram in self.counts[n]:
                self.after[gram[:-1]].append(gram)

    @staticmethod
    def discount(n, modified):
        y = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else 0.5
        if not modified:
            return [0, y, y, y]
        if n[1] and n[2] and n[3]:
            d = [0, *(k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3))]
            if min(d[1:]) > 0:
                return d
        return [0, 0.5, 1.0, 1.5]

    def p(self, context, word):
        """p(word | context), context a tuple; longer ones are cut to the order."""
        context = tuple(context)[max(0, len(context) - self.order + 1) :]
        n = len(context) + 1
        lower = self.p(context[1:], word) if context else 1 / len(self.vocabulary)
        grams = self.after[context]
        if not any(gram in self.kept[n] for gram in grams):
            return lower
        total = sum(self.counts[n][gram] for gram in grams)

        def taken(gram):
            count = self.counts[n][gram]
            return self.d[n][min(count, 3)] if gram in self.kept[n] else count

        gamma = sum(map(taken, grams)) / total
        gram = (*context, word)
        own = self.counts[n][gram] - taken(gram) if gram in self.kept[n] else 0
        return own / total + gamma * lower
