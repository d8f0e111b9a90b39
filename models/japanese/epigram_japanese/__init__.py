"""Japanese input method for epigram; ``epigram.load("japanese")`` reads it."""

from pathlib import Path


def path() -> Path:
    """Return the path of the model file."""
    return Path(__file__).with_name("japanese.epigram")
