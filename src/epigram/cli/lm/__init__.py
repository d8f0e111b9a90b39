"""``epigram lm``: the commands for language models, one module per command."""
