"""Count files: what is written is what occurs, what is read trains the same model, and a file that lies is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.corpus import Corpus, Vocabulary
from epigram.lm.ngram.counts import count_lines, read_counts
from epigram.lm.ngram.kneser_ney import KneserNeyLM, count_ngrams

SENTENCES = st.lists(
    st.lists(st.sampled_from(["a", "b", "7", "日本"]), min_size=1, max_size=6), min_size=1, max_size=8
)
TEXT = ["a rose is a rose", "a tulip is no rose", "no rose", "is a tulip a rose"]


def written(path: Path, sentences: list[str] | list[list[str]], order: int) -> Path:
    corpus = Corpus.of(sentences)
    path.write_text(
        "".join(f"{line}\n" for line in count_lines(corpus.vocabulary, count_ngrams(corpus, order)))
    )
    return path


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.integers(1, 4))
def test_lines_are_what_a_dictionary_counts(sentences: list[list[str]], order: int) -> None:
    expected: Counter[str] = Counter()
    for sentence in sentences:
        marked = ["<s>", *sentence, "</s>"]
        for n in range(1, order + 1):
            expected.update(" ".join(marked[k : k + n]) for k in range(len(marked) - n + 1))
    corpus = Corpus.of(sentences)
    lines = list(count_lines(corpus.vocabulary, count_ngrams(corpus, order)))
    assert {gram: int(n) for gram, n in (line.split("\t") for line in lines)} == expected
    assert len(lines) == len(expected)


@pytest.mark.parametrize(
    "limits", [{}, {"min_count": 2}, {"max_words": 2}, {"vocabulary": Vocabulary(["a", "is"])}]
)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_counts_train_the_model_of_their_text(tmp_path: Path, order: int, limits: dict[str, object]) -> None:
    path = written(tmp_path / "counts", TEXT, 4)
    model = KneserNeyLM(order=order, **limits).fit_counts(*read_counts(path, order, **limits))  # type: ignore[arg-type]
    text = KneserNeyLM(order=order, **limits).fit(TEXT)  # type: ignore[arg-type]
    assert model.vocabulary_ == text.vocabulary_
    assert model.to_model_file().to_bytes() == text.to_model_file().to_bytes()


def test_files_end_to_end_are_the_counts_of_both_texts(tmp_path: Path) -> None:
    parts = [
        written(tmp_path / name, text, 3).read_text() for name, text in (("x", TEXT[:2]), ("y", TEXT[2:]))
    ]
    (tmp_path / "both").write_text("\n".join(reversed(parts)))
    both = KneserNeyLM(order=3).fit_counts(*read_counts(tmp_path / "both"))
    whole = KneserNeyLM(order=3).fit(TEXT)
    assert both.perplexity(TEXT) == pytest.approx(whole.perplexity(TEXT), rel=1e-12)
    lower = KneserNeyLM(order=2).fit_counts(
        *read_counts(tmp_path / "both")
    )  # the model's order is what counts
    assert lower.perplexity(TEXT) == pytest.approx(KneserNeyLM(order=2).fit(TEXT).perplexity(TEXT), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("no rose\t", "no rose "), None),  # any blank will do
        (lambda text: text.replace("<s> a\t2", "<s> a\tmany"), r"counts:8: .*whole number"),
        (lambda text: text.replace("<s> a\t2", "<s> a\t0.5"), "whole number"),
        (lambda text: text.replace("<s> a\t2", "<s> a\t99999999999"), "whole number"),
        (lambda text: text + "\n\nrose\n", "whole number"),
        (lambda text: text + "a </s> a\t1\n", "</s> stands only at the edge"),
        (lambda text: text + "a <s>\t1\n", "<s> stands only at the edge"),
        (lambda text: text + "is\t2147483647\n", "at most 2,147,483,647"),
        (lambda text: text.replace("rose is\t1\n", ""), "'rose is' inside it has none"),
        (lambda text: text.replace("tulip\t2\n", ""), "'tulip' inside it has none"),
        (
            lambda text: "".join(line + "\n" for line in text.split("\n") if not line.endswith("\t1")),
            "left out",
        ),
        (lambda text: "\n".join(line for line in text.split("\n") if "</s>" not in line), "no count of </s>"),
        (lambda text: "", "no counts"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(
    tmp_path: Path, change: object, said: str | None
) -> None:
    path = written(tmp_path / "counts", TEXT, 3)
    before = path.read_text()
    path.write_text(change(before))  # type: ignore[operator]
    if said is None:
        read_counts(path)
        return
    assert path.read_text() != before
    with pytest.raises(InputError, match=said) as caught:
        read_counts(path)
    assert "\n" not in str(caught.value)


def test_the_commands_train_the_same_bytes_by_way_of_a_file(run, tmp_path: Path) -> None:
    text, file, models = tmp_path / "text", tmp_path / "counts.gz", (tmp_path / "m1", tmp_path / "m2")
    text.write_text("\n".join(TEXT * 3))
    code, out, err = run("lm", "counts", text, "-o", file, "--order", 3, "--json")
    assert code == 0, err
    assert json.loads(out) == {"sentences": 12, "tokens": 51, "words": 6, "ngrams": [6, 12, 15]}
    kind = ("--model", "modified-kneser-ney", "--order", 3)
    assert run("lm", "train", text, "-o", models[0], *kind)[0] == 0
    assert run("lm", "train", "--counts", file, "-o", models[1], "--order", 3)[0] == 0
    assert models[0].read_bytes() == models[1].read_bytes()
    for options, said in (
        (["--model", "loglinear"], "others need sentences"),
        (["--classes", "auto"], "--classes is for log-linear"),
        (["--shards", tmp_path / "shards"], "counted already"),
    ):
        code, _, err = run("lm", "train", "--counts", file, "-o", models[1], *options)
        assert code == 2
        assert said in err
    code, _, err = run("lm", "train", text, "-o", models[1], "--prune", "0,1")
    assert code == 2
    assert "--prune is for Kneser-Ney" in err
