"""``epigram tag``: the commands for taggers, one module per command."""
