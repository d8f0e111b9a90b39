"""How much one request may ask for, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of a server; sizes are in bytes, times in seconds.

    ``body`` is for ordinary requests, ``upload`` for training files and models. ``arrival`` is how long a request may
    take to arrive, ``answer`` how long an answer may take, ``idle`` how long a connection may stay unused, ``lease``
    how long a training goes on that nobody asks about.
    """

    body: int = 1 << 20
    upload: int = 24 << 20
    arrival: float = 10.0
    answer: float = 20.0
    waiting: int = 512
    connections: int = 1024
    idle: int = 15
    sessions: int = 64
    trained_models: int = 8
    lease: float = 60.0
    training_seconds: int = 1800
    training_memory: int = 4 << 30
    shutdown: int = 1


MOST_SENTENCES = 256
MOST_TOKENS = 1000
LONGEST_TOKEN = 500
LONGEST_TEXT = 100_000
LONGEST_READING = 500
MOST_LISTS = 2000
"""What the bodies of requests may hold; they are part of the OpenAPI document."""
