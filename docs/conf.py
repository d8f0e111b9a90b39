"""The documentation site: Markdown pages, an API reference from docstrings, examples that run while it is built."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import epigram

project = "epigram"
author = copyright = "The epigram authors"
release = version = epigram.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["examples/README.rst"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"epigram {release}"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/[a-z_]+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 600,
}


def setup(app: object) -> None:
    """Leave out the methods that scikit-learn adds to every estimator."""

    def skip(
        app: object, what: str, name: str, member: object, skipped: bool, options: object
    ) -> bool | None:
        return True if name.endswith("_request") or name == "get_metadata_routing" else None

    app.connect("autodoc-skip-member", skip)  # type: ignore[attr-defined]
    app.connect("build-finished", export_live_pages)  # type: ignore[attr-defined]


def export_live_pages(app: Any, error: Exception | None) -> None:
    """Write the pages that web.md links to: models trained now on the sample data, and the ready ones."""
    from epigram.datasets import sample
    from epigram.web.export import export_page

    if error is not None or app.builder.name != "html":
        return
    tagged = sample.tagged()
    words = [[word for word, *_ in sentence] for sentence in tagged]
    past = ["past" if "VBD" in {pos for _, pos, _ in sentence} else "present" for sentence in tagged]
    tags = [[pos for _, pos, _ in sentence] for sentence in tagged]
    models: dict[str, Any] = {
        "words": epigram.CRFTagger("pos", l1=0.3).fit([[(word,) for word in own] for own in words], tags),
        "next-words": epigram.KneserNeyLM(order=4).fit(sample.plain()),
        "tense": epigram.TextClassifier(words=2, l2=0.1).fit([" ".join(own) for own in words], past),
    }
    live = Path(app.outdir) / "live"
    with TemporaryDirectory() as folder:
        for name, model in models.items():
            path = Path(folder) / f"{name}.epigram"
            model.save(path)
            export_page(path, live / name)
    for name in ("english", "japanese"):
        export_page(Path(__file__).parents[1] / f"models/{name}/epigram_{name}/{name}.epigram", live / name)
