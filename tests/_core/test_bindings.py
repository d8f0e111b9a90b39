"""The generated bindings, function by function as the headers list them: what does not fit is refused before C runs.

Nothing here is written for one function: arguments are made from the prototypes, then spoiled one at a time. C itself
is replaced by a recorder, and called for real only where there is nothing to read: with empty arrays.
"""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hatch_bindings
from epigram._core import bindings, checks
from epigram._core.load import HERE, library
from epigram.errors import EpigramError
from hatch_bindings import Parameter, Signature

HEADERS = hatch_bindings.parse(HERE)
each_function = pytest.mark.parametrize(
    "function", [pytest.param(function, id=name) for name, function in HEADERS.functions.items()]
)
each_struct = pytest.mark.parametrize(
    "struct", [pytest.param(struct, id=name) for name, struct in HEADERS.structs.items()]
)
# Whoever calls these has at least one element: the root of a tree, the empty context of a model, a slot of a hash
# table, or the one that an argument names.
NEED_AN_ELEMENT = {
    *("arcs_count_keys", "arcs_encode", "arcs_keys", "arcs_locate", "arcs_scores"),
    *("decoding_k_best", "factored_choose_at_root", "factored_sweep", "loglinear_spread"),
    *("grams_locate", "ime_best", "ime_fits", "ime_step", "kenlm_full_scores", "kenlm_score", "kenlm_step"),
    *("ngram_distribution", "ngram_link", "ngram_relative_entropy_scores", "ngram_step"),
    *("rerank_find_gram", "rerank_line_search", "second_order_k_best", "segment_k_best"),
    *("part_features_encode", "part_features_keys", "part_features_scores"),
}


def values(
    signature: Signature, number: Callable[[], int], known: dict[str, int] | None = None
) -> dict[str, Any]:
    """Something of the right kind for each parameter: integers by ``number``, arrays just as long as they must be.

    Structures are made with the same integers where fields have the same names; ``known`` are those of the caller.
    """
    numbers = (p for p in signature.parameters if p.length is None and not p.is_struct)
    sizes: dict[str, Any] = {p.name: (known or {}).get(p.name, number()) for p in numbers}
    out: dict[str, Any] = {}
    for p in signature.parameters:
        if p.kind == "char":
            out[p.name] = bytes(sizes[str(p.length)])
        elif p.is_struct:
            out[p.name] = structure(p.kind, number, sizes)
        elif p.length is not None:
            length = re.sub(r"(\w+)->(\w+)", lambda found: str(out[found[1]].get(found[2])), p.length)
            out[p.name] = np.zeros(eval(length, {}, sizes), getattr(checks, p.kind))
        else:
            out[p.name] = float(sizes[p.name]) if p.kind[0] == "f" else sizes[p.name]
    return out


def handed_over(signature: Signature, all_values: dict[str, Any]) -> dict[str, Any]:
    """The values that a Python caller names."""
    return {p.name: all_values[p.name] for p in signature.given}


def structure(name: str, number: Callable[[], int], known: dict[str, int] | None = None) -> Any:
    """A structure with arrays of zeros."""
    struct = HEADERS.structs[name]
    return getattr(bindings, name)(**handed_over(struct, values(struct, number, known)))


def spoiled(signature: Signature, p: Parameter, array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """The same argument with one thing wrong, and what the error must say."""
    what = f"{signature.name}{': ' if signature.result else '.'}{p.name} "
    other = np.int32 if array.dtype != np.int32 else np.float32
    yield f"{what}must be an array", array.tolist()
    yield f"{what}must be an array", None
    yield f"{what}must be an array", memoryview(array)
    yield f"{what}must be {array.dtype}, not", array.astype(other)
    yield f"{what}must be {array.dtype}, not", array.astype(object)
    if array.dtype.itemsize > 1:
        yield f"{what}must be {array.dtype}, not", array.astype(array.dtype.newbyteorder(">"))
    if array.size > 1:
        yield f"{what}must be contiguous", np.zeros(2 * array.size, array.dtype)[::2]
        yield f"{what}must be contiguous", array[::-1]
        yield f"{what}must be contiguous", np.zeros((array.size, 2), array.dtype).T
    if not p.is_const and array.size:
        locked = array.copy()
        locked.setflags(write=False)
        yield f"{what}must be contiguous and writeable", locked
    sharing = next((users for users in signature.filled.values() if any(p is user[0] for user in users)), [])
    structs = (HEADERS.structs[q.kind].names for q in signature.parameters if q.is_struct)
    in_struct = any(size in names for names in structs for size in re.findall(r"\w+", str(p.length)))
    if len(sharing) > 1 or any(factor > 1 for _, factor, _ in sharing) or (sharing and in_struct):
        yield "do not agree on their length", np.zeros(array.size + 1, array.dtype)
        if array.size:
            yield "do not agree on their length", array[:-1]
    elif array.size and not sharing:
        yield f"{what}has {array.size - 1} elements where {array.size} are needed", array[:-1]
        yield f"{what}has 0 elements where {array.size} are needed", array[:0]


@each_function
def test_functions_refuse_whatever_does_not_fit_the_prototype(
    function: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, calls = random.Random(function.name), []
    monkeypatch.setattr(bindings, "C", SimpleNamespace(**{function.name: lambda *c: calls.append(c)}))
    call = getattr(bindings, function.name)
    lengths = " ".join(p.length or "" for p in function.parameters)
    for number in (lambda: 0, lambda: 3, lambda: draw.randint(0, 9)):
        everything = values(function, number)
        right = handed_over(function, everything)
        call(**right)
        for p, passed in zip(function.parameters, calls.pop(), strict=True):
            if not p.is_struct:
                value = everything[p.name]
                assert passed == (value.ctypes.data if p.is_array else value) or (
                    p.is_array and not value.size
                )
        for p in function.parameters:
            if p.is_struct:
                for other in (1, None, np.zeros(9)):
                    with pytest.raises(TypeError, match=f"expected {p.kind}, not"):
                        call(**right | {p.name: other})
            elif p.is_array:
                for message, wrong in spoiled(function, p, right[p.name]):
                    with pytest.raises(TypeError, match=re.escape(message)):
                        call(**right | {p.name: wrong})
            elif p.name in right and re.search(rf"\b{p.name}\b", lengths):
                with pytest.raises(TypeError, match=f"{p.name} must not be negative, but is -3"):
                    call(**right | {p.name: -3})
        assert not calls


@each_struct
def test_structures_refuse_whatever_does_not_fit_them(struct: Signature) -> None:
    draw, make = random.Random(struct.name), getattr(bindings, struct.name)
    for number in (lambda: 0, lambda: 3, lambda: draw.randint(0, 9)):
        everything = values(struct, number)
        right = handed_over(struct, everything)
        made = make(*right.values())
        for p in struct.parameters:
            value = getattr(made._c, p.name)
            assert value == everything[p.name] if p.length is None else everything[p.name].ctypes.data
        for p in struct.given:
            for message, wrong in spoiled(struct, p, right[p.name]) if p.length is not None else ():
                with pytest.raises(TypeError, match=re.escape(message)):
                    make(**right | {p.name: wrong})
            with pytest.raises(TypeError, match=rf"missing .* '{p.name}'"):
                make(**{name: value for name, value in right.items() if name != p.name})


@each_struct
def test_structures_have_the_size_that_they_have_in_c(struct: Signature) -> None:
    size = getattr(bindings.C, f"sizeof_{struct.name}")()
    assert ctypes.sizeof(getattr(bindings, f"_{struct.name}")) == size


@each_function
def test_nothing_in_gives_nothing_out(function: Signature) -> None:
    """C with empty arrays; a build with sanitizers stops at the first access to one of them."""
    if function.name in NEED_AN_ELEMENT:
        return
    everything = values(function, lambda: 0)
    before = {p.name: everything[p.name].copy() for p in function.parameters if p.is_array}
    result = getattr(bindings, function.name)(**handed_over(function, everything))
    assert result is None or isinstance(result, int | float)
    for p in function.parameters:
        if p.is_array and p.is_const:
            np.testing.assert_array_equal(everything[p.name], before[p.name])


def test_a_structure_is_taken_for_no_other() -> None:
    with pytest.raises(TypeError, match="expected Classes, not Walk"):
        bindings.exchange_count_classes(structure("Walk", lambda: 0))


def test_a_call_takes_numbers_as_numpy_has_them() -> None:
    one = np.ones(2)
    assert bindings.penalties_value(one, np.float64(1.0), 0.0, one, one) == 2.0
    with pytest.raises((TypeError, ctypes.ArgumentError)):
        bindings.solvers_row_products(
            one.astype(np.float32), 0.5, 1, *[one.astype(np.float32)] * 2, one, np.ones(3)
        )  # type: ignore[arg-type]


@given(
    sizes=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    kinds=st.lists(st.sampled_from(["<f8", "<f4", "<i8", "<i4", "?", ">f8"]), min_size=3, max_size=3),
    steps=st.lists(st.integers(1, 2), min_size=3, max_size=3),
)
def test_any_shapes_types_and_strides_pass_or_raise(
    sizes: list[int], kinds: list[str], steps: list[int]
) -> None:
    arrays = [
        np.ones(size * step, kind)[::step] for size, kind, step in zip(sizes, kinds, steps, strict=True)
    ]
    w, z, out = arrays
    fits = all(a.dtype == np.float64 and a.dtype.isnative and a.flags.c_contiguous for a in arrays)
    if fits and len({a.size for a in arrays}) == 1:
        bindings.solvers_average(w, z, 0.25, out)
        assert (out == 1.0).all()
    else:
        with pytest.raises(TypeError):
            bindings.solvers_average(w, z, 0.25, out)


def test_a_core_compiled_from_other_headers_is_refused() -> None:
    """Otherwise C would read arguments that are not there."""
    with pytest.raises(EpigramError, match="of another version; install epigram again"):
        library(HEADERS.digest ^ 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("void wrong_one(i64 n, const f64 *x);", "wrong.h: wrong_one: the pointer x has no length"),
        ("void wrong_two(const Nothing *x);", "wrong.h: wrong_two: cannot read the parameter 'const Nothing"),
        ("void wrong_three(f64 x[]);", "wrong.h: wrong_three: cannot read the parameter 'f64 x[]'"),
        (
            "typedef struct {\n    i64 n;\n    f64 *x;\n} Room;\nvoid wrong_four(const Room *room);",
            "wrong.h: Room: the pointer x has no length",
        ),
    ],
)
def test_headers_with_a_pointer_of_unknown_length_stop_the_build(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.h").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        hatch_bindings.write(tmp_path, tmp_path)
    (tmp_path / "wrong.h").write_text("void other_file(i64 n, const f64 *x);", "utf-8")
    hatch_bindings.write(tmp_path, tmp_path)
