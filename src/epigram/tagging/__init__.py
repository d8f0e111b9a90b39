"""Taggers and classifiers: corpus -> template -> encoding -> problem -> CRF or maxent; decoding; metrics."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
