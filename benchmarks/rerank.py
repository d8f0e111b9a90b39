"""Speed and memory of the reranker on the 8,000 tanaka lists: BLasso steps, growth with the data, reranking.

Unit: CPU seconds of this process, the least of several runs. Rival: the same BLasso step with every loss
recomputed from all pairs, which is what the inverted index and the lazy heap save.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _data import DATA
from epigram.rerank import (
    BLasso,
    ExponentialLoss,
    FeatureSpace,
    NBest,
    Pairs,
    Reranker,
    WeightPath,
    read_nbest,
)

STEPS = 20_000


def data_folder() -> Path:
    return DATA / "ime" / "nbest" / "tanaka"


def cpu(work: Callable[[], Any], repeats: int = 3) -> float:
    """Least CPU seconds of some runs."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def steps(loss: ExponentialLoss, n: int) -> WeightPath:
    return WeightPath.joined(list(BLasso(steps=n).walk(loss, WeightPath.empty())))


def naive_step(pairs: Pairs, loss: ExponentialLoss, eps: float) -> int:
    """One forward choice of equation (12) with all losses from all pairs (vectorised, one pass over the index)."""
    q = np.exp(-loss.margins(np.zeros(pairs.n_weights)))
    entry_feature = pairs.slot_feature[pairs.pair_slot]
    entry_value = pairs.slot_value[pairs.pair_slot]
    weight = np.repeat(q, np.diff(pairs.pair_ptr))
    falls = [
        np.bincount(entry_feature, weight * -np.expm1(-entry_value * delta), minlength=pairs.n_weights)
        for delta in (eps, -eps)
    ]
    return int(np.maximum(*falls).argmax())


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def big_lists(train: NBest) -> NBest:
    """72,000 lists of 20 by repetition."""
    full = np.flatnonzero(np.diff(train.list_ptr) == 20)
    return train.take(np.resize(full, 72_000).tolist())


def main() -> int:
    folder = data_folder()
    if not folder.is_dir():
        print(f"no data sets at {folder}; set EPIGRAM_DATA", file=sys.stderr)
        return 2
    began = time.process_time()
    train = read_nbest(folder / "train.txt.gz")
    reading = time.process_time() - began
    rows: list[tuple[str, float, str, float, bool]] = []

    per_step = {}
    for n in (1000, 2000, 4000, 8000):
        lists = train.take(range(n))
        space = FeatureSpace.collect(lists)
        pairs = Pairs.of(lists, space)
        loss = ExponentialLoss(pairs)
        steps(loss, 10)
        per_step[n] = cpu(lambda loss=loss: steps(loss, STEPS)) / STEPS  # type: ignore[misc]
    seconds = per_step[8000] * STEPS
    naive = cpu(lambda: naive_step(pairs, loss, 0.5), 2) * STEPS
    rows.append((f"{STEPS:,} BLasso steps, 8,000 lists, CPU s", seconds, "<=", 4.0, seconds <= 4.0))
    rows.append(("  naive recomputation, CPU s (rival)", naive, "", float("nan"), True))
    rows.append(("  rival / ours", naive / seconds, ">", 1.0, naive > seconds))
    growth = per_step[8000] / per_step[1000]
    rows.append(("time per step, 8,000 lists / 1,000 lists", growth, "<", 8.0, growth < 8.0))
    for n, value in per_step.items():
        rows.append((f"  microseconds per step, {n:,} lists", 1e6 * value, "", float("nan"), True))

    model = Reranker(BLasso(steps=5000)).fit(train)
    model.predict(train)
    rate = len(train) / cpu(lambda: model.predict(train), 5)
    rows.append(("lists reranked per CPU s (read before)", rate, ">=", 20_000.0, rate >= 20_000))
    rows.append(("  lists read per CPU s (gzip text)", len(train) / reading, "", float("nan"), True))

    many = big_lists(train)
    steps(ExponentialLoss(Pairs.of(many, FeatureSpace.collect(many))), 1000)
    memory = peak_gigabytes()
    rows.append(("72,000 lists of 20, peak GB", memory, "<", 4.0, memory < 4.0))

    print(f"{'what':46s} {'measured':>12s} {'bar':>12s}")
    for what, value, sign, bar, ok in rows:
        limit = f"{sign} {bar:,.4g}" if sign else ""
        verdict = ("ok" if ok else "missed") if sign else ""
        print(f"{what:46s} {value:12,.4g} {limit:>12s} {verdict}")
    return 0 if all(ok for *_, ok in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
