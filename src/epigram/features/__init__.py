"""Feature extraction: columns, templates and feature dicts become sequences of ids."""
