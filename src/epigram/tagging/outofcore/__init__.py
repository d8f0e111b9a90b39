"""Taggers of corpora larger than memory, and on clusters."""
