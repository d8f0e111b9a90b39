"""The commands of ``epigram pipeline``."""
