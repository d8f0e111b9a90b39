"""Named data sets, found on this machine or downloaded with a checksum, and sample data made on the spot."""

from laconic.datasets.entries import DataSet, File, catalogue, dataset
from laconic.datasets.locate import fetch, find, folders

__all__ = ["DataSet", "File", "catalogue", "dataset", "fetch", "find", "folders"]
