"""The decoder: a reading to its best texts, exactly, under the word trigram model.

Forward over (position, context) with backing off as arcs of its own, which bounds what any path can reach from
above. Where the best path of that relaxed decoder reaches its bound, it is the best of all; that is the rule. Where
not, and for the k best distinct surfaces, A* from the end, led by the bound, is exact (kbest_kernels.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.ime.kana import to_katakana
from epigram.ime.lexicon import LONGEST_READING, Lexicon, hash_surfaces, join_token
from epigram.ime.trigram import Scorer, Singles
from epigram.ime.unknown import LONGEST, UnknownWords, kana_rows, kinds
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats, Ints, Offsets

TOLERANCE = 1e-6
AS_TYPED, AS_KATAKANA, OF_THE_USER = 0, 1, 2
"""How a special edge writes its reading (``Edges.special_form``); kernels.find_unknown knows the first two."""
LONGEST_INPUT = 2000
"""Characters of one conversion; longer input is refused, so that memory stays bounded."""


class Word(NamedTuple):
    """A piece of a conversion: where it stands in the reading, its surface, and its id (-1: not in the lexicon)."""

    start: int
    end: int
    surface: str
    id: int


@dataclass(frozen=True, slots=True)
class Conversion:
    """One way to write a reading; ``score`` is its natural log-probability."""

    reading: str
    words: tuple[Word, ...]
    score: float

    @property
    def text(self) -> str:
        """The surfaces glued together."""
        return "".join(word.surface for word in self.words)

    @property
    def tokens(self) -> list[str]:
        """``surface/reading`` of each word."""
        return [join_token(word.surface, self.reading[word.start : word.end]) for word in self.words]


class Edges(NamedTuple):
    """Words that may stand in a reading: ranges of the lexicon by start, and special ones (unknown, user's)."""

    ptr: Offsets
    end: Ints
    low: Ints
    high: Ints
    special_ptr: Offsets
    special_end: Ints
    special_logp: Floats
    special_text: list[str] | None
    special_form: Ints


class UserWord(NamedTuple):
    """A word that the lexicon lacks: reading, surface, natural log-probability."""

    reading: str
    surface: str
    logp: float


class Decoder:
    """A lexicon, a model and a model of unknown words, ready to convert.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["橋/はし を 渡る/わたる", "箸/はし を 使う/つかう"]).decoder
    >>> [way.text for way in decoder.k_best("はしをつかう", 2)]
    ['箸を使う', '橋を使う']
    """

    def __init__(self, lexicon: Lexicon, scorer: Scorer, unknown: UnknownWords) -> None:
        if scorer.n_words != len(lexicon):
            raise InputError(f"a model of {scorer.n_words} words does not fit a lexicon of {len(lexicon)}")
        self.lexicon = lexicon
        self.scorer = scorer
        self.unknown = unknown
        self.bonus: Singles = np.zeros(len(lexicon), np.float32)
        self.user_words: dict[str, list[UserWord]] = {}
        n_nodes = scorer.node_pair.size
        self._slots = np.zeros(n_nodes, np.int32), np.zeros(n_nodes, np.int32)
        self._char_logp = unknown.char_logp

    def best(self, reading: str) -> Conversion:
        """The most probable conversion."""
        from epigram.ime.kernels import best_path

        edges = self.edges(reading)
        states = self._forward(edges, prune=True)
        out = np.empty(len(reading), np.int32)
        count, bound, score = best_path(
            *states[:5], np.int32(self.scorer.start), edges.special_logp, self.bonus, *self.scorer.tables, out
        )
        if score < bound - TOLERANCE:
            return self.k_best(reading, 1)[0]
        return self._spell(reading, out[:count][::-1], float(score), edges)

    def k_best(self, reading: str, k: int = 20) -> list[Conversion]:
        """The ``k`` most probable conversions with distinct texts (fewer where there are fewer), best first."""
        if k < 1:
            raise InputError(f"the number of candidates must be at least 1, not {k}")
        from epigram.ime.kbest_kernels import k_best

        edges = self.edges(reading)
        st_ptr, st_node, st_score, _, _, root_score, _ = self._forward(edges, prune=False)
        starts = np.repeat(np.arange(len(reading), dtype=np.int32), np.diff(edges.ptr))
        special_starts = np.repeat(np.arange(len(reading), dtype=np.int32), np.diff(edges.special_ptr))
        used = int(edges.ptr[-1])
        by_end = np.argsort(edges.end[:used], kind="stable")
        special_by_end = np.argsort(edges.special_end, kind="stable").astype(np.int32)
        positions = np.arange(len(reading) + 2)
        out_ptr, out_score = np.empty(k + 1, np.int64), np.empty(k)
        if k == 1:  # nothing to tell apart
            special_hashes = (np.zeros(special_starts.size, np.uint64),) * 2
        else:
            special_hashes = self._special_hashes(reading, special_starts, edges)
        words, found = k_best(
            k, st_ptr, st_node, st_score, root_score,
            np.searchsorted(edges.end[:used][by_end], positions), starts[by_end],
            edges.low[:used][by_end], edges.high[:used][by_end],
            np.searchsorted(edges.special_end[special_by_end], positions), special_by_end,
            special_starts, edges.special_logp,
            self.lexicon.word_length, self.scorer.node_word, self.scorer.node_prefix, self.bonus,
            *self.lexicon.hashes, *special_hashes,
            *self.scorer.tables, out_ptr, out_score,
        )  # fmt: skip
        return [
            self._spell(reading, words[out_ptr[r] : out_ptr[r + 1]], float(out_score[r]), edges)
            for r in range(found)
        ]

    def score(self, reading: str, words: Sequence[Word]) -> float:
        """Natural log-probability of one way to write a reading, bonuses counted."""
        from epigram.ime.kernels import step

        node, total = np.int32(self.scorer.start), 0.0
        for word in words:
            if word.id >= 0:
                logp, node = step(node, np.int32(word.id), *self.scorer.tables)
                total += logp + float(self.bonus[word.id])
                continue
            while node:
                total += float(self.scorer.tables.node_bow[node])
                node = self.scorer.tables.node_parent[node]
            total += self.special_score(reading[word.start : word.end], word.surface)
        return total + float(step(node, np.int32(BOUNDARY), *self.scorer.tables)[0])

    def special_score(self, reading: str, surface: str) -> float:
        """Return the log-probability of a word outside the lexicon, by the best way to get it."""
        edges = self.edges(reading)
        whole = range(int(edges.special_ptr[0]), int(edges.special_ptr[1]))
        return max(
            (
                float(edges.special_logp[e])
                for e in whole
                if edges.special_end[e] == len(reading) and self.special_text(reading, 0, e, edges) == surface
            ),
            default=-np.inf,
        )

    def edges(self, reading: str) -> Edges:
        """Return the words that may stand in a reading."""
        from epigram.ime.kernels import find_unknown

        if len(reading) > LONGEST_INPUT:
            raise InputError(
                f"a reading of {len(reading):,} characters; at most {LONGEST_INPUT:,} are converted at once. "
                "Split it at sentence ends."
            )
        chars = np.frombuffer(reading.encode("utf-32-le", "surrogatepass"), np.int32)
        n = chars.size
        ends, lows, highs = (np.empty(n * LONGEST_READING, np.int32) for _ in range(3))
        ptr = self.lexicon.edges(chars, ends, lows, highs)
        room = 2 * n * LONGEST
        special_end, special_form = np.empty(room, np.int32), np.empty(room, np.int32)
        special_logp = np.empty(room)
        special_ptr = find_unknown(
            chars, kinds(chars), kana_rows(chars), LONGEST, self.unknown.hiragana, self.unknown.katakana,
            self.unknown.class_logp, self._char_logp, special_end, special_form, special_logp,
        )  # fmt: skip
        used = int(special_ptr[-1])
        edges = Edges(
            ptr,
            ends,
            lows,
            highs,
            special_ptr,
            special_end[:used],
            special_logp[:used],
            None,
            special_form[:used],
        )
        return self._with_user_words(reading, edges) if self.user_words else edges

    def _with_user_words(self, reading: str, edges: Edges) -> Edges:
        """Add the user's words as special edges of their own text."""
        found = []
        longest = max(map(len, self.user_words))
        for start in range(len(reading)):
            for end in range(start + 1, min(len(reading), start + longest) + 1):
                found += [(start, end, word) for word in self.user_words.get(reading[start:end], ())]
        if not found:
            return edges
        starts = np.repeat(np.arange(len(reading)), np.diff(edges.special_ptr))
        texts = [""] * starts.size + [word.surface for _, _, word in found]
        all_starts = np.concatenate((starts, [start for start, _, _ in found]))
        order = np.argsort(all_starts, kind="stable")
        return edges._replace(
            special_ptr=np.searchsorted(all_starts[order], np.arange(len(reading) + 1)),
            special_end=np.concatenate((edges.special_end, [end for _, end, _ in found]))[order].astype(
                np.int32
            ),
            special_logp=np.concatenate((edges.special_logp, [word.logp for _, _, word in found]))[order],
            special_form=np.concatenate((edges.special_form, np.full(len(found), OF_THE_USER, np.int32)))[
                order
            ],
            special_text=[texts[k] for k in order.tolist()],
        )

    def _forward(self, edges: Edges, prune: bool) -> tuple[npt.NDArray[np.generic], ...]:
        from epigram.ime.kernels import forward

        out: tuple[npt.NDArray[np.generic], ...] = forward(
            edges.ptr, edges.end, edges.low, edges.high, edges.special_ptr, edges.special_end, edges.special_logp,
            np.int32(self.scorer.start), prune, self.scorer.gain, self.bonus, *self.scorer.tables, *self._slots,
        )  # fmt: skip
        return out

    def special_text(self, reading: str, start: int, special: int, edges: Edges) -> str:
        """Return what a special edge that begins at ``start`` writes."""
        form = edges.special_form[special]
        if form == OF_THE_USER and edges.special_text is not None:
            return edges.special_text[special]
        piece = reading[start : edges.special_end[special]]
        return to_katakana(piece) if form == AS_KATAKANA else piece

    def _special_hashes(
        self, reading: str, starts: Ints, edges: Edges
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        texts = [
            self.special_text(reading, start, special, edges).encode("utf-8", "surrogatepass")
            for special, start in enumerate(starts.tolist())
        ]
        ptr = np.concatenate(
            (np.zeros(1, np.int64), np.cumsum([len(text) for text in texts], dtype=np.int64))
        )
        return hash_surfaces(np.frombuffer(b"".join(texts), np.uint8), ptr)

    def _spell(self, reading: str, ids: Ints, score: float, edges: Edges) -> Conversion:
        words = []
        at = 0
        for word in ids.tolist():
            if word >= 0:
                end = at + int(self.lexicon.word_length[word])
                words.append(Word(at, end, self.lexicon.surface(word), word))
            else:
                special = special_edge(word)
                end = int(edges.special_end[special])
                words.append(Word(at, end, self.special_text(reading, at, special, edges), -1))
            at = end
        return Conversion(reading, tuple(words), score)


def special_edge(word: int) -> int:
    """Return which special edge a negative word number of the search stands for: -2 is edge 0, -3 is edge 1."""
    return -2 - word
