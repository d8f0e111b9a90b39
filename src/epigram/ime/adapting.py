"""One door to all ways of adapting a converter: ``map``, ``map-kn``, a learner's name, or both joined by ``+``.

The held-out part (a tenth of the text where none is given) chooses the weight of the background and the step of
the learner. After that nothing is refitted on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from epigram.errors import InputError
from epigram.ime.adaptation import HELD_OUT, SMOOTHINGS, adapt_by_map, cross_entropy
from epigram.ime.lexicon import plain_token
from epigram.ime.nbest import convert_text
from epigram.ime.reranking import N_BEST, crossed_lists
from epigram.lm.corpus import Corpus
from epigram.rerank import Reranker
from epigram.rerank.learners import LEARNERS, make_learner

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
    callback: Callable[[str, float | None], None] | None = None,
    **settings: float | None,
) -> KanaKanjiConverter:
    """Return a new converter; corrections of the old one stay.

    ``settings`` are those of the learner (smoothing, shrinkage, eps, theta, steps); what is not given or None is
    chosen on the held-out text. ``callback`` is told what is being done and which share of it is done (None where
    the end is not known).

    Examples
    --------
    >>> from epigram.ime.converter import KanaKanjiConverter
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる"] * 4 + ["箸/はし を 使う/つかう"])
    >>> adapted = converter.adapt([["箸/はし", "だ"]] * 20)
    >>> converter.convert("はし"), adapted.convert("はし")
    ('橋', '箸')
    """
    from epigram.ime.converter import KanaKanjiConverter

    smoothing, name = parse_method(method)
    learner = _learner(name, settings)
    if converter.reranker is not None:
        raise InputError("this converter was reranked already; adapt the one it was made from")
    if not text:
        raise InputError("no sentences to adapt to")
    tell = callback or (lambda what, share: None)
    train = [list(map(plain_token, tokens)) for tokens in text]
    held_out = [list(map(plain_token, tokens)) for tokens in dev] if dev else None
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
        reranker = Reranker(learner).fit(
            lists, dev=held_lists,
            callback=lambda now: tell(
                f"{name} {now.trial}, step {now.step}", now.step / now.steps if now.steps else None
            ),
        )  # fmt: skip
        fit["reranker_step"], fit["reranker_weights"] = reranker.step_, int((reranker.weights_ != 0).sum())
        fit |= {f"reranker_{name}": getattr(reranker.learner_, name) for name in learner.ladders}
        fit["settings_tried"] = len(reranker.trials_)
    return KanaKanjiConverter(
        decoder, reranker, {**converter.settings, "method": method}, fit, converter.journal.lessons
    )


def _learner(name: str | None, settings: dict[str, float | None]) -> Any:
    """The learner of a method, if it has one; settings without one are refused."""
    if name is not None:
        return make_learner(name, **settings)
    given = [setting for setting, value in settings.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is a setting of learners; use a method with one, as map-kn+blasso")
    return None
