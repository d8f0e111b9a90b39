"""Language models of texts larger than memory, and on clusters."""
