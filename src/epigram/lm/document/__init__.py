"""A class-factored model that looks beyond the sentence: texts keep to their topics and repeat their words."""
