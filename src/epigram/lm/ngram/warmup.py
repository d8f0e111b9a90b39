"""Compile the n-gram kernels: one tiny model through every way it can be used."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np


def warm() -> None:
    """Count, smooth, score, prune, mix, write and read a model of a few words."""
    from epigram.lm.ngram.arpa import read_arpa, write_arpa
    from epigram.lm.ngram.interpolation import InterpolatedLM, merge
    from epigram.lm.ngram.kneser_ney import KneserNeyLM
    from epigram.lm.ngram.prune import prune
    from epigram.penalties import prox

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.write_text("a b a b c\nb a c\n")
        model = KneserNeyLM(order=3).fit(text)
        model.evaluate(text)
        model.distribution("a")
        model.advance(model.start(), "a")
        write_arpa(prune(model.backoff_, n_ngrams=8), Path(folder) / "arpa")
        merge(InterpolatedLM([model, read_arpa(Path(folder) / "arpa")], [0.5, 0.5]))
    for norm in ("l2", "linf"):
        prox(np.array([1, -1]), np.ones(2), np.ones(2), norm)
