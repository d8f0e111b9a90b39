"""``epigram lm map``: any language model as a file that is used where it lies."""

import json

import epigram
from epigram import KneserNeyLM, LogLinearLM
from epigram.lm.mixture import InterpolatedLM
from epigram.lm.ngram.backoff import BackoffModel

TEXT = ["a b c a", "b b c", "c a d", "d d a b"]


def test_model_files_and_arpa_files_are_mapped(run, tmp_path):
    kneser_ney = KneserNeyLM(2).fit(TEXT)
    loglinear = LogLinearLM(order=2, strength=0.1, depth_weight=1.2, ridge=0.01).fit(TEXT)
    InterpolatedLM([kneser_ney, loglinear], [0.5, 0.5]).save(tmp_path / "mixture")
    kneser_ney.save(tmp_path / "kn")
    run("lm", "export-arpa", tmp_path / "kn", tmp_path / "kn.arpa")
    for name, kind in (("mixture", InterpolatedLM), ("kn.arpa", BackoffModel)):
        out = run("lm", "map", tmp_path / name, "-o", tmp_path / "mapped", "--json")[1]
        assert json.loads(out)["bytes"] == (tmp_path / "mapped").stat().st_size
        assert isinstance(epigram.load(tmp_path / "mapped"), kind)
        before, after = (
            json.loads(run("lm", "next", path, "a", "--json")[1])
            for path in (tmp_path / name, tmp_path / "mapped")
        )
        assert before == after
