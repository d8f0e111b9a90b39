"""Training online (section 7): a model that learns a text part by part against exact training on the same text.

The stream is the training text of a split in parts of equal length. The first part is fitted; each further one is
learnt by ``LogLinearLM.partial_fit``, at a price chosen before. Words are those of the whole text from the start, so
that perplexities along the stream are of the same words.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np

from epigram.lm.loglinear.model import LogLinearLM
from epigram_papers.structured_lm.text import split_text


def online(
    *,
    data: str,
    split: int,
    words: int | None,
    order: int,
    penalty: str,
    strength: float,
    depth_weight: float,
    parts: int,
    exact_parts: list[int],
    tolerance: float,
) -> dict[str, Any]:
    """Test perplexity and CPU seconds after each part, online, and of exact training on all text so far."""
    train, test = split_text(data, split, words)
    cuts = np.searchsorted(train.sentence_ptr, np.linspace(0, train.n_tokens, parts + 1)).tolist()
    price = {"penalty": penalty, "strength": strength, "depth_weight": depth_weight}
    settings: dict[str, Any] = {
        "order": order,
        **price,
        "tolerance": tolerance,
        "vocabulary": train.vocabulary,
    }
    model, rows = LogLinearLM(**settings), []
    for number, (first, last) in enumerate(pairwise(cuts), 1):
        part = list(train.take(first, last).sentences())
        began = time.process_time()
        model.partial_fit(part) if number > 1 else model.fit(part)
        seconds = time.process_time() - began
        row = {"words": int(train.sentence_ptr[last]), "online": model.perplexity(test), "seconds": seconds}
        if number in exact_parts:
            began = time.process_time()
            exact = LogLinearLM(**settings).fit(list(train.take(0, last).sentences()))
            row |= {"exact": exact.perplexity(test), "exact_seconds": time.process_time() - began}
        rows.append(row)
    return {"rows": rows, "order": order, **price}
