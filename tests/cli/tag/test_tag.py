"""``epigram tag train|update|eval|run|template``: their options, their JSON, their output."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.chain.metrics import evaluate
from epigram.datasets import sample
from epigram.features.formats import read_columns
from epigram.features.template import BUILT_IN, Template
from epigram.tagging import CRFTagger
from in_process import epigram


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sample data (word, part of speech, chunk), and the same as words with parts of speech."""
    folder = tmp_path_factory.mktemp("tag")
    for part in ("train", "dev", "test"):
        sentences = sample.tagged(part)[:150]
        for name, rows in (
            ("chunk", [[" ".join(row) for row in sentence] for sentence in sentences]),
            ("pos", [[f"{word}\t{pos}" for word, pos, _ in sentence] for sentence in sentences]),
        ):
            text = "".join("".join(f"{row}\n" for row in sentence) + "\n" for sentence in rows)
            (folder / f"{name}.{part}").write_text(text)
    return folder


def train(folder: Path, target: str, *words: object, task: str = "chunk") -> dict[str, Any]:
    done = epigram("tag", "train", folder / f"{task}.train", "-o", folder / target, "--json", *words)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def chunker(folder: Path) -> Path:
    train(folder, "chunker.epigram", "--l1", "0.3", "--passes", "10")
    return folder / "chunker.epigram"


@pytest.fixture(scope="module")
def pos_tagger(folder: Path) -> Path:
    train(folder, "pos.epigram", "--l1", "0.3", "--passes", "10", task="pos")
    return folder / "pos.epigram"


def test_train_reports_what_the_estimator_does(folder: Path) -> None:
    record = train(folder, "m.epigram", "--passes", "4", "--l1", "0.5", "--dev", folder / "chunk.dev")
    from epigram import SGD

    observations, labels = read_columns(folder / "chunk.train").split(-1)
    twin = CRFTagger("chunking", l1=0.5, solver=SGD(passes=4))
    twin.fit(observations, labels, dev=read_columns(folder / "chunk.dev").split(-1))
    assert record["passes"] == 4
    assert record["objective"] == pytest.approx(twin.fit_["objective"])
    assert record["active_features"] == twin.fit_["active_features"] <= record["features"]
    assert record["dev_score"] == max(entry["dev_score"] for entry in twin.history_)
    assert record["train_seconds"] > 0
    assert record["cpu_seconds"] > 0
    assert record["bytes"] == (folder / "m.epigram").stat().st_size
    assert CRFTagger.load(folder / "m.epigram").predict(observations) == twin.predict(observations)


def test_same_seed_same_file_another_seed_another(folder: Path) -> None:
    words = ("--passes", "2", "--l1", "0.3", "--seed")
    tensors = []
    for target, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(folder, target, *words, seed)
        tensors.append(CRFTagger.load(folder / target).model_.w)
    assert np.array_equal(tensors[0], tensors[1])
    assert not np.array_equal(tensors[0], tensors[2])


@pytest.mark.parametrize(
    "words",
    [
        ("--solver", "owlqn", "--l1", "0.5", "--threads", "2"),
        ("--solver", "owlqn", "--l1", "0.5", "--l2", "0.1"),
        ("--solver", "lbfgs", "--passes", "20"),
        ("--l2", "0.5", "--passes", "20"),
        ("--method", "lazy", "--schedule", "inverse", "--eta0", "0.3", "--passes", "3"),
        ("--method", "naive", "--batch-size", "4", "--decay", "0.9", "--passes", "3"),
        ("--constrain", "iob2", "--min-count", "2", "--passes", "3"),
        ("--pairs", "all", "--class-weight", "balanced", "--passes", "3"),
        ("--class-weight", "O=0.5,B-NP=2", "--passes", "3"),
        ("--model", "maxent", "--passes", "5", "--l1", "0.3"),
        ("--model", "history", "--passes", "5", "--l1", "0.3"),
    ],
)
def test_every_option_trains_a_model_that_evaluates(folder: Path, words: tuple[str, ...]) -> None:
    record = train(folder, "option.epigram", *words)
    assert 0 < record["active_features"] <= record["features"]
    done = epigram("tag", "eval", folder / "option.epigram", folder / "chunk.test", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["f1"] > 0.6


def test_maxent_labels_tokens_one_by_one(folder: Path) -> None:
    train(folder, "maxent.epigram", "--model", "maxent", "--passes", "3", "--l1", "0.3")
    model = CRFTagger.load(folder / "maxent.epigram").model_
    assert not model.layout.has_transitions


def test_patience_stops_early(folder: Path) -> None:
    words = ("--dev", folder / "chunk.dev", "--passes", "200", "--patience", "2", "--l1", "0.3")
    record = train(folder, "patient.epigram", *words)
    assert record["passes"] == record["best_pass"] + 2


def test_passes_can_be_left_to_the_objective(folder: Path) -> None:
    record = train(folder, "auto.epigram", "--passes", "auto", "--l1", "0.3")
    assert record["stopped"] == "converged"
    assert 3 < record["passes"] < 100
    assert CRFTagger.load(folder / "auto.epigram").solver.passes == "auto"  # type: ignore[union-attr]


def test_eval_counts_as_conlleval(folder: Path, chunker: Path) -> None:
    record = json.loads(epigram("tag", "eval", chunker, folder / "chunk.test", "--json").stdout)
    observations, labels = read_columns(folder / "chunk.test").split(-1)
    predicted = CRFTagger.load(chunker).predict(observations)
    flat = iter(labels.ids.tolist())
    gold = [[labels.strings[next(flat)] for _ in sentence] for sentence in predicted]
    expected = evaluate(gold, predicted).as_dict()
    assert {name: record[name] for name in expected} == expected
    assert record["tokens_per_second"] > 0
    assert record["sentences"] == 150


def test_eval_for_people(folder: Path, chunker: Path) -> None:
    done = epigram("tag", "eval", chunker, folder / "chunk.test")
    assert done.returncode == 0
    for part in ("accuracy", "NP", "recall", "most frequent mistakes", "tokens per second"):
        assert part in done.stdout.decode()


def test_run_adds_a_column_and_leaves_the_rest(folder: Path, chunker: Path) -> None:
    text = (folder / "chunk.test").read_text()
    bare = "".join(line.rpartition(" ")[0] + "\n" for line in text.splitlines())
    with_labels = epigram("tag", "run", chunker, stdin=text.encode())
    without = epigram("tag", "run", chunker, "-", stdin=bare.encode())
    assert with_labels.returncode == without.returncode == 0
    predicted = [line.split(" ")[-1] for line in without.stdout.decode().splitlines()]
    assert [line.split(" ")[-1] for line in with_labels.stdout.decode().splitlines()] == predicted
    added = [line.rpartition(" ")[0] for line in without.stdout.decode().splitlines()]
    assert added == bare.splitlines()
    packed = folder / "packed.gz"
    packed.write_bytes(gzip.compress(bare.encode()))
    assert epigram("tag", "run", chunker, packed).stdout == without.stdout


def test_run_with_marginals(folder: Path, chunker: Path) -> None:
    plain = epigram("tag", "run", chunker, folder / "chunk.test").stdout.decode().splitlines()
    marginal = (
        epigram("tag", "run", chunker, folder / "chunk.test", "--marginals").stdout.decode().splitlines()
    )
    assert [line.rpartition(" ")[0] for line in marginal] == plain
    probabilities = [float(line.split()[-1]) for line in marginal if line]
    assert all(0 < p <= 1 for p in probabilities)
    every = epigram("tag", "run", chunker, folder / "chunk.test", "--all-marginals").stdout.decode()
    cells = every.splitlines()[0].split()[4:]
    assert [cell.rpartition(":")[0] for cell in cells] == list(CRFTagger.load(chunker).model_.labels)
    assert sum(float(cell.rpartition(":")[2]) for cell in cells) == pytest.approx(1.0, abs=1e-4)


def test_run_with_n_best(folder: Path, chunker: Path) -> None:
    observations, _ = read_columns(folder / "chunk.test").split(-1)
    expected = CRFTagger.load(chunker).predict_nbest(observations, 3)
    lines = epigram("tag", "run", chunker, folder / "chunk.test", "--nbest", "3").stdout.decode().splitlines()
    first = [line.split()[3:] for line in lines[: len(expected[0][0][0])]]
    for r, (labels, p) in enumerate(expected[0]):
        assert [cells[2 * r] for cells in first] == labels
        assert {cells[2 * r + 1] for cells in first} == {f"{p:.6f}"}
    done = epigram("tag", "run", chunker, folder / "chunk.test", "--nbest", "3", "--json")
    records = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [
        [(one["labels"], pytest.approx(one["probability"])) for one in r["nbest"]] for r in records
    ] == expected


def test_run_reads_plain_text_where_words_are_all_a_model_needs(folder: Path, pos_tagger: Path) -> None:
    sentences = [[word for word, _, _ in sentence] for sentence in sample.tagged("test")[:5]]
    columns = "".join("\n".join(words) + "\n\n" for words in sentences)
    text = "".join(" ".join(words) + "\n" for words in sentences)
    by_columns = epigram("tag", "run", pos_tagger, stdin=columns.encode())
    by_text = epigram("tag", "run", pos_tagger, stdin=text.encode())
    assert by_text.stdout == by_columns.stdout
    assert b"read as plain text" in by_text.stderr
    assert b"read as plain text" not in by_columns.stderr
    assert by_text.stdout.count(b"\t") == sum(map(len, sentences))
    two_words = epigram("tag", "run", pos_tagger, stdin=b"the cook\n").stdout.decode().split("\n")
    assert [line.split("\t")[0] for line in two_words[:2]] == ["the", "cook"]
    named = epigram("tag", "run", pos_tagger, "--format", "text", stdin=b"the\n")
    assert named.stdout.startswith(b"the\t")


def test_run_as_json_lines(folder: Path, chunker: Path) -> None:
    done = epigram("tag", "run", chunker, folder / "chunk.test", "--json", "--marginals")
    records = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(records) == 150
    assert records[0]["tokens"] == [word for word, _, _ in sample.tagged("test")[0]]
    assert len(records[0]["labels"]) == len(records[0]["probabilities"]) == len(records[0]["tokens"])


def test_history_models_run_by_beam_search_and_say_what_they_lack(folder: Path) -> None:
    from epigram.tagging import MaxentTagger

    train(folder, "history.epigram", "--model", "history", "--passes", "5", "--l1", "0.3")
    observations, _ = read_columns(folder / "chunk.test").split(-1)
    expected = MaxentTagger.load(folder / "history.epigram").predict(observations)
    done = epigram("tag", "run", folder / "history.epigram", folder / "chunk.test", "--json")
    assert [json.loads(line)["labels"] for line in done.stdout.decode().splitlines()] == expected
    done = epigram("tag", "run", folder / "history.epigram", folder / "chunk.test", "--marginals")
    assert done.returncode == 2
    assert b"train with --model crf" in done.stderr


def test_conllu_columns_and_comments(folder: Path) -> None:
    rows = []
    for sentence in sample.tagged("train")[:100]:
        rows.append("# text = x")
        for k, (word, pos, _) in enumerate(sentence, start=1):
            rows.append("\t".join([str(k), word, "_", pos, *"______"]))
        rows.append("")
    file = folder / "train.conllu"
    file.write_text("\n".join(rows) + "\n")
    done = epigram(
        "tag", "train", file, "-o", folder / "ud.epigram", "--passes", "5", "--l1", "0.3", "--json"
    )
    assert done.returncode == 0, done.stderr
    scored = json.loads(epigram("tag", "eval", folder / "ud.epigram", file, "--json").stdout)
    assert scored["accuracy"] > 0.9
    tagged = epigram("tag", "run", folder / "ud.epigram", file).stdout.decode()
    assert tagged.splitlines()[0] == "# text = x"
    assert tagged.splitlines()[1].count("\t") == 9


def test_label_column_and_columns_may_be_anywhere(folder: Path) -> None:
    swapped = folder / "swapped"
    lines = (folder / "chunk.train").read_text().splitlines()
    cells = [line.split() for line in lines]
    swapped.write_text("".join("|".join([c[2], c[1], c[0]]) + "\n" if c else "\n" for c in cells))
    common = ("--passes", "3", "--l1", "0.3", "--json", "--eta0", "0.3")
    order = ("--label-column", "0", "--columns", "2,1", "--separator", "|")
    moved = epigram("tag", "train", swapped, "-o", folder / "swapped.epigram", *order, *common)
    assert moved.returncode == 0, moved.stderr
    plain = train(folder, "plain.epigram", *common)
    assert json.loads(moved.stdout)["objective"] == plain["objective"]
    scored = json.loads(epigram("tag", "eval", folder / "swapped.epigram", swapped, "--json").stdout)
    again = epigram("tag", "eval", folder / "plain.epigram", folder / "chunk.train", "--json")
    assert scored["f1"] == json.loads(again.stdout)["f1"]
    bare = "".join("|".join([c[1], c[0]]) + "\n" if c else "\n" for c in cells[:20])
    done = epigram("tag", "run", folder / "swapped.epigram", stdin=bare.encode())
    assert done.stdout.decode().splitlines()[0].split("|")[:2] == cells[0][1::-1]


def test_plots(folder: Path) -> None:
    for name, magic in (("fit.png", b"\x89PNG"), ("fit.svg", b"<?xml")):
        train(
            folder, "plotted.epigram", "--passes", "2", "--dev", folder / "chunk.dev", "--plot", folder / name
        )
        assert (folder / name).read_bytes().startswith(magic)


@pytest.mark.parametrize("name", BUILT_IN)
def test_template_shows_a_template(name: str) -> None:
    done = epigram("tag", "template", name)
    assert done.stdout.decode() == Template.load(name).text
    assert epigram("tag", "template").stdout.decode().split() == list(BUILT_IN)


def test_run_and_eval_load_neither_sklearn_nor_solvers(folder: Path, chunker: Path) -> None:
    program = (
        "import sys\nfrom epigram.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print(sorted({'sklearn', 'matplotlib', 'epigram.solvers'} & set(sys.modules)), file=sys.stderr)\n"
    )
    for words in (("eval", chunker, folder / "chunk.test"), ("run", chunker, folder / "chunk.test")):
        command = [sys.executable, "-c", program, "tag", *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=600, check=True)
        assert done.stderr.decode().splitlines()[-1] == "[]"


def test_adaptive_solver(folder: Path) -> None:
    from epigram import AdaGrad

    train(folder, "ada.epigram", "--solver", "adagrad", "--l1", "0.3", "--passes", "3")
    ada = CRFTagger.load(folder / "ada.epigram")
    assert isinstance(ada.solver, AdaGrad)
    assert (ada.solver.passes, ada.solver.decay, ada.l1) == (3, 0.95, 0.3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--solver", "projected"), "--solver projected of 'epigram tag train' was removed; train with --l1"),
        (("--solver=projected",), "--solver projected of 'epigram tag train' was removed; train with --l1"),
        (("--radius", "9", "--l1", "1"), "--radius of 'epigram tag train' was removed; train with --l1"),
        (("--radios", "9"), "No such option: --radios"),
        (("--solver", "adagrad", "--l2", "1"), "the solver adagrad takes l1 only"),
    ],
)
def test_solver_options_that_do_not_fit(folder: Path, words: tuple[str, ...], said: str) -> None:
    done = epigram("tag", "train", folder / "chunk.train", "-o", folder / "no.epigram", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.decode().split())
    assert not (folder / "no.epigram").exists()


def test_update_learns_on_and_remembers_how_files_are_read(folder: Path) -> None:
    half = folder / "half.epigram"
    sentences = (folder / "pos.train").read_text().split("\n\n")
    (folder / "first").write_text("\n\n".join(sentences[:75]) + "\n")
    (folder / "second").write_text("\n\n".join(sentences[75:]))
    words = ("--l1", "0.3", "--passes", "5", "--model", "history", "--separator", "\t", "--json")
    assert epigram("tag", "train", folder / "first", "-o", half, *words).returncode == 0
    target = folder / "updated.epigram"
    done = epigram(
        "tag", "update", half, folder / "second", "-o", target, "--dev", folder / "pos.dev", "--json"
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["sentences"] == 75
    assert not record["interrupted"]
    assert record["dev_score"] > record["dev_score_before"] > 0.5
    scored = epigram("tag", "eval", target, folder / "pos.dev", "--json")
    assert json.loads(scored.stdout)["accuracy"] == pytest.approx(record["dev_score"])
    assert json.loads(scored.stdout)["accuracy"] < 1.0
    assert epigram("tag", "update", half, folder / "second").returncode == 0
    assert half.read_bytes() == target.read_bytes()
    wrong = epigram("tag", "update", half, folder / "missing")
    assert wrong.returncode == 2
    assert b"missing" in wrong.stderr
