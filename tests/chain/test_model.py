"""Best paths, k best paths and marginals against all labellings written down."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.chain.decoding import NoLabelling
from epigram.chain.model import ChainModel
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, fingerprints
from reference.chain import chain_of, sentences_of
from reference.chain_corpus import CASES, N_ATTRIBUTES, Case, corpus

Permitted = list[list[list[str] | None]]


def model_of(case: Case, seed: int = 1) -> ChainModel:
    text = corpus(case)
    names = [f"a{k}" for k in range(N_ATTRIBUTES)]
    labels = [f"y{j}" for j in range(case.n_labels)]
    w = text.layout.spread(text.random_weights(seed))
    return ChainModel(tuple(labels), None, AttributeTable(fingerprints(names), names), text.layout, w)


def some_allowed(case: Case, seed: int = 0) -> tuple[Permitted, list[list[set[int] | None]]]:
    """Two or all labels per token; label 0 may follow and precede everything, so something is always left."""
    rng = np.random.default_rng(seed)
    names: Permitted = []
    ids: list[list[set[int] | None]] = []
    for sentence in sentences_of(corpus(case).sequences):
        chosen = [
            None if rng.random() < 0.4 else {0, int(rng.integers(0, case.n_labels))} for _ in sentence.tokens
        ]
        ids.append(chosen)
        names.append([None if some is None else [f"y{j}" for j in sorted(some)] for some in chosen])
    return names, ids


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_viterbi_finds_the_best_of_all_labellings(case: Case, restricted: bool) -> None:
    text, model = corpus(case), model_of(case)
    chain = chain_of(text.layout, text.layout.gather(model.w))
    names, ids = some_allowed(case) if restricted else (None, None)
    best = model.decode(text.sequences, names)
    for threads in (2, 5):
        np.testing.assert_array_equal(model.decode(text.sequences, names, threads), best)
    for s, sentence in enumerate(sentences_of(text.sequences)):
        if sentence.tokens:
            ((expected, _),) = chain.k_best(sentence, 1, ids and ids[s])
            first = int(text.sequences.sentence_ptr[s])
            assert tuple(best[first : first + len(expected)].tolist()) == expected


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_k_best_are_the_best_with_their_probabilities(case: Case, k: int, restricted: bool) -> None:
    text, model = corpus(case), model_of(case)
    chain = chain_of(text.layout, text.layout.gather(model.w))
    names, ids = some_allowed(case) if restricted else (None, None)
    found = model.n_best(text.sequences, k, names)
    for s, sentence in enumerate(sentences_of(text.sequences)):
        if not sentence.tokens:
            assert found[s] == []
            continue
        expected = chain.k_best(sentence, k, ids and ids[s])
        assert len(found[s]) == len(expected)
        np.testing.assert_allclose([p for _, p in found[s]], [p for _, p in expected], rtol=1e-9, atol=1e-14)
        given = chain.distribution(sentence, ids and ids[s])
        labellings = [tuple(labels.tolist()) for labels, _ in found[s]]
        assert len(set(labellings)) == len(labellings)
        for y, (_, p) in zip(labellings, found[s], strict=True):
            assert p == pytest.approx(given[y], rel=1e-9)


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_marginals_are_sums_over_labellings(case: Case, restricted: bool) -> None:
    text, model = corpus(case), model_of(case)
    chain = chain_of(text.layout, text.layout.gather(model.w))
    names, ids = some_allowed(case) if restricted else (None, None)
    nodes, edges, log_z = model.marginals(text.sequences, names, with_edges=True)
    for s, sentence in enumerate(sentences_of(text.sequences)):
        if not sentence.tokens:
            continue
        first, last = text.sequences.sentence_ptr[s : s + 2].tolist()
        expected_nodes, expected_edges = chain.marginals(sentence, ids and ids[s])
        np.testing.assert_allclose(nodes[first:last], expected_nodes, atol=1e-12)
        np.testing.assert_allclose(edges[first + 1 : last], expected_edges, atol=1e-12)
        assert log_z[s] == pytest.approx(chain.log_z(sentence, ids and ids[s]))
    without, no_edges, _ = model.marginals(text.sequences, names)
    np.testing.assert_array_equal(without, nodes)
    assert no_edges.size == 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compact_models_decode_the_same(case: Case) -> None:
    text, model = corpus(case), model_of(case)
    w = model.w.copy()
    w[np.random.default_rng(0).random(w.size) < 0.5] = 0.0
    whole = ChainModel(model.labels, None, model.table, text.layout, w)
    compact = ChainModel.compact(model.labels, None, model.table, text.layout, w)
    assert len(compact.w[compact.w != 0.0]) == np.count_nonzero(w)
    new_ids = compact.table.look_up(model.table.fingerprints)
    sequences = text.sequences.renumber(new_ids)
    np.testing.assert_allclose(
        compact.marginals(sequences)[0], whole.marginals(text.sequences)[0], atol=1e-12
    )
    np.testing.assert_array_equal(compact.decode(sequences), whole.decode(text.sequences))


def test_compact_models_can_reorder_labels() -> None:
    case = CASES[11]
    text, model = corpus(case), model_of(case)
    order = np.random.default_rng(3).permutation(case.n_labels)
    turned = ChainModel.compact(model.labels, None, model.table, text.layout, model.w, order=order)
    assert turned.labels == tuple(model.labels[k] for k in order)
    sequences = text.sequences.renumber(turned.table.look_up(model.table.fingerprints))
    nodes, edges, _ = turned.marginals(sequences, with_edges=True)
    expected_nodes, expected_edges, _ = model.marginals(text.sequences, with_edges=True)
    np.testing.assert_allclose(nodes, expected_nodes[:, order], atol=1e-12)
    np.testing.assert_allclose(edges, expected_edges[:, order][:, :, order], atol=1e-12)


def test_sentence_ends_can_be_constrained() -> None:
    case = CASES[0]
    text, model = corpus(case), model_of(case)
    ends = np.array([[True, False, True], [True, True, False]])
    bounded = ChainModel(model.labels, None, model.table, text.layout, model.w, ends)
    chain = chain_of(text.layout, text.layout.gather(model.w))
    nodes, _, log_z = bounded.marginals(text.sequences)
    for s, sentence in enumerate(sentences_of(text.sequences)):
        if not sentence.tokens:
            continue
        first, last = text.sequences.sentence_ptr[s : s + 2].tolist()
        ids: list[set[int] | None] = [None] * len(sentence.tokens)
        ids[0] = {0, 2}
        ids[-1] = (ids[-1] or {0, 1, 2}) & {0, 1}
        np.testing.assert_allclose(nodes[first:last], chain.marginals(sentence, ids)[0], atol=1e-12)
        assert log_z[s] == pytest.approx(chain.log_z(sentence, ids))
        ((best, _),) = chain.k_best(sentence, 1, ids)
        assert tuple(bounded.decode(text.sequences)[first:last].tolist()) == best


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        ([], "allowed has 0 sentences, the input 6"),
        ([[None], None, None, None, None, None], "allowed has 1 tokens for sentence 0, which has 3"),
        ([[["nowhere"], None, None], *[None] * 5], "the model has no label 'nowhere'; it has y0, y1, y2"),
        ([[[], None, None], *[None] * 5], "none given"),
    ],
)
def test_allowed_labels_must_fit(allowed: list[object], said: str) -> None:
    text, model = corpus(CASES[0]), model_of(CASES[0])
    with pytest.raises(InputError, match=said):
        model.decode(text.sequences, allowed)  # type: ignore[arg-type]


def test_where_nothing_is_permitted_it_says_so() -> None:
    case = CASES[7]
    text, model = corpus(case), model_of(case)
    i, j = np.argwhere(~model.layout.allowed_transitions)[0]
    s = int(np.flatnonzero(text.sequences.lengths >= 2)[0])
    tokens: list[list[str] | None] = [None] * int(text.sequences.lengths[s])
    tokens[:2] = [[f"y{i}"], [f"y{j}"]]
    allowed = [tokens if k == s else None for k in range(text.sequences.n_sentences)]
    for ask in (model.decode, model.marginals, lambda x, y: model.n_best(x, 2, y)):
        with pytest.raises(NoLabelling, match=f"sentence {s} has no labelling"):
            ask(text.sequences, allowed)  # type: ignore[operator]


def test_k_must_be_positive() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        model_of(CASES[0]).n_best(corpus(CASES[0]).sequences, 0)
