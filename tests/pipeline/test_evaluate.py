"""CoNLL 2018 scores: by hand, and against the official scorer where it is installed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from epigram.errors import InputError
from epigram.pipeline import Pipeline
from epigram.pipeline.analysis import read_gold, single_words
from epigram.pipeline.document import Doc
from epigram.pipeline.evaluate import METRICS, evaluate_analysis
from epigram.pipeline.tokenization import Tokenization


def block(*rows: str) -> bytes:
    return ("".join("\t".join((row.split() + ["_"] * 10)[:10]) + "\n" for row in rows) + "\n").encode()


def test_scores_by_hand() -> None:
    gold, _ = read_gold(block("1 Dogs dog NOUN _ _ 2 nsubj", "2 bark bark VERB _ _ 0 root"), "gold")
    system, _ = read_gold(block("1 Dogs dog NOUN _ _ 2 obj", "2 bark barks VERB _ _ 0 root"), "system")
    scores = evaluate_analysis(gold, system)
    expected = {
        "Tokens": 1,
        "Words": 1,
        "UPOS": 1,
        "Lemmas": 0.5,
        "UAS": 1,
        "LAS": 0.5,
        "CLAS": 0.5,
        "BLEX": 0,
    }
    assert {name: scores[name].f1 for name in expected} == expected


def test_words_of_multiword_tokens_are_aligned_by_their_forms() -> None:
    gold, _ = read_gold(block("1-2 aux", "1 à", "2 les", "3 rues"), "gold")
    system, _ = read_gold(block("1-3 aux", "1 à", "2 le", "3 les", "4 rues"), "system")
    scores = evaluate_analysis(gold, system)
    assert (scores["Words"].precision, scores["Words"].recall) == (0.75, 1.0)


def test_other_text_is_refused() -> None:
    gold, system = (read_gold(block(f"1 {form}"), form)[0] for form in ("one", "two"))
    with pytest.raises(InputError, match="the texts differ after 0 characters"):
        evaluate_analysis(gold, system)


def official(gold: Path, system: Path) -> dict[str, float]:
    """The F1 scores of udtools."""
    udeval = pytest.importorskip("udtools.udeval")
    loaded = [udeval.load_conllu_file(str(path)) for path in (gold, system)]
    return {name: score.f1 for name, score in udeval.evaluate(*loaded).items() if name in METRICS}


def damage(text: str, rng: random.Random) -> str:
    """Change tags, heads and relations of a CoNLL-U file; heads may only become the root's child."""
    lines = []
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) == 10 and cells[0].isdigit():
            if rng.random() < 0.1:
                cells[3] = "X"
            if rng.random() < 0.1:
                cells[2] = "nothing"
            if rng.random() < 0.1:
                cells[7] = "dep" if cells[7] != "root" else "root"
            if rng.random() < 0.1:
                cells[5] = "Case=Nom|Foo=Bar"
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_the_official_scorer(
    nlp: Pipeline, treebank: Path, tmp_path: Path, seed: int
) -> None:
    pytest.importorskip("udtools.udeval")
    rng = random.Random(seed)
    gold, _ = read_gold(treebank.read_bytes(), "gold")
    tokens = gold.tokens
    kept = np.array(
        [t == 0 or rng.random() > 0.1 for t in range(tokens.n_tokens)]
    )  # others join the one before
    starts, number = tokens.starts[kept], np.cumsum(kept) - 1
    ends = np.append(tokens.ends[np.flatnonzero(kept)[1:] - 1], tokens.ends[-1])
    firsts = sorted(
        {0, *(int(number[t]) for t in tokens.sentence_ptr[:-1] if kept[t] and rng.random() > 0.1)}
    )
    opens = np.zeros(len(firsts), dtype=np.bool_)
    made = Tokenization(tokens.text, starts, ends, np.array([*firsts, len(starts)]), opens)
    found = nlp.annotate(single_words(made))
    system = tmp_path / "system.conllu"
    system.write_text(damage(Doc(found).to_conllu(), rng), "utf-8")
    mine = evaluate_analysis(gold, read_gold(system.read_bytes(), "system")[0])
    theirs = official(treebank, system)
    assert set(theirs) == set(METRICS)
    for name, value in theirs.items():
        assert mine[name].f1 == pytest.approx(value, abs=1e-12), name
