"""The boundary to C, function by function as the headers list them: what does not fit is refused before C runs.

Nothing here is written for one function: arguments are made from the prototypes, then spoiled one at a time. C itself
is replaced by a recorder, and called for real only where there is nothing to read: with empty arrays.
"""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from epigram._core import native
from epigram._core.native import DTYPES, HERE, family

HEADERS = sorted(path.stem for path in HERE.glob("*.h") if f" {path.stem}_" in path.read_text("utf-8"))
FUNCTIONS = [(header, name) for header in HEADERS for name in family(header).functions()]
STRUCTURES = [(header, name) for header in HEADERS for name in family(header).structures()]
# Whoever calls these has at least one element: the root of a tree, the empty context of a model, a slot of a hash
# table, or the one that an argument names.
NEED_AN_ELEMENT = {
    *("arcs_count_keys", "arcs_encode", "arcs_keys", "arcs_locate", "arcs_scores"),
    *("decoding_k_best", "factored_choose_at_root", "factored_sweep", "loglinear_spread"),
    *("ime_best", "ime_fits", "ime_step"),
    *("ngram_distribution", "ngram_link", "ngram_relative_entropy_scores", "ngram_step"),
    *("rerank_find_gram", "rerank_line_search", "second_order_k_best", "segment_k_best"),
    *("sibling_features_encode", "sibling_features_scores"),
    *("part_features_encode", "part_features_keys", "part_features_scores"),
}


class Argument(NamedTuple):
    """One parameter of a prototype, or one field of a structure."""

    name: str
    kind: str
    is_array: bool
    is_written: bool
    length: str


def parameters(header: str, function: str) -> list[Argument]:
    """As the prototype has them."""
    texts = family(header)._functions[function][2].split(",")
    found = [native._ARGUMENT.match(" ".join(text.split())) for text in texts if text.strip() != "void"]
    groups = [one.groups() for one in found if one is not None]
    assert len(groups) == len([text for text in texts if text.strip() != "void"])
    return [
        Argument(name, kind, bool(star) or length is not None, not const, length or "0")
        for const, kind, star, name, length in groups
    ]


def fields(header: str, structure: str) -> list[Argument]:
    """As the structure has them."""
    found = native._FIELD.findall(family(header)._structs[structure])
    return [
        Argument(name, kind, bool(star), not const, length or "0")
        for const, kind, star, name, length in found
    ]


def values(header: str, arguments: list[Argument], number: Callable[[], int]) -> dict[str, Any]:
    """Something of the right kind for each: integers by ``number``, arrays just as long as they must be."""
    sizes = {one.name: number() for one in arguments if not one.is_array and one.kind in DTYPES}
    out: dict[str, Any] = {}
    for one in arguments:
        if one.kind not in DTYPES:
            out[one.name] = empty_structure(header, one.kind)
        elif one.is_array:
            out[one.name] = np.zeros(eval(one.length, {}, sizes), DTYPES[one.kind])
        else:
            out[one.name] = float(sizes[one.name]) if one.kind[0] == "f" else sizes[one.name]
    return out


def empty_structure(header: str, name: str) -> Any:
    """A structure of empty arrays."""
    made = family(header).structure(name)
    home = next(h for h in HEADERS if name in family(h).structures() and family(h).structure(name) is made)
    return made(**values(home, fields(home, name), lambda: 0))


def spoiled(one: Argument, array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """The same argument with one thing wrong, and what the error must say."""
    other = np.int32 if array.dtype != np.int32 else np.float32
    yield "must be an array", array.tolist()
    yield "must be an array", None
    yield "must be an array", memoryview(array)
    yield f"must be {array.dtype}, not", array.astype(other)
    yield f"must be {array.dtype}, not", array.astype(object)
    if array.dtype.itemsize > 1:
        yield f"must be {array.dtype}, not", array.astype(array.dtype.newbyteorder(">"))
    if array.size > 1:
        yield "must be contiguous", np.zeros(2 * array.size, array.dtype)[::2]
        yield "must be contiguous", array[::-1]
        yield "must be contiguous", np.zeros((array.size, 2), array.dtype).T
    if array.size and one.length != "0":
        yield f"has {array.size - 1} elements where {array.size} are needed", array[:-1]
        yield f"has 0 elements where {array.size} are needed", array[:0]
    if one.is_written and array.size:
        locked = array.copy()
        locked.setflags(write=False)
        yield "must be contiguous and writeable", locked


def recorded(header: str, name: str) -> tuple[Callable[..., Any], list[Any]]:
    """The checked function, made anew with a list in the place of C, which gets what C would."""
    function = native._function(family(header), *family(header)._functions[name])
    calls: list[Any] = []
    function.__globals__["c_function"] = lambda *passed: calls.append(passed)
    return function, calls


@pytest.mark.parametrize(("header", "name"), FUNCTIONS)
def test_functions_refuse_whatever_does_not_fit_the_prototype(header: str, name: str) -> None:
    arguments, draw = parameters(header, name), random.Random(name)
    function, calls = recorded(header, name)
    for number in (lambda: 0, lambda: 3, lambda: draw.randint(0, 9)):
        right = values(header, arguments, number)
        calls.clear()
        function(*right.values())
        for one, passed in zip(arguments, calls.pop(), strict=True):
            if one.kind in DTYPES:
                wanted = right[one.name].ctypes.data if one.is_array else right[one.name]
                assert passed == wanted or not right[one.name].size
        for one in arguments:
            if one.kind not in DTYPES:
                with pytest.raises(AttributeError):
                    function(*(right | {one.name: np.zeros(9)}).values())
            elif one.is_array:
                for message, wrong in spoiled(one, right[one.name]):
                    with pytest.raises(TypeError, match=f"{name}: {one.name} {re.escape(message)}"):
                        function(*(right | {one.name: wrong}).values())
        assert not calls


@pytest.mark.parametrize(("header", "name"), STRUCTURES)
def test_structures_refuse_whatever_does_not_fit_them(header: str, name: str) -> None:
    arguments, draw = fields(header, name), random.Random(name)
    made = family(header).structure(name)
    for number in (lambda: 0, lambda: 3, lambda: draw.randint(0, 9)):
        right = values(header, arguments, number)
        made(**right)
        made(*right.values())
        for one in arguments:
            for message, wrong in spoiled(one, right[one.name]) if one.is_array else ():
                with pytest.raises(TypeError, match=rf"{name}\.{one.name} {re.escape(message)}"):
                    made(**right | {one.name: wrong})
            with pytest.raises(TypeError, match=rf"{name}\(\) missing .* '{one.name}'"):
                made(**{field: value for field, value in right.items() if field != one.name})
        with pytest.raises(TypeError, match=rf"{name}\(\) .* 'another'"):
            made(**right, another=1)
        with pytest.raises(TypeError, match=rf"{name}\(\) takes"):
            made(*right.values(), 1)


def sizes_of(arguments: list[Argument]) -> list[str]:
    """The integers that lengths of arrays are made of."""
    spelled = " ".join(one.length for one in arguments if one.is_array)
    return [one.name for one in arguments if not one.is_array and re.search(rf"\b{one.name}\b", spelled)]


@pytest.mark.parametrize(("header", "name"), FUNCTIONS)
def test_functions_refuse_sizes_below_zero(header: str, name: str) -> None:
    arguments = parameters(header, name)
    function, calls = recorded(header, name)
    right = values(header, arguments, lambda: 3)
    for size in sizes_of(arguments):
        for wrong in (-1, -3, -(2**62)):
            with pytest.raises(TypeError, match=f"{name}: {size} must not be negative, but is {wrong}"):
                function(*(right | {size: wrong}).values())
    assert not calls


@pytest.mark.parametrize(("header", "name"), STRUCTURES)
def test_structures_refuse_sizes_below_zero(header: str, name: str) -> None:
    arguments = fields(header, name)
    right = values(header, arguments, lambda: 3)
    for size in sizes_of(arguments):
        with pytest.raises(TypeError, match=f"{name}: {size} must not be negative, but is -1"):
            family(header).structure(name)(**right | {size: -1})


@pytest.mark.parametrize(("header", "name"), [one for one in FUNCTIONS if one[1] not in NEED_AN_ELEMENT])
def test_nothing_in_gives_nothing_out(header: str, name: str) -> None:
    """C with empty arrays; a build with sanitizers stops at the first access to one of them."""
    function = getattr(family(header), name.removeprefix(f"{header}_"))
    given = values(header, parameters(header, name), lambda: 0)
    before = {key: value.copy() for key, value in given.items() if isinstance(value, np.ndarray)}
    result = function(*given.values())
    assert result is None or isinstance(result, int | float)
    for one in parameters(header, name):
        if one.name in before and not one.is_written:
            np.testing.assert_array_equal(given[one.name], before[one.name])


def test_a_call_takes_numbers_as_numpy_has_them() -> None:
    n = np.int64(2)
    assert family("penalties").value(n, np.ones(2), np.float64(1.0), 0.0, np.ones(2), np.ones(2)) == 2.0
    with pytest.raises((TypeError, ctypes.ArgumentError)):
        family("penalties").value(2.5, np.ones(3), 1.0, 0.0, np.ones(3), np.ones(3))
