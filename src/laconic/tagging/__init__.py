"""Taggers and classifiers: columns -> templates -> encoding -> chain loss -> CRF / maxent; decoding; metrics."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "CRFTagger": "laconic.tagging.crf",
    "MaxentClassifier": "laconic.tagging.maxent",
    "MaxentTagger": "laconic.tagging.history",
    "Columns": "laconic.tagging.columns",
    "Template": "laconic.tagging.template",
    "evaluate": "laconic.tagging.metrics",
    "read_columns": "laconic.tagging.formats",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'laconic.tagging' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
