"""Typing: the editor, its phrases, and the terminal."""
