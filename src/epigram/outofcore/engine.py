"""The protocol of engines, which run functions on shards, and the engine of this process.

An engine builds things from recipes and calls a function on all of them. Results come in the order of the things,
whichever worker computed them, so that sums over them have the same bits on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

Told = Callable[[str, int, int], Any]
"""Progress callback: task, amount done, total amount."""


def untold(what: str, done: int, total: int) -> None:
    """Ignore progress."""


class Engine(Protocol):
    """Holds things built from recipes, here or on workers, and calls functions on them."""

    may_lose: ClassVar[bool]
    """Whether things can be lost with their worker; they are then made again from their recipes."""

    def make(self, function: Callable[[Any], Any], recipes: Sequence[Any]) -> list[Any]:
        """Return a handle of ``function(recipe)`` per recipe; lost things are rebuilt."""
        ...

    def ask(
        self,
        function: Callable[[Any, Any], Any],
        handles: Sequence[Any],
        pieces: Sequence[Any],
        may_move: bool = True,
    ) -> list[Any]:
        """``function(thing, piece)`` of each handle, in their order.

        With ``may_move=False`` a thing stays with its worker while that lives: moving it would lose its state.
        """
        ...

    @property
    def workers(self) -> int:
        """Number of workers now."""
        ...


@dataclass
class Here:
    """The engine of one machine: threads of this process.

    Examples
    --------
    >>> engine = Here(threads=2)
    >>> numbers = engine.make(float, ["1", "2", "3"])
    >>> engine.ask(pow, numbers, [2, 2, 2])
    [1.0, 4.0, 9.0]
    """

    threads: int = 1
    may_lose: ClassVar[bool] = False

    def make(self, function: Callable[[Any], Any], recipes: Sequence[Any]) -> list[Any]:
        """See :class:`Engine`."""
        return self._map(lambda k: function(recipes[k]), len(recipes))

    def ask(
        self,
        function: Callable[[Any, Any], Any],
        handles: Sequence[Any],
        pieces: Sequence[Any],
        may_move: bool = True,
    ) -> list[Any]:
        """See :class:`Engine`."""
        return self._map(lambda k: function(handles[k], pieces[k]), len(handles))

    @property
    def workers(self) -> int:
        """Threads."""
        return self.threads

    def _map(self, work: Callable[[int], Any], n: int) -> list[Any]:
        if self.threads == 1 or n < 2:
            return [work(k) for k in range(n)]
        with ThreadPoolExecutor(min(self.threads, n)) as pool:
            return list(pool.map(work, range(n)))


def in_turn(
    engine: Engine, function: Callable[[Any, Any], Any], recipes: Sequence[Any], what: str, told: Told
) -> list[Any]:
    """Run ``function(recipe, None)`` for each recipe in rounds, and report progress.

    Examples
    --------
    >>> in_turn(Here(), lambda number, _: number + 1, [1, 2], "counting", print)
    counting 0 2
    counting 2 2
    [2, 3]
    """
    answers: list[Any] = []
    told(what, 0, len(recipes))
    while len(answers) < len(recipes):
        some = recipes[len(answers) : len(answers) + max(engine.workers, 1) * 4]
        answers += engine.ask(function, engine.make(_itself, some), [None] * len(some))
        told(what, len(answers), len(recipes))
    return answers


def _itself(recipe: Any) -> Any:
    return recipe
