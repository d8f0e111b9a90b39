"""The door to C: whatever Python hands over is checked before C sees it."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import epigram._core
from epigram._core import native
from epigram._core.native import Family, Team, family
from epigram.errors import EpigramError

HEADERS = sorted(
    path.stem
    for path in Path(epigram._core.__file__).parent.glob("*.h")
    if f" {path.stem}_" in path.read_text("utf-8")
)


def test_arrays_of_the_right_kind_pass() -> None:
    w = np.array([3.0, -1.0])
    assert family("penalties").value(2, w, 1.0, 0.5, np.ones(2), np.ones(2)) == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([3.0, -1.0], "value: w must be an array of float64, not list"),
        (None, "value: w must be an array of float64, not NoneType"),
        (np.ones(2, np.float32), "value: w must be float64, not float32"),
        (np.ones(2, np.int64), "value: w must be float64, not int64"),
        (np.ones(2, ">f8"), "value: w must be float64, not >f8"),
        (np.ones(4)[::2], "value: w must be contiguous"),
        (np.ones(1), "value: w has 1 elements where 2 are needed"),
        (np.empty(0), "value: w has 0 elements where 2 are needed"),
    ],
)
def test_wrong_arrays_are_refused_by_name(wrong: object, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        family("penalties").value(2, wrong, 1.0, 0.5, np.ones(2), np.ones(2))


def test_structures_are_shared_with_headers_that_include_theirs() -> None:
    assert family("chain_sgd").structure("Layout") is family("chain").Layout
    assert family("chain_sgd").structure("Nothing") is None
    none = np.zeros(0, np.int64)
    step = family("chain_sgd").Step(0, 0, 0, none, none, none, none, np.zeros(0))
    with pytest.raises(TypeError, match="expected Layout, not Step"):
        step.address_as(family("chain").Layout)


def test_arrays_that_are_written_must_be_writeable() -> None:
    out = np.empty(2)
    out.setflags(write=False)
    with pytest.raises(TypeError, match="out must be contiguous and writeable"):
        family("solvers").average(2, np.ones(2), np.ones(2), 0.5, out)


@given(
    n=st.integers(0, 5),
    sizes=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    kinds=st.lists(st.sampled_from(["<f8", "<f4", "<i8", "<i4", "?", ">f8"]), min_size=3, max_size=3),
    steps=st.lists(st.integers(1, 2), min_size=3, max_size=3),
)
def test_any_shapes_types_and_strides_pass_or_raise(
    n: int, sizes: list[int], kinds: list[str], steps: list[int]
) -> None:
    arrays = [
        np.ones(size * step, kind)[::step] for size, kind, step in zip(sizes, kinds, steps, strict=True)
    ]
    w, z, out = arrays
    fits = all(
        a.dtype == np.float64 and a.dtype.isnative and a.flags.c_contiguous and a.size >= n for a in arrays
    )
    if fits:
        family("solvers").average(n, w, z, 0.25, out)
        assert (out[:n] == 1.0).all()
    else:
        with pytest.raises(TypeError):
            family("solvers").average(n, w, z, 0.25, out)


def test_threads_that_ask_at_once_get_the_same_structure() -> None:
    for _ in range(20):
        home = Family("ngram")
        start = Barrier(4)

        def ask(_: int, home: Family = home, start: Barrier = start) -> object:
            start.wait()
            return home.Backoff

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(ask, range(4)))) == 1


@pytest.mark.parametrize("name", HEADERS)
def test_every_prototype_of_a_header_can_be_bound(name: str) -> None:
    home = family(name)
    names = [symbol.removeprefix(f"{name}_") for symbol in home.functions()]
    assert names
    for each in (*names, *home.structures()):
        assert callable(getattr(home, each))
    with pytest.raises(AttributeError, match=r"has no nothing"):
        home.nothing  # noqa: B018


def test_a_core_compiled_from_other_headers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of the sources that was not compiled, C would read arguments that are not there."""
    native.library.__wrapped__()
    monkeypatch.setattr(native, "_compiled_from", lambda: "0")
    with pytest.raises(EpigramError, match="of another version; install epigram again"):
        native.library.__wrapped__()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_team_keeps_the_order_and_says_what_failed(threads: int) -> None:
    at_work = set()

    def work(k: int) -> int:
        at_work.add(threading.get_ident())
        time.sleep(0.002)
        return 1 // (k - 20) if k >= 20 else k * k

    with Team(threads) as team:
        assert team.run(work, range(20)) == [k * k for k in range(20)]
        assert len(at_work) <= threads
        assert threading.get_ident() in at_work
        assert len(at_work) > 1 or threads == 1
        assert team.run(work, []) == []
        for last in (20, 21):  # the error of one task, whoever does it, and the team goes on
            with pytest.raises(ZeroDivisionError):
                team.run(work, [*range(last), 20])
        assert team.run(lambda k: team.run(work, [k, k + 1]), [1, 2, 3]) == [[1, 4], [4, 9], [9, 16]]
