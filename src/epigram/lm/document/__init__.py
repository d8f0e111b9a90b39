"""Class-factored model with features of the document before the sentence."""
