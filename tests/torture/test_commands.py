"""Every command, given wrong files: one sentence, exit code 2, and no file written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from epigram.cli import COMMANDS, GROUPS, IN_PLACE
from epigram.compat.crfsuite.file import write_model
from epigram.datasets.sample import BACKGROUND, WORDS, columns, plain, treebank
from epigram.ime.corrections import Lesson
from epigram.lm import LogLinearLM
from epigram.tagging import CRFTagger
from in_process import Done, epigram

LINES = {
    "pipeline train": "{conllu} -o {out} --folds 2 --dev {conllu}",
    "pipeline run": "{pipeline} {text}",
    "pipeline eval": "{pipeline} {conllu}",
    "pipeline explain": "{pipeline} sees",
    "pipeline update": "{pipeline} {conllu} -o {out}",
    "lm train": "{text} --model kneser-ney --order 2 -o {out} --valid {other}",
    "lm eval": "{lm} {text}",
    "lm score": "{lm} {text}",
    "lm next": "{lm} the",
    "lm sample": "{lm} -n 1",
    "lm explain": "{loglinear} the the",
    "lm interpolate": "{lm} {lm} --valid {text} -o {out}",
    "lm prune": "{lm} --threshold 1e-9 -o {out}",
    "lm map": "{lm} -o {out}",
    "lm export-arpa": "{lm} {out}",
    "lm classes": "{text} -k 3 -o {out}",
    "lm prepare": "{text} -o {out}",
    "lm update": "{loglinear} {text} -o {out}",
    "tag train": "{columns} -o {out} --dev {columns} --passes 1",
    "tag update": "{tagger} {columns} -o {out}",
    "tag pool": "{tagger} {tagger} -o {out}",
    "tag rerank": "{tagger} {columns} -o {out} --folds 2",
    "tag chain": "{columns} --learn {columns} -o {out} --folds 2",
    "tag convert": "{crfsuite} -o {out}",
    "tag explain": "{tagger} {columns}",
    "tag eval": "{tagger} {columns}",
    "tag run": "{tagger} {columns}",
    "tag template": "{template}",
    "parse train": "{conllu} -o {out} --dev {conllu} --passes 1",
    "parse eval": "{parser} {conllu}",
    "parse run": "{parser} {conllu}",
    "parse explain": "{parser} {conllu}",
    "classify train": "{records} -o {out} --words 1 --chars 2-2 --cased --weighting log --l1 0.1 --l2 0.1",
    "classify run": "{classifier} {records}",
    "classify eval": "{classifier} {records}",
    "classify explain": "{classifier} cheap",
    "classify update": "{classifier} {records} -o {out}",
    "filter": "{text} --model {lm} -o {out}",
    "rerank train": "{lists} -o {out} --theta 0 --eps 0.1 --ngrams 1",
    "rerank eval": "{reranker} {lists}",
    "rerank run": "{reranker} {lists}",
    "rerank explain": "{reranker} {lists}",
    "rerank path": "{reranker}",
    "ime build": "{kana} --lexicon {lexicon} -o {out}",
    "ime convert": "{converter} --input {readings}",
    "ime nbest": "{converter} {kana} -o {out}",
    "ime adapt": "{converter} {kana} -o {out}",
    "ime eval": "{converter} {kana}",
    "ime type": "{converter}",
    "ime words": "{dictionary} --user {out}",
    "ime corrections": "--import {journal} --user {out}",
    "ime settings": "",
    "ime server": "{converter} --socket {out}",
    "ime install": "{converter}",
    "ime uninstall": "",
    "ime doctor": "",
    "serve": "{tagger} --port 0",
    "inspect": "{tagger}",
    "convert": "{tagger} {out}",
    "export-web": "{tagger} -o {out}",
    "models list": "",
    "models path": "{pipeline}",
    "models info": "{pipeline}",
    "models install": "{pipeline}",
    "data list": "",
    "data path": "sample",
    "data get": "sample",
    "demo": "",
}

MAKES = {
    "tag train": "tagger",
    "lm train": "lm",
    "parse train": "parser",
    "pipeline train": "pipeline",
    "classify train": "classifier",
    "rerank train": "reranker",
    "ime build": "converter",
}
"""Commands whose output is the input of others."""
WAIT = {
    "ime type",
    "ime server",
    "ime install",
    "ime uninstall",
    "ime settings",
    "ime doctor",
    "serve",
    "demo",
    "models install",
}
"""Commands that are not run with right input here: they wait, or change the settings of a user."""


WRITING = [command for command, line in LINES.items() if "{out}" in line and command not in WAIT]


def command_lines() -> list[str]:
    """All commands of the command line."""
    return [f"{name} {inner}".strip() for name in COMMANDS for inner in GROUPS.get(name, "").split() or [""]]


def words_of(
    command: str, files: dict[str, Path], out: Path, slot: int = -1, wrong: Path | None = None
) -> list[str]:
    """A command line with its files, one of them replaced by a wrong one."""
    named = re.findall(r"{(\w+)}|(\S+)", LINES[command])
    found, k = command.split(), 0
    for name, word in named:
        if name == "out":
            found.append(str(out))
        elif name:
            found.append(str(wrong if k == slot else files[name]))
            k += 1
        else:
            found.append(word)
    return found


def slots() -> list[tuple[str, int, str]]:
    """Every file of every command: the command, which of its files, and what it should be."""
    return [
        (command, k, name)
        for command, line in LINES.items()
        for k, name in enumerate(name for name in re.findall(r"{(\w+)}", line) if name != "out")
    ]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Right input of every kind."""
    home = tmp_path_factory.mktemp("right")
    documents = (f"__label__{'ab'[k % 2]} cheap {'pills' if k % 2 else 'lunch'} {k}\n" for k in range(40))
    candidates = [{"text": "a hat", "score": -1}, {"text": "a cat", "score": -2}]
    surfaces = [word.split("/") for word in WORDS]
    texts = {
        "columns.txt": columns("train", 20),
        "text.txt": "".join(" ".join(words) + "\n" for words in plain("train", 60)),
        "other.txt": "".join(" ".join(words) + "\n" for words in plain("test", 20)),
        "conllu.conllu": treebank("train", 25),
        "records.txt": "".join(documents),
        "lists.jsonl": "".join(
            json.dumps({"id": str(k), "reference": "a cat", "candidates": candidates}) + "\n"
            for k in range(6)
        ),
        "kana.txt": "\n".join(BACKGROUND) + "\n",
        "readings.txt": "はしをわたる\n",
        "lexicon.txt": "".join(f"{surface}\t{reading}\n" for surface, reading in surfaces),
        "dictionary.txt": "".join(f"{reading}\t{surface}\t名詞\n" for surface, reading in surfaces),
        "template.txt": "U0:%x[0,0]\nB\n",
        "journal.jsonl": Lesson("はし", "端", bonuses={"端/はし": 0.5}).line(),
    }
    found = {}
    for name, content in texts.items():
        found[name.partition(".")[0]] = home / name
        (home / name).write_text(content)
    for command, name in MAKES.items():
        found[name] = home / f"{name}.epigram"
        done = epigram(*words_of(command, found, found[name]))
        assert done.returncode == 0, (command, done.stderr.decode())
    found["loglinear"], found["crfsuite"] = home / "loglinear.epigram", home / "m.crfsuite"
    LogLinearLM(order=2, strength=0.3).fit(found["other"]).save(found["loglinear"])
    tagger = CRFTagger(l1=0.01).fit([[["a", "b"], ["c"]], [["d"]]], [["X", "Y"], ["X"]])
    found["crfsuite"].write_bytes(write_model(tagger.model_))
    return found


BINARY = bytes(range(256)) * 20
WRONG: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "blank": lambda content: b"\n \n\n",
    "binary": lambda content: BINARY,
    "executable": lambda content: b"\x7fELF\2\1\1\0" + BINARY,
    "utf-16": lambda content: content.decode(errors="replace").encode("utf-16"),
    "zst": lambda content: b"\x28\xb5\x2f\xfd" + content[:999],
    "latin-1": lambda content: b"na\xefve caf\xe9 x\n" * 20,
}
TAKEN = {
    *(("models path", what) for what in WRONG),
    ("ime words", "utf-16"),
    *((command, "model") for command in ("models path", "models info", "inspect", "convert", "export-web")),
}
"""What is right for a command: paths of any file are printed, MS-IME writes UTF-16, all models are inspected."""


def refused(done: Done, folder: Path, held: dict[Path, bytes]) -> bool:
    """Whether a command ended with one sentence, exit code 2 and no file written or changed."""
    said = done.stderr.decode().strip().splitlines()
    return (
        done.returncode == 2
        and said[-1].startswith(("epigram: ", "╰"))
        and "Traceback" not in done.stderr.decode()
        and {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == held
    )


def test_every_command_has_a_line() -> None:
    assert sorted(LINES) == sorted(command_lines())


@pytest.mark.parametrize("command", [command for command in LINES if command not in WAIT])
def test_right_input_is_read(files: dict[str, Path], tmp_path: Path, command: str) -> None:
    done = epigram(*words_of(command, files, tmp_path / "out"))
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(("command", "slot", "name"), slots())
def test_wrong_input_is_refused(
    files: dict[str, Path], tmp_path: Path, command: str, slot: int, name: str
) -> None:
    (tmp_path / "out").mkdir()
    given = {
        "missing": tmp_path / "no",
        "folder": tmp_path,
        "model": files["lm" if name == "tagger" else "tagger"],
    }
    for what, spoil in WRONG.items():
        given[what] = tmp_path / f"{what}{files[name].suffix}"
        given[what].write_bytes(spoil(files[name].read_bytes()))
    if name == "crfsuite" or command == "serve":  # also other taggers are converted, and other models served
        del given["model"]
    for what, wrong in given.items():
        if (command, what) not in TAKEN:
            done = epigram(*words_of(command, files, tmp_path / "out" / "x", slot, wrong))
            assert refused(done, tmp_path / "out", {}), (what, done)


@pytest.mark.parametrize("command", WRITING)
def test_wrong_output_is_refused(files: dict[str, Path], tmp_path: Path, command: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("thesis")
    for out in (tmp_path / "no" / "x", mine, mine / "thesis.txt" / "x"):
        if (command, out.name) == ("export-web", "x"):  # folders are made
            continue
        done = epigram(*words_of(command, files, out))
        assert refused(done, tmp_path, {mine / "thesis.txt": b"thesis"}), (out, done)


@pytest.mark.parametrize(
    ("command", "slot", "name"),
    [(command, slot, name) for command, slot, name in slots() if command in WRITING],
)
def test_input_is_not_overwritten(
    files: dict[str, Path], tmp_path: Path, command: str, slot: int, name: str
) -> None:
    if slot == 0 and command in (*IN_PLACE, "ime corrections"):
        pytest.skip("writes the changed model in place")
    path = tmp_path / files[name].name
    path.write_bytes(content := files[name].read_bytes())
    done = epigram(*words_of(command, files, path, slot, path))
    assert refused(done, tmp_path, {path: content}), done


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\r"])
@pytest.mark.parametrize(("command", "slot", "name"), slots())
def test_marks_of_windows_change_nothing(
    files: dict[str, Path], tmp_path: Path, command: str, slot: int, name: str, mark: bytes
) -> None:
    if command in WAIT or files[name].suffix in (".epigram", ".crfsuite"):
        pytest.skip("no text")
    content = files[name].read_bytes()
    path = tmp_path / files[name].name
    path.write_bytes(content.replace(b"\n", b"\r\n") if mark == b"\r" else mark + content)
    done = epigram(*words_of(command, files, tmp_path / "x", slot, path))
    assert done.returncode == 0, done
