"""The input method: kana to text by a word trigram model, adapted to a domain (Gao et al. 2006)."""

from laconic.ime.converter import KanaKanjiConverter, Segment
from laconic.ime.lattice import Conversion, Word
from laconic.ime.lexicon import Lexicon, read_word_list

__all__ = ["Conversion", "KanaKanjiConverter", "Lexicon", "Segment", "Word", "read_word_list"]
