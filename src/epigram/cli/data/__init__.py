"""``epigram data``: the commands for named data sets, one module per command."""
