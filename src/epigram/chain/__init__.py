"""Log-linear chain models: labels, weights, loss, inference and base classes."""
