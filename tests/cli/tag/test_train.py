"""Bad input to ``epigram tag``: exit code 2, one line on standard error with file and line, no file left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from epigram.datasets import sample
from epigram.features.formats import read_columns
from epigram.tagging import SegmentTagger
from in_process import Done, epigram

TRAIN = "The DT B-NP\ncat NN I-NP\nsat VBD B-VP\n. . O\n\nA DT B-NP\ndog NN I-NP\nran VBD B-VP\n\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "train.txt").write_text(TRAIN * 5)
    target = folder / "tiny.epigram"
    done = epigram("tag", "train", folder / "train.txt", "-o", target, "--l1", "0.1", "--passes", "5")
    assert done.returncode == 0, done.stderr
    return target


def refused(done: Done, *parts: str) -> None:
    """Exit code 2, and the parts in the one line that says why; notes in grey may stand before it."""
    assert done.returncode == 2, done
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("epigram: ")]
    assert len(lines) == 1, done.stderr
    assert done.stderr.decode().splitlines()[-1] == lines[0]
    for part in parts:
        assert part in lines[0]
    assert done.stdout == b""


BROKEN = {
    "empty": (b"", "no tokens"),
    "blank": (b"\n\n \n", "no tokens"),
    "ragged": (b"The DT B-NP\ncat NN\n", ":2: expected 3 columns, found 2"),
    "not UTF-8": (b"The DT B-NP\n\ncaf\xe9 NN I-NP\n", ":3: invalid UTF-8"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("command", ["train", "dev", "eval", "run"])
def test_broken_files_are_named_with_their_line(model: Path, tmp_path: Path, what: str, command: str) -> None:
    content, message = BROKEN[what]
    broken, good, target = tmp_path / "broken.txt", tmp_path / "good.txt", tmp_path / "new.epigram"
    broken.write_bytes(content)
    good.write_text(TRAIN)
    words = {
        "train": ("train", broken, "-o", target),
        "dev": ("train", good, "--dev", broken, "-o", target),
        "eval": ("eval", model, broken),
        "run": ("run", model, broken),
    }[command]
    refused(epigram("tag", *words), f"{broken}:", message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.txt", "good.txt"]


@pytest.mark.parametrize("passes", ["0", "many", "-1", "2.5"])
def test_a_number_of_passes_that_is_none_is_named(tmp_path: Path, passes: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text(TRAIN)
    words = ("tag", "train", good, "-o", tmp_path / "m.epigram")
    refused(epigram(*words, f"--passes={passes}"), "--passes is auto or a whole number", passes)
    refused(epigram(*words, "--passes", "auto", "--l2", "1"), "passes='auto' is for the solver sgd")


def test_a_missing_file_is_named(model: Path, tmp_path: Path) -> None:
    for words in (("train", tmp_path / "no.txt", "-o", tmp_path / "m"), ("eval", model, tmp_path / "no.txt")):
        refused(epigram("tag", *words), "no.txt: cannot read: No such file")


def test_a_label_only_in_the_test_set_counts_as_a_mistake(model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.txt"
    test.write_text("The DT B-NP\ncat NN I-NP\nsat VBD B-NEW\n. . O\n")
    done = epigram("tag", "eval", model, test, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["accuracy"] == 0.75
    assert record["unknown_labels"] == ["B-NEW"]
    assert record["per_type"]["NEW"]["recall"] == 0.0
    assert record["per_type"]["NP"]["f1"] == 1.0
    assert (record["correct"], record["gold"]) == (1, 2)


def test_a_sentence_of_ten_thousand_tokens(model: Path, tmp_path: Path) -> None:
    rows = [("The DT", "B-NP"), ("cat NN", "I-NP"), ("sat VBD", "B-VP"), (". .", "O")] * 2500
    long = tmp_path / "long.txt"
    long.write_text("".join(f"{cells} {label}\n" for cells, label in rows))
    target = tmp_path / "long.epigram"
    assert epigram("tag", "train", long, "-o", target, "--passes", "2", "--eta0", "0.1").returncode == 0
    done = epigram("tag", "run", model, long, "--marginals")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 10_000
    assert lines[5000].startswith("The DT B-NP B-NP ")
    assert 0.0 <= float(lines[5000].split()[-1]) <= 1.0


def test_a_template_that_names_a_missing_column(tmp_path: Path) -> None:
    train, template = tmp_path / "train.txt", tmp_path / "mine.template"
    train.write_text(TRAIN)
    template.write_text("# mine\nU00:%x[0,0]\nU01:%x[0,2]\nB\n")
    done = epigram("tag", "train", train, "-o", tmp_path / "m.epigram", "--template", template)
    refused(done, f"{template}:3: column 2 is asked for", f"{train} has 2 columns")
    assert not (tmp_path / "m.epigram").exists()


def test_input_with_too_few_columns_for_the_model(model: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("The\ncat\n")
    refused(epigram("tag", "run", model, words), str(words), "found 1")


@pytest.mark.parametrize("command", ["eval", "run"])
@pytest.mark.parametrize("what", ["empty", "foreign", "truncated", "cut short", "missing"])
def test_a_model_file_that_is_none(model: Path, tmp_path: Path, what: str, command: str) -> None:
    whole = model.read_bytes()
    content = {
        "empty": b"",
        "foreign": b"lCRF\x00\x00 not ours at all" * 20,
        "truncated": whole[: len(whole) - 50],
        "cut short": whole[:100],
    }
    broken, good = tmp_path / "broken.epigram", tmp_path / "good.txt"
    good.write_text(TRAIN)
    if what != "missing":
        broken.write_bytes(content[what])
    refused(epigram("tag", command, broken, good), f"{broken}: ")


@pytest.mark.parametrize("target", ["no/such/folder/m.epigram", "."])
def test_an_output_that_cannot_be_written_is_said_before_training(tmp_path: Path, target: str) -> None:
    train = tmp_path / "train.txt"
    train.write_bytes(b"")  # so that reading it would be another error
    refused(epigram("tag", "train", train, "-o", tmp_path / target), "cannot write")
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--solver", "sgd", "--l2", "1"), "the solver sgd takes l1 only"),
        (("--solver", "lbfgs", "--l1", "1"), "the solver lbfgs takes l2 only"),
        (("--solver", "owlqn", "--l1", "0"), "the solver owlqn needs l1"),
        (("--eta0", "fast"), "--eta0 is auto or a number of at least 0, not 'fast'"),
        (("--decay", "2"), "decay must be"),
        (("--solver", "owlqn", "--decay", "0.5"), "decay is not a setting of the solver owlqn"),
        (("--class-weight", "O=x"), "--class-weight"),
        (("--label-column", "7"), "there is no column 7"),
        (("--columns", "0,2"), "column 2 holds the labels"),
        (("--columns", "0,9"), "there is no column 9"),
        (("--template", "nothing"), "no such template"),
        (("--patience", "3"), "--patience needs --dev"),
        (("--model", "history", "--constrain", "iob2"), "--constrain has no meaning with --model history"),
        (("--plot", "x.txt"), "a plot is a .png"),
        (("--separator", "::"), "--separator is one"),
        (("--format", "slash", "--comments", "#", "--comments", "%"), "one comment prefix at most"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    train = tmp_path / "train.txt"
    train.write_text(TRAIN)
    refused(epigram("tag", "train", train, "-o", tmp_path / "m.epigram", *words), message)
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("richer")
    for part in ("train", "test"):
        rows = [[" ".join(row) for row in sentence] for sentence in sample.tagged(part)[:80]]
        (folder / part).write_text("".join("\n".join(sentence) + "\n\n" for sentence in rows))
    words = sorted({row[0] for sentence in sample.tagged("train")[:80] for row in sentence})
    (folder / "classes").write_text("".join(f"{len(word)} {word[-1]}\t{word}\n" for word in words))
    (folder / "names").write_text("New York\n")
    return folder


def run(*words: Any) -> str:
    done = epigram(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_segments_from_file_to_labels(folder: Path) -> None:
    model = folder / "segments.epigram"
    words = ("--model", "segment", "--l1", "0.3", "--passes", "8", "--classes", folder / "classes")
    record = json.loads(run("tag", "train", folder / "train", "-o", model, "--json", *words))
    assert record["active_features"] > 0
    (folder / "classes").rename(folder / "moved")  # the model has them
    tagger = SegmentTagger.load(model)
    observations, labels = read_columns(folder / "test").split(-1)
    tags = [tag for sentence in tagger.predict(observations) for tag in sentence]
    found = [
        line.split(" ") for line in run("tag", "run", model, folder / "test", "--marginals").splitlines()
    ]
    assert [line[3] for line in found if len(line) > 1] == tags
    report = json.loads(run("tag", "eval", model, folder / "test", "--json"))
    assert report["accuracy"] == pytest.approx(tagger.score(observations, labels))
    lines = run("tag", "run", model, folder / "test", "--nbest", "2", "--json").splitlines()
    first = json.loads(lines[0])
    assert len(first["tokens"]) == len(first["nbest"][0]["labels"])
    why = json.loads(run("tag", "explain", model, folder / "test", "--token", "0", "--json"))
    assert why["tokens"][0]["label"] == tags[0]
    refused = epigram("tag", "update", model, folder / "train")
    assert refused.returncode == 2
    assert b"train it anew" in refused.stderr
    (folder / "moved").rename(folder / "classes")


def test_strength_is_chosen_and_lists_are_asked(folder: Path) -> None:
    words = ("--l1", "auto", "--passes", "4", "--gazetteer", folder / "names", "--template", "chunking+")
    record = json.loads(run("tag", "train", folder / "train", "-o", folder / "m", "--json", *words))
    assert record["l1"] in [4.0 / 2**k for k in range(9)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--l1", "much"), "--l1 is auto or a number of at least 0"),
        (("--l1", "auto", "--l2", "1"), "--l1 auto is for l1 alone"),
        (("--l1", "auto", "--shards", "x"), "needs --dev FILE to choose by"),
        (("--model", "segment", "--constrain", "bioes"), "--constrain has no meaning with --model segment"),
        (("--classes", "nowhere"), "no such file"),
    ],
)
def test_refuses(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = epigram("tag", "train", folder / "train", "-o", folder / "m", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize("command", ["train", "run"])
def test_json_lines_are_refused(model: Path, tmp_path: Path, command: str) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"text": "a cat"}\n' * 3)
    words = ("train", lines, "-o", tmp_path / "m.epigram") if command == "train" else ("run", model, lines)
    refused(epigram("tag", *words), f"{lines}: this is JSON")
