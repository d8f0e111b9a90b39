"""Model files made by hand that name attributes without weights: tagging with them must not read elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import CRFTagger
from epigram.chain.storage import FAMILY
from epigram.storage import ModelFile, pack_strings
from epigram.tagging.storage import from_model_file

TEMPLATE = "U0:%x[0,0]\nB1:%x[0,0]\nB\n"


def crafted(states: dict[str, list[float]], edges: dict[str, float]) -> CRFTagger:
    """A model of two labels: weights of both labels for some names, of the pair (0, 1) for others."""
    names = [*states, *edges]
    content, lengths = pack_strings(names)
    given = [states.get(name, []) for name in names]
    tensors = {
        "names": content,
        "name_lengths": lengths.astype(np.uint16),
        "state_counts": np.array([len(row) for row in given], dtype=np.uint16),
        "state_labels": np.array([j for row in given for j in range(len(row))], dtype=np.uint8),
        "state_weights": np.array([w for row in given for w in row], dtype=np.float32),
        "transition_pairs": np.array([[1, 0]], dtype=np.uint16),
        "transition_weights": np.array([0.25], dtype=np.float32),
        "edge_attributes": np.array([names.index(name) for name in edges], dtype=np.int32),
        "edge_pairs": np.tile(np.array([[0, 1]], dtype=np.uint16), (len(edges), 1)),
        "edge_weights": np.array(list(edges.values()), dtype=np.float32),
    }
    header = {
        "kind": "crf",
        "labels": ["X", "Y"],
        "template": TEMPLATE,
        "has_transitions": True,
        "settings": {},
        "fit": {},
        "history": [],
    }
    file = ModelFile(FAMILY, header, {name: tensor for name, tensor in tensors.items() if tensor.size})
    tagger = from_model_file(ModelFile.from_bytes(file.to_bytes()))
    assert isinstance(tagger, CRFTagger)
    return tagger


STATES = {"U0:a": [1.0, -1.0], "U0:b": [-0.5, 0.5]}
SENTENCES = [[("a",), ("b",), ("z",), ("a",)], [("z",)], [("b",), ("z",)]]


@pytest.mark.parametrize("edges", [{}, {"B1:b": 0.75}], ids=["no edges", "edges"])
@pytest.mark.parametrize(
    ("more_states", "more_edges"),
    [
        ({"U0:z": []}, {}),  # an attribute of tokens without any weight
        ({"B1:z": []}, {}),  # of transitions, without any
        ({}, {"U0:z": 0.0}),  # of tokens, with a weight of transitions only, which does not count there
        ({"B1:z": [9.0, 0.0]}, {}),  # of transitions, with weights of tokens only
        ({f"U0:{k}": [] for k in range(300)} | {"U0:z": []}, {"B1:z": 0.0}),
    ],
)
def test_attributes_without_weights_count_nothing(
    edges: dict[str, float], more_states: dict[str, list[float]], more_edges: dict[str, float]
) -> None:
    clean, other = crafted(STATES, edges), crafted(STATES | more_states, edges | more_edges)
    assert other.predict(SENTENCES) == clean.predict(SENTENCES)
    for (ours, pairs), (theirs, their_pairs) in zip(
        other.marginals(SENTENCES), clean.marginals(SENTENCES), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        np.testing.assert_allclose(pairs, their_pairs, rtol=1e-12)
    for ours, theirs in zip(other.predict_nbest(SENTENCES), clean.predict_nbest(SENTENCES), strict=True):
        assert [labels for labels, _ in ours] == [labels for labels, _ in theirs]
    other.partial_fit(SENTENCES, [["X", "Y", "Y", "X"], ["Y"], ["Y", "Y"]])
    assert other.predict([[("a",)]]) == [["X"]]
