"""``epigram tag train --shards`` and ``--cluster``: from a folder of shards, on this machine or on many."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli.cluster import engine_of, record_of, say_if_small, status_of
from epigram.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from epigram.cli.training import TrainingRun
    from epigram.scale.engine import Engine
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.shards import TaggerShards
    from epigram.tagging.template import Template

HEAD = 1 << 20  # bytes of the text that say what its columns are


@dataclass(frozen=True)
class Sharding:
    """What the options say: where the shards are, how many, on which cluster, and whether to go on."""

    folder: Path | None
    n_shards: int | None
    cluster: str | None
    resume: bool

    @property
    def asked_for(self) -> bool:
        """Whether training goes by shards."""
        if self.folder is None and self.cluster is None and (self.n_shards is not None or self.resume):
            raise InputError("--n-shards and --resume are for training with --shards or --cluster")
        return self.folder is not None or self.cluster is not None


def carry_out(
    run: TrainingRun,
    train: Path,
    dev: Path | None,
    sharding: Sharding,
    settings: dict[str, Any],
    spec_of: Callable[[Any], ColumnSpec],
    template_of: Callable[[Any, Any], Template],
    spec: ColumnSpec,
    record_of_fit: Callable[[Any], dict[str, Any]],
) -> None:
    """Write the shards, unless they are there, train on them, save, report."""
    from epigram.scale.checkpoint import Checkpoint
    from epigram.scale.folder import NAME
    from epigram.tagging import CRFTagger
    from epigram.tagging.plots import plot_training
    from epigram.text import read_bytes

    if sharding.resume and hasattr(settings["solver"], "passes"):
        raise InputError("--resume is for --solver owlqn and lbfgs; SGD starts afresh")
    folder = sharding.folder or run.output.with_name(f"{run.output.name}.shards")
    with engine_of(sharding.cluster, settings["threads"]) as engine:
        with run.progress("shards") as show:
            shards, spec = _shards(
                train, folder, sharding, settings, spec_of, template_of, spec, engine, show
            )
        say_if_small(sharding.cluster, shards.manifest.header["tokens"])
        held_out = None if dev is None else spec.split(spec.parse(read_bytes(dev), str(dev)))
        estimator = CRFTagger(shards.template, **settings)
        chosen = {name: settings.get(name) for name in ("l1", "l2", "class_weight", "constrain")}
        content = (folder / NAME).read_bytes() + repr(chosen).encode()
        checkpoint = Checkpoint(
            run.output.with_name(f"{run.output.name}.checkpoint"),
            hashlib.blake2b(content, digest_size=16).hexdigest(),
            resume=sharding.resume,
        )
        passes = getattr(settings["solver"], "passes", None)
        total = passes if isinstance(passes, int) else None  # "auto" is not known before
        with run.progress("passes" if passes else "iterations", total) as show:

            def told(entry: dict[str, Any]) -> bool:
                status = f"objective {entry['objective']:,.1f}, {entry['nonzero']:,} active"
                if "dev_score" in entry:
                    status += f", dev {entry['dev_score']:.2%}"
                return show(entry["iteration"], status + status_of(engine))

            estimator.fit_shards(shards, engine=engine, dev=held_out, callback=told, checkpoint=checkpoint)
        work = record_of(engine)
    estimator.columns_ = spec
    record = {
        **record_of_fit(estimator),
        "train_seconds": run.cost["seconds"],
        "template": shards.template.path,
        "shards": shards.manifest.n_shards,
        **work,
    }

    def save() -> None:
        estimator.save(run.output)
        checkpoint.remove()

    run.finish(record, save=save, draw=lambda target: plot_training(estimator.history_, target))


def _shards(
    train: Path,
    folder: Path,
    sharding: Sharding,
    settings: dict[str, Any],
    spec_of: Any,
    template_of: Any,
    spec: ColumnSpec,
    engine: Engine,
    show: Any,
) -> tuple[TaggerShards, ColumnSpec]:
    """The shards of this text and these settings: those that are there, or new ones."""
    from epigram.scale.folder import NAME
    from epigram.scale.pieces import BLANK_LINE, LINE, cut
    from epigram.tagging.sharding import is_current, write_shards
    from epigram.tagging.shards import TaggerShards

    if str(train) == "-":
        raise InputError("--shards takes a file, not standard input: it is read more than once")
    ends = LINE if spec.format in ("text", "slash") else BLANK_LINE
    head = cut([train], ends, HEAD)
    if not head:
        raise InputError("no tokens: the file is empty or blank", path=train)
    corpus = spec.parse(head[0].read(), str(train))
    spec = spec_of(corpus)
    template = template_of(*spec.split(corpus))
    asked = (sharding.n_shards, settings["min_count"], settings["pairs"])
    if (folder / NAME).exists():
        found = TaggerShards.open(folder)
        if is_current(found.manifest, [train], template, spec, *asked):
            return found, spec

    def told(what: str, done: int, total: int) -> None:
        if show(done, f"of {total}{status_of(engine)}", what):
            raise KeyboardInterrupt

    write_shards(
        [train], folder, template, spec, n_shards=asked[0], min_count=asked[1], pairs=asked[2], engine=engine, told=told
    )  # fmt: skip
    return TaggerShards.open(folder), spec
