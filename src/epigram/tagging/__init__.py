"""Taggers and classifiers: columns -> templates -> encoding -> chain loss -> CRF / maxent; decoding; metrics."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "CRFTagger": "epigram.tagging.crf",
    "MaxentClassifier": "epigram.tagging.maxent",
    "MaxentTagger": "epigram.tagging.history",
    "Columns": "epigram.tagging.columns",
    "Template": "epigram.tagging.template",
    "evaluate": "epigram.tagging.metrics",
    "read_columns": "epigram.tagging.formats",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epigram.tagging' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
