"""Options that are derived from constructors are described there, each in one short sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from epigram import cli
from epigram.cli.options import described, description, options, parameters
from epigram.errors import EpigramError
from in_process import epigram

LONGEST, MOST = 90, 15


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its path."""
    for name, group in cli.build().commands.items():
        if name in cli.GROUPS:
            yield from ((f"{name} {inner}", command) for inner, command in group.commands.items())
        else:
            yield name, group


def test_every_option_has_a_help_text() -> None:
    for path, command in commands():
        for parameter in command.params:
            assert parameter.name == "help" or parameter.help, f"{path}: {parameter.name}"


def test_derived_help_is_one_short_sentence() -> None:
    from epigram.cli.solvers import SOLVERS
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.ngram.kneser_ney import KneserNeyLM
    from epigram.parsing.parser import DependencyParser
    from epigram.rerank import Reranker
    from epigram.rerank.model import LEARNERS
    from epigram.solvers.proximal import StochasticProximal
    from epigram.tagging.crf import CRFTagger

    kinds = (
        CRFTagger,
        DependencyParser,
        LogLinearLM,
        ClassFactoredLM,
        KneserNeyLM,
        Reranker,
        StochasticProximal,
    )
    objects = {"template", "label_template", "solver", "penalty", "learner"}
    for kind in (*kinds, *SOLVERS.values(), *LEARNERS.values()):
        sentences = described(kind)
        for option in options(kind, skip=objects):
            sentence = sentences.get(option.name, "")
            assert 0 < len(sentence) <= LONGEST + 1, f"{kind.__name__}: {option.name}: {sentence}"
            assert sentence.split()[0] not in ("Of", "As"), f"{kind.__name__}: {option.name}: {sentence}"


def test_a_command_has_few_parameters_of_its_own() -> None:
    from importlib import import_module

    for path, _ in commands():
        module = import_module("epigram.cli." + path.replace("-", "_").replace(" ", "."))
        own = inspect.getfullargspec(inspect.unwrap(module.command))
        count = module.command.__code__.co_argcount + module.command.__code__.co_kwonlyargcount
        assert count <= MOST, f"{path} has {count} parameters: {own.args}"


class Kind:
    """A constructor of every type that an option can have.

    Parameters
    ----------
    word : first or second
        choice. More.
    number : a number, or ``"auto"``.
    weights : weight of each label.
    columns : column numbers.
    thing : an object.
    """

    def __init__(
        self,
        word: Any = "first",
        number: float = 2.0,
        weights: Any = None,
        columns: tuple[int, ...] | None = None,
        thing: object = None,
    ) -> None: ...


def test_defaults_and_types_are_those_of_the_constructor() -> None:
    found = {option.name: get_args(option.annotation) for option in options(Kind)}
    assert sorted(found) == ["columns", "number"]
    assert found["number"][1].help == "A number, or auto. [default: 2]"
    assert all(option.default is None for option in options(Kind))
    assert described(Kind)["word"] == "First or second choice."
    assert found["columns"][1].parser("0,-1") == (0, -1)
    with pytest.raises(EpigramError, match="--columns is whole numbers such as 100,500, not 'a'"):
        found["columns"][1].parser("a")


def test_a_setting_of_another_model_is_refused(tmp_path: Any) -> None:
    (tmp_path / "train.txt").write_text("a X\n\n")
    words = ("tag", "train", tmp_path / "train.txt", "-o", tmp_path / "m.epigram")
    done = epigram(*words, "--beam", "3")
    assert done.returncode == 2
    assert b"--beam has no meaning with --model crf; leave it out, or use --model history" in done.stderr


def group(
    name: str, more: list[str] | None = None, top: int = 3, output: str = "", quiet: bool = False
) -> None:
    """A group of options.

    Parameters
    ----------
    name : An argument.
    more FILE... : Further
        arguments.
    top K >= 1 <= 9 : A number.

    Results
    -------
    output -o FILE : A file.
    quiet : A flag.
    """


def test_options_of_a_command_are_those_of_its_docstring() -> None:
    found = {one.name: get_args(one.annotation)[1] for one in parameters(group)}
    assert [type(found[name]).__name__ for name in found] == ["ArgumentInfo"] * 2 + ["OptionInfo"] * 3
    assert (found["name"].metavar, found["more"].metavar, found["more"].help) == (
        "NAME",
        "FILE...",
        "Further arguments.",
    )
    assert (found["top"].metavar, found["top"].min, found["top"].max) == ("K", 1, 9)
    flags = [
        (found[name].default, *found[name].param_decls) for name in ("output", "quiet")
    ]  # as typer holds them
    assert flags == [("--output", "-o"), ("--quiet",)]
    assert found["output"].rich_help_panel == "Results"
    assert description(group) == "A group of options."


def test_an_entry_without_a_parameter_is_refused() -> None:
    group_of_others = eval("lambda name: None")
    group_of_others.__doc__ = group.__doc__
    with pytest.raises(AssertionError, match="describes more, top, output, quiet, which it does not take"):
        parameters(group_of_others)
