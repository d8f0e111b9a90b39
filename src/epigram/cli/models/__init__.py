"""The commands of ``epigram models``."""
