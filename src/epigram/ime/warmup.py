"""Compile the kernels of the input method by using each of them once."""

from __future__ import annotations


def warm() -> None:
    """Build, convert, list, adapt, score."""
    from epigram.ime.converter import KanaKanjiConverter

    converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし を 使う/つかう"])
    converter.convert("はしをつかう")
    converter.nbest("はしをつかう", 3)
    converter.segments("はし")
    converter.adapt([["箸/はし", "を"]] * 4)
    converter.decoder.scorer.log_probabilities(converter.model.vocabulary_.ids(["を"]))
