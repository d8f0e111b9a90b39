"""What all operations share: models, sessions, threads, limits, the training; and how an operation is described."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.serve.gathering import Gathering, Work
from epigram.serve.limits import Limits
from epigram.serve.metrics import Metrics
from epigram.serve.sessions import Sessions
from epigram.serve.shelf import Entry, Shelf

if TYPE_CHECKING:
    from epigram.serve.training import Trainer
    from epigram.serve.weights import WeightTable

THREADS = 2


@dataclass
class Studio:
    """One server's state; ``folder`` is private to it and goes with it."""

    shelf: Shelf
    folder: Path
    limits: Limits = field(default_factory=Limits)
    uploads: bool = False
    metrics: Metrics = field(default_factory=Metrics)
    sessions: Sessions = field(init=False)
    tables: dict[str, tuple[Entry, WeightTable]] = field(default_factory=dict)
    trainer: Trainer = field(init=False)

    def __post_init__(self) -> None:
        from epigram.serve.training import Trainer

        self.sessions = Sessions(self.limits.sessions)
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="epigram-serve")
        self.gathering = Gathering(self.pool, self.limits.waiting)
        self.trainer = Trainer(self)

    async def together(self, key: Hashable, work: Work, items: list[Any]) -> list[Any]:
        """Answers of ``work`` for items, perhaps in one call with those of other requests of the same key."""
        return await self.gathering.ask(key, work, items)

    async def alone(self, work: Callable[[], Any]) -> Any:
        """The result of a call in a thread of the pool."""
        return await self.gathering.alone(work)


@dataclass(frozen=True)
class Call:
    """One request: its checked body, its session, and the model that its path names, if any."""

    studio: Studio
    body: Any
    session: str | None
    name: str | None = None

    def model(self, entry: Entry) -> Any:
        """An entry's estimator as this session sees it."""
        return self.studio.sessions.model(self.session, entry)


@dataclass(frozen=True)
class Raw:
    """An answer that is no JSON."""

    content: bytes
    type: str
    file_name: str | None = None


@dataclass(frozen=True)
class Operation:
    """A route: the docstring of ``run`` is its description, ``body`` the dataclass of its body or its query."""

    method: str
    path: str
    run: Callable[[Call], Awaitable[Any]]
    body: type | None = None
    example: Any = None
    upload: bool = False
    binary: bool = False
