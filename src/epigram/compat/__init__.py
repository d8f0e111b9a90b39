"""Drop-in replacements and file readers for other packages."""
