"""Writes the page of a model: static files that run it in a browser, offline too."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import shutil
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.files import make_folder, write_atomically
from epigram.storage import ModelFile
from epigram.storage.installed import model_path
from epigram.web.support import FAMILIES, obstacles

BUILT = ("core.wasm", "epigram.mjs")
STUDIO = {
    "pipeline": ("dom.js", "chart.js", "analyse.js"),
    "ime": ("dom.js", "chart.js", "editor.js"),
    "": ("dom.js", "chart.js"),
}
"""Modules of the studio that the page of a family is made of, before its own."""


def export_page(model: str | PathLike[str], folder: str | PathLike[str]) -> dict[str, int]:
    """Write the page of a model to a folder; return its files with their gzipped sizes.

    Parameters
    ----------
    model : a model file, or the name of an installed model; language models are written as back-off models.
    folder : a new or empty folder, or one that holds an earlier page.

    Examples
    --------
    >>> import tempfile
    >>> from epigram import CRFTagger
    >>> folder = Path(tempfile.mkdtemp())
    >>> tagger = CRFTagger("U:%x[0,0]\\nB\\n", l1=0.01).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> tagger.save(folder / "tiny.epigram")
    >>> sorted(export_page(folder / "tiny.epigram", folder / "page"))
    ['core.wasm', 'epigram.mjs', 'index.html', 'page.mjs', 'style.css', 'sw.js', 'tiny.epigram.gz']
    """
    path, target = Path(model_path(model)), Path(folder)
    file = ModelFile.load(path)
    if missing := obstacles(file):
        known = ", ".join(FAMILIES.values())
        raise InputError(
            f"a page cannot reproduce {'; '.join(missing)}. Pages can be made of {known}", path=path
        )
    if target.exists() and any(target.iterdir()) and not (target / "epigram.mjs").exists():
        raise InputError("the folder holds other files than a page; give a new folder", path=target)
    made = _files(file, path.name.removesuffix(".epigram"))
    is_new = not target.exists()
    make_folder(target)
    try:
        for name, content in made.items():
            write_atomically(target / name, content)
    except InputError:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        raise
    return {name: len(gzip.compress(content, 6)) for name, content in made.items()}


def _files(file: ModelFile, name: str) -> dict[str, bytes]:
    """The files of a page by name."""
    here = files("epigram.web")
    runtime = here / "japanese" if file.family == "ime" else here
    made = {}
    for built in BUILT:
        try:
            made[built] = (runtime / built).read_bytes()
        except FileNotFoundError:
            raise InputError(
                f"this installation has no {built}: it was built without ziglang. Install a wheel of epigram, or build "
                "it again where pip can install ziglang (in a checkout: make core)"
            ) from None
    stored = f"{re.sub('[^A-Za-z0-9._-]', '_', name) or 'model'}.epigram.gz"
    made[stored] = gzip.compress(as_read(file).to_bytes(compress=False), 9, mtime=0)
    card = file.header.get("card") or {}
    if notice := _notice(name, card):
        made["NOTICE.txt"] = notice.encode()
    studio = files("epigram.serve") / "web"
    parts = [(studio / part).read_text("utf-8") for part in STUDIO.get(file.family, STUDIO[""])] + [
        (here / "page/page.js").read_text("utf-8")
    ]
    made["page.mjs"] = _joined(parts).encode()
    made["style.css"] = (studio / "studio.css").read_bytes() + (here / "page/page.css").read_bytes()
    made["index.html"] = _filled(
        (here / "page/index.html").read_text("utf-8"), name=name, model=stored, family=file.family
    )
    listed = ["./", *sorted(name for name in made if name != "index.html")]
    digest = hashlib.sha256(b"".join(made[key] for key in sorted(made))).hexdigest()[:16]
    worker = (here / "page/sw.js").read_text("utf-8")
    made["sw.js"] = (
        worker.replace('"VERSION"', json.dumps(digest)).replace("[]", json.dumps(listed), 1).encode()
    )
    return made


def as_read(file: ModelFile) -> ModelFile:
    """The model as JavaScript reads it: tables of n-grams; quantised converters with texts."""
    if file.family == "ime":
        from epigram.web import converter

        return converter.by_bytes(converter.as_read(file))
    if file.family != "lm":
        return file
    from epigram.lm.mixture import InterpolatedLM
    from epigram.lm.ngram.backoff import as_backoff
    from epigram.lm.storage import from_model_file

    model = from_model_file(file)
    tables = [as_backoff(part) for part in model.parts or [model]]
    mixed = InterpolatedLM(tables, model.weights.tolist()) if isinstance(model, InterpolatedLM) else tables[0]
    made = mixed.to_model_file(compress=False)
    if card := file.header.get("card"):
        made.header["card"] = card
    return made


def _joined(parts: list[str]) -> str:
    """Join the modules of the studio and of the page, without imports of each other."""
    text = "\n".join(parts)
    text = re.sub(r'^import .* from "\./(?!epigram\.mjs).*";\n', "", text, flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _filled(page: str, **values: str) -> bytes:
    for key, value in values.items():
        page = page.replace("{{" + key + "}}", html.escape(value))
    return page.encode()


def _notice(name: str, card: dict[str, Any]) -> str:
    """The licence and sources of a model, from its card; nothing where it has no licence."""
    if not (licence := card.get("license") or card.get("licence")):
        return ""
    rows = [f"{key}: {value}" for key, value in card.items() if value]
    return (
        f"The model {name} is under the licence {licence}.\n\n"
        + "\n".join(rows)
        + "\n\nepigram itself: MIT\n"
    )
