"""The documentation site: Markdown pages, an API reference from docstrings, examples that run while it is built."""

from __future__ import annotations

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
