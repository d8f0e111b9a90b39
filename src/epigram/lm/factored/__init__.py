"""Class-factored models: the class of the next word, then the word in its class."""
