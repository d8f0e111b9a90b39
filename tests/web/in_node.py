"""Models in JavaScript: a node process that opens model files and answers calls."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import epigram
from epigram.storage import ModelFile
from epigram.web.export import as_read

NODE = shutil.which("node")
MODULE = Path(str(files("epigram.web") / "epigram.mjs"))
JAPANESE = MODULE.parent / "japanese" / "epigram.mjs"
WASM = MODULE.with_name("core.wasm")
built = pytest.mark.skipif(not WASM.exists(), reason="core.wasm was not built: ziglang is not installed")


def answers(model: Path, *calls: list[Any], **options: Any) -> list[Any]:
    """What a model answers to calls ``[name, value, ...]`` in node; an error is its sentence."""
    if NODE is None:
        pytest.skip("node is not installed")
    request = {
        "module": options.pop("module", MODULE).as_uri(),
        "model": str(model),
        "calls": calls,
        "options": options,
    }
    script = Path(__file__).with_name("run.mjs")
    ran = subprocess.run(
        [NODE, str(script)], input=json.dumps(request).encode() + b"\n", capture_output=True, check=True
    )
    found = json.loads(ran.stdout)
    assert not calls or len(found) == len(calls), found
    return [one.get("value", one.get("error")) for one in found]


def stored(model: Any, path: Path) -> Any:
    """Save an estimator as JavaScript reads it; return it as Python reads it, with rounded weights."""
    model.save(path)
    found = epigram.load(path)
    as_read(ModelFile.load(path)).save(path, compress=False)
    return found
