"""Make n-best lists for a reranker from conversions: tokens are ``surface/reading``, the base score is log P."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from epigram.ime.decoder import Conversion, Decoder
from epigram.ime.lexicon import split_token
from epigram.rerank import NBest
from epigram.rerank.nbest import Builder


def as_lists(
    lists: Iterable[Sequence[Conversion]], references: Sequence[Sequence[str]] | None = None
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
    """The k best conversions of the readings of tokenised sentences, with the sentences as references."""

    def ways() -> Iterable[list[Conversion]]:
        for tokens in sentences:
            yield decoder.k_best("".join(split_token(token)[1] for token in tokens), k)
            if tick is not None:
                tick()

    return as_lists(ways(), sentences)
