"""``python -m laconic`` is ``laconic``."""

from laconic.cli import main

main()
