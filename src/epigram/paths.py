"""Folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """The folder for things that can be made again: ``EPIGRAM_CACHE``, else the platform's cache folder."""
    explicit = os.environ.get("EPIGRAM_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "epigram"
