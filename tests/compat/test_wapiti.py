"""Wapiti's models: files made as its format is described, scored by enumeration from the file itself."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from epigram import load
from epigram.errors import ModelFileError
from in_process import epigram

LABELS = ["DT", "NN", "VB"]
SENTENCES = [["The", "dog", "barks"], ["a", "Cat"], ["dog"]]
PATTERNS = ["u:%x[0,0]", "u1:%x[-1,0]/%X[0,0]", "u2:%x[+2,0]", "b", "b:%X[-1,0]", "*x:%x[1,0]", "*"]


def observed(pattern: str, words: list[str], t: int) -> str:
    """What a pattern is at a token."""
    for command, row in (("%x", -1), ("%x", 0), ("%x", 1), ("%x", +2), ("%X", 0), ("%X", -1)):
        at = t + row
        if at < 0:
            value = f"_x-{-at}"
        elif at >= len(words):
            value = f"_x+{at - len(words) + 1}"
        else:
            value = words[at].lower() if command == "%X" else words[at]
        for written in (f"{command}[{row},0]", f"{command}[+{row},0]"):
            pattern = pattern.replace(written, value)
    return pattern


def offsets(observations: list[str]) -> tuple[dict[str, int], int]:
    """Where the weights of each observation begin, and how many there are."""
    size = {"u": 3, "b": 9, "*": 12}
    found, at = {}, 0
    for observation in observations:
        found[observation] = at
        at += size[observation[0]]
    return found, at


def model_text(
    patterns: list[str], w: dict[int, float], observations: list[str], head: str = "#mdl#2#"
) -> bytes:
    def strings(every: list[str]) -> str:
        return "".join(f"{len(one.encode())}:{one},\n" for one in every)

    lines = "".join(f"{k}={v.hex()}\n" for k, v in w.items())
    return (
        f"{head}{len(w)}\n#rdr#{len(patterns)}/1/0\n{strings(patterns)}#qrk#3\n{strings(LABELS)}"
        f"#qrk#{len(observations)}\n{strings(observations)}{lines}"
    ).encode()


def made(patterns: list[str], seed: int = 0) -> tuple[bytes, dict[str, int], dict[int, float]]:
    rng = np.random.default_rng(seed)
    every = dict.fromkeys(
        observed(pattern, words, t) for words in SENTENCES for t in range(len(words)) for pattern in patterns
    )
    at, n = offsets(list(every))
    w = {k: float(rng.normal()) for k in range(n) if rng.random() < 0.7}
    return model_text(patterns, w, list(every)), at, w


def best(
    words: list[str], patterns: list[str], at: dict[str, int], w: dict[int, float]
) -> tuple[list[str], float]:
    """The best labels and their probability, by trying all."""
    scores = {}
    for y in itertools.product(range(3), repeat=len(words)):
        total = 0.0
        for t, pattern in itertools.product(range(len(words)), patterns):
            begin = at.get(observed(pattern, words, t))
            if begin is None:
                continue
            if pattern[0] in "u*":
                total += w.get(begin + y[t], 0.0)
            if pattern[0] in "b*" and t:
                total += w.get(begin + 3 * (pattern[0] == "*") + 3 * y[t - 1] + y[t], 0.0)
        scores[y] = total
    winner = max(scores, key=lambda y: scores[y])
    whole = np.logaddexp.reduce(list(scores.values()))
    return [LABELS[k] for k in winner], float(np.exp(scores[winner] - whole))


def test_labels_and_probabilities_are_those_of_the_file(tmp_path: Path) -> None:
    for patterns in (PATTERNS, ["u:%x[0,0]", "b"], ["u:%x[0,0]", "u1:%x[-1,0]"]):
        content, at, w = made(patterns, len(patterns))
        (tmp_path / "model.wapiti").write_bytes(content)
        model = load(tmp_path / "model.wapiti")
        for words in (*SENTENCES, ["dog", "new", "The", "a"]):
            labels, probability = best(words, patterns, at, w)
            [[(ours, p)]] = model.predict_nbest([words], 1)
            assert ours == labels
            assert p == pytest.approx(probability, rel=1e-6)  # files of ours keep weights in single precision
    done = epigram("tag", "convert", tmp_path / "model.wapiti", "-o", tmp_path / "m.epigram")
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "m.epigram").predict(SENTENCES) == model.predict(SENTENCES)


@pytest.mark.parametrize(
    ("patterns", "says"),
    [
        (['u:%t[0,0,"a"]'], "counterpart"),
        (["u:%x[@1,0]"], "counterpart"),
        (["u:%x[5,0]"], "further than 4"),
        (["x:%x[0,0]"], "begins with none"),
        ([], "no patterns"),
    ],
)
def test_what_has_no_counterpart_is_said(patterns: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_text(patterns, {}, []))
    with pytest.raises(ModelFileError, match=says):
        load(tmp_path / "model")


def test_damaged_ones_get_one_sentence(tmp_path: Path) -> None:
    content, _, _ = made(["u:%x[0,0]", "b"])
    spoilt = [content[:k] for k in range(6, content.rindex(b"\n", 0, -1), 7)]
    spoilt += [content.replace(b"2:NN,", b"9:NN,"), content.replace(b"\n0=", b"\n99=")]
    spoilt += [content.replace(b"#mdl#2", b"#mdl#1"), content.replace(b"=0x1", b"=inf#", 1), content + b"x"]
    for one in spoilt:
        assert one != content
        (tmp_path / "model").write_bytes(one)
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")
