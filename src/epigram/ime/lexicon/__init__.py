"""Lexicon of the input method: words by reading, unknown words, dictionary formats."""
