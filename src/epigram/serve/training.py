"""Routes to train a model: start, follow, stop and cancel one training job in a subprocess.

The files of a job are in a private folder, which is deleted when the job ends. A job that no client asks about for a
while is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from epigram.serve import worker
from epigram.serve.http import Body, RequestError, String
from epigram.serve.registry import load_model
from epigram.serve.state import Call, Operation, ServerState

MAX_POINTS = 1000
MAX_LINE = 1 << 20
Family = Literal["tagger", "classifier", "lm", "reranker", "converter", "adapt"]


class Train(Body, frozen=True):
    """A training file, the family of the model, and options, of which each family reads its own.

    ``adapt`` adapts the converter ``model`` to sentences with readings.
    """

    family: Family
    text: Annotated[str, Meta(max_length=20 << 20)]
    name: Annotated[str, Meta(max_length=60)] = ""
    model: String | None = None
    template: Literal["auto", "chunking", "ner", "pos"] = "auto"
    l1: Annotated[float, Meta(ge=0.001, le=100)] = 1.0
    passes: Annotated[int, Meta(ge=1, le=200)] = 30
    kind: Literal["log-linear", "kneser-ney"] = "log-linear"
    order: Annotated[int, Meta(ge=1, le=8)] = 4
    learner: Literal["blasso", "boosting", "fslr"] = "blasso"
    steps: Annotated[int, Meta(ge=1, le=100_000)] = 2000
    measure: Literal["cer", "wer"] = "cer"


class SampleQuery(Body, frozen=True):
    """The family whose sample file is wanted."""

    family: Family = "tagger"


@dataclass
class TrainingJob:
    """One training job: its process, progress and result."""

    number: int
    family: str
    name: str
    folder: Path = field(repr=False)
    state: str = "running"
    points: list[list[float | None]] = field(default_factory=list)
    message: str = ""
    result: dict[str, Any] | None = None
    model: str | None = None
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    asked: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0


class TrainingService:
    """Runs at most one training job at a time."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self.job: TrainingJob | None = None
        self._task: asyncio.Task[None] | None = None
        self._n = 0

    @property
    def running(self) -> bool:
        """Return whether a job is running."""
        return self.job is not None and self.job.state == "running"

    def start(self, plan: Train) -> None:
        """Start a job; refused while another one is running."""
        if self.running:
            raise RequestError(409, "another training is running; wait for it or cancel it")
        state, options = self._state, msgspec.structs.asdict(plan)
        text = options.pop("text")
        wanted = plan.name or plan.family
        if plan.family == "adapt":
            base = state.registry.get(plan.model, "converter")
            options["base"] = str(base.path)
            wanted = plan.name or f"{base.name}-adapted"
        self._n += 1
        folder = state.folder / f"training-{self._n}"
        job = self.job = TrainingJob(self._n, plan.family, state.registry.reserve(wanted, "trained"), folder)
        limits = state.limits
        task: dict[str, Any] = {"family": plan.family, "options": options}
        task |= {"memory": limits.training_memory, "seconds": limits.training_seconds}

        def write() -> None:
            folder.mkdir(mode=0o700)
            (folder / worker.UPLOAD).write_text(text, "utf-8")
            (folder / worker.JOB).write_text(json.dumps(task), "utf-8")
            if job.state != "running":  # cancelled meanwhile
                shutil.rmtree(folder, ignore_errors=True)

        self._task = asyncio.create_task(self._follow(job, write))

    async def _follow(self, job: TrainingJob, write: Callable[[], None]) -> None:
        """Write the files, run the process, read its messages, load its model, delete the files."""
        try:
            await self._state.run(write)
            end = await self._run(job)
        except asyncio.CancelledError:
            end = "cancelled"
        except Exception as error:
            end, job.message = "failed", f"the training failed: {getattr(error, 'strerror', None) or error}"
        job.seconds = time.monotonic() - job.began
        if job.process is not None and job.process.returncode is None:
            job.process.kill()
            await job.process.wait()
        self._state.registry.release(job.name)
        job.state = end
        shutil.rmtree(job.folder, ignore_errors=True)

    async def _run(self, job: TrainingJob) -> str:
        """Run the process of a job and return the final state."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        job.process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "epigram.serve.worker", cwd=job.folder, limit=MAX_LINE, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        end: dict[str, Any] = {}
        while line := await self._line(job, process.stdout):
            record = json.loads(line)
            if "point" in record:
                job.points.append(record["point"])
                if len(job.points) > MAX_POINTS:
                    del job.points[1:-1:2]
            else:
                end |= record
        await process.wait()
        if "result" in end:
            await self._take(job, end["result"])
            return "done"
        job.message = end.get("error") or "the training ended without a model; it may have run out of time"
        return "failed"

    async def _line(self, job: TrainingJob, stream: asyncio.StreamReader) -> bytes:
        """Return the next line of output; cancel the job when no client has asked for a while."""
        reading = asyncio.ensure_future(stream.readline())
        try:
            while True:
                done, _ = await asyncio.wait({reading}, timeout=1.0)
                if time.monotonic() - job.asked > self._state.limits.lease:
                    job.message = "cancelled: nobody asked about it any more"
                    raise asyncio.CancelledError
                if done:
                    return reading.result()
        finally:
            reading.cancel()

    async def _take(self, job: TrainingJob, result: dict[str, Any]) -> None:
        """Register the trained model; drop the oldest trained models beyond the limit."""
        state = self._state
        path = state.folder / f"{job.name}.epigram"
        (job.folder / worker.MODEL).replace(path)
        entry = await state.run(lambda: load_model(job.name, path, "trained"))
        state.registry.put(entry)
        trained = [one for one in state.registry if one.origin == "trained"]
        for old in trained[: max(0, len(trained) - state.limits.trained_models)]:
            state.registry.drop(old.name)
            state.sessions.forget(old.name)
            old.path.unlink(missing_ok=True)
        job.result, job.model = {**result, "bytes": entry.bytes}, entry.name

    def stop(self) -> None:
        """Ask the job to end now and keep the best model so far."""
        job = self._running_job()
        if job.process is not None and job.process.stdin is not None:
            job.process.stdin.write(b"stop\n")

    async def cancel(self) -> None:
        """End the job and discard its model."""
        self._running_job()
        await self.close()

    async def close(self) -> None:
        """End the running job, if any, and wait until its files are deleted."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _running_job(self) -> TrainingJob:
        if self.job is None or not self.running:
            raise RequestError(409, "no training is running")
        return self.job

    def status(self) -> dict[str, Any]:
        """Return state, progress and result of the last job."""
        job = self.job
        if job is None:
            return {"state": "idle", "points": []}
        job.asked = time.monotonic()
        seconds = job.asked - job.began if job.state == "running" else job.seconds
        shown = ("state", "number", "family", "name", "points", "message", "result", "model")
        return {name: getattr(job, name) for name in shown} | {"seconds": round(seconds, 2)}


async def begin(call: Call) -> Any:
    """Start a training job; GET /v1/train returns its state."""
    call.state.training.start(call.body)
    return call.state.training.status()


async def status(call: Call) -> Any:
    """Return the training job; points are [step, objective, non-zero weights, held-out score]."""
    return call.state.training.status()


async def stop(call: Call) -> Any:
    """Stop the training job early and keep the best model so far."""
    call.state.training.stop()
    return call.state.training.status()


async def cancel(call: Call) -> Any:
    """Cancel the training job and discard its model."""
    await call.state.training.cancel()
    return call.state.training.status()


async def sample(call: Call) -> Any:
    """Return a small training file, written for this project."""
    from epigram.datasets import sample as sentences
    from epigram.serve.sample_models import example_lists

    family = call.body.family
    if family == "tagger":
        text = sentences.columns("train", 300)
    elif family == "classifier":
        text = "".join(f"__label__{label} {words}\n" for label, words in sentences.documents("train", 400))
    elif family == "lm":
        text = "".join(" ".join(words) + "\n" for words in sentences.plain("train", 400))
    elif family == "reranker":
        text = example_lists(200)
    else:
        text = "\n".join(sentences.DOMAIN if family == "adapt" else sentences.BACKGROUND) + "\n"
    return {"family": family, "text": text}


OPERATIONS = [
    Operation("POST", "/v1/train", begin, Train, upload=True),
    Operation("GET", "/v1/train", status),
    Operation("POST", "/v1/train/stop", stop),
    Operation("POST", "/v1/train/cancel", cancel),
    Operation("GET", "/v1/train/sample", sample, SampleQuery),
]
