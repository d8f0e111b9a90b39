"""The input method: writes what was typed in kana as Japanese text, and adapts to a domain (Gao et al. 2006)."""

from epigram.ime.converter import KanaKanjiConverter, Segment
from epigram.ime.decoder import Conversion, Word
from epigram.ime.lexicon import Lexicon
from epigram.ime.wordlist import WordList, read_word_list

__all__ = ["Conversion", "KanaKanjiConverter", "Lexicon", "Segment", "Word", "WordList", "read_word_list"]
