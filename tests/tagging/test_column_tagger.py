"""Input that is not what a tagger was trained on: taken for what it is, or refused with the way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from epigram import CRFTagger, DependencyParser
from epigram.errors import DataWarning, WrongInputWarning
from epigram.parsing.treebank import parse_treebank
from epigram.tagging.column_tagger import warn_of_lengths
from in_process import Done, epigram

SENTENCES = [
    [("the", "DET", "B-NP"), ("dog", "NOUN", "I-NP"), ("sees", "VERB", "B-VP"), ("cats", "NOUN", "B-NP")],
    [("a", "DET", "B-NP"), ("cat", "NOUN", "I-NP"), ("sleeps", "VERB", "B-VP"), (".", "PUNCT", "O")],
]
TEXT = b"the dog sees cats\na cat\nthe dog sleeps .\n"


def rows(*columns: int) -> str:
    lines = [[" ".join(cells[k] for k in columns) for cells in sentence] for sentence in SENTENCES]
    return "".join("\n".join(own) + "\n\n" for own in lines)


def conllu(tag: bool = True) -> str:
    lines = ["# a comment", "1-2\tthedog" + "\t_" * 8]
    for sentence in SENTENCES:
        for k, (word, pos, _) in enumerate(sentence, 1):
            head = {"VERB": 0, "DET": 2}.get(pos, 3)
            relation = {"VERB": "root", "DET": "det", "PUNCT": "punct"}.get(pos, "nsubj" if k < 3 else "obj")
            tags = [pos, pos[:2]] if tag else ["_", "_"]
            lines.append("\t".join([str(k), word, "_", *tags, "_", str(head), relation, "_", "_"]))
        lines.append("")
    return "\n".join(lines) + "\n"


FILES = {
    "chunker": (rows(0, 1, 2), ()),
    "words": (rows(0, 1), ()),
    "upos": (conllu(), ("--format", "conllu")),
    "xpos": (conllu(), ("--format", "conllu", "--label-column", "4")),
    "two": (conllu(), ("--format", "conllu", "--label-column", "4", "--columns", "1,3")),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for name, (content, options) in FILES.items():
        train, made[name] = folder / f"{name}.txt", folder / f"{name}.epigram"
        train.write_text(content * 4)
        done = epigram("tag", "train", train, "-o", made[name], "--l1", "0.01", "--passes", "8", *options)
        assert done.returncode == 0, done.stderr
    (folder / "bank.conllu").write_text(conllu() * 4)
    made["bank"], made["parser"] = folder / "bank.conllu", folder / "parser.epigram"
    done = epigram("parse", "train", made["bank"], "-o", made["parser"], "--l1", "0.05")
    assert done.returncode == 0, done.stderr
    made["relations"] = folder / "relations.epigram"
    done = epigram(
        "parse", "train", made["bank"], "-o", made["relations"], "--model", "labels", "--l1", "0.05"
    )
    assert done.returncode == 0, done.stderr
    return made


def refused(done: Done, *parts: str) -> None:
    """Exit code 2, nothing on standard output, and the parts in the one sentence that says why."""
    assert done.returncode == 2, done
    assert done.stdout == b""
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("epigram: ")
    for part in parts:
        assert part in last


def answered(done: Done) -> list[list[str]]:
    """The cells of every line, of a command that warned of nothing."""
    assert done.returncode == 0, done.stderr
    assert b"warning" not in done.stderr
    return [line.split() for line in done.stdout.decode().splitlines() if line and line[0] != "#"]


README = b"He reckons the current account deficit will narrow\n"


@pytest.mark.parametrize("text", [TEXT, README, b"he sees cats\n"])
def test_text_for_a_model_of_two_columns_is_refused(models: dict[str, Path], text: bytes) -> None:
    done = epigram("tag", "run", models["chunker"], stdin=text)
    refused(done, "this looks like text", "needs 2 columns", "part of speech", "a token a line")
    done = epigram("tag", "eval", models["chunker"], "-", "--strict", stdin=text)
    refused(done, "none of the labels ('cats')" if text == b"he sees cats\n" else "expected")


def test_more_columns_than_in_training_are_refused(models: dict[str, Path], tmp_path: Path) -> None:
    wide = tmp_path / "wide.txt"
    wide.write_text(rows(0, 1, 2, 2, 1))
    for command in ("run", "eval"):
        refused(epigram("tag", command, models["chunker"], wide), str(wide), "expected 3 columns", "found 5")
    done = epigram("tag", "eval", models["chunker"], wide, "--label-column", "2", "--json")
    assert b'"accuracy": 1.0' in done.stdout


def test_columns_are_no_text_for_a_model_of_words(models: dict[str, Path]) -> None:
    """Text is guessed only where lines differ in width; the way out is named where they do not."""
    three = rows(0, 1, 2).encode()
    refused(epigram("tag", "run", models["words"], stdin=three), "3 words", "2 in training", "--format text")
    two = b"he sings\nshe laughs\n"
    refused(epigram("tag", "run", models["words"], stdin=two), "none of the model's labels", "--format text")
    assert len(answered(epigram("tag", "run", models["words"], "--format", "text", stdin=two))) == 4
    assert answered(epigram("tag", "run", models["words"], stdin=b"dog _\ncat _\n"))[0] == [
        "dog",
        "_",
        "NOUN",
    ]
    ragged = rows(0, 1).replace("cat NOUN", "cat").encode()
    refused(epigram("tag", "run", models["words"], stdin=ragged), ":7: expected 2 columns, found 1")


def test_labels_unknown_in_all_rows_of_what_may_be_text(models: dict[str, Path]) -> None:
    done = epigram("tag", "run", models["chunker"], stdin=b"he sees dogs\nshe sees cats\n")
    assert done.returncode == 0
    assert b"warning: -: the column of labels has none of the model's labels" in done.stderr
    assert (
        epigram(
            "tag", "run", models["chunker"], "--strict", stdin=b"he sees dogs\nshe sees cats\n"
        ).returncode
        == 2
    )


@pytest.mark.parametrize("text", [TEXT, b"the dog sleeps .\n", b"the dog sleeps\n", b"the\ndog\n"])
def test_a_tagger_trained_from_conllu_takes_text(
    models: dict[str, Path], text: bytes, tmp_path: Path
) -> None:
    """A model that looks at words alone makes CoNLL-U of text; others say what they need."""
    done = epigram("tag", "run", models["upos"], stdin=text)
    found = answered(done)
    n = len(text.split())
    assert [row[-9 if len(text.split(b" ")) > 1 else 0] for row in found] == text.decode().split()
    assert len(found) == n
    if text.count(b" "):
        assert {row[1]: row[3] for row in found}["dog"] == "NOUN"
        assert b"read as plain text" in done.stderr
        assert answered(epigram("tag", "run", models["upos"], "--format", "text", stdin=text)) == found
        refused(
            epigram("tag", "run", models["two"], stdin=text),
            "this looks like text",
            "CoNLL-U",
            "columns 1, 3",
        )
        for command in ("run", "eval", "explain"):
            refused(
                epigram("parse", command, models["parser"], "-", stdin=text), "-:1: not CoNLL-U", "tagger"
            )
        refused(epigram("parse", "train", "-", "-o", tmp_path / "m", stdin=text), "-:1: not CoNLL-U")
    assert b"empty" not in done.stderr


@pytest.mark.parametrize("first", ["IL-2", "Dr.", "1.", "-1", "1-2-3", "1.2.3", "a.b", "", "1a", "\u0661"])
def test_an_id_is_digits_with_one_dash_or_dot(models: dict[str, Path], first: str) -> None:
    line = "\t".join([first, *conllu().splitlines()[2].split("\t")[1:]]) + "\n"
    for raw in (line, conllu().rstrip("\n") + "\n" + line):
        number = raw.count("\n")
        refused(
            epigram("tag", "run", models["upos"], stdin=raw.encode()), f":{number}: not CoNLL-U", repr(first)
        )
        refused(epigram("parse", "run", models["parser"], stdin=raw.encode()), f":{number}: not CoNLL-U")


def test_a_file_of_comments_is_not_called_empty(models: dict[str, Path]) -> None:
    done = epigram("tag", "run", models["upos"], stdin=b"# nothing here\n")
    refused(done, "no tokens: every line is a comment")
    refused(epigram("tag", "run", models["upos"], stdin=b"\n"), "no tokens: the file is empty or blank")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_conllu_is_filled_where_the_labels_were_in_training(models: dict[str, Path], newline: str) -> None:
    bare, whole = (conllu(tag).replace("\n", newline).encode() for tag in (False, True))
    tagged = epigram("tag", "run", models["upos"], stdin=bare)
    assert tagged.returncode == 0, tagged.stderr
    upos = [line.split("\t")[3] for line in tagged.stdout.decode().splitlines() if "\t" in line]
    assert upos == ["_", *(pos for sentence in SENTENCES for _, pos, _ in sentence)]
    again = epigram("tag", "run", models["xpos"], stdin=tagged.stdout)
    assert again.stdout == whole
    parsed = epigram("parse", "run", models["parser"], stdin=again.stdout)
    assert (parsed.returncode, parsed.stdout) == (0, whole)
    for option in (("--marginals",), ("--all-marginals",), ("--nbest", "2"), ("--reach", "1")):
        refused(
            epigram("tag", "run", models["upos"], *option, stdin=bare), "CoNLL-U has no columns", "--json"
        )
        assert epigram("tag", "run", models["upos"], *option, "--json", stdin=bare).returncode == 0


def test_text_is_tagged_and_parsed(models: dict[str, Path]) -> None:
    text = b"the dog sees cats\n"
    tagged = epigram(
        "tag", "run", models["xpos"], stdin=epigram("tag", "run", models["upos"], stdin=text).stdout
    )
    found = answered(epigram("parse", "run", models["parser"], stdin=tagged.stdout))
    assert [(row[1], row[6], row[7]) for row in found][2] == ("sees", "0", "root")


def test_models_that_do_not_say_which_columns_they_take(tmp_path: Path) -> None:
    """Those of Python and of other programs: words from FORM and labels to UPOS, with a warning."""
    words, labels = (
        [[cells[0] for cells in one] for one in SENTENCES],
        [[cells[1] for cells in one] for one in SENTENCES],
    )
    model, file = tmp_path / "m.epigram", tmp_path / "x.conllu"
    CRFTagger("pos", l1=0.01).fit(words * 4, labels * 4).save(model)
    file.write_text(conllu(tag=False))
    done = epigram("tag", "run", model, file)
    assert b"words are FORM, labels UPOS" in done.stderr
    assert b"\tdog\t_\tNOUN\t_" in done.stdout
    file.write_text(conllu())
    done = epigram("tag", "eval", model, file, "--json")
    assert b"words are FORM, labels UPOS" in done.stderr
    assert b'"accuracy": 1.0' in done.stdout
    file.write_text(conllu(tag=False))
    (tmp_path / "wide.txt").write_text(rows(0, 1, 2, 2))
    done = epigram("tag", "run", model, tmp_path / "wide.txt", "--format", "conll")
    assert b"4 columns, of which the model looks at the first 1" in done.stderr
    CRFTagger("chunking", l1=0.01).fit([[cells[:2] for cells in one] for one in SENTENCES], labels).save(
        model
    )
    refused(epigram("tag", "run", model, file), "does not say which of CoNLL-U")
    refused(epigram("tag", "run", model, stdin=TEXT), "this looks like text", "needs 2 columns")


def warned(done: Done) -> list[str]:
    """The warnings of a command that gave its answer."""
    assert done.returncode == 0, done.stderr
    lines = done.stderr.decode().splitlines()
    return [line for line in lines if line.startswith("epigram: warning: ")]


@pytest.mark.parametrize("command", ["run", "eval", "explain"])
def test_the_parser_warns_of_columns_that_are_missing(
    models: dict[str, Path], tmp_path: Path, command: str
) -> None:
    """Once, and not of those that training had not either."""
    bare = tmp_path / "bare.conllu"
    bare.write_text(conllu(tag=False))
    for model, columns in (("parser", "upos, xpos"), ("relations", "upos, xpos")):
        if (model, command) == ("relations", "explain"):
            continue
        (warning,) = warned(epigram("parse", command, models[model], bare))
        assert f"every word has _ in {columns}, which the model was trained on" in warning
        assert warned(epigram("parse", command, models[model], models["bank"])) == []
    assert epigram("--strict", "parse", "run", models["parser"], bare).returncode == 2
    assert warned(epigram("--quiet", "parse", "run", models["parser"], bare)) == []


def test_labels_of_another_task_are_warned_of(models: dict[str, Path], tmp_path: Path) -> None:
    """Every label counts as a mistake then, which is seldom meant."""
    chunks, tags, bank = tmp_path / "chunks.txt", tmp_path / "tags.txt", tmp_path / "bank.conllu"
    chunks.write_text(rows(0, 1, 2))
    tags.write_text(rows(0, 1, 1))
    bank.write_text(re.sub(r"(\t\d\t)\w+", r"\1x", conllu()))
    (warning,) = warned(epigram("tag", "eval", models["chunker"], tags))
    assert "the model knows none of the labels ('DET', 'NOUN', 'PUNCT')" in warning
    assert warned(epigram("tag", "eval", models["chunker"], chunks)) == []
    output = ("-o", tmp_path / "m.epigram")
    assert "none of the labels" in warned(epigram("tag", "train", chunks, "--dev", tags, *output))[0]
    assert "none of the labels" in warned(epigram("tag", "update", models["chunker"], tags, *output))[0]
    assert "none of the labels ('x')" in warned(epigram("parse", "eval", models["parser"], bank))[0]
    assert "none of the labels ('x')" in warned(epigram("parse", "eval", models["relations"], bank))[0]


def test_odd_labels_and_missing_blank_lines_are_warned_of_in_training(tmp_path: Path) -> None:
    train, model = tmp_path / "train.txt", tmp_path / "m.epigram"

    def warnings_of(content: str, *options: str) -> list[str]:
        train.write_text(content)
        return warned(epigram("tag", "train", train, "-o", model, "--passes", "2", "--l1", "0.001", *options))

    assert warnings_of(rows(0, 1)) == []
    (warning,) = warnings_of("the X\ndog X\n")
    assert "every token has the label 'X'" in warning
    words = "".join(f"w{k} N{k % 9}\n\n" for k in range(150))
    (warning,) = warnings_of(words, "--label-column", "0")
    assert "150 different labels for 9 different words" in warning
    assert warnings_of(words) == []
    (warning,) = warnings_of("the D\ndog N\n" * 600)
    assert "1 sentence with 1,200 tokens; are the blank lines" in warning
    assert warnings_of("the D\ndog N\n\n" * 600) == []
    (warning,) = warned(epigram("tag", "eval", model, "-", stdin=b"the D\ndog N\n" * 600))
    assert "are the blank lines between sentences missing?" in warning


def test_odd_treebanks_are_warned_of_in_training(tmp_path: Path) -> None:
    bank, model = tmp_path / "bank.conllu", tmp_path / "m.epigram"
    bank.write_text(re.sub(r"(\t\d\t)\w+", r"\1_", conllu()))
    (warning,) = warned(epigram("parse", "train", bank, "-o", model, "--passes", "1"))
    assert "every token has the label '_'" in warning
    bank.write_text(conllu().replace("\n\n", "\n"))
    refused(epigram("parse", "train", bank, "-o", model), "is the blank line before a new sentence missing?")


@pytest.mark.parametrize("content", [rows(0, 1, 2), rows(0, 1, 2).replace(" ", "\t"), TEXT.decode()])
def test_columns_for_a_model_of_items_are_refused(
    models: dict[str, Path], tmp_path: Path, content: str
) -> None:
    model, file = tmp_path / "items.epigram", tmp_path / "columns.txt"
    features = [[[f"w={cells[0]}"] for cells in one] for one in SENTENCES]
    CRFTagger(l1=0.001).fit(features, [[cells[1] for cells in one] for one in SENTENCES]).save(model)
    file.write_text(content)
    for command in ("run", "eval", "explain"):
        refused(epigram("tag", command, model, file), f"{file}: the model knows", "CRFsuite's items")
    file.write_text("DET\tw=the\nNOUN\tw=unheard\n")
    assert epigram("tag", "run", model, file).stdout.startswith(b"DET\n")


MISTAKES = {
    "commas": ("the,D\ndog,N\n", "--separator ','"),
    "commas in blanks": ("the big,D\ndog,N\n", "--separator ','"),
    "tabs and blanks": ("New York\tNNP\tB\nis\tV\tO\n", r"--separator $'\t'"),
    "json": ('{"tokens": ["the", "dog"]}\n{"tokens": ["a"]}\n', "JSON; write a token a line"),
    "json without blanks": ('{"tokens":["the"]}\n{"tokens":["a"]}\n', "JSON; write a token a line"),
    "conllu": (conllu(), "this looks like CoNLL-U: --format conllu"),
    "conllu without comments": (
        conllu()[conllu().index("1\t") :],
        "this looks like CoNLL-U: --format conllu",
    ),
    "text": (TEXT.decode() + "so it goes\n", "this looks like plain text"),
    "paragraphs": ("so it goes " * 12 + "\n" + "so it goes " * 6 + "\n", "this looks like plain text"),
    "two lines": (
        "so it goes on again\nand then it was over for all of us\n",
        "a token a line with its label",
    ),
    "few lines": ("so it goes on again\n" * 2 + "and then it was over\nyes it was\n", "example 'The DT'"),
    "fastText": ("__label__a free money\n__label__b see you at noon\n", "this looks like fastText's format"),
    "no labels": ("the\ndog\n", "no labels"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_training_on_other_files_names_the_mistake(tmp_path: Path, what: str) -> None:
    content, message = MISTAKES[what]
    train = tmp_path / "train.txt"
    train.write_text(content)
    refused(epigram("tag", "train", train, "-o", tmp_path / "m.epigram"), message)
    assert not (tmp_path / "m.epigram").exists()


@pytest.mark.parametrize("content", ["the D\nbig A\ndog\n", "a b c d e\n" * 9 + "a b c d\n"])
def test_a_wrong_line_of_columns_is_not_taken_for_text(tmp_path: Path, content: str) -> None:
    train = tmp_path / "train.txt"
    train.write_text(content)
    done = epigram("tag", "train", train, "-o", tmp_path / "m.epigram")
    refused(done, "expected")
    assert b"looks like" not in done.stderr


def test_files_without_labels_are_named(models: dict[str, Path], tmp_path: Path) -> None:
    good, one, two = tmp_path / "good.txt", tmp_path / "one.txt", tmp_path / "two.txt"
    good.write_text(rows(0, 1))
    one.write_text(rows(0))
    two.write_text(rows(0, 1))
    output = ("-o", tmp_path / "m.epigram")
    refused(epigram("tag", "train", good, "--dev", one, *output), f"{one}: 1 column: no labels")
    refused(
        epigram("tag", "eval", models["words"], one),
        f"{one}: 1 column: no labels",
        "2 columns as in training",
    )
    refused(
        epigram("tag", "eval", models["chunker"], two),
        f"{two}: 2 columns: no labels",
        "3 columns as in training",
    )
    refused(epigram("tag", "update", models["chunker"], two, *output), f"{two}: 2 columns: no labels")


def test_columns_for_the_parser_are_named_with_their_line(tmp_path: Path) -> None:
    train = tmp_path / "train.txt"
    train.write_text("-DOCSTART- -X- O\n\nIL-2 NN B\n")
    refused(
        epigram("parse", "train", train, "-o", tmp_path / "m.epigram"),
        "train.txt:1: not CoNLL-U",
        "-DOCSTART-",
    )


def test_blanks_in_a_template_are_warned_of(tmp_path: Path) -> None:
    template = tmp_path / "mine.template"
    template.write_text("# a comment\nU00:%x[0,0]   the word\nU01:%x[0,0|match:a b]\n  # another\nB   \n")
    done = epigram("tag", "template", template)
    (warning,) = warned(done)
    assert f"{template}:2: blanks" in warning
    assert done.stdout.decode() == template.read_text()
    for name in ("chunking", "ner", "pos", "chunking+", "ner+", "pos+"):
        assert warned(epigram("tag", "template", name)) == []


def test_shards_are_warned_of_too(tmp_path: Path) -> None:
    train, dev = tmp_path / "train.txt", tmp_path / "dev.txt"
    train.write_text("the X\ndog X\n" * 600)
    dev.write_text(rows(0, 1))
    words = ("-o", tmp_path / "m.epigram", "--shards", tmp_path / "s", "--passes", "1", "--dev", dev)
    found = warned(epigram("tag", "train", train, *words))
    for part in ("every token has the label 'X'", "1 sentence with 1,200 tokens", "none of the labels"):
        assert any(part in warning for warning in found)


def test_a_parser_in_python_warns_of_columns_that_are_missing(models: dict[str, Path]) -> None:
    parser = DependencyParser.load(models["parser"])
    bank = parse_treebank(conllu(tag=False).encode())
    for predict in (parser.predict, parser.predict_heads, parser.predict_nbest):
        with pytest.warns(DataWarning, match="every word has _ in upos, xpos, which") as found:
            predict(bank)
        assert len(found) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"\x0c\n\x0c \x0c\n",
        b"\xff\xfeh\x00i\x00",
        b"a\xe9 b\nc d e\nf\n",
        b"\x00 \x00\n\x00\n",
        b"x" * 70000,
    ],
)
def test_odd_bytes_are_no_traceback(models: dict[str, Path], tmp_path: Path, raw: bytes) -> None:
    for name in ("words", "upos", "chunker", "two"):
        done = epigram("tag", "run", models[name], stdin=raw)
        assert done.returncode == 0 or done.stderr.count(b"\n") == 1
    assert epigram("tag", "train", "-", "-o", tmp_path / "m", stdin=raw).returncode == 2


def test_cells_are_counted_as_the_reader_counts_them(models: dict[str, Path]) -> None:
    """A no-break space or an ideographic one is part of a word."""
    raw = "\ufeffthe\u00a0dog NOUN\r\nthe\u3000cat NOUN\r\n".encode()
    done = epigram("tag", "run", models["words"], stdin=raw)
    assert done.returncode == 0, done.stderr
    assert [line.split(" ")[0] for line in done.stdout.decode().splitlines()] == [
        "the\u00a0dog",
        "the\u3000cat",
    ]


def test_chains_take_no_conllu(models: dict[str, Path], tmp_path: Path) -> None:
    """Its first column is no word, and its last no label."""
    done = epigram("tag", "chain", models["bank"], "-o", tmp_path / "x", "--with", models["words"])
    refused(done, "CoNLL-U has no place for a new column", "tag run")


def test_a_file_of_one_token_is_no_training_file(tmp_path: Path) -> None:
    with pytest.warns(WrongInputWarning, match="one token in all"):
        warn_of_lengths(tmp_path / "x", 1, 1)
