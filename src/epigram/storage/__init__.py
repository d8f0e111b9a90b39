"""The model file format: safetensors with a JSON header, without pickle."""

from epigram.checkpoint import Checkpoint
from epigram.files import write_atomically
from epigram.storage.file import (
    ModelFile,
    Section,
    describe,
    load,
    pack_strings,
    string_offsets,
    unpack_strings,
)

__all__ = [
    "Checkpoint",
    "ModelFile",
    "Section",
    "describe",
    "load",
    "pack_strings",
    "string_offsets",
    "unpack_strings",
    "write_atomically",
]
