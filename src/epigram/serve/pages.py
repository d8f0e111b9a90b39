"""The files of the page: read once, sent from memory. A path that names none of them is not looked for anywhere."""

from __future__ import annotations

import hashlib
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from epigram.serve.errors import Refusal

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


class Pages:
    """All files under ``web/``."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        for file in resources.files("epigram.serve").joinpath("web").iterdir():
            kind = TYPES.get(file.name.rpartition(".")[2])
            if kind is not None:
                content = file.read_bytes()
                mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
                self._files[file.name] = (content, kind, mark)

    async def __call__(self, request: Request) -> Response:
        """One file."""
        name = request.path_params.get("path") or "index.html"
        if name not in self._files:
            raise Refusal(404, "there is nothing here; the page is at / and the API at /v1")
        content, kind, mark = self._files[name]
        headers = {"etag": mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)
