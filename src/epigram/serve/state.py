"""Server state shared by all routes, and the description of a route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from epigram.serve.batching import Batcher
from epigram.serve.http import Limits, Metrics
from epigram.serve.registry import LoadedModel, Registry, Sessions

if TYPE_CHECKING:
    from epigram.serve.models import WeightPages
    from epigram.serve.training import TrainingService

THREADS = 2


@dataclass
class ServerState:
    """State of one server; the server deletes its private ``folder`` when it ends."""

    registry: Registry
    folder: Path
    limits: Limits = field(default_factory=Limits)
    uploads: bool = False
    metrics: Metrics = field(default_factory=Metrics)
    sessions: Sessions = field(init=False)
    weight_pages: dict[str, tuple[LoadedModel, WeightPages]] = field(default_factory=dict)
    training: TrainingService = field(init=False)
    n_unsent: int = 0

    def __post_init__(self) -> None:
        from epigram.serve.training import TrainingService

        self.sessions = Sessions(self.limits.sessions, self.limits.session_bytes)
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="epigram-serve")
        self.batcher = Batcher(self.pool, self.limits.waiting)
        self.training = TrainingService(self)

    async def run(self, work: Callable[[], Any], brief: bool = False) -> Any:
        """Call a function in a thread of the pool, or directly if it is brief."""
        return work() if brief else await self.batcher.run_in_thread(work)


@dataclass(frozen=True)
class Call:
    """One request: its checked body, its session, and the model that its path names, if any."""

    state: ServerState
    body: Any
    session: str | None
    name: str | None = None

    async def estimator(self, entry: LoadedModel) -> Any:
        """Return a model as this session sees it."""
        sessions = self.state.sessions
        return await self.state.run(
            lambda: sessions.model(self.session, entry), brief=sessions.is_ready(self.session, entry)
        )


@dataclass(frozen=True)
class RawResponse:
    """A response that is not JSON: bytes, or an open file, which is sent in chunks and closed."""

    content: bytes | BinaryIO
    type: str
    file_name: str | None = None


@dataclass(frozen=True)
class Operation:
    """A route: ``run`` answers and describes it, ``body`` is the type of its body or query."""

    method: str
    path: str
    run: Callable[[Call], Awaitable[Any]]
    body: type | None = None
    example: Any = None
    upload: bool = False
    binary: bool = False
