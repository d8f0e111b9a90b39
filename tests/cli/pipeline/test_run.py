"""``epigram pipeline`` on files: formats in and out, folders, errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from in_process import epigram

ROWS = [
    "1 Dogs dog NOUN N Number=Plur 2 nsubj _ _",
    "2 bark bark VERB V _ 0 root _ SpaceAfter=No",
    "3 . . PUNCT . _ 2 punct",
]
FORMS = ["Dogs", "bark", "."]


def block(rows: list[str]) -> str:
    return "".join("\t".join((row.split() + ["_"] * 10)[:10]) + "\n" for row in rows) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pipeline")
    (made / "train.conllu").write_text(block(ROWS) * 12, "utf-8")
    done = epigram(
        "pipeline", "train", made / "train.conllu", "-o", made / "toy.epigram", "--folds", "2", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 36
    (made / "texts").mkdir()
    (made / "texts" / "a.txt").write_text("Dogs bark. Dogs  bark.\n\nDogs bark.\n", "utf-8")
    (made / "texts" / "b.txt.gz").write_bytes(gzip.compress(b"Dogs bark."))
    return made


def analyse(folder: Path, *words: object, stdin: bytes = b"") -> str:
    done = epigram("pipeline", "run", folder / "toy.epigram", *words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_a_folder_becomes_conllu(folder: Path) -> None:
    out = analyse(folder, folder / "texts")
    assert out.count("# newdoc id") == 2
    assert out.count("# newpar") == 3
    assert [line for line in out.splitlines() if line.startswith("# sent_id")] == [
        f"# sent_id = {k}" for k in (1, 2, 3, 4)
    ]
    assert "1\tDogs\tdog\tNOUN\tN\tNumber=Plur\t2\tnsubj\t_\tSpacesAfter=\\s\\s\n" in out
    assert "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\tSpacesAfter=\\n\\n\n" in out


def test_standard_input_becomes_json_lines_with_offsets(folder: Path) -> None:
    text = "Dogs bark.  Dogs bark.\n\nDogs bark."
    sentences = [
        json.loads(line) for line in analyse(folder, "--output", "jsonl", stdin=text.encode()).splitlines()
    ]
    assert (
        [text[s["start"] : s["end"]] for s in sentences]
        == [s["text"] for s in sentences]
        == ["Dogs bark."] * 3
    )
    token = sentences[2]["tokens"][0]
    assert (text[token["start"] : token["end"]], token["words"][0]["lemma"]) == ("Dogs", "dog")


def test_a_tokenizer_for_other_programs(folder: Path) -> None:
    out = analyse(folder, "--only", "tokens", "--output", "lines", stdin=b"Dogs bark. Dogs bark.")
    assert out == "Dogs bark .\nDogs bark .\n"


@pytest.mark.parametrize("form", ["lines", "vertical"])
def test_text_that_is_split_already(folder: Path, form: str) -> None:
    between = {"lines": " ", "vertical": "\n"}[form]
    given = (between.join(FORMS) + "\n" + "\n" * (form == "vertical")) * 2
    out = analyse(folder, "--input", form, "--output", "vertical", stdin=given.encode())
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert [row[0] for row in rows] == FORMS * 2
    assert rows[0][1:] == ["dog", "NOUN", "N", "Number=Plur", "2", "nsubj"]


def test_conllu_keeps_what_is_not_predicted(folder: Path) -> None:
    bare = "# a comment\n" + block([f"{k} {form}" for k, form in enumerate(FORMS, 1)])
    out = analyse(folder, "--input", "conllu", stdin=bare.encode())
    assert out.startswith("# a comment\n1\tDogs\tdog\tNOUN\tN\tNumber=Plur\t2\tnsubj\t_\t_\n")
    again = analyse(folder, "--input", "conllu", "--only", "tags", stdin=bare.encode())
    assert again.splitlines()[1] == "1\tDogs\t_\tNOUN\tN\tNumber=Plur\t_\t_\t_\t_"


def test_trees_are_drawn(folder: Path) -> None:
    assert "root" in analyse(folder, "--picture", stdin=b"Dogs bark.")


def test_input_without_text_is_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    for sources, stdin in ((), b" \n"), ((), b""), ((tmp_path / "blank.txt",), b""):
        done = epigram("pipeline", "run", folder / "toy.epigram", *sources, stdin=stdin)
        assert (done.returncode, done.stdout, b"no text" in done.stderr) == (2, b"", True)


def test_a_blank_file_among_others_is_a_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    sources = (tmp_path / "blank.txt", folder / "texts")
    done = epigram("pipeline", "run", folder / "toy.epigram", *sources)
    assert (done.returncode, done.stdout.count(b"# sent_id")) == (0, 4)
    assert b"blank.txt is empty or blank" in done.stderr.replace(b"\n", b"")


def test_eval_explain_and_update(folder: Path) -> None:
    done = epigram("pipeline", "eval", folder / "toy.epigram", folder / "train.conllu", "--json")
    assert json.loads(done.stdout)["LAS"]["f1"] > 0.9
    done = epigram("pipeline", "explain", folder / "toy.epigram", "Dogs bark.", "--word", "2", "--json")
    assert json.loads(done.stdout)["tags"]["label"] == "VERB\tV"
    more = epigram(
        "pipeline",
        "update",
        folder / "toy.epigram",
        folder / "train.conllu",
        "-o",
        folder / "more.epigram",
        "--json",
    )
    assert json.loads(more.stdout)["words"] == 72, more.stderr


def test_errors_name_the_way_out(folder: Path) -> None:
    done = epigram("pipeline", "run", folder / "toy.epigram", "--only", "lemma")
    assert (done.returncode, b"parts are tokens, words, tags" in done.stderr) == (2, True)
    done = epigram("pipeline", "run", "latin")
    assert (done.returncode, b"pip install ./models/latin" in done.stderr) == (2, True)
    done = epigram("models", "install", "latin")
    assert (done.returncode, b"pip install ./models/latin" in done.stderr) == (2, True)
    done = epigram("models", "info", folder / "toy.epigram", "--json")
    assert json.loads(done.stdout)["words"] == 36
    assert epigram("models", "list", "--json").returncode == 0
