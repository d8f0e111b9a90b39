"""Proximal operators of tree norms against SPAMS proximalTree, one thread, CPU seconds, same run.

The forest is the context tries (order 13) of as much newswire as gives a million nodes, a tree per predicted
word. Weights are random and equal along chains, so that the collapsed tree of tree-linf is exact; it is
compared with SPAMS on the trie, which knows no collapse. Results must agree to 1e-10 before a time counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import spams
from scipy.sparse import csc_matrix

from epigram.datasets import fetch
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.penalties import TreeL2, TreeLinf, prox
from epigram.penalties.tree import Forest, collapse

N_NODES = 1_000_000
KAPPA = 0.02


def context_forest() -> np.ndarray:
    """Parents in pre-order, which SPAMS needs."""
    text = Corpus.read(fetch("ptb", "ptb.train.txt.gz"))
    low, high = 1000, text.n_sentences
    while high - low > 50:
        middle = (low + high) // 2
        tree = ContextTree.grow(Positions.of(text.take(0, middle)), order=13)
        low, high = (middle, high) if tree.n_pairs < N_NODES else (low, middle)
    tree = ContextTree.grow(Positions.of(text.take(0, high)), order=13)
    return Forest.of(tree.pair_parent, preorder=True).parent


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    call()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def main() -> int:
    parents = context_forest()
    n = parents.size
    rng = np.random.default_rng(0)
    chain = collapse(parents, np.zeros(n))[3]
    w = np.abs(rng.normal(size=chain.max() + 1))[chain]
    parent_t, w_t, count, node = collapse(parents, w)
    print(f"trie {n:,} nodes, collapsed tree {parent_t.size:,} nodes, kappa {KAPPA}")

    tree = {
        "eta_g": np.r_[0.0, np.ones(n)],
        "groups": csc_matrix((np.ones(n, dtype=bool), (np.arange(1, n + 1), parents + 1)), (n + 1, n + 1)),
        "own_variables": np.arange(n + 1, dtype=np.int32),
        "N_own_variables": np.ones(n + 1, dtype=np.int32),
    }
    u = np.asfortranarray(np.r_[1.0, w][:, None])

    def rival(kind: str) -> np.ndarray:
        return spams.proximalTree(u, tree, False, lambda1=KAPPA, regul=f"tree-{kind}", numThreads=1)[1:, 0]

    l2, linf, on_tree = TreeL2(1.0, parents), TreeLinf(1.0, parents), TreeLinf(1.0, parent_t, count)
    out, out_t, steps = np.empty(n), np.empty(w_t.size), KAPPA / count
    cases = [
        ("tree-l2, trie (Alg. 2)", "l2", lambda: l2.prox(w, KAPPA, out), lambda: out, 0.25),
        ("tree-linf, trie (Alg. 4)", "linf", lambda: linf.prox(w, KAPPA, out), lambda: out, None),
        (
            "tree-linf, collapsed (Alg. 4)",
            "linf",
            lambda: on_tree.prox(w_t, steps, out_t),
            lambda: out_t[node],
            0.1,
        ),
    ]
    missed = 0
    print(f"{'operator':32s} {'CPU s':>8s} {'SPAMS s':>8s} {'ratio':>7s} {'bar':>6s}")
    for name, kind, ours, result, bar in cases:
        expected = rival(kind)
        ours()
        worst = float(np.abs(result() - expected).max())
        if worst > 1e-10:
            print(f"{name}: differs from SPAMS by {worst:.2e}")
            return 1
        mine, theirs = seconds(ours), seconds(lambda kind=kind: rival(kind), 3)
        ratio = mine / theirs
        verdict = "" if bar is None else "ok" if ratio <= bar else "missed"
        missed += verdict == "missed"
        print(f"{name:32s} {mine:8.4f} {theirs:8.3f} {ratio:7.3f} {bar or '':>6} {verdict}")
    pivot = seconds(lambda: prox(parent_t, w_t, KAPPA, "linf", multiplicity=count, method="pivot"), 1)
    print(f"{'tree-linf, collapsed (Alg. 3)':32s} {pivot:8.4f}   (random pivots, for comparison)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
