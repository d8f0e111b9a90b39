"""Models made of models: mixtures, and a model with a cache of recent words."""
