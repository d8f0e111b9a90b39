"""``python -m epigram`` is ``epigram``."""

from epigram.cli import main

main()
