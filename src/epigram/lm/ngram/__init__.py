"""N-gram models: back-off models as arrays, counting, Kneser-Ney, ARPA files, mixtures, pruning."""
