"""Raw text to sentences, words, tags, lemmas and trees, by models trained from a treebank."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
