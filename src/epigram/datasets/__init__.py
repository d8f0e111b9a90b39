"""Named data sets, found on this machine or downloaded with a checksum, and sample data made on the spot."""

from epigram.datasets.locate import DataSet, File, catalogue, dataset, fetch, find, folders

__all__ = ["DataSet", "File", "catalogue", "dataset", "fetch", "find", "folders"]
