"""``epigram parse``: the commands for dependency parsers and tree taggers, one module per command."""
