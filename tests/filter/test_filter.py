"""Filtering: scores, bounds, shares and buckets; threads and resumed runs give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from epigram import KneserNeyLM, TextClassifier
from epigram.errors import InputError
from epigram.filter import DocumentFilter, LabelProbability, Perplexity, PerplexityRatio, score_documents
from epigram.filter.selection import NOTE_EVERY
from epigram.protocols import Floats

TEXTS = ["a b a b", "b a c\na b", "", "zebra a", "c c c a"]


class Lengths:
    """Scores a text by its length; stops a run after some batches."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.left = fails_after

    def __call__(self, texts: Sequence[str]) -> Floats:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return np.array([float(len(text)) if text else np.nan for text in texts])


@pytest.fixture(scope="module")
def model() -> KneserNeyLM:
    return KneserNeyLM(2).fit(["a b a b", "b a c", "a c c"])


def jsonl(path: Path, texts: Sequence[str]) -> str:
    path.write_text("".join(json.dumps({"id": k, "text": text}) + "\n" for k, text in enumerate(texts)))
    return str(path)


def test_perplexity_of_a_document_is_that_of_its_lines_together(model: KneserNeyLM) -> None:
    found = Perplexity(model)(TEXTS)
    assert np.isnan(found[2])
    for text, value in zip(TEXTS, found.tolist(), strict=True):
        lines = text.splitlines()
        if lines:
            log_p = sum(_log_p(model, line) for line in lines)
            n = sum(len(line.split()) + 1 for line in lines)
            assert value == pytest.approx(np.exp(-log_p / n))


def _log_p(model: KneserNeyLM, line: str) -> float:
    from epigram.lm.score_report import Report

    return float(Report.of(model, [line]).log_likelihoods[0])


def test_the_ratio_and_the_probability_of_a_label(model: KneserNeyLM) -> None:
    other = KneserNeyLM(1).fit(["a b c", "c b a"])
    ratio = PerplexityRatio(model, other)(TEXTS)
    assert ratio[0] == pytest.approx(Perplexity(model)(TEXTS)[0] / Perplexity(other)(TEXTS)[0])
    classifier = TextClassifier(words=1, l2=0.1).fit(["good one", "bad one"] * 5, ["p", "n"] * 5)
    p = LabelProbability(classifier, "p")(["good one", " "])
    assert p[0] == pytest.approx(classifier.predict_proba(["good one"])[0, 1])
    assert np.isnan(p[1])
    with pytest.raises(InputError, match="no label 'x'"):
        LabelProbability(classifier, "x")


def test_bounds_keep_records_in_order_with_their_score(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["aaaa", "b", "cc", "", "ddddd"])
    (tmp_path / "a.jsonl").open("a").write("broken\n")
    with pytest.warns(match="left out"):
        summary = DocumentFilter({"score": Lengths()}, least={"score": 2.0}, most={"score": 4.0}).run(
            [source], str(tmp_path / "o.jsonl")
        )
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert rows == [{"id": 0, "text": "aaaa", "score": 4.0}, {"id": 2, "text": "cc", "score": 2.0}]
    assert (summary.documents, summary.kept, summary.empty, summary.malformed) == (5, 2, 1, 1)
    assert not list(tmp_path.glob("*.epigram-state"))


def test_shares_and_buckets(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["x" * n for n in (5, 1, 4, 2, 3, 6)])
    out = tmp_path / "o.jsonl"
    mine = [tmp_path / f"o.jsonl.{end}" for end in ("scores", "state", "partial")]
    for path in mine:
        path.write_text("a file of the user")
    DocumentFilter({"score": Lengths()}, share=0.5).run([source], str(out))
    assert [json.loads(line)["score"] for line in out.read_text().splitlines()] == [1.0, 2.0, 3.0]
    DocumentFilter({"score": Lengths()}, share=1 / 3, highest=True, adds=False).run([source], str(out))
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [0, 5]
    DocumentFilter({"score": Lengths()}, buckets=("head", "tail")).run([source], str(out))
    found = {row["score"]: row["bucket"] for row in map(json.loads, out.read_text().splitlines())}
    assert found == {1.0: "head", 2.0: "head", 3.0: "head", 4.0: "tail", 5.0: "tail", 6.0: "tail"}
    with pytest.raises(InputError, match="twice"):
        DocumentFilter({"score": Lengths()}, share=0.5).run(["-"], str(out))
    assert {path.read_text() for path in mine} == {"a file of the user"}


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_killed_run_is_resumed_to_the_same_bytes_and_threads_change_nothing(
    tmp_path: Path, share: float | None, ending: str
) -> None:
    sources = [
        jsonl(tmp_path / f"{name}.jsonl", [f"{name} {k * 7 % 1000}" for k in range(500 * NOTE_EVERY)])
        for name in "ab"
    ]
    whole, parts, threads = (str(tmp_path / f"{name}.{ending}") for name in ("whole", "parts", "threads"))
    DocumentFilter({"score": Lengths()}, most={"score": 5.0}, share=share).run(sources, whole)
    with pytest.raises(KeyboardInterrupt):
        DocumentFilter({"score": Lengths(NOTE_EVERY + 5)}, most={"score": 5.0}, share=share).run(
            sources, parts
        )
    again = Lengths(100)
    DocumentFilter({"score": again}, most={"score": 5.0}, share=share).run(sources, parts, resume=True)
    assert again.left is not None
    assert again.left > 100 - 2 * NOTE_EVERY  # what was done before is not done again
    DocumentFilter({"score": Lengths()}, most={"score": 5.0}, share=share, threads=3).run(sources, threads)
    contents = [Path(path).read_bytes() for path in (whole, parts, threads)]
    assert contents[0] == contents[1] == contents[2]


def test_files_of_two_formats_go_through_one_batch(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["aaaa"])
    (tmp_path / "b.txt").write_text("bbb\n")
    DocumentFilter({"score": Lengths()}).run([source, str(tmp_path / "b.txt")], str(tmp_path / "o.txt"))
    assert (tmp_path / "o.txt").read_text() == '{"id": 0, "text": "aaaa", "score": 4.0}\n3.0\tbbb\n'


def test_an_iterator_of_scores() -> None:
    assert list(score_documents(Lengths(), iter(["a", "bb", "ccc"]), batch=2)) == [1.0, 2.0, 3.0]


def test_several_scores_each_with_its_bounds(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["aaaa", "ab", "", "bbbbb", "a"])

    def share_of_a(texts: Sequence[str]) -> Floats:
        return np.array([text.count("a") / len(text) if text else np.nan for text in texts])

    job = DocumentFilter({"n": Lengths(), "a": share_of_a}, least={"a": 0.5}, most={"n": 3.0})
    summary = job.run([source], str(tmp_path / "o.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [(row["text"], row["n"], row["a"]) for row in rows] == [("ab", 2.0, 0.5), ("a", 1.0, 1.0)]
    assert sum(summary.bins["a"].values()) == 4


def test_without_a_choice_nothing_is_lost(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["a", "", "x" * 50_000_000, "\x00\x01\ufffd"])
    summary = DocumentFilter({"score": Lengths()}).run([source], str(tmp_path / "o.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["score"] for row in rows] == [1.0, None, 50_000_000.0, 3.0]
    assert (summary.documents, summary.kept, summary.empty) == (4, 4, 1)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["a"])
    with pytest.raises(InputError, match="have a field 'id' already"):
        DocumentFilter({"id": Lengths()}).run([source], str(tmp_path / "o.jsonl"))
    (tmp_path / "a.csv").write_text("text,n\na,1\n")
    (tmp_path / "b.csv").write_text("n,text\n1,a\n")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    with pytest.raises(InputError, match="other columns than in the first file"):
        DocumentFilter({"score": Lengths()}).run(paths, str(tmp_path / "o.csv"))
    assert not (tmp_path / "o.jsonl.epigram-partial").exists()
    (tmp_path / "broken.jsonl").write_text("{\n{\n")
    with pytest.warns(match="left out"), pytest.raises(InputError, match="no document could be read"):
        DocumentFilter({"score": Lengths()}).run([str(tmp_path / "broken.jsonl")], str(tmp_path / "p.jsonl"))
    assert not list(tmp_path.glob("p.jsonl*"))


def test_scores_of_another_run_are_not_resumed(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", ["a" * (k % 9 + 1) for k in range(2000)])
    with pytest.raises(KeyboardInterrupt):
        DocumentFilter({"score": Lengths(2)}, share=0.5).run([source], str(tmp_path / "o.jsonl"))
    other = DocumentFilter({"score": Lengths()}, share=0.5, subject="another model")
    with pytest.raises(InputError, match="run with other settings"):
        other.run([source], str(tmp_path / "o.jsonl"), resume=True)


def test_parquet_keeps_its_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    rows = {"text": ["a", "bb", ""], "n": arrow.array([1, None, 3], arrow.int32()), "tags": [["x"], [], None]}
    parquet.write_table(arrow.table(rows), tmp_path / "a.parquet")
    DocumentFilter({"score": Lengths()}).run([str(tmp_path / "a.parquet")], str(tmp_path / "o.parquet"))
    found = parquet.read_table(tmp_path / "o.parquet")
    assert found.drop(["score"]).equals(parquet.read_table(tmp_path / "a.parquet"))
    assert found["score"].to_pylist() == [1.0, 2.0, None]


def test_a_cluster_gives_the_bytes_of_one_process(tmp_path: Path, model: KneserNeyLM) -> None:
    pytest.importorskip("distributed")
    from epigram.filter.cluster import filter_files
    from epigram.filter.recipes import ScorerRecipe

    model.save(tmp_path / "lm.epigram")
    sources = [
        jsonl(tmp_path / f"{name}.jsonl", [f"{name} a b c"[k % 5 :] for k in range(40)]) for name in "abc"
    ]
    recipe = ScorerRecipe("score", str(tmp_path / "lm.epigram"))
    settings = {"share": 0.4, "buckets": ("head", "tail")}
    (tmp_path / "out").mkdir()
    summary = filter_files("local:2", [recipe], settings, sources, tmp_path / "out", {})
    DocumentFilter({"score": recipe.build()}, **settings).run(sources, str(tmp_path / "one.jsonl"))  # type: ignore[arg-type]
    parts = b"".join((tmp_path / "out" / f"{name}.jsonl").read_bytes() for name in "abc")
    assert parts == (tmp_path / "one.jsonl").read_bytes()
    assert summary.documents == 120
    with pytest.raises(InputError, match="names differ"):
        filter_files("local:1", [recipe], settings, [sources[0]] * 2, tmp_path / "out", {})
