"""CRF++'s text models: written by hand from one of ours as the format describes it, read again; and what CRF++ says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epigram import CRFTagger, load
from epigram.errors import ModelFileError
from in_process import epigram

SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
LABELS = [["DT", "NN", "VB"]] * 3


def as_text(tagger: CRFTagger) -> str:
    """The five parts."""
    model = tagger.model_
    L, found = len(model.labels), model.weights
    names, w, lines = model.table.names(range(len(model.table))), [], []
    for a, name in enumerate(names):
        n = L if name.startswith("U") else L * L
        block = np.zeros(n)
        mine = found.attributes == a
        block[found.labels[mine]] = found.values[mine]
        mine = found.edge_attributes == a
        if n > L:
            block[found.before[mine] * L + found.after[mine]] = found.edge_values[mine]
        lines.append(f"{len(w)} {name}")
        w += block.tolist()
    if model.template is not None and model.template.transitions:
        lines.append(f"{len(w)} B")
        w += found.transitions.ravel().tolist()
    head = f"version: 100\ncost-factor: 1\nmaxid: {len(w)}\nxsize: 1\n"
    template = "" if model.template is None else model.template.text.rstrip("\n")
    weights = "\n".join(f"{x:.16f}" for x in w)
    return (
        "\n".join([head, "\n".join(model.labels) + "\n", template + "\n", "\n".join(lines) + "\n", weights])
        + "\n"
    )


@pytest.mark.parametrize("template", ["U0:%x[0,0]\nU1:%x[-1,0]\nB\n", "U0:%x[0,0]\nB\nB1:%x[-1,0]/%x[0,0]\n"])
def test_a_text_model_labels_as_what_it_was_made_of(template: str, tmp_path: Path) -> None:
    tagger = CRFTagger(template, l1=0.02).fit(SENTENCES, LABELS)
    (tmp_path / "model.txt").write_text(as_text(tagger))
    again = load(tmp_path / "model.txt")
    assert again.predict(SENTENCES) == LABELS
    new = [["the", "sleeps", "cat"], ["dog"]]
    for a, b in zip(tagger.marginals(new), again.marginals(new), strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-6)
    done = epigram("tag", "convert", tmp_path / "model.txt", "-o", tmp_path / "m.epigram")
    assert done.returncode == 0
    done = epigram("tag", "run", tmp_path / "m.epigram", stdin=b"the\ncat\n")
    assert done.stdout.split() == [b"the", b"DT", b"cat", b"NN"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("maxid: ", "maxid: 9", "maxid says"),
        ("\n\n", "\n", "parts of 5"),
        ("0 U0:", "0 X0:", "is none"),
        ("0 U0:", "99999 U0:", "no weights"),
        ("\n3 U0:", "\n0 U0:", "two features have the same weights"),
        ("\nB\n", "\n", "its template does not ask for"),
    ],
)
def test_damaged_ones_get_one_sentence(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = as_text(CRFTagger("U0:%x[0,0]\nB\n", l1=0.02).fit(SENTENCES, LABELS))
    (tmp_path / "model.txt").write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match=says):
        load(tmp_path / "model.txt")


TEMPLATE = "U0:%x[0,0]\nU1:%x[-2,1]/%x[1,1]\nB\nB1:%x[0,1]\n"
HEAD = f"version: 100\ncost-factor: 0.5\nmaxid: 50\nxsize: 2\n\nN\nV\n\n{TEMPLATE}\n"
FEATURES = (
    "4 B,8 B1:D,16 B1:N,24 B1:V,12 U0:Cat,28 U0:a,42 U0:birds,38 U0:cat,30 U0:dog,32 U0:sees,46 "
    "U0:sing,20 U0:sleeps,0 U0:the,34 U1:D/D,22 U1:D/_B+1,36 U1:N/N,40 U1:V/_B+1,14 U1:_B-1/V,48 "
    "U1:_B-1/_B+1,2 U1:_B-2/N,44 U1:_B-2/V "
)
WEIGHTS = (
    "-0.0625 0 0.5 0.9375 -0.9375 -0.75 0.6875 0.9375 -0.5 -0.375 0.75 -0.1875 -0.4375 0.6875 -0.5 "
    "-0.1875 0.3125 0.125 -0.875 -1 0.75 0.5 0.6875 0.0625 0.625 -0.375 -0.125 0.625 -0.75 -0.375 "
    "-0.75 -0.125 1 -0.75 -0.25 -0.1875 0.8125 -0.625 0 -0.5 -1 0.5 -0.875 -0.4375 0 0 -0.8125 1 0.5 "
    "0.9375 "
)


def test_crfpp_itself_says_the_same(tmp_path: Path) -> None:
    """Numbers by CRF++ (pycrfpp 0.1.0, -v 2) for the same model as a binary; it ignores the file's cost-factor."""
    features = "\n".join(FEATURES.strip().replace(", ", ",").split(","))
    (tmp_path / "model.txt").write_text(f"{HEAD}{features}\n\n" + "\n".join(WEIGHTS.split()) + "\n")
    tagger = load(tmp_path / "model.txt")
    X = [
        [("The", "D"), ("CAT", "N"), ("sees", "V"), ("frogs", "N")],
        [("sing", "V")],
        [("birds", "N"), ("sleeps", "V"), ("the", "D"), ("dog", "N")],
    ]
    assert tagger.predict(X) == [["V", "V", "N", "N"], ["V"], ["V", "V", "N", "V"]]
    p = [[0.272734, 0.15005, 0.610509, 0.487844], [0.140336], [0.049009, 0.040721, 0.811548, 0.104553]]
    for (nodes, _), expected in zip(tagger.marginals(X), p, strict=True):
        np.testing.assert_allclose(nodes[:, 0], expected, atol=1e-6)
