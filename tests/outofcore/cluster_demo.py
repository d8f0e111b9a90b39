"""A cluster on one machine (``make cluster-demo``): a scheduler and two workers as separate processes, and a training.

The same training runs on this process; the two models are compared byte by byte.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from cluster_processes import Processes

from epigram import OWLQN, CRFTagger
from epigram.datasets import sample
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.outofcore import Here, connect
from epigram.tagging.outofcore.encode import write_shards


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        lines = ("".join(" ".join(t) + "\n" for t in s) + "\n" for s in sample.tagged("train", 1000))
        (home / "train.txt").write_text("".join(lines), "utf-8")
        reading, template = ColumnSpec("conll", None, (), -1, (0, 1), 3), Template.load("chunking")
        with Processes(home, 2) as cluster, connect(str(cluster.file), deadline=300) as engine:
            print(f"scheduler file {cluster.file}, {engine.workers} workers in folders of their own")
            manifest = write_shards(
                [home / "train.txt"], home / "shards", template, reading, n_shards=4, engine=engine
            )
            print(f"{manifest.header['tokens']:,} tokens in {manifest.n_shards} shards")
            models = []
            for where in (engine, Here()):
                tagger = CRFTagger(l1=0.5, solver=OWLQN(max_iterations=30))
                models.append(tagger.fit_shards(home / "shards", engine=where).model_.w.tobytes())
            print(f"{engine.asked} questions, {engine.again} asked again, {engine.megabytes:.1f} MB moved")
    assert models[0] == models[1], "the cluster's weights differ from this process's"
    print("weights on the cluster and in this process: the same bits")


if __name__ == "__main__":
    main()
