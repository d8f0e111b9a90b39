"""``epigram export-web``: writes a page that runs a model in a browser, without a server."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.options import Json


def command(
    model: str,
    output: Path,
    json: Json = False,
) -> None:
    """Write static files that run a model in a browser; any file server will do.

    Parameters
    ----------
    model : Model file, or name of an installed model.
    output -o FOLDER : Folder for the page, new or with an earlier page.
    """
    from epigram.web.export import export_page

    sizes = export_page(model, output)
    record = {"folder": str(output), "files": sizes, "bytes_gzipped": sum(sizes.values())}
    if json:
        console.report(record, str(output), json)
        return
    console.report({"files": len(sizes), "bytes_gzipped": sum(sizes.values())}, str(output), json)
