"""N-gram models: back-off models in arrays, Kneser-Ney, ARPA files, merging, pruning."""
