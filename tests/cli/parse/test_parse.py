"""``epigram parse`` from end to end on a tiny treebank, and what it refuses."""

from __future__ import annotations

import json

import pytest

from epigram import CRFTagger

ROWS = [
    "1 the the DET DT _ 2 det _ _",
    "2 dog dog NOUN NN _ 3 nsubj _ _",
    "3 sees see VERB VBZ _ 0 root _ _",
    "4 cats cat NOUN NNS _ 3 obj _ SpaceAfter=No",
]


def conllu(rows, comment="# text = the dog sees cats"):
    return comment + "\n" + "".join("\t".join(row.split()) + "\n" for row in rows) + "\n"


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(conllu(ROWS) * 6, "utf-8")
    return path


@pytest.fixture
def parser(run, treebank, tmp_path):
    model = tmp_path / "p.epigram"
    code, out, err = run("parse", "train", treebank, "-o", model, "--l1", "0.05", "--dev", treebank, "--json")
    assert code == 0, err
    assert json.loads(out)["sentences_made_projective"] == 0
    return model


def test_train_eval_run_explain_inspect(run, parser, treebank, tmp_path):
    code, out, _ = run("parse", "eval", parser, treebank, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["uas"] == report["las"] == 1.0
    assert report["by_relation"]["det"]["words"] == 6
    bare = tmp_path / "bare.conllu"
    bare.write_text(conllu(" ".join([*row.split()[:6], "_", "_", *row.split()[8:]]) for row in ROWS), "utf-8")
    code, out, _ = run("parse", "run", parser, bare)
    assert (code, out) == (0, conllu(ROWS))
    code, out, _ = run("parse", "run", parser, bare, "--picture", "--svg", tmp_path / "svg")
    assert "▶ the" in out
    assert (tmp_path / "svg" / "1.svg").read_text("utf-8").startswith("<svg")
    code, out, _ = run("parse", "run", parser, bare, "--nbest", "3")
    best = json.loads(out)["nbest"]
    assert len(best) == 3
    assert best[0]["heads"] == [2, 3, 0, 3]
    code, out, _ = run("parse", "explain", parser, bare, "--word", "1", "--json")
    (why,) = json.loads(out)["heads"]
    assert why["head"] == 2
    assert sum(term["lift"] for term in why["terms"]) == pytest.approx(why["lead"])
    for options in ((), ("--weights",)):
        code, out, _ = run("inspect", parser, *options)
        assert code == 0
        assert "c[+0,2]=" in out
    assert run("parse", "eval", parser, treebank)[0] == run("parse", "run", parser, bare, "--json")[0] == 0
    assert run("parse", "run", parser, bare, "--decoding", "mbr")[1] == conllu(ROWS)


def test_what_the_input_has_is_kept_where_asked(run, parser, tmp_path):
    partly = tmp_path / "partly.conllu"
    rows = [row.split() for row in ROWS]
    rows[0][6:8], rows[1][6:8] = ["3", "_"], ["_", "obj"]
    partly.write_text(conllu(" ".join(row) for row in rows), "utf-8")
    for options in ((), ("--nbest", "1")):
        code, out, _ = run("parse", "run", parser, partly, "--keep", *options, "--json")
        record = json.loads(out)
        tree = record["nbest"][0] if options else record
        assert code == 0
        assert tree["heads"][0] == 3
        assert tree["relations"][1] == "obj"
    rows[1][6], rows[2][6] = "0", "0"
    partly.write_text(conllu(" ".join(row) for row in rows), "utf-8")
    code, _, err = run("parse", "run", parser, partly, "--keep")
    assert (code, "no projective tree" in err) == (2, True)


def test_first_order_on_request(run, treebank, tmp_path):
    model = tmp_path / "one.epigram"
    assert run("parse", "train", treebank, "-o", model, "--order", "1", "--l1", "0.05")[0] == 0
    assert "s[+0" not in run("inspect", model, "--weights")[1]
    assert run("parse", "train", treebank, "-o", model, "--order", "4")[0] == 2
    assert run("parse", "train", treebank, "-o", model, "--order", "3", "--prune", "0.1")[0] == 0
    assert "g[+0" in run("inspect", model, "--weights")[1]


def test_labels_of_given_trees(run, treebank, tmp_path):
    model = tmp_path / "labels.epigram"
    words = ("parse", "train", treebank, "-o", model, "--model", "labels", "--l1", "0.05", "--json")
    code, out, err = run(*words)
    assert code == 0, err
    assert json.loads(out)["column"] == "deprel"
    assert json.loads(run("parse", "eval", model, treebank, "--json")[1])["accuracy"] == 1.0
    assert run("parse", "run", model, treebank)[1] == conllu(ROWS) * 6
    assert "epigram parse" in run("tag", "run", model, treebank)[2]
    code, out, err = run(*words[:-1], "--column", "upos", "--observed", "form", "--json")
    assert code == 0, err
    assert json.loads(run("parse", "eval", model, treebank, "--json")[1])["column"] == "upos"


def test_the_columns_of_a_parser_are_chosen(run, tmp_path):
    """Of two words with the same tags the one in the imperative is the root."""
    imperative = ["1 go go VERB VB Mood=Imp 0 root _ _", "2 eat eat VERB VB _ 1 xcomp _ _"]
    infinitive = ["1 go go VERB VB _ 2 csubj _ _", "2 eat eat VERB VB _ 0 root _ _"]
    bank, model = tmp_path / "moods.conllu", tmp_path / "p.epigram"
    bank.write_text((conllu(imperative) + conllu(infinitive)) * 10, "utf-8")
    for options, las in (((), 1.0), (("--observed", "form,upos,xpos"), 0.5)):
        code, _, err = run("parse", "train", bank, "-o", model, "--l1", "0.02", "--eta0", "0.1", *options)
        assert code == 0, err
        assert json.loads(run("parse", "eval", model, bank, "--json")[1])["las"] == las
    code, _, err = run("parse", "train", bank, "-o", model, "--observed", "form,mood")
    assert (code, "no column 'mood'" in err) == (2, True)


def changed(row, head):
    cells = ROWS[row].split()
    cells[6] = str(head)
    return [*ROWS[:row], " ".join(cells), *ROWS[row + 1 :]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (conllu(changed(2, 2)), "cycle"),
        (conllu(changed(3, 0)), "a second root"),
        (conllu(changed(3, 9)), "outside the sentence"),
        (conllu(changed(3, 4)), "its own head"),
        (conllu(changed(3, "_")), "has no head"),
        (conllu(["1 the the DET DT _ 2 det _"]), "10 columns"),
        (conllu(["2 the the DET DT _ 0 root _ _"]), "word with id 1"),
        ("", "no tokens"),
    ],
)
def test_bad_treebanks_get_one_sentence_and_code_2(run, tmp_path, content, words):
    path = tmp_path / "bad.conllu"
    path.write_text(content, "utf-8")
    code, _, err = run("parse", "train", path, "-o", tmp_path / "m.epigram")
    assert code == 2
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "m.epigram").exists()


def test_models_of_other_families_are_refused(run, treebank, tmp_path):
    other = tmp_path / "tagger.epigram"
    CRFTagger(l1=0.1).fit([[["a"]]], [["x"]]).save(other)
    for command in ("eval", "run", "explain"):
        code, _, err = run("parse", command, other, treebank)
        assert code == 2
        assert "holds a tagger, not a parser" in err


def test_sentences_of_1_and_of_500_words_are_parsed(run, parser, tmp_path):
    path = tmp_path / "odd.conllu"
    long = [" ".join([str(k), *ROWS[k % 4].split()[1:6], "_", "_", "_", "_"]) for k in range(1, 501)]
    path.write_text(conllu(["1 go go VERB VB _ _ _ _ _"]) + conllu(long), "utf-8")
    code, out, _ = run("parse", "run", parser, path)
    assert code == 0
    assert out.count("\troot\t") >= 2 or out.count("\t0\t") == 2
    assert len(out.splitlines()) == 2 + 501 + 2
