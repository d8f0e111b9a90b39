"""Discriminative adaptation: a reranker on 20-best lists made from the adaptation text (Gao et al. 2006, 5.1).

On top of an interpolated model the lists must not come from a model that has seen their sentences: the text is cut
in two, and each half is converted by the background adapted to the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from epigram.ime.adaptation import adapt_by_map
from epigram.ime.build import BIGRAM
from epigram.ime.decoder import Decoder
from epigram.ime.nbest import convert_text
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.model import BackoffModel
from epigram.rerank import NBest

N_BEST = 20


def crossed_lists(
    decoder: Decoder,
    model: BackoffModel,
    text: Corpus,
    held_out: Corpus | None,
    smoothing: str,
    k: int = N_BEST,
    tick: Callable[[], object] | None = None,
    bigram: float = BIGRAM,
) -> NBest:
    """Each half of ``text`` converted by a model adapted to the other half."""
    sentences = list(text.sentences())
    halves = [np.arange(part, len(sentences), 2) for part in range(2)]
    lists = []
    for mine, other in (halves, halves[::-1]):
        rest = Corpus.of([sentences[i] for i in other])
        adapted = adapt_by_map(decoder, model, rest, held_out, smoothing, bigram=bigram)
        lists.append(convert_text(adapted.decoder, [sentences[i] for i in mine], k, tick))
    return joined(lists)


def joined(parts: Sequence[NBest]) -> NBest:
    """Several sets of lists as one."""
    from epigram.rerank.nbest import Builder

    builder = Builder()
    for part in parts:
        for i in range(len(part)):
            reference = part.references[i]
            builder.begin(str(len(builder.ids) + 1), *(reference or (None, None)))
            for c in range(part.list_ptr[i], part.list_ptr[i + 1]):
                builder.candidate(part.words(c), part.texts[c], float(part.scores[c]), None)
    return builder.build()
