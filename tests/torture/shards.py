"""Folders of shards: how they are made, and how a training uses one; every file of a folder may be altered."""

from __future__ import annotations

from pathlib import Path

from epigram.datasets.sample import columns, plain


def make(folder: Path) -> list[Path]:
    """Write a folder of shards of a tagger and one of a language model; returns all of their files."""
    from epigram.features.formats import ColumnSpec
    from epigram.features.template import Template
    from epigram.lm.outofcore.encode import write_stream
    from epigram.tagging.outofcore.encode import write_shards

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tags.txt").write_text(columns("train", 10), "utf-8")
    (folder / "text.txt").write_text("".join(" ".join(words) + "\n" for words in plain("train", 20)), "utf-8")
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,1]\nB\n")
    write_shards([folder / "tags.txt"], folder / "tagging", template, ColumnSpec(), n_shards=2)
    write_stream([folder / "text.txt"], folder / "lm")
    return sorted(path for home in ("tagging", "lm") for path in (folder / home).rglob("*") if path.is_file())


def use(path: Path) -> None:
    """Train on the folder that a file belongs to."""
    from epigram.lm import LogLinearLM
    from epigram.lm.outofcore.encode import KIND
    from epigram.lm.outofcore.loglinear import fit_stream
    from epigram.outofcore.dataset import Manifest
    from epigram.solvers import OWLQN
    from epigram.tagging import CRFTagger

    home = next(parent for parent in path.parents if parent.name in ("tagging", "lm"))
    if home.name == "tagging":
        CRFTagger(l1=1.0, solver=OWLQN(max_iterations=3)).fit_shards(home)
    else:
        model = LogLinearLM(order=2, strength=0.3, ridge=0.1, depth_weight=1.2, max_iterations=3)
        fit_stream(model, Manifest.read(home, KIND), n_shards=2)
