"""The input method: kana to text by a word trigram model, adapted to a domain (Gao et al. 2006)."""

from epigram.ime.converter import KanaKanjiConverter, Segment
from epigram.ime.decoder import Conversion, Word
from epigram.ime.lexicon import Lexicon, read_word_list

__all__ = ["Conversion", "KanaKanjiConverter", "Lexicon", "Segment", "Word", "read_word_list"]
