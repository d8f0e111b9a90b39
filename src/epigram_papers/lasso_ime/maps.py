"""MAP adaptation: the background interpolated with a model of the adaptation text. Gao et al. 2006, section 5.2.

The paper estimates P_a by maximum likelihood over a lexicon that stays as it is: ``map``. We also smooth P_a by
Kneser-Ney (``map-kn``), and let the words of the adaptation text join the lexicon (``map+words``, ``map-kn+words``),
which the learners that rerank the background's lists cannot do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from epigram.ime.adapt import SMOOTHINGS, adapt_by_map, widened
from epigram.ime.build import Background
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Decoder
from epigram.ime.trigram import Scorer
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats
from epigram_papers.lasso_ime.judge import Judge


class Mapped:
    """One way of MAP, on the test sentences: errors of each, and what the report needs."""

    def __init__(
        self, decoder: Decoder, model: BackoffModel, text: Corpus, held: Corpus, smoothing: str, judge: Judge
    ) -> None:
        adapted = adapt_by_map(decoder, model, text, held, smoothing, bigram=0.0)
        converter = KanaKanjiConverter(adapted.decoder)
        texts = [converter.convert(reading) for reading in judge.readings]
        self.errors: Floats = judge.errors(texts)
        self.record: dict[str, Any] = {
            "cer": judge.rate(self.errors),
            "normalised": judge.normalised(texts),
            "background_weight": adapted.weight,
        }


def by_map(base: Background, text: Corpus, held: Corpus, judge: Judge) -> dict[str, Mapped]:
    """All four ways, by name."""
    return {
        name + ending: Mapped(decoder, model, seen, held, name, judge)
        for decoder, model, seen, ending in _lexicons(base, text)
        for name in SMOOTHINGS
    }


def _lexicons(base: Background, text: Corpus) -> Iterator[tuple[Decoder, BackoffModel, Corpus, str]]:
    """The lexicon as it is, where words it lacks are unknown, then with the words of the text."""
    yield base.decoder, base.model, text.with_vocabulary(base.model.vocabulary_), ""
    lexicon, model = widened(base.decoder, base.model, text)  # once for both kinds of smoothing
    yield Decoder(lexicon, Scorer.of(model), base.decoder.unknown), model, text, "+words"
