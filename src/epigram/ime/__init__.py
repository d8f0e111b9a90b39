"""Japanese input method: kana-kanji conversion with domain adaptation (Gao et al. 2006)."""

from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.decoder import Conversion, Word
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.wordlist import WordList, read_word_list
from epigram.ime.segmentation import Segment

__all__ = ["Conversion", "KanaKanjiConverter", "Lexicon", "Segment", "Word", "WordList", "read_word_list"]
