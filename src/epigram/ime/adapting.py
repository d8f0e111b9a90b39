"""One door to all ways of adapting a converter: ``map``, ``map-kn``, a learner's name, or both joined by ``+``.

The held-out part (a tenth of the text where none is given) chooses the weight of the background and the step of
the learner. After that nothing is refitted on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from epigram.errors import InputError
from epigram.ime.adaptation import HELD_OUT, SMOOTHINGS, adapt_by_map, cross_entropy
from epigram.ime.nbest import convert_text
from epigram.ime.reranking import N_BEST, crossed_lists, fit_reranker
from epigram.lm.corpus import Corpus
from epigram.rerank.learners import LEARNERS

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter


def parse_method(method: str) -> tuple[str | None, str | None]:
    """Interpolation and learner of a method's name.

    Examples
    --------
    >>> parse_method("map-kn+blasso"), parse_method("boosting"), parse_method("map")
    (('map-kn', 'blasso'), (None, 'boosting'), ('map', None))
    """
    smoothing, learner = None, None
    for part in method.split("+"):
        if part in SMOOTHINGS and smoothing is None and learner is None:
            smoothing = part
        elif part in LEARNERS and learner is None:
            learner = part
        else:
            known = ", ".join([*SMOOTHINGS, *LEARNERS])
            raise InputError(f"unknown method {method!r}; use one of {known}, or two as in map-kn+blasso")
    return smoothing, learner


def adapt(
    converter: KanaKanjiConverter,
    text: Sequence[Sequence[str]],
    dev: Sequence[Sequence[str]] | None = None,
    method: str = "map-kn",
    callback: Callable[[str, float], None] | None = None,
) -> KanaKanjiConverter:
    """A new converter; corrections of the old one stay. ``callback`` hears what is done, and how far it is.

    Examples
    --------
    >>> from epigram.ime.converter import KanaKanjiConverter
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる"] * 4 + ["箸/はし を 使う/つかう"])
    >>> adapted = converter.adapt([["箸/はし", "だ"]] * 20)
    >>> converter.convert("はし"), adapted.convert("はし")
    ('橋', '箸')
    """
    from epigram.ime.converter import KanaKanjiConverter

    smoothing, learner = parse_method(method)
    if converter.reranker is not None:
        raise InputError("this converter was reranked already; adapt the one it was made from")
    if not text:
        raise InputError("no sentences to adapt to")
    tell = callback or (lambda what, share: None)
    train, held_out = list(text), list(dev) if dev else None
    if held_out is None:
        cut = len(train) - max(1, round(HELD_OUT * len(train)))
        if cut < 1:
            raise InputError(f"{len(train)} sentence is too few to adapt to; give at least 2")
        train, held_out = train[:cut], train[cut:]
    corpus, held = Corpus.of(train), Corpus.of(held_out)
    decoder, model = converter.decoder, converter.model
    fit: dict[str, object] = {
        **converter.fit_, "adapted_to": len(train), "held_out": len(held_out),
        "cross_entropy": cross_entropy(model, corpus),
    }  # fmt: skip
    if smoothing is not None:
        tell("interpolating", 0.0)
        adapted = adapt_by_map(decoder, model, corpus, held, smoothing)
        decoder, fit["background_weight"] = adapted.decoder, adapted.weight
        fit["words"], fit["ngrams"] = len(decoder.lexicon) - 1, adapted.model.n_ngrams
    reranker = None
    if learner is not None:
        done = 0

        def tick() -> None:
            nonlocal done
            done += 1
            tell("making n-best lists", done / (len(train) + len(held_out)))

        if smoothing is None:
            lists = convert_text(decoder, train, N_BEST, tick)
        else:
            lists = crossed_lists(converter.decoder, model, corpus, held, smoothing, tick=tick)
        held_lists = convert_text(decoder, held_out, N_BEST, tick)
        tell(f"learning ({learner})", 0.0)
        reranker = fit_reranker(
            learner, lists, held_lists, lambda state: tell(learner, state.step / state.steps)
        )
        fit["reranker_step"], fit["reranker_weights"] = reranker.step_, int((reranker.weights_ != 0).sum())
    settings = {**converter.settings, "method": method}
    return KanaKanjiConverter(decoder, reranker, settings, fit, converter.journal.lessons)
