"""``epigram ime``: the commands for input methods, one module per command."""
