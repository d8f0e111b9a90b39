"""CRFsuite: its model files, text format, training parameters, algorithms and log."""
