"""One model file format (``*.epigram``): safetensors with a JSON header, written atomically. No pickle."""

from epigram.storage.checkpoint import Checkpoint
from epigram.storage.families import describe, load
from epigram.storage.file import ModelFile, Section, pack_strings, unpack_strings, write_atomically

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
