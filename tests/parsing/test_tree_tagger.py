"""The tree CRF against all labellings of small trees, against the chain on a path, and its manners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import OWLQN, CRFTagger, InputError, L1Ball, TreeTagger, load
from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.model import ChainModel
from epigram.chain.seen_pairs import SeenPairs
from epigram.chain.storage import to_model_file, weights
from epigram.features.attributes import AttributeTable, fingerprints
from epigram.features.columns import Columns
from epigram.features.encoding import encode_sentences
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from epigram.features.trees import Trees
from epigram.parsing.tree_columns import add_tree_columns, default_template
from epigram.solvers import LBFGS, SGD
from reference import tree_chain as slow
from reference import tree_columns as slow_tree_columns

N_STATES, N_EDGES = 4, 2


@st.composite
def forests(draw):
    """Parents of one tree or forest, in any order of words."""
    n = draw(st.integers(1, 5))
    order = draw(st.permutations(range(n)))
    parents = [-1] * n
    for k in range(1, n):
        above = draw(st.integers(-1, k - 1))
        parents[order[k]] = -1 if above < 0 else order[above]
    return parents


def encoded(forest, rng):
    """Random attributes of nodes and of some edges."""
    parents = np.array([p for tree in forest for p in tree], dtype=np.int32)
    n = len(parents)
    has_edge = (parents >= 0) & (rng.random(n) < 0.5)
    return Sequences(
        np.cumsum([0, *map(len, forest)], dtype=np.int64),
        np.arange(0, 2 * n + 1, 2, dtype=np.int64),
        rng.integers(0, N_STATES, 2 * n).astype(np.int32),
        rng.normal(size=2 * n),
        np.concatenate([[0], np.cumsum(has_edge)]).astype(np.int64),
        rng.integers(N_STATES, N_STATES + N_EDGES, has_edge.sum()).astype(np.int32),
        parents,
    )


def dense(layout, w, s):
    """State scores (n, L), transitions (L, L) and edge scores (n, L, L), added up from the weights one by one."""
    weights, L = layout.weights(layout.spread(w)), layout.n_labels
    table = np.zeros((N_STATES + N_EDGES, L))
    table[weights.attributes, weights.labels] = weights.values
    pairs = np.zeros((N_STATES + N_EDGES, L, L))
    pairs[weights.edge_attributes, weights.before, weights.after] = weights.edge_values
    states, edges = np.zeros((s.n_tokens, L)), np.zeros((s.n_tokens, L, L))
    for t in range(s.n_tokens):
        for k in range(s.attribute_ptr[t], s.attribute_ptr[t + 1]):
            states[t] += s.values[k] * table[s.attributes[k]]
        for k in range(s.edge_ptr[t], s.edge_ptr[t + 1]):
            edges[t] += pairs[s.edge_attributes[k]]
    return states, weights.transitions, edges


@settings(max_examples=25)
@given(forests(), st.integers(2, 3), st.integers(0, 10**6))
def test_sums_and_maxima_equal_all_labellings(parents, n_labels, seed):
    rng = np.random.default_rng(seed)
    s = encoded([parents], rng)
    gold = rng.integers(0, n_labels, s.n_tokens).astype(np.int32)
    layout = lay_out(SeenPairs.of(s, gold, n_labels, N_STATES + N_EDGES), "all")
    loss = ChainLoss(s, gold, layout, np.array([1.5]))
    w = 2.0 * rng.normal(size=loss.n_weights)
    scores = slow.all_scores(parents, *dense(layout, w, s))
    z = slow.log_z(scores)
    out = np.empty_like(w)
    assert loss.value_and_gradient(w, out) == pytest.approx(1.5 * (z - scores[tuple(gold)]), abs=1e-9)
    names = tuple("abc"[:n_labels])
    table = AttributeTable(fingerprints([str(k) for k in range(N_STATES + N_EDGES)]))
    model = ChainModel(names, None, table, layout, layout.spread(w))
    nodes, edges, log_z = model.marginals(s, with_edges=True)
    slow_nodes, slow_edges = slow.marginals(parents, scores, n_labels)
    assert log_z[0] == pytest.approx(z)
    np.testing.assert_allclose(nodes, slow_nodes, atol=1e-12)
    np.testing.assert_allclose(edges, slow_edges, atol=1e-12)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    assert tuple(model.decode(s).tolist()) == ranked[0][0]
    best = model.n_best(s, 7)[0]
    assert len(best) == min(7, len(ranked))
    for (labels, p), (wanted, value) in zip(best, ranked, strict=False):
        assert tuple(labels.tolist()) == wanted
        assert p == pytest.approx(np.exp(value - z))


def test_gradient_by_finite_differences():
    rng = np.random.default_rng(3)
    s = encoded([[1, -1, 1, 2, 2], [-1, 0, -1], [2, 2, -1, 2]], rng)
    gold = rng.integers(0, 3, s.n_tokens).astype(np.int32)
    loss = ChainLoss(s, gold, lay_out(SeenPairs.of(s, gold, 3, N_STATES + N_EDGES), "all"))
    w = rng.normal(size=loss.n_weights)
    out, trash = np.empty_like(w), np.empty_like(w)
    loss.value_and_gradient(w, out)
    for k in range(len(w)):
        step = np.zeros_like(w)
        step[k] = 1e-5
        slope = (loss.value_and_gradient(w + step, trash) - loss.value_and_gradient(w - step, trash)) / 2e-5
        assert out[k] == pytest.approx(slope, abs=1e-7)


def path_corpus():
    rng = np.random.default_rng(5)
    words = [[(f"w{k}", f"t{k % 3}") for k in rng.integers(0, 9, rng.integers(1, 7))] for _ in range(30)]
    labels = [[str((int(w[1:]) + k) % 3) for k, (w, _) in enumerate(sentence)] for sentence in words]
    return words, labels


def named_weights(tagger):
    """Every weight by its names."""
    _, rows = weights(to_model_file(tagger))
    return {row[:-1]: row[-1] for row in rows}


TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]\nB\nB1:%x[0,1]\n"


@pytest.mark.parametrize("solver", [SGD(passes=3, eta0=0.2), OWLQN(max_iterations=15), "adagrad", "fista"])
def test_on_a_path_it_is_the_chain(solver):
    words, labels = path_corpus()
    paths = [([k - 1 for k in range(len(sentence))], sentence) for sentence in words]
    penalty = {"penalty": L1Ball(20.0)} if solver == "fista" else {"l1": 0.1}
    chain = CRFTagger(TEMPLATE, solver=solver, **penalty).fit(words, labels)
    tree = TreeTagger(TEMPLATE, solver=solver, **penalty).fit(paths, labels)
    wanted, found = named_weights(chain), named_weights(tree)
    assert {name: found.get(name, 0.0) for name in wanted} == pytest.approx(wanted, abs=1e-8)
    assert len(found) == len(wanted)
    assert tree.predict(paths) == chain.predict(words)
    assert tree.explain(paths[0], 0).lead == pytest.approx(chain.explain(words[0], 0).lead)


def test_stars_of_many_children_neither_overflow_nor_underflow():
    tree = ([-1] + [0] * 400, [["hub"]] + [[f"leaf{k % 2}"] for k in range(400)])
    labels = ["r"] + ["ab"[k % 2] for k in range(400)]
    tagger = TreeTagger(solver=LBFGS(), l1=0.0, l2=0.001).fit([tree], [labels])
    assert tagger.predict([tree]) == [labels]
    nodes, edges = tagger.marginals([tree])[0]
    np.testing.assert_allclose(nodes.sum(1), 1.0)
    np.testing.assert_allclose(edges[1:].sum((1, 2)), 1.0)


def test_learns_on_is_saved_and_loaded(tmp_path):
    X = [([1, -1, 1], [["dogs"], ["chase"], ["cats"]]), ([1, -1], [["birds"], ["sleep"]])]
    y = [["subject", "root", "object"], ["subject", "root"]]
    tagger = TreeTagger(l1=0.01).fit(X, y, dev=(X, y))
    assert tagger.history_[-1]["dev_score"] == tagger.score(X, y) == 1.0
    tagger.partial_fit([([-1], [["stop"]])], [["imperative"]])
    tagger.save(tmp_path / "t.epigram")
    again = load(tmp_path / "t.epigram")
    assert isinstance(again, TreeTagger)
    assert again.predict(X) == tagger.predict(X) == y
    with pytest.raises(InputError, match="holds a CRFTagger, not a TreeTagger"):
        TreeTagger.load(_chain_file(tmp_path))


def _chain_file(folder):
    CRFTagger(l1=0.1).fit([[["a"]]], [["x"]]).save(folder / "chain.epigram")
    return folder / "chain.epigram"


def test_constraints_and_allowed_labels_hold():
    X = [([1, -1], [["a"], ["b"]])] * 3
    tagger = TreeTagger(l1=0.01, constrain=[("h", "c")]).fit(X, [["c", "h"]] * 3)
    assert tagger.predict(X[:1], allowed=[[None, ["h"]]]) == [["c", "h"]]
    with pytest.raises(InputError, match="'h' after 'c' is forbidden"):
        TreeTagger(constrain=[("h", "c")]).fit(X, [["h", "c"]] * 3)
    with pytest.raises(ValueError, match="chunk scheme"):
        TreeTagger(constrain="iob2").fit(X, [["c", "h"]] * 3)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (([1, 0], [["a"], ["b"]]), "closes a cycle"),
        (([5, -1], [["a"], ["b"]]), "outside the sentence"),
        (([-1], [["a"], ["b"]]), "2 tokens, but 1 parents"),
        ("ab c", "must be a pair"),
        (([None, -1], [["a"], ["b"]]), "whole numbers"),
    ],
)
def test_bad_trees_are_refused_in_one_sentence(tree, words):
    with pytest.raises(InputError, match=words):
        TreeTagger().fit([tree], [["x", "y"]])


def test_edge_lines_of_a_template_reach_first_words_but_not_roots():
    columns = Trees.of([([1, -1], [("a", "x"), ("b", "y")])])
    table = AttributeTable()
    s = encode_sentences(columns, Template.parse("U:%x[0,0]\nB0:%x[0,1]\n"), table, grow=True)
    assert s.edge_ptr.tolist() == [0, 1, 1]
    assert table.names(s.edge_attributes.tolist()) == ["B0:x"]


@given(st.lists(forests(), min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 1000))
def test_what_a_word_sees_of_the_tree_is_what_a_search_finds(trees, n_columns, seed):
    rng = np.random.default_rng(seed)
    rows = [[tuple(str(v) for v in rng.integers(0, 9, n_columns)) for _ in tree] for tree in trees]
    parents = np.array([p for tree in trees for p in tree], dtype=np.int32)
    seen = add_tree_columns(Columns.from_rows(rows), parents).nodes
    assert list(seen.rows()) == [
        slow_tree_columns.seen(own, tree) for own, tree in zip(rows, trees, strict=True)
    ]


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_the_usual_template_looks_at_columns_that_are_there_once_each(n_columns):
    template = Template.parse(default_template(n_columns))
    lines = [line.partition(":")[2] for line in template.text.splitlines() if line.startswith("U")]
    assert len(set(lines)) == len(lines)
    assert {cell.column for node in template.nodes for cell in node.cells} <= set(range(7 * n_columns + 5))
