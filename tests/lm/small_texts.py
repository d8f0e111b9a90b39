"""Strategies for small random texts, and their positions dealt out to several roots."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.tree import Positions

words = st.sampled_from("abc")
corpora = st.lists(st.lists(words, min_size=1, max_size=8), min_size=1, max_size=6)


def several_roots(corpus: Corpus, n_roots: int) -> Positions:
    """The same positions, dealt out to roots by their number."""
    at = Positions.of(corpus)
    root = (np.arange(at.target.size) * 7 % n_roots).astype(np.int32)
    return Positions(at.history, at.end, at.length, at.target, at.n_targets, at.n_symbols, root, n_roots)


def made_up_text(n, seed=0):
    """Sentences of a random walk over words, each with a few favourite followers."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(60)]
    follower = np.random.default_rng(1).integers(0, 60, (60, 5))
    out = []
    for _ in range(n):
        at, sentence = int(rng.integers(60)), []
        for _ in range(int(rng.integers(3, 12))):
            sentence.append(words[at])
            at = int(follower[at, min(int(rng.geometric(0.4)) - 1, 4)])
        out.append(sentence)
    return out


TEXT, TEST = made_up_text(1000), made_up_text(200, seed=9)
WORDS = Corpus.of(TEXT).vocabulary
