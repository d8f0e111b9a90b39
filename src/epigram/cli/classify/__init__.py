"""``epigram classify``: the commands for text classifiers, one module per command."""
