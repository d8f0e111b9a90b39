"""KenLM's Python classes on our back-off models: ``import epigram.compat.kenlm as kenlm``.

``Model`` takes an ARPA file, KenLM's own binary or a model file of ours. Scores are in log10, here as there. A word
outside the vocabulary is ``<unk>``; where the model has none, it has KenLM's log10 probability of -100.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from epigram.compat.kenlm_binary import MISSING_UNKNOWN
from epigram.errors import InputError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import BOUNDARY, START, UNKNOWN, UNSEEN
from epigram.lm.ngram.arpa import read_arpa
from epigram.lm.ngram.model import as_backoff
from epigram.storage import load

__all__ = ["Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State"]
LOG10 = float(np.log(10.0))
IMPOSSIBLE = -99.0


class LoadMethod:
    """How KenLM loads its binary files; taken for compatibility."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class Config:
    """Settings of loading; taken for compatibility."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = False
        self.arpa_complain = None


class FullScoreReturn(NamedTuple):
    """A word's log10 probability, the length of the longest n-gram that it ends, and whether it is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class State:
    """What a model remembers of the words before; filled by the model's methods."""

    __slots__ = ("node",)

    def __init__(self) -> None:
        self.node = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.node == other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __copy__(self) -> State:
        other = State()
        other.node = self.node
        return other

    def __deepcopy__(self, _: object) -> State:
        return self.__copy__()


class Model:
    """A language model that is asked as KenLM's is.

    Parameters
    ----------
    path : an ARPA file, gzip or not, KenLM's binary, or a model file of ours.
    config : taken for compatibility.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epigram import KneserNeyLM, write_arpa
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.arpa"
    >>> write_arpa(KneserNeyLM(order=2).fit(["a rose is a rose", "a rose"]).backoff_, path)
    >>> model = Model(str(path))
    >>> model.order, "rose" in model, "tulip" in model
    (2, True, False)
    >>> model.score("a rose") > model.score("rose a")
    True
    """

    def __init__(self, path: str | bytes | os.PathLike[str], config: Config | None = None) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.config = config
        with open(self.path, "rb") as file:
            start = file.read(2000)
        is_arpa = b"\\data\\" in start or start[:2] == b"\x1f\x8b"
        model = read_arpa(self.path) if is_arpa else load(self.path)
        if not isinstance(model, LanguageModel):
            raise InputError(f"holds a {type(model).__name__}, not a language model", path=self.path)
        self.model = as_backoff(model, self.path)
        self._unknown = self.model.vocabulary_.id(UNKNOWN)

    @property
    def order(self) -> int:
        """Length of the longest n-gram."""
        return self.model.order

    def __contains__(self, word: str | bytes) -> bool:
        name = os.fsdecode(word)
        return name == START or (name != UNKNOWN and name in self.model.vocabulary_)

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)}>"

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 probability of a sentence, its words separated by blanks; with its start and its end."""
        words = _words(sentence)
        ids = self.model.vocabulary_.ids(words)
        if bos and (ids > BOUNDARY).all():
            stream = np.append(ids, np.int32(BOUNDARY)) if eos else ids
            return float(self.model.score_stream(stream).sum()) / LOG10
        return sum(found.log_prob for found in self._walk(words, bos, eos))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """For each word, and the end: log10 probability, length of the n-gram found, whether the word is unknown."""
        for found in self._walk(_words(sentence), bos, eos):
            yield found.log_prob, found.ngram_length, found.oov

    def perplexity(self, sentence: str | bytes) -> float:
        """10 to the power of minus the mean score of a word; the end counts as one."""
        return float(10.0 ** (-self.score(sentence) / (len(_words(sentence)) + 1)))

    def BeginSentenceWrite(self, state: State) -> None:
        """Make it the state at the start of a sentence."""
        state.node = self.model.start()

    def NullContextWrite(self, state: State) -> None:
        """Make it the state that knows of no words before."""
        state.node = 0

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """log10 probability of a word; the state after it goes to ``out_state``."""
        return self.BaseFullScore(in_state, word, out_state).log_prob

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """The same with the length of the n-gram found, and whether the word is unknown."""
        out_state.node, found = self._step(in_state.node, os.fsdecode(word))
        return found

    def _walk(self, words: list[str], bos: bool, eos: bool) -> Iterator[FullScoreReturn]:
        node = self.model.start() if bos else 0
        for word in (*words, "</s>") if eos else words:
            node, found = self._step(node, word)
            yield found

    def _step(self, node: int, word: str) -> tuple[int, FullScoreReturn]:
        """The node after a word, and what is known of the word."""
        model, number = self.model, self.model.vocabulary_.id(word)
        if word == START:
            return model.start(), FullScoreReturn(IMPOSSIBLE, 1, False)
        oov = number in (UNSEEN, self._unknown)
        if oov and self._unknown == UNSEEN:
            total = 0.0
            while node:
                total += float(model.node_bow[node])
                node = int(model.node_parent[node])
            return 0, FullScoreReturn(MISSING_UNKNOWN + total / LOG10, 1, True)
        number = self._unknown if oov else number
        after, logp = model.step(node, number)
        while node and not self._has(node, number):
            node = int(model.node_parent[node])
        length = int(model.node_depth[node]) + 1
        return after, FullScoreReturn(logp / LOG10, length, oov)

    def _has(self, node: int, word: int) -> bool:
        first, last = self.model.pair_ptr[node : node + 2].tolist()
        at = first + int(np.searchsorted(self.model.pair_word[first:last], word))
        return at < last and int(self.model.pair_word[at]) == word


def _words(sentence: str | bytes) -> list[str]:
    return (sentence.decode() if isinstance(sentence, bytes) else sentence).split()
