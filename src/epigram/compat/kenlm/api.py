"""KenLM's Python API: ``import epigram.compat.kenlm as kenlm``.

``Model`` takes an ARPA file, a KenLM binary or a model file of epigram; a mixture of n-gram models is merged. Scores
are in log10, as in KenLM. A word outside the vocabulary is ``<unk>``; without one in the model, its log10 probability
is -100, as in KenLM. Scoring a sentence is one call of C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import numpy as np

from epigram._core import bindings
from epigram.compat.kenlm.binary import MISSING_UNKNOWN
from epigram.lm.mixture import table_of
from epigram.lm.ngram.arpa import read_arpa
from epigram.lm.vocabulary import START, UNKNOWN
from epigram.storage import load

__all__ = ["Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State", "replace_original"]
BLANKS = dict.fromkeys([32, *range(9, 14)], 0)


def replace_original() -> None:
    """Make ``import kenlm`` return this module; call it before the program imports kenlm."""
    sys.modules["kenlm"] = import_module("epigram.compat.kenlm")


class LoadMethod:
    """Ways in which KenLM loads binary files; accepted for compatibility."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class Config:
    """Settings of loading; accepted for compatibility."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = False
        self.arpa_complain = None


class FullScoreReturn(NamedTuple):
    """Log10 probability of a word, length of the n-gram matched, and whether it is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class State:
    """The context of a model, set by the methods of :class:`Model`."""

    __slots__ = ("_walk",)

    def __init__(self, node: int = 0) -> None:
        self._walk = bindings.Walk(node, 0, 0)

    @property
    def node(self) -> int:
        """Number of the context in the model."""
        return int(self._walk.get("node"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.node == other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __copy__(self) -> State:
        return State(self.node)

    def __deepcopy__(self, _: object) -> State:
        return State(self.node)


class Model:
    """A back-off model with the methods of KenLM's ``Model``.

    Parameters
    ----------
    path : an ARPA file, compressed by gzip or not, a KenLM binary, or a model file of epigram with n-grams.
    config : accepted for compatibility.

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
        model = read_arpa(self.path) if is_arpa else load(self.path, "lm")
        self.model = table_of(model, self.path)
        vocabulary, depth = self.model.vocabulary_, self.model.node_depth
        n_slots = 1 << (2 * len(vocabulary)).bit_length()
        keys, ids = np.empty(n_slots, np.uint64), np.full(n_slots, -1, np.int32)
        rest = self.model.start(), vocabulary.id(UNKNOWN), MISSING_UNKNOWN
        asked = bindings.Asked(depth, keys, ids, *rest)
        # A text cannot contain a word with blanks or an empty word; its place is kept.
        words = "\n".join(word.translate(BLANKS) or "\0" for word in (*vocabulary, START)).encode()
        bindings.kenlm_index_words(asked, words)
        self._asked = self.model.core, asked

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
        """Return the log10 probability of a sentence, with its start and its end by default."""
        if not (bos and eos):
            return sum(logp for logp, _, _ in self.full_scores(sentence, bos, eos))
        model, asked = self._asked
        return bindings.kenlm_score(
            model, asked, sentence.encode() if isinstance(sentence, str) else sentence
        )

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Yield log10 probability, n-gram length and whether unknown, for each word and the end."""
        text = sentence.encode() if isinstance(sentence, str) else sentence
        most = len(text) // 2 + 2
        logps, lengths, oov = np.empty(most), np.empty(most, np.int32), np.empty(most, np.bool_)
        n = bindings.kenlm_full_scores(*self._asked, text, bos, eos, logps, lengths, oov)
        return zip(logps[:n].tolist(), lengths[:n].tolist(), oov[:n].tolist(), strict=True)

    def perplexity(self, sentence: str | bytes) -> float:
        """Return 10 to the power of minus the mean score of a word; the end counts as a word."""
        return float(10.0 ** (-self.score(sentence) / (len(sentence.split()) + 1)))

    def BeginSentenceWrite(self, state: State) -> None:
        """Set a state to the start of a sentence."""
        state._walk = bindings.Walk(self.model.start(), 0, 0)

    def NullContextWrite(self, state: State) -> None:
        """Set a state to the empty context."""
        state._walk = bindings.Walk(0, 0, 0)

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """Return the log10 probability of a word; ``out_state`` becomes the state after it."""
        name = word.encode() if isinstance(word, str) else word
        logp = bindings.kenlm_step(*self._asked, in_state._walk, name, out_state._walk)
        if logp != logp:
            raise ValueError("the state belongs to another model; make it with this one.")
        return logp

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """Return the score of a word with the length of its n-gram and whether it is unknown."""
        logp = self.BaseScore(in_state, word, out_state)
        walk = out_state._walk
        return FullScoreReturn(logp, walk.get("length"), bool(walk.get("oov")))


LanguageModel = Model
"""The name that earlier versions of kenlm had."""
