"""One model file format (``*.epigram``): safetensors with a JSON header, written atomically. No pickle."""

from epigram.checkpoint import Checkpoint
from epigram.files import write_atomically
from epigram.storage.file import ModelFile, Section, describe, load, pack_strings, unpack_strings

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
