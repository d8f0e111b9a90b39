"""Filters the files of a corpus one by one on the workers of a Dask cluster.

Every file gets an output of its name in a folder that all workers reach. For a share or buckets each worker stores the
scores of its files first; the bounds follow from all of them together, as for one output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.filter.recipes import ScorerRecipe
from epigram.filter.selection import Cuts, DocumentFilter
from epigram.filter.summary import FilterSummary
from epigram.outofcore.dask import connect
from epigram.protocols import Floats


@dataclass(frozen=True)
class FileTask:
    """One file to filter: recipes of scorers, settings of the filter, arguments of its run."""

    recipes: tuple[ScorerRecipe, ...]
    settings: Mapping[str, Any]
    path: str
    output: str
    reading: Mapping[str, Any]
    cuts: Cuts | None = None

    def job(self) -> DocumentFilter:
        """The filter, whose models a worker loads once."""
        return DocumentFilter({recipe.name: recipe for recipe in self.recipes}, **self.settings)


def score_file(task: FileTask) -> Floats:
    """Store the scores of a file, and return them."""
    reading = {name: value for name, value in task.reading.items() if name != "resume"}
    if not task.reading.get("resume"):
        Path(f"{task.output}.epigram-scores").unlink(missing_ok=True)
    return task.job().score_files([task.path], task.output, **reading)


def filter_file(task: FileTask) -> FilterSummary:
    """Filter a file; one that is done is left as it is where a run is resumed."""
    if task.reading.get("resume") and Path(task.output).exists():
        return FilterSummary()
    return task.job().run([task.path], task.output, cuts=task.cuts, **task.reading)


def filter_files(
    where: str | Any,
    recipes: Sequence[ScorerRecipe],
    settings: Mapping[str, Any],
    paths: Sequence[str],
    folder: Path,
    reading: Mapping[str, Any],
    progress: Callable[[int], object] = lambda n: None,
) -> FilterSummary:
    """Filter files to a folder on a cluster, as :func:`epigram.outofcore.dask.connect` names it."""
    names = [Path(path).name for path in paths]
    if "-" in paths or len(set(names)) < len(names):
        raise InputError("--cluster works by file: give files whose names differ")
    tasks = [
        FileTask(tuple(recipes), settings, str(Path(path).resolve()), str((folder / name).resolve()), reading)
        for path, name in zip(paths, names, strict=True)
    ]
    summary = FilterSummary()
    with connect(where) as engine:

        def each(work: Callable[[FileTask], Any], tasks: list[FileTask]) -> list[Any]:
            futures = engine.client.map(work, tasks, pure=False, retries=3)
            found = []
            for number, future in enumerate(futures, 1):
                found.append(future.result())
                progress(number)
            return found

        job = DocumentFilter({}, **settings)
        if job.needs_all:
            cuts = job.cuts(np.concatenate(each(score_file, tasks)), recipes[0].name)
            tasks = [replace(task, cuts=cuts) for task in tasks]
        for found in each(filter_file, tasks):
            summary.add(found)
    return summary
