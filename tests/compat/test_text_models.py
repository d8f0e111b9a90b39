"""Text models of Wapiti and CRF++: files made as the formats are described, and what the two programs compute."""

from __future__ import annotations

import itertools
import math
import re
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from epigram import CRFTagger, load
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
    patterns: list[str],
    w: dict[int, float],
    observations: list[str],
    head: str = "#mdl#2#",
    hexadecimal: bool = True,
) -> bytes:
    def strings(every: list[str]) -> str:
        return "".join(f"{len(one.encode())}:{one},\n" for one in every)

    lines = "".join(f"{k}={v.hex() if hexadecimal else f'{v:.6e}'}\n" for k, v in w.items())
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


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"2:NN,", b"-2:NN,", "length of a string"),
        (b"2:NN,", b"99999999999:NN,", "length of a string"),
        (b"#qrk#3", b"#qrk#1000000000000", "1,000,000,000,000 strings"),
        (b"#qrk#3", b"#qrk#-1", "-1 strings"),
        (b"#rdr#2", b"#rdr#x", "invalid literal"),
        (b"0=0x1.", b"0=0x1p+2000\n0=", "too large"),
        (b"\n1=", b"\n0=", "given twice"),
    ],
)
def test_lengths_counts_and_weights_are_bounded(old: bytes, new: bytes, says: str, tmp_path: Path) -> None:
    content = model_text(["u:%x[0,0]", "b"], {0: 0.5, 1: 0.25, 2: 1.0}, ["u:a", "b"])
    (tmp_path / "model").write_bytes(content.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=says):
        load(tmp_path / "model")


def test_many_labels_are_refused_before_a_matrix_of_their_pairs_is_made(tmp_path: Path) -> None:
    labels = "".join(f"{len(name)}:{name},\n" for name in map(str, range(16_000)))
    model = f"#mdl#2#0\n#rdr#1/1/0\n9:u:%x[0,0],\n#qrk#16000\n{labels}#qrk#1\n1:b,\n"
    crfpp = "\n".join(map(str, range(16_000)))
    crfpp = f"version: 100\ncost-factor: 1\nmaxid: 0\nxsize: 1\n\n{crfpp}\n\nU0:%x[0,0]\nB\n\n\n\n0"
    for content in (model, crfpp):
        (tmp_path / "model").write_text(content)
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="16,000 labels, too many"):
            load(tmp_path / "model")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
        tracemalloc.stop()


def test_corrupt_wapiti_files_get_one_sentence(tmp_path: Path) -> None:
    content, _, _ = made(["u:%x[0,0]", "b"])
    spoilt = [content[:k] for k in range(6, content.rindex(b"\n", 0, -1), 7)]
    spoilt += [content.replace(b"2:NN,", b"9:NN,"), content.replace(b"\n0=", b"\n99=")]
    spoilt += [content.replace(b"#mdl#2", b"#mdl#1"), content.replace(b"=0x1", b"=inf#", 1), content + b"x"]
    for one in spoilt:
        assert one != content
        (tmp_path / "model").write_bytes(one)
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")


BY_WAPITI = """\
#mdl#2#28
#rdr#4/1/0
10:u1:%x[0,0],
19:u2:%X[-1,0]/%x[0,1],
10:*3:%x[1,1],
1:b,
#qrk#2
1:N,
1:V,
#qrk#27
6:u1:the,
9:u2:_x-1/D,
4:*3:N,
1:b,
6:u1:Cat,
8:u2:the/N,
4:*3:V,
9:u1:sleeps,
8:u2:cat/V,
7:*3:_x+1,
4:u1:a,
6:u1:dog,
6:u2:a/N,
7:u1:sees,
8:u2:dog/V,
4:*3:D,
9:u2:sees/D,
6:u1:cat,
8:u1:birds,
9:u2:_x-1/N,
7:u1:sing,
10:u2:birds/V,
6:u1:The,
7:u1:cats,
6:u1:see,
9:u2:cats/V,
8:u2:see/N,
0=0x1.bf4d7d3481269p-2
1=-0x1.bf4d7d3481251p-2
2=0x1.11f08e68994b2p-2
3=-0x1.11f08e689949ep-2
6=-0x1.c319fb5fa367dp-3
8=0x1.c3d6f63652acp-9
11=0x1.ec3ff80657a3ep+0
13=-0x1.3cf842f8af47cp+0
16=0x1.c1e8c103f8d06p-1
17=-0x1.c1e8c103f8d08p-1
18=0x1.1f7a47c11ad82p-1
19=-0x1.1f7a47c11ad8p-1
20=0x1.85bf9d59ee6f5p+0
22=-0x1.81602effa6964p-4
24=-0x1.65907464fac5dp-2
25=0x1.65907464fac5p-2
42=-0x1.f76990d15d61p-2
43=0x1.f76990d15d615p-2
52=0x1.eb1ec1d32d56dp-2
53=-0x1.eb1ec1d32d571p-2
54=0x1.d25d5227507d7p-2
55=-0x1.d25d5227507eep-2
66=-0x1.550909be78c36p-3
67=0x1.550909be78c3p-3
68=-0x1.550909be78c36p-3
69=0x1.550909be78c3p-3
70=0x1.08dcc75df5454p-3
71=-0x1.08dcc75df546p-3
"""
"""A model that Wapiti 1.5.0 trained (-1 0.2 -2 0.0001 -i 30) on five made-up sentences."""


def test_wapiti_itself_says_the_same(tmp_path: Path) -> None:
    """Posterior probabilities of labels by ``wapiti label -p -s``."""
    (tmp_path / "model").write_text(BY_WAPITI)
    tagger = load(tmp_path / "model")
    X = [
        [("The", "D"), ("CAT", "N"), ("sees", "V"), ("frogs", "N")],
        [("sing", "V")],
        [("birds", "N"), ("sleeps", "V"), ("the", "D"), ("dog", "N")],
    ]
    p = [
        [("N", 0.899034), ("N", 0.959766), ("V", 0.562138), ("V", 0.508359)],
        [("N", 0.5)],
        [("N", 0.978660), ("V", 0.856367), ("N", 0.862266), ("N", 0.526735)],
    ]
    for (nodes, _), expected in zip(tagger.marginals(X), p, strict=True):
        found = [nodes[t, tagger.classes_.tolist().index(label)] for t, (label, _) in enumerate(expected)]
        np.testing.assert_allclose(found, [value for _, value in expected], atol=1e-6)


REFERENCES = [
    [("Doe", "none", "F"), ("J.", "none", "F"), ("Tales", "none", "T"), ("1999.", "year", "T")],
    [("Of", "T", "T"), ("TALES", "none", "F"), ("2001", "year", "year")],
    [("Doe", "none", "none")],
]
BLANKS = ["*", "u:Tok-1 X=%x[ 0,0]", "u:tok-2 R=%X[ 0,0]/%X[ 1,0]", "*:Num-1 L=%x[-1,1]", "b"]
"""Patterns as those of anystyle: blanks in places, names that differ in case, ``*``."""
REPEATED = ["u00:%x[-3,0]", "u06:%x[3,0]", "u0A:%x[-2,0]/%x[-1,0]", "uC0:%x[0,1]", "uC0:%x[0,2]", "b"]
"""Patterns as those of GROBID: three tokens away, and one name for two columns."""


def published(patterns: list[str], hexadecimal: bool) -> bytes:
    """A model with these patterns and the observations that they make of :data:`REFERENCES`."""

    def value(sentence: list[tuple[str, ...]], t: int, found: re.Match[str]) -> str:
        at = t + int(found[2])
        if 0 <= at < len(sentence):
            cell = sentence[at][int(found[3])]
            return cell.lower() if found[1] == "X" else cell
        return f"_x{at if at < 0 else at - len(sentence) + 1:+d}"

    every = dict.fromkeys(
        re.sub(r"%(.)\[([ +-]?\d),(\d)\]", partial(value, sentence, t), pattern)
        for sentence in REFERENCES
        for t in range(len(sentence))
        for pattern in patterns
    )
    _, n = offsets(list(every))
    w = {k: round(math.sin(0.7 * k * k + k), 6) for k in range(n) if k % 3}
    return model_text(patterns, w, list(every), hexadecimal=hexadecimal)


@pytest.mark.parametrize(
    ("patterns", "hexadecimal", "expected"),
    [(BLANKS, False, "NN DT NN NN NN DT NN NN"), (REPEATED, True, "VB VB DT DT DT VB VB VB")],
)
def test_files_of_the_shape_of_published_models(
    patterns: list[str], hexadecimal: bool, expected: str, tmp_path: Path
) -> None:
    """Labels by libwapiti 0.2.1 for the same file, of the best labelling and of each token by its probability."""
    (tmp_path / "model").write_bytes(published(patterns, hexadecimal))
    model = load(tmp_path / "model")
    assert " ".join(itertools.chain(*model.predict(REFERENCES))) == expected
    found = [max(p, key=lambda label: p[label]) for s in model.predict_marginals(REFERENCES) for p in s]
    assert " ".join(found) == expected


TRAINING = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
ANSWERS = [["DT", "NN", "VB"]] * 3


def as_text(tagger: CRFTagger) -> str:
    """The five parts."""
    model = tagger.model_
    L, found = len(model.labels), model.weights
    names, w, lines = model.table.names(range(len(model.table))), [], []
    for a, name in enumerate(names):
        n = L if name.startswith("U") else L * L
        block = np.zeros(n)
        mine = found.attributes == a
        block[found.labels[mine]] = found.values[mine]
        mine = found.edge_attributes == a
        if n > L:
            block[found.before[mine] * L + found.after[mine]] = found.edge_values[mine]
        lines.append(f"{len(w)} {name}")
        w += block.tolist()
    if model.template is not None and model.template.transitions:
        lines.append(f"{len(w)} B")
        w += found.transitions.ravel().tolist()
    head = f"version: 100\ncost-factor: 1\nmaxid: {len(w)}\nxsize: 1\n"
    template = "" if model.template is None else model.template.text.rstrip("\n")
    weights = "\n".join(f"{x:.16f}" for x in w)
    return (
        "\n".join([head, "\n".join(model.labels) + "\n", template + "\n", "\n".join(lines) + "\n", weights])
        + "\n"
    )


@pytest.mark.parametrize("template", ["U0:%x[0,0]\nU1:%x[-1,0]\nB\n", "U0:%x[0,0]\nB\nB1:%x[-1,0]/%x[0,0]\n"])
def test_a_text_model_labels_as_what_it_was_made_of(template: str, tmp_path: Path) -> None:
    tagger = CRFTagger(template, l1=0.02).fit(TRAINING, ANSWERS)
    (tmp_path / "model.txt").write_text(as_text(tagger))
    again = load(tmp_path / "model.txt")
    assert again.predict(TRAINING) == ANSWERS
    new = [["the", "sleeps", "cat"], ["dog"]]
    for a, b in zip(tagger.marginals(new), again.marginals(new), strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-6)
    done = epigram("tag", "convert", tmp_path / "model.txt", "-o", tmp_path / "m.epigram")
    assert done.returncode == 0
    done = epigram("tag", "run", tmp_path / "m.epigram", stdin=b"the\ncat\n")
    assert done.stdout.split() == [b"the", b"DT", b"cat", b"NN"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("maxid: ", "maxid: 9", "maxid says"),
        ("\n\n", "\n", "parts of 5"),
        ("0 U0:", "0 X0:", "is not a feature"),
        ("0 U0:", "99999 U0:", "no weights"),
        ("\n3 U0:", "\n0 U0:", "two features share weights"),
        ("\nB\n", "\n", "its template does not ask for"),
    ],
)
def test_corrupt_crfpp_files_get_one_sentence(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = as_text(CRFTagger("U0:%x[0,0]\nB\n", l1=0.02).fit(TRAINING, ANSWERS))
    (tmp_path / "model.txt").write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match=says):
        load(tmp_path / "model.txt")


TEMPLATE = "U0:%x[0,0]\nU1:%x[-2,1]/%x[1,1]\nB\nB1:%x[0,1]\n"
HEAD = f"version: 100\ncost-factor: 0.5\nmaxid: 50\nxsize: 2\n\nN\nV\n\n{TEMPLATE}\n"
FEATURES = (
    "4 B,8 B1:D,16 B1:N,24 B1:V,12 U0:Cat,28 U0:a,42 U0:birds,38 U0:cat,30 U0:dog,32 U0:sees,46 "
    "U0:sing,20 U0:sleeps,0 U0:the,34 U1:D/D,22 U1:D/_B+1,36 U1:N/N,40 U1:V/_B+1,14 U1:_B-1/V,48 "
    "U1:_B-1/_B+1,2 U1:_B-2/N,44 U1:_B-2/V "
)
WEIGHTS = (
    "-0.0625 0 0.5 0.9375 -0.9375 -0.75 0.6875 0.9375 -0.5 -0.375 0.75 -0.1875 -0.4375 0.6875 -0.5 "
    "-0.1875 0.3125 0.125 -0.875 -1 0.75 0.5 0.6875 0.0625 0.625 -0.375 -0.125 0.625 -0.75 -0.375 "
    "-0.75 -0.125 1 -0.75 -0.25 -0.1875 0.8125 -0.625 0 -0.5 -1 0.5 -0.875 -0.4375 0 0 -0.8125 1 0.5 "
    "0.9375 "
)


def test_crfpp_itself_says_the_same(tmp_path: Path) -> None:
    """Numbers by CRF++ (pycrfpp 0.1.0, -v 2) for the same model as a binary; it ignores the file's cost-factor."""
    features = "\n".join(FEATURES.strip().replace(", ", ",").split(","))
    (tmp_path / "model.txt").write_text(f"{HEAD}{features}\n\n" + "\n".join(WEIGHTS.split()) + "\n")
    tagger = load(tmp_path / "model.txt")
    X = [
        [("The", "D"), ("CAT", "N"), ("sees", "V"), ("frogs", "N")],
        [("sing", "V")],
        [("birds", "N"), ("sleeps", "V"), ("the", "D"), ("dog", "N")],
    ]
    assert tagger.predict(X) == [["V", "V", "N", "N"], ["V"], ["V", "V", "N", "V"]]
    p = [[0.272734, 0.15005, 0.610509, 0.487844], [0.140336], [0.049009, 0.040721, 0.811548, 0.104553]]
    for (nodes, _), expected in zip(tagger.marginals(X), p, strict=True):
        np.testing.assert_allclose(nodes[:, 0], expected, atol=1e-6)
