"""``epigram rerank``: the commands for rerankers, one module per command."""
