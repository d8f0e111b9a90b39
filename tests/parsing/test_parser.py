"""The parser as an estimator: it learns a small grammar, and predicts, explains, saves and refuses as it says."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from epigram import OWLQN, Columns, CRFTagger, DependencyParser, InputError, load
from epigram.parsing.drawing import svg_picture, terminal_picture
from epigram.parsing.storage import to_model_file
from epigram.parsing.treebank import parse_treebank
from epigram.solvers import LBFGS, SGD
from reference import eisner as slow
from reference import forest

TAGS = {"the": ("DET", "DT"), "a": ("DET", "DT"), "dog": ("NOUN", "NN"), "cat": ("NOUN", "NN"),
        "sees": ("VERB", "VBZ"), "hears": ("VERB", "VBZ"), "old": ("ADJ", "JJ"), ".": ("PUNCT", ".")}  # fmt: skip
FOUR = ("form", "upos", "xpos", "feats")


def grammar(n, seed=0):
    """Sentences such as "the old dog sees a cat ." with their trees."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words: list[str] = []
        tree: list[list[object]] = []

        def phrase(relation, words=words, tree=tree):
            own = [
                str(rng.choice(["the", "a"])),
                *["old"] * int(rng.integers(0, 2)),
                str(rng.choice(["dog", "cat"])),
            ]
            noun = len(words) + len(own)
            for word in own[:-1]:
                tree.append([noun, "det" if word != "old" else "amod"])
            tree.append([relation, noun])
            words.extend(own)

        phrase("nsubj")
        verb = len(words) + 1
        words.append(str(rng.choice(["sees", "hears"])))
        tree.append([0, "root"])
        phrase("obj")
        words.append(".")
        tree.append([verb, "punct"])
        y.append([(verb, str(a)) if isinstance(a, str) else (int(str(a)), str(b)) for a, b in tree])
        X.append([(word, *TAGS[word]) for word in words])
    return X, y


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(l1=0.05, min_count=1, often=5).fit(*grammar(60))


def part_score(model, words, heads):
    """The score of a tree's parts of second and third order."""
    parts = [part for part in forest.parts(heads) if part[0] >= 0]
    return sum(weight for _, _, weight in model.part_terms(words, 0, parts))


def test_learns_a_grammar_and_reports(parser):
    X, y = grammar(20, seed=1)
    assert parser.predict(X) == y
    assert parser.score(X, y) == 1.0
    assert parser.score(X, y, sample_weight=np.arange(20)) == 1.0
    assert {entry["stage"] for entry in parser.history_} == {"arcs", "labels"}
    assert parser.fit_["active_features"] == parser.fit_["arc_weights"] + parser.fit_["label_weights"]
    assert 0 < parser.fit_["active_features"] < parser.n_features_


def test_marginals_and_nbest_are_those_of_all_trees(parser):
    sentence, whole = grammar(1, seed=2)[0][0][:5], copy.copy(parser)
    whole.arcs_ = replace(parser.arcs_, pruner=None)
    words = parser.arcs_.encode(Columns.from_rows([sentence]))
    scores = np.array(
        [
            [0.0 if h == c else sum(parser.arcs_.terms(words, 0, h, c).values()) for c in range(1, 6)]
            for h in range(6)
        ]
    )
    every = slow.all_trees(5)
    values = [slow.score(scores, heads) + part_score(parser.arcs_, words, heads) for heads in every]
    z, marginals = slow.marginals(values, every, 5)
    np.testing.assert_allclose(whole.predict_marginals([sentence])[0], marginals, atol=1e-6)
    best = whole.predict_nbest([sentence], k=4)[0]
    ranked = sorted(zip(values, every, strict=True), reverse=True)[:4]
    assert [tuple(head for head, _ in tree) for tree, _ in best] == [heads for _, heads in ranked]
    np.testing.assert_allclose([p for _, p in best], np.exp([value - z for value, _ in ranked]), rtol=1e-5)


def test_explanations_sum_to_the_lead(parser):
    sentence = grammar(1, seed=3)[0][0]
    why = parser.explain(sentence, 1)
    model = parser.arcs_
    words = model.encode(Columns.from_rows([sentence]))

    def total(heads):
        arcs = sum(sum(model.terms(words, 0, h, c).values()) for c, h in enumerate(heads, 1))
        return arcs + part_score(model, words, heads)

    assert why.lead == pytest.approx(total(why.heads) - total(why.other_heads), abs=1e-5)
    assert why.lead > 0
    assert why.other not in (why.head, None)
    assert parser.explain(sentence[:1], 1).other is None
    with pytest.raises(InputError, match="words 1 to"):
        parser.explain(sentence, 99)


def test_allowed_heads_are_kept_to(parser):
    X, _ = grammar(2, seed=4)
    free = [[None] * len(X[0]), [[3], *[None] * (len(X[1]) - 1)]]
    trees = parser.predict(X, allowed=free)
    assert trees[0] == parser.predict(X)[0]
    assert trees[1][0][0] == 3
    with pytest.raises(InputError, match="no projective tree"):
        parser.predict(X[:1], allowed=[[[0], [0], *[None] * (len(X[0]) - 2)]])
    with pytest.raises(InputError, match="heads are 0 to"):
        parser.predict(X[:1], allowed=[[[99], *[None] * (len(X[0]) - 1)]])


def test_relations_are_chosen_of_those_allowed(parser):
    X, y = grammar(1, seed=4)
    free = [[None] * len(y[0])]
    assert parser.predict(X, relations=free) == y
    asked = [["obj", "punct"], *free[0][1:]]
    assert parser.predict(X, relations=[asked])[0][0][1] in asked[0]
    for tree, _ in parser.predict_nbest(X, 3, relations=[asked])[0]:
        assert tree[0][1] in asked[0]
    with pytest.raises(InputError, match="no label 'iobj'"):
        parser.predict(X, relations=[[["iobj"], *free[0][1:]]])


def test_constraints_hold_in_training_and_prediction(tmp_path):
    X, y = grammar(25)
    pairs = {("nsubj", "det"), ("nsubj", "amod"), ("obj", "det"), ("obj", "amod")}
    pairs |= {("root", name) for name in ("nsubj", "obj", "punct")}
    settings = {"order": 1, "l1": 0.05, "min_count": 1}
    parser = DependencyParser("+h[0,2] c[0,2]", constrain=sorted(pairs), **settings).fit(X, y)
    parser.save(tmp_path / "p.epigram")
    heads = [head for head, _ in y[0]]
    for learner in (parser, load(tmp_path / "p.epigram")):
        names = learner.predict_relations(X[:1], heads, [[["det"], *[None] * (len(heads) - 1)]])
        assert {(names[h - 1], names[c]) for c, h in enumerate(heads) if h} <= pairs
        assert learner.predict(X) == y
    with pytest.raises(InputError, match="is forbidden"):
        DependencyParser("+h[0,2] c[0,2]", constrain=[("root", "nsubj")], **settings).fit(X, y)


def test_word_classes_tell_what_tags_do_not(tmp_path):
    """Nouns of class 1 hang on the verb before, of class 2 on the noun before: the tags are the same."""
    rows = {"sees": ("VERB", "VB"), "hat": ("NOUN", "NN"), "man": ("NOUN", "NN"), "dog": ("NOUN", "NN"),
            "sun": ("NOUN", "NN"), "sky": ("NOUN", "NN")}  # fmt: skip
    (tmp_path / "words.classes").write_text("1\tsun\t3\n1\tman\t2\n2\tsky\t2\n2\tdog\t1\n", "utf-8")
    trees = {
        w: [(0, "root"), (1, "obj"), (1 if w in ("sun", "man") else 2, "x")]
        for w in ("sun", "man", "sky", "dog")
    }
    X = [[(w, *rows[w]) for w in ("sees", "hat", last)] for last in ("sun", "sky")] * 25
    y = [trees[last] for last in ("sun", "sky")] * 25
    new = [[(w, *rows[w]) for w in ("sees", "hat", last)] for last in ("man", "dog")]
    lines, settings = "+h[0,2] c[0,2]\n+h[0,2] c[0,3]", {"l1": 0.02, "min_count": 1, "often": 1}
    usual = DependencyParser(classes=tmp_path / "words.classes", **settings).fit(X, y).arcs_
    assert any("c[+0,3]=2" in name for name in usual.names(range(len(usual))))
    parser = DependencyParser(lines, classes=tmp_path / "words.classes", **settings)
    parser.fit(X, y, dev=(X, y)).save(tmp_path / "p.epigram")
    (tmp_path / "words.classes").unlink()  # the model has them in it
    for learner in (parser, load(tmp_path / "p.epigram")):
        assert learner.predict(new) == [trees["man"], trees["dog"]]
        learner.partial_fit(X, y)
        assert learner.predict(new) == [trees["man"], trees["dog"]]
    with pytest.raises(InputError, match="no such file"):
        DependencyParser(classes=tmp_path / "words.classes").fit(X, y)


def test_morphological_features_tell_what_tags_do_not(tmp_path):
    """A verb in the imperative is the root, an infinitive hangs on the verb after it: word and tags are the same."""
    moods = {"Mood=Imp": [(0, "root"), (1, "parataxis")], "VerbForm=Inf": [(2, "csubj"), (0, "root")]}
    banks = [_treebank([("go", mood), ("helps", "VerbForm=Fin")], tree) for mood, tree in moods.items()]
    bank = parse_treebank("".join(text for _ in range(25) for text in banks).encode())
    settings = {"l1": 0.02, "min_count": 1, "often": 1}
    parser = DependencyParser(**settings).fit(bank)
    parser.save(tmp_path / "p.epigram")
    for learner in (parser, load(tmp_path / "p.epigram")):
        assert learner.predict(bank) == [*moods.values()] * 25
        assert learner.predict([list(rows) for rows in bank.observed(FOUR).rows()][:2]) == [*moods.values()]
        assert learner.explain(bank.take([0]), 1).head == 0
        assert learner.score(bank) == learner.partial_fit(bank).score(bank) == 1.0
    names = parser.arcs_.names(range(len(parser.arcs_)))
    assert any("h[+0,3]=Mood=Imp" in name for name in names)
    blind = DependencyParser(observed="form, upos, xpos", **settings).fit(bank)
    assert blind.arcs_.template.n_columns == 3
    assert blind.score(bank) == 0.5
    with pytest.raises(InputError, match="no column 'mood'"):
        DependencyParser(observed="form,upos,mood").fit(bank)


def test_files_from_before_columns_were_chosen_look_at_three(tmp_path):
    bank = parse_treebank(_treebank([("go", "Mood=Imp"), ("!", "_")], [(0, "root"), (1, "punct")]).encode())
    parser = DependencyParser(observed="form,upos,xpos", l1=0.01, min_count=1).fit(bank)
    file = to_model_file(parser)
    del file.header["settings"]["observed"]
    file.save(tmp_path / "old.epigram")
    again = load(tmp_path / "old.epigram")
    assert again.observed == "form,upos,xpos"
    assert again.predict(bank) == parser.predict(bank) == [[(0, "root"), (1, "punct")]]


def test_classes_are_the_column_after_those_of_the_sentences(tmp_path):
    (tmp_path / "words.classes").write_text("1\tgo\t3\n2\t!\t2\n", "utf-8")
    bank = parse_treebank(_treebank([("go", "Mood=Imp"), ("!", "_")], [(0, "root"), (1, "punct")]).encode())
    arcs = DependencyParser(classes=tmp_path / "words.classes", l1=0.01, min_count=1).fit(bank).arcs_
    assert arcs.template.n_columns == 5
    assert arcs.encode(bank.observed(FOUR)).cell(0, 4, 1) == "1"


def _treebank(words, tree):
    """A sentence in CoNLL-U of words with features."""
    rows = [
        [str(k), form, form, "VERB", "VB", feats, str(head), relation, "_", "_"]
        for k, ((form, feats), (head, relation)) in enumerate(zip(words, tree, strict=True), 1)
    ]
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def test_learns_on_without_forgetting(tmp_path):
    X, y = grammar(40)
    parser = DependencyParser(l1=0.05, min_count=1, often=5).fit(X, y)
    parser.save(tmp_path / "p.epigram")
    new = [[("run", "VERB", "VB"), ("fast", "ADV", "RB"), ("!", "PUNCT", "!")]] * 8
    trees = [[(0, "root"), (1, "advmod"), (1, "punct")]] * 8
    for learner in (parser, load(tmp_path / "p.epigram")):
        assert learner.partial_fit(new, trees) is learner
        assert learner.predict(new) == trees
        assert learner.score(X, y) > 0.95
        assert learner.fit_["sentences"] == 48
        assert learner.fit_["arc_weights"] == learner.arcs_.n_weights
        assert len(learner.arcs_) == np.count_nonzero(learner.arcs_.weights)
        assert any("=run" in name for name in learner.arcs_.names(range(len(learner.arcs_))))
    assert DependencyParser(l1=0.05, min_count=1).partial_fit(X, y).score(X, y) == 1.0


def test_mbr_and_threads_give_trees(parser):
    X, y = grammar(5, seed=5)
    try:
        parser.set_params(decoding="best", threads=2)
        assert parser.predict(X) == y
        with pytest.raises(ValueError, match="decoding must be"):
            parser.set_params(decoding="worst").predict(X)
    finally:
        parser.set_params(decoding="mbr", threads=1)


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": OWLQN(max_iterations=30), "l1": 0.05},
        {"solver": LBFGS(max_iterations=30), "l1": 0.0, "l2": 0.01, "label_l1": 0.05},
        {"solver": SGD(passes=4, eta0=0.1), "l1": 0.05, "threads": 2},
    ],
)
def test_solvers_that_fit(settings):
    X, y = grammar(25)
    parser = DependencyParser(
        "+h[0,2] c[0,2]\n+h[0,2] c[-1,2] c[0,2]\nb[1] h[0,1] side", min_count=1, often=1, **settings
    )
    assert parser.fit(X, y, dev=(X, y)).score(X, y) > 0.95
    assert parser.history_[-1]["dev_score"] > 0.95


def test_same_seed_same_bits_and_the_file_is_the_model(parser, tmp_path):
    again = DependencyParser(l1=0.05, min_count=1, often=5).fit(*grammar(60))
    assert again.arcs_.weights.tobytes() == parser.arcs_.weights.tobytes()
    parser.save(tmp_path / "p.epigram")
    loaded = load(tmp_path / "p.epigram")
    X, _ = grammar(5, seed=6)
    assert isinstance(loaded, DependencyParser)
    assert DependencyParser.from_bytes(parser.to_bytes()).predict(X) == parser.predict(X)
    assert loaded.predict(X) == parser.predict(X)
    assert loaded.get_params()["l1"] == 0.05
    names = loaded.arcs_.names(range(len(loaded.arcs_)))
    assert sorted(names) == sorted(parser.arcs_.names(range(len(parser.arcs_))))
    with pytest.raises(InputError, match="holds a tagger, not a parser"):
        DependencyParser.load(_tagger_file(tmp_path))


def _tagger_file(folder):
    CRFTagger(l1=0.1).fit([[["a"]]], [["x"]]).save(folder / "tagger.epigram")
    return folder / "tagger.epigram"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ([(2, "a"), (1, "b"), (0, "root")], "cycle"),
        ([(0, "root"), (0, "root"), (1, "c")], "a second root"),
        ([(9, "a"), (0, "root"), (1, "c")], "outside the sentence"),
        ([(2, "a"), (0, "root")], "a tree for each"),
    ],
)
def test_bad_trees_are_refused_in_one_sentence(tree, words):
    X = [[("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]]
    with pytest.raises(InputError, match=words):
        DependencyParser().fit(X, [tree])


def test_bad_templates_and_columns_are_refused(parser):
    X, y = grammar(2)
    for text, words in (
        ("h[0,0] x", "not a cell"),
        ("# nothing", "no lines"),
        ("b[0] l[1]", "one cell of"),
    ):
        with pytest.raises(InputError, match=words):
            DependencyParser(text).fit(X, y)
    with pytest.raises(InputError, match="the parser reads 3"):
        parser.predict([[("the",), ("dog",)]])
    with pytest.raises(InputError, match="y is None"):
        DependencyParser().fit(X)


def test_single_words_empty_input_and_long_sentences(parser):
    assert parser.predict([]) == []
    assert parser.predict([[("go", "VERB", "VB")]])[0][0][0] == 0
    long = grammar(1)[0][0] * 40
    heads = [head for head, _ in parser.predict([long])[0]]
    assert len(heads) == len(long)
    assert heads.count(0) == 1


def test_crossing_trees_are_counted():
    X = [[("a", "X", "x"), ("b", "Y", "y"), ("c", "Z", "z"), ("d", "W", "w")]]
    parser = DependencyParser(min_count=1).fit(X, [[(3, "p"), (4, "q"), (0, "root"), (3, "r")]])
    assert parser.fit_["sentences_made_projective"] == 1
    assert parser.fit_["arcs_lifted"] == 1


def test_pictures_show_every_arc():
    words, heads, relations = ["the", "old", "dog", "<b>"], [3, 3, 0, 3], ["det", "amod", "root", "obj"]
    drawn = terminal_picture(words, heads, relations).splitlines()
    assert [line.split()[-1] for line in drawn] == relations
    assert len({line.index(word) for line, word in zip(drawn, words, strict=True)}) == 1
    svg = svg_picture(words, heads, relations)
    assert svg.count('<path d="M') == 1 + 4
    assert "&lt;b&gt;" in svg


def test_treebanks_keep_everything_else():
    raw = (
        b"# sent_id = 1\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\tdo\tAUX\tVB\t_\t2\taux\t_\t_\n"
        b"2\tn't\tnot\tPART\tRB\t_\t0\troot\t_\tx=y\n2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_\n\n"
    )
    bank = parse_treebank(raw, "x.conllu")
    assert "".join(bank.written()).encode() == raw
    other = "".join(bank.written(np.array([0, 1]), {"deprel": ["root", "advmod"]})).encode()
    assert other == raw.replace(b"2\taux", b"0\troot").replace(b"0\troot\t_\tx=y", b"1\tadvmod\t_\tx=y")
