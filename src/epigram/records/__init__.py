"""Documents in files: text, TSV, CSV, JSON lines and Parquet, read and written as streams."""

from epigram.records.fields import Fields
from epigram.records.formats import Document, Format
from epigram.records.reader import RecordReader, read_documents, recognise_file
from epigram.records.writer import RecordWriter

__all__ = ["Document", "Fields", "Format", "RecordReader", "RecordWriter", "read_documents", "recognise_file"]
