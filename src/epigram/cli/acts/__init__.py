"""The acts of ``epigram demo``: each module plays one family on sample data, offline, in seconds.

An act is a module with ``play(seed)``. It prints what it shows to standard output and its progress to
standard error, and is named in ``ACTS`` of :mod:`epigram.cli.demo`.
"""
