"""Taggers and classifiers: columns -> templates -> encoding -> chain loss -> CRF / maxent; decoding; metrics."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
