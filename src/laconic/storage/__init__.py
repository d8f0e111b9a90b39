"""One model file format (``*.laconic``): safetensors with a JSON header, written atomically. No pickle."""

from laconic.storage.atomic import write_atomically
from laconic.storage.families import describe, load
from laconic.storage.modelfile import ModelFile, Section
from laconic.storage.strings import pack_strings, unpack_strings

__all__ = [
    "ModelFile",
    "Section",
    "describe",
    "load",
    "pack_strings",
    "unpack_strings",
    "write_atomically",
]
