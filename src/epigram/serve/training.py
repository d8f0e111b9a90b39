"""Training over HTTP: one at a time, in a process of its own, watched, stopped early or cancelled.

Its files are in a private folder that goes when it ends. Nobody who asks for a while means that the client went away:
the training is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from epigram.serve import worker
from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_TOKEN
from epigram.serve.shelf import read_entry

if TYPE_CHECKING:
    from epigram.serve.studio import Call, Studio

MOST_POINTS = 1000
LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Train:
    """A file and what to make of it; options that a family does not have are not looked at.

    ``adapt`` adapts the converter ``model`` to sentences with readings.
    """

    family: Literal["tagger", "lm", "reranker", "converter", "adapt"]
    text: Annotated[str, Longest(20 << 20)]
    name: Annotated[str, Longest(60)] = ""
    model: Annotated[str, Longest(LONGEST_TOKEN)] | None = None
    template: Literal["auto", "chunking", "ner", "pos"] = "auto"
    l1: Annotated[float, Between(0.001, 100)] = 1.0
    passes: Annotated[int, Between(1, 200)] = 30
    kind: Literal["log-linear", "kneser-ney"] = "log-linear"
    order: Annotated[int, Between(1, 8)] = 4
    learner: Literal["blasso", "boosting", "fslr"] = "blasso"
    steps: Annotated[int, Between(1, 100_000)] = 2000
    measure: Literal["cer", "wer"] = "cer"


@dataclass
class Job:
    """One training and what is known of it."""

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


class Trainer:
    """The training of a server, if there is one."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self.job: Job | None = None
        self._task: asyncio.Task[None] | None = None
        self._n = 0

    @property
    def running(self) -> bool:
        """Is one under way?"""
        return self.job is not None and self.job.state == "running"

    async def start(self, plan: Train) -> Job:
        """Begin; refused while another is under way."""
        if self.running:
            raise Refusal(409, "another training is under way; wait for it or cancel it")
        studio, options = self._studio, dict(vars(plan))
        text = options.pop("text")
        wanted = plan.name or plan.family
        if plan.family == "adapt":
            base = studio.shelf.get(plan.model, "converter")
            options["base"] = str(base.path)
            wanted = plan.name or f"{base.name}-adapted"
        self._n += 1
        folder = studio.folder / f"training-{self._n}"
        job = self.job = Job(self._n, plan.family, studio.shelf.free_name(wanted), folder)
        limits = studio.limits
        task: dict[str, Any] = {"family": plan.family, "options": options}
        task |= {"memory": limits.training_memory, "seconds": limits.training_seconds}

        def write() -> None:
            folder.mkdir(mode=0o700)
            (folder / worker.UPLOAD).write_text(text, "utf-8")
            (folder / worker.JOB).write_text(json.dumps(task), "utf-8")

        await studio.alone(write)
        self._task = asyncio.create_task(self._follow(job))
        return job

    async def _follow(self, job: Job) -> None:
        """Start the process, read what it says, take its model, clean up."""
        try:
            end = await self._run(job)
        except asyncio.CancelledError:
            end = "cancelled"
        except Exception as error:
            end, job.message = "failed", f"the training failed: {error}"
        job.seconds = time.monotonic() - job.began
        if job.process is not None and job.process.returncode is None:
            job.process.kill()
            await job.process.wait()
        shutil.rmtree(job.folder, ignore_errors=True)
        job.state = end

    async def _run(self, job: Job) -> str:
        """How it ended."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        job.process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "epigram.serve.worker", cwd=job.folder, limit=LONGEST_LINE, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        end: dict[str, Any] = {}
        while line := await self._line(job, process.stdout):
            record = json.loads(line)
            if "point" in record:
                job.points.append(record["point"])
                if len(job.points) > MOST_POINTS:
                    del job.points[1:-1:2]
            else:
                end |= record
        await process.wait()
        if "result" in end:
            await self._take(job, end["result"])
            return "done"
        job.message = end.get("error") or "the training ended without a model; it may have run out of time"
        return "failed"

    async def _line(self, job: Job, stream: asyncio.StreamReader) -> bytes:
        """The next line; nobody asking for a while ends the training."""
        reading = asyncio.ensure_future(stream.readline())
        try:
            while True:
                done, _ = await asyncio.wait({reading}, timeout=1.0)
                if time.monotonic() - job.asked > self._studio.limits.lease:
                    job.message = "cancelled: nobody asked about it any more"
                    raise asyncio.CancelledError
                if done:
                    return reading.result()
        finally:
            reading.cancel()

    async def _take(self, job: Job, result: dict[str, Any]) -> None:
        """The model joins the shelf; the oldest trained one leaves where there are too many."""
        studio = self._studio
        path = studio.folder / f"{job.name}.epigram"
        (job.folder / worker.MODEL).replace(path)
        entry = await studio.alone(lambda: read_entry(job.name, path, "trained"))
        studio.shelf.put(entry)
        trained = [one for one in studio.shelf if one.origin == "trained"]
        for old in trained[: max(0, len(trained) - studio.limits.trained_models)]:
            studio.shelf.drop(old.name)
            studio.sessions.forget(old.name)
            old.path.unlink(missing_ok=True)
        job.result, job.model = {**result, "bytes": entry.bytes}, entry.name

    def stop(self) -> None:
        """Ask the training to end now and keep the best so far."""
        job = self._running_job()
        if job.process is not None and job.process.stdin is not None:
            job.process.stdin.write(b"stop\n")

    async def cancel(self) -> None:
        """End the training; nothing is kept."""
        self._running_job()
        await self.close()

    async def close(self) -> None:
        """End what is under way, and wait until its files are gone."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _running_job(self) -> Job:
        if self.job is None or not self.running:
            raise Refusal(409, "no training is under way")
        return self.job

    def status(self) -> dict[str, Any]:
        """What is known of the last training."""
        job = self.job
        if job is None:
            return {"state": "idle", "points": []}
        job.asked = time.monotonic()
        seconds = job.asked - job.began if job.state == "running" else job.seconds
        return {
            "state": job.state,
            "number": job.number,
            "family": job.family,
            "name": job.name,
            "seconds": round(seconds, 2),
            "points": job.points,
            "message": job.message,
            "result": job.result,
            "model": job.model,
        }


async def begin(call: Call) -> Any:
    """Start a training; its state is at GET /v1/train."""
    await call.studio.trainer.start(call.body)
    return call.studio.trainer.status()


async def state(call: Call) -> Any:
    """The state of the training: points are [step, objective, weights that are not zero, held-out score]."""
    return call.studio.trainer.status()


async def stop(call: Call) -> Any:
    """End the training early and keep the best model so far."""
    call.studio.trainer.stop()
    return call.studio.trainer.status()


async def cancel(call: Call) -> Any:
    """End the training and throw it away."""
    await call.studio.trainer.cancel()
    return call.studio.trainer.status()


@dataclass(frozen=True)
class Sample:
    """Which sample file."""

    family: Literal["tagger", "lm", "reranker", "converter", "adapt"] = "tagger"


async def sample(call: Call) -> Any:
    """A small file to train on, written for this project."""
    from epigram.datasets import sample as sentences
    from epigram.ime.sample import BACKGROUND, DOMAIN
    from epigram.serve.sample_models import example_lists

    family = call.body.family
    if family == "tagger":
        text = sentences.columns("train", 300)
    elif family == "lm":
        text = "".join(" ".join(words) + "\n" for words in sentences.plain("train", 400))
    elif family == "reranker":
        text = example_lists(200)
    else:
        text = "\n".join(DOMAIN if family == "adapt" else BACKGROUND) + "\n"
    return {"family": family, "text": text}


def operations() -> list[Any]:
    """The routes; a function, because the studio knows its trainer."""
    from epigram.serve.studio import Operation

    return [
        Operation("POST", "/v1/train", begin, Train, upload=True),
        Operation("GET", "/v1/train", state),
        Operation("POST", "/v1/train/stop", stop),
        Operation("POST", "/v1/train/cancel", cancel),
        Operation("GET", "/v1/train/sample", sample, Sample),
    ]
