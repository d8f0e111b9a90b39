"""Inner loops in C11 without dependencies, called through the generated bindings.py."""
