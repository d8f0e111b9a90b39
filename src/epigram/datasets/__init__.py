"""Data sets by name, downloaded with checksums, and generated sample data."""

from epigram.datasets.download import DataSet, File, catalogue, dataset, fetch, find, folders

__all__ = ["DataSet", "File", "catalogue", "dataset", "fetch", "find", "folders"]
