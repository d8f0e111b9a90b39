"""What a page cannot reproduce is named, by Python and by JavaScript."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_node import answers, built, stored

from epigram import CRFTagger, InputError, SegmentTagger
from epigram.features.cell_functions import CellFunction
from epigram.storage import ModelFile
from epigram.web.export import export_page
from epigram.web.support import obstacles

X = [[("The",), ("cat",), ("ran",)], [("a",), ("dog",)]] * 3
Y = [["B-N", "I-N", "O"], ["B-N", "I-N"]] * 3


def test_models_without_trouble_have_no_obstacles(tmp_path: Path) -> None:
    for template in ("pos", "pos+", "chunking", "ner+"):
        header = CRFTagger(template, l1=0.1)
        assert header is not None
    file = ModelFile(
        "tagger", {"kind": "crf", "template": "U:%x[0,0|match:^[a-z\\d]+$]/%x[0,0|lower]\n# |in:x\nB"}, {}
    )
    assert obstacles(file) == []


@built
def test_both_languages_refuse_the_same_taggers(tmp_path: Path) -> None:
    (tmp_path / "places.txt").write_text("city\tnew york\n")
    (tmp_path / "in.txt").write_text(f"U:%x[0,0]\nU1:%x[0,0|in:{tmp_path}/places.txt]\nB\n")
    refused = {
        "segments": SegmentTagger("U:%x[0,0]\nS:%x[all,0]\n", l1=0.01),
        "phrases": CRFTagger(str(tmp_path / "in.txt"), l1=0.01),
        "boundaries": CRFTagger("U:%x[0,0|match:\\bc]\nB\n", l1=0.01),
        "groups": CRFTagger("U:%x[0,0|match:(?i:c)]\nB\n", l1=0.01),
    }
    for name, tagger in refused.items():
        path = tmp_path / f"{name}.epigram"
        stored(tagger.fit(X, Y), path)
        with pytest.raises(InputError, match="a page cannot reproduce"):
            export_page(path, tmp_path / "page")
        (error,) = answers(path, check=False)
        assert "page" in error, (name, error)
    assert not (tmp_path / "page").exists()


def test_patterns_of_the_built_in_templates_are_read() -> None:
    assert CellFunction.parse("match:^[^a-z]+$")("AB") == ("1",)
