"""The commands of epigram classify: files of every kind in, labels, measures and explanations out."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

import in_process
from tests.classify.test_classify import reviews


def epigram(*words: str) -> subprocess.CompletedProcess[str]:
    done = in_process.epigram(*words)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classify")


@pytest.fixture(scope="module")
def model(folder: Path) -> str:
    texts, labels = reviews(300)
    path = folder / "train.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in zip(texts, labels, strict=True)))
    done = epigram(
        "classify", "train", str(path), "-o", str(folder / "m.epigram"), "--budget", "3s", "--json"
    )
    record = json.loads(done.stdout)
    assert record["samples"] == 300
    assert record["bytes"] < 500_000
    assert record["held_out_score"] > 0.8
    return str(folder / "m.epigram")


def write(folder: Path, kind: str, texts: list[str], labels: list[str]) -> Path:
    path = folder / f"test.{kind}"
    if kind == "jsonl":
        lines = [json.dumps({"id": k, "text": text, "label": labels[k]}) for k, text in enumerate(texts)]
        path.write_text("\n".join(lines) + "\n")
    else:
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter="\t" if kind == "tsv" else ",").writerows(
                zip(labels, texts, strict=True)
            )
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_eval_reads_every_format(folder: Path, model: str, kind: str) -> None:
    path = write(folder, kind, *reviews(200, seed=1, noise=0.0))
    record = json.loads(epigram("classify", "eval", model, str(path), "--json").stdout)
    assert record["documents"] == 200
    assert record["accuracy"] > 0.95
    assert {row["label"] for row in record["labels"]} == {"pos", "neg"}
    assert sum(n for _, _, n in record["confusion"]) == 200
    assert "macro" in epigram("classify", "eval", model, str(path)).stdout


def test_run_labels_lines_in_order(folder: Path, model: str) -> None:
    path = folder / "lines.txt"
    path.write_text("a superb film\n\na dull and awful story\n")
    lines = epigram("classify", "run", model, str(path)).stdout.splitlines()
    assert [line.split("\t")[0] for line in (lines[0], lines[2])] == ["pos", "neg"]
    both = epigram("classify", "run", model, str(path), "-k", "2", "--json").stdout.splitlines()
    assert [len(json.loads(line)["labels"]) for line in both] == [2, 2, 2]
    rejected = epigram("classify", "run", model, str(path), "--reject", "0.9999999").stdout.split("\n")
    assert rejected[1] == ""


def test_explain_in_three_forms(model: str) -> None:
    record = json.loads(epigram("classify", "explain", model, "a superb film", "--as", "json").stdout)
    assert record["label"] == "pos"
    assert record["spans"][2]["text"] == "superb"
    assert "<span" in epigram("classify", "explain", model, "a superb film", "--as", "html").stdout
    assert "superb" in epigram("classify", "explain", model, "a superb film").stdout


def test_inspect_lists_the_strongest_ngrams(model: str) -> None:
    record = json.loads(epigram("inspect", model, "--json").stdout)
    names = [row["n-gram"] for row in record["strongest n-grams of pos"]]
    assert len(names) == 20
    assert "?" not in names


def test_thresholds_for_a_precision(folder: Path, model: str) -> None:
    path = write(folder, "jsonl", *reviews(200, seed=4, noise=0.2))
    copy = folder / "copy.epigram"
    copy.write_bytes(Path(model).read_bytes())
    epigram("classify", "eval", str(copy), str(path), "--precision", "0.75", "--json")
    lines = epigram("classify", "run", str(copy), str(path)).stdout.splitlines()
    assert len(lines) == 200


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("one\ntwo\n", "no labels found"),
        ("", "no text: "),
        ("__label__a one\n__label__a two\n", "at least two kinds"),
    ],
)
def test_what_cannot_be_trained_on_ends_with_a_sentence(folder: Path, content: str, said: str) -> None:
    path = folder / "wrong.txt"
    path.write_text(content)
    done = epigram("classify", "train", str(path), "-o", str(folder / "x.epigram"))
    assert done.returncode == 2
    assert said in done.stderr


def test_another_kind_of_model_is_refused(folder: Path) -> None:
    done = epigram("classify", "run", str(folder / "train.txt"), str(folder / "train.txt"))
    assert done.returncode == 2


def test_a_malformed_document_gets_no_label(folder: Path, model: str) -> None:
    path = folder / "mixed.txt"
    path.write_bytes(b"cheap\n\xff\xfe\ncheap\n")
    lines = epigram("classify", "run", model, str(path)).stdout.splitlines()
    assert [bool(line) for line in lines] == [True, False, True]
    path.write_bytes(b"\xff\xfe\n")
    assert epigram("classify", "run", model, str(path)).returncode == 2


def test_eval_warns_of_documents_that_say_nothing(folder: Path, model: str) -> None:
    path = folder / "odd.csv"
    path.write_text('label,text\npos,"a superb  film"\nneg,\nneg,a dull film\nneg,a dull film\nodd,a story\n')
    seen = folder / "seen.csv"
    seen.write_text("label,text\npos,a superb film\nneg,another\n")
    done = epigram("classify", "eval", model, str(path), "--train", str(seen))
    said = " ".join(done.stderr.split())
    for wanted in (
        "1 documents have labels", "1 documents have no text", "1 documents are copies", "1 documents are training",
    ):  # fmt: skip
        assert wanted in said
    assert "confusion matrix" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert next(row for row in rows if row[:1] == ["pos"] and len(row) == 4) == ["pos", "0", "0", "1"]


def test_update_learns_further_documents(folder: Path, model: str) -> None:
    more = folder / "more.txt"
    more.write_text("__label__pos a stellar film\n__label__neg a wooden story\n" * 10)
    other = str(folder / "other.epigram")
    done = epigram("classify", "update", model, str(more), "-o", other, "--json")
    assert json.loads(done.stdout)["samples"] == 320
    lines = folder / "asked.txt"
    lines.write_text("stellar\nwooden\n")
    found = epigram("classify", "run", other, str(lines)).stdout.splitlines()
    assert [line.split("\t")[0] for line in found] == ["pos", "neg"]


def test_weights_of_labels_and_a_checkpoint_option(folder: Path, model: str) -> None:
    output = str(folder / "weighted.epigram")
    for given, code in (("pos=3,neg=1", 0), ("balanced", 0), ("pos", 2)):
        words = ["--words", "1", "--l2", "0.03", "--class-weight", given, "--checkpoint", "1"]
        done = epigram("classify", "train", str(folder / "train.txt"), "-o", output, *words)
        assert done.returncode == code, done.stderr
    assert not (folder / "weighted.epigram.checkpoint").exists()
