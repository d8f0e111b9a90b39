"""User words, phrases and what corrections teach."""
