"""Strings of a damaged file."""

import numpy as np
import pytest

from epigram.errors import ModelFileError
from epigram.storage import pack_strings, unpack_strings


def test_bytes_that_are_no_utf8_are_a_damaged_file():
    content, lengths = pack_strings(["rose", "日本"])
    broken = content.copy()
    broken[-1] ^= 0x80
    with pytest.raises(ModelFileError, match="damaged"):
        unpack_strings(broken, lengths)
    with pytest.raises(ModelFileError, match="damaged"):
        unpack_strings(content, np.array([5, 5], np.uint32))
