"""``epigram parse``: commands for dependency parsers and tree taggers."""
