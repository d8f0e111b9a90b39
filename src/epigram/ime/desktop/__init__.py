"""Desktops: the server of the editor, the IBus engine, and their installation."""
