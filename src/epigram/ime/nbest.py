"""Make n-best lists for a reranker from conversions: tokens are ``surface/reading``, the base score is log P."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from epigram.ime.decoder import Conversion, Decoder
from epigram.ime.lexicon import split_token
from epigram.rerank import NBest
from epigram.rerank.nbest import Builder
from epigram.resuming import piece


def as_lists(
    lists: Iterable[Sequence[Conversion | Candidate]], references: Sequence[Sequence[str]] | None = None
) -> NBest:
    """Lists of conversions, with the tokens of each reference where known.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["橋/はし を 渡る/わたる", "箸/はし"]).decoder
    >>> lists = as_lists([decoder.k_best("はし", 2)], [["橋/はし"]])
    >>> lists.texts, lists.errors("cer").tolist()
    (['箸', '橋'], [1.0, 0.0])
    """
    builder = Builder()
    for number, ways in enumerate(lists):
        if references is None:
            builder.begin(str(number + 1), None, None)
        else:
            tokens = list(references[number])
            builder.begin(str(number + 1), "".join(split_token(token)[0] for token in tokens), tokens)
        for way in ways:
            builder.candidate(way.tokens, way.text, way.score, None)
    return builder.build()


def convert_text(
    decoder: Decoder, sentences: Sequence[Sequence[str]], k: int, tick: Callable[[], object] | None = None
) -> NBest:
    """The k best conversions of the readings of tokenised sentences, with the sentences as references.

    ``tick`` is called after each sentence; True ends the work with the lists so far.
    """

    with piece(f"{k} best of {len(sentences)} sentences") as kept:
        saved = (kept.result or kept.state or {"found": []})["found"]
        found, stop = [[Candidate(*way) for way in ways] for ways in saved], False
        for tokens in sentences[len(found) :]:
            best = decoder.k_best("".join(split_token(token)[1] for token in tokens), k)
            found.append([Candidate(way.tokens, way.text, way.score) for way in best])
            stop = tick is not None and bool(tick())
            kept.save({"found": found}, stop=stop)
            if stop:
                break
        kept.finish({"found": found}, stop)
    return as_lists(found, sentences)


class Candidate(NamedTuple):
    """What a list keeps of a conversion."""

    tokens: list[str]
    text: str
    score: float
