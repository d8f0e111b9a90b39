"""Compile the kernels of the context tree, its solvers and the class-factored model: tiny models of every penalty."""

from __future__ import annotations


def warm() -> None:
    """Fit, score and explain models of a few words."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.classes import WordClasses
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.solvers.proximal import FISTA, StochasticProximal

    text = ["a b a b c", "b a c", "c c b a"]
    WordClasses.learn(Corpus.of(text), 3)
    strength = {"strength": 0.1, "depth_weight": 1.1, "ridge": 0.1}
    solvers = (FISTA(max_iterations=2), StochasticProximal(passes=2))
    for penalty in ("elastic", "tree-l2", "tree-linf"):
        for solver in solvers:
            model = LogLinearLM(order=3, penalty=penalty, solver=solver, **strength)  # type: ignore[arg-type]
            model.fit(text, valid=text)
        model.distribution("a")
    model.partial_fit(text)
    for solver in solvers:
        factored = ClassFactoredLM(classes=3, order=4, budget=0, solver=solver).fit(text)
    factored.partial_fit(text).distribution("a")
