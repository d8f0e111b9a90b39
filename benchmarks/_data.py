"""The folder of real data sets that the programs measure on: ``EPIGRAM_DATA``, which ``make bench`` sets."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("EPIGRAM_DATA") or "data")
