"""Commands that read plain text take files of records, in every format, and name their text with --field."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from epigram import KneserNeyLM
from epigram.records.streams import pack

TEXTS = ["a b a b\nb a c", "c a, b", "b b", "zebra", "a c"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    KneserNeyLM(2).fit(["a b a b", "b a c", "a c c"]).save(tmp_path / "lm.epigram")
    return tmp_path / "lm.epigram"


def written(folder: Path, name: str, texts: list[str] = TEXTS) -> Path:
    """A file with an id, a text and another text, in the format of its name."""
    path, rows = folder / name, [{"id": k, "text": text, "other": "c"} for k, text in enumerate(texts)]
    kind = name.split(".")[1]
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "jsonl":
        path.write_bytes(pack(path, "".join(json.dumps(row) + "\n" for row in rows).encode()))
    else:
        sep, prefix = ("\t", "id\ttext\tother\n") if kind == "tsv" else (" ", "")
        line = "{id}\t{text}\t{other}\n" if kind == "tsv" else "__label__{other}" + sep + "{text}\n"
        cells = [{**row, "text": str(row["text"]).replace("\n", " ")} for row in rows]
        path.write_text(prefix + "".join(line.format(**row) for row in cells))
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.tsv", "a.txt", "a.parquet"]
)
def test_scores_of_records_are_those_of_their_text(run, tmp_path: Path, model: Path, name: str) -> None:
    texts = TEXTS if name in ("a.jsonl", "a.csv") else [text.replace("\n", " ") for text in TEXTS]
    (tmp_path / "plain").write_text("\n".join(texts) + "\n")
    given = written(tmp_path, name, texts)
    code, wanted, _ = run("lm", "score", model, tmp_path / "plain")
    assert code == 0
    assert run("lm", "score", model, given)[:2] == (0, wanted)


def test_field_chooses_and_names_what_there_is(run, tmp_path: Path, model: Path) -> None:
    path = written(tmp_path, "a.csv")
    code, out, _ = run("lm", "score", model, path, "--field", "other")
    assert code == 0
    assert len(set(out.split())) == 1
    code, _, said = run("lm", "score", model, path, "--field", "none")
    assert code == 2
    assert "no field 'none'; the fields are id, text, other" in said
    (tmp_path / "plain").write_text("a b\n")
    assert run("lm", "score", model, tmp_path / "plain", "--field", "text")[0] == 2


def test_models_of_records_are_those_of_their_text(run, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("\n".join(TEXTS) + "\n")
    for source, out in (("plain", "one"), (written(tmp_path, "a.jsonl").name, "two")):
        train = ("lm", "train", tmp_path / source, "--model", "kneser-ney", "-o", tmp_path / out)
        assert run(*train)[0] == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    one = run("lm", "eval", tmp_path / "one", tmp_path / "plain", "--json")[1]
    two = run("lm", "eval", tmp_path / "one", tmp_path / "a.jsonl", "--json")[1]
    assert json.loads(one)["perplexity"] == json.loads(two)["perplexity"]


def test_unknown_words_alone_have_no_perplexity_without_end(run, tmp_path: Path, model: Path) -> None:
    (tmp_path / "plain").write_text("zebra zebra\n")
    code, out, _ = run("lm", "eval", model, tmp_path / "plain")
    assert code == 0
    assert "nan" not in out


def test_taggers_read_records(run, tmp_path: Path) -> None:
    rows = [[("a", "X"), ("b", "Y")], [("c", "X")]]
    (tmp_path / "train.txt").write_text("".join("".join(f"{w} {t}\n" for w, t in row) + "\n" for row in rows))
    assert (
        run("tag", "train", tmp_path / "train.txt", "-o", tmp_path / "t.epigram", "--template", "pos")[0] == 0
    )
    (tmp_path / "plain").write_text("a b\nc a, b\n")
    wanted = run("tag", "run", tmp_path / "t.epigram", tmp_path / "plain", "--format", "text")[1]
    for name in ("a.jsonl", "a.csv", "a.tsv"):
        given = written(tmp_path, name, ["a b", "c a, b"])
        assert run("tag", "run", tmp_path / "t.epigram", given)[:2] == (0, wanted)
    assert run("tag", "run", tmp_path / "t.epigram", given, "--field", "text")[:2] == (0, wanted)


def test_commands_without_fields_refuse_tables_by_name(run, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv")
    code, _, said = run("lm", "prepare", path, "-o", tmp_path / "o")
    assert code == 2
    assert "Take the text out first: cut -d, -f2 FILE > NEW" in said
