"""One model file format (``*.epigram``): safetensors with a JSON header, written atomically. No pickle."""

from epigram.resuming import Checkpoint
from epigram.storage.file import ModelFile, Section, describe, load, pack_strings, unpack_strings
from epigram.text import write_atomically

__all__ = [
    "Checkpoint",
    "ModelFile",
    "Section",
    "describe",
    "load",
    "pack_strings",
    "unpack_strings",
    "write_atomically",
]
