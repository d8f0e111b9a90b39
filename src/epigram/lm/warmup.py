"""Compile the kernels of the context tree, its solvers and the class-factored model: tiny models of every penalty."""

from __future__ import annotations


def warm() -> None:
    """Fit, score and explain models of a few words."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.classes import WordClasses
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM

    text = ["a b a b c", "b a c", "c c b a"]
    WordClasses.learn(Corpus.of(text), 3)
    price = {"strength": 0.1, "depth_weight": 1.1, "ridge": 0.1}
    for penalty in ("elastic", "tree-l2", "tree-linf"):
        for solver in ("fista", "stochastic"):
            model = LogLinearLM(order=3, penalty=penalty, solver=solver, max_iterations=2, **price)  # type: ignore[arg-type]
            model.fit(text, valid=text)
        model.distribution("a")
    model.partial_fit(text)
    for solver in ("fista", "stochastic"):
        factored = ClassFactoredLM(classes=3, order=4, budget=0, solver=solver, max_iterations=2).fit(text)
    factored.partial_fit(text).distribution("a")
