"""The folder of real data sets that the programs measure on: ``EPIGRAM_DATA``, which ``make bench`` sets.

Importing it also makes the package ``experiments`` of this checkout importable.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DATA = Path(os.environ.get("EPIGRAM_DATA") or "data")
sys.path.append(str(Path(__file__).parents[1]))
