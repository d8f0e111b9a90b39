"""Taggers and classifiers: corpus -> template -> encoding -> problem -> CRF or maxent; decoding; metrics."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
