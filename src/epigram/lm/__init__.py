"""Language models: text to ids, context trees, log-linear models, Kneser-Ney, back-off models and ARPA."""
