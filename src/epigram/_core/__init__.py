"""The inner loops, in C11 without dependencies: one file and one header per family, called through bindings.py."""
