"""Exact 1-best and k-best search over the word lattice.

The forward pass over (position, context) treats backing off as separate arcs, which gives an upper bound of the score
of any path. If the best path of that relaxation reaches its bound, it is the best of all, which is the usual case.
Otherwise, and for the k best distinct surfaces, A* from the end with the bound as heuristic is exact
(``_core/ime_kbest.c``). Conversions become n-best lists for a reranker: tokens are ``surface/reading``, the base
score is log P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.checkpoint import DOES_NOT_FIT, piece
from epigram.errors import InputError
from epigram.ime.kana import characters, join_token, split_token, to_katakana
from epigram.ime.left_context import read_before
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.unknown_words import LONGEST_UNKNOWN, UnknownWords, classify
from epigram.ime.numbers import NumberForms, SpecialEdge
from epigram.ime.scorer import Scorer, Singles
from epigram.ime.signs import own_edges, special_edges, special_texts
from epigram.ime.user.words import UserWords
from epigram.ime.word_classes import ANY, ClassNumbers
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats, Ints, Offsets

if TYPE_CHECKING:
    from epigram.rerank import NBest

AS_TYPED, AS_KATAKANA, WITH_ITS_OWN_TEXT = 0, 1, 2
"""How a special edge writes its reading (``Edges.special_form``); ``_core/ime_lattice.c`` knows the first two."""
RECENT = 2.0
"""Bonus of a word that the text before the caret has; chosen on neighbouring sentences of articles."""
LONGEST_INPUT = 2000
"""Characters of one conversion; longer input is refused, so that memory stays bounded."""


class Word(NamedTuple):
    """Word of a conversion: its range in the reading, surface, and id (-1: not in the lexicon)."""

    start: int
    end: int
    surface: str
    id: int


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion of a reading; ``score`` is its natural log-probability."""

    reading: str
    words: tuple[Word, ...]
    score: float

    @property
    def text(self) -> str:
        """Concatenated surfaces."""
        return "".join(word.surface for word in self.words)

    @property
    def tokens(self) -> list[str]:
        """``surface/reading`` of each word."""
        return [join_token(word.surface, self.reading[word.start : word.end]) for word in self.words]


class Edges(NamedTuple):
    """Edges of the lattice: ranges of the lexicon by start, and special words (unknown, user)."""

    ptr: Offsets
    end: Ints
    low: Ints
    high: Ints
    special_ptr: Offsets
    special_end: Ints
    special_logp: Floats
    special_text: list[str] | None
    special_form: Ints
    special_class: ClassNumbers

    def with_own(self, found: Sequence[SpecialEdge]) -> Edges:
        """Add special edges with given texts: numbers, signs, user words."""
        starts = np.repeat(np.arange(self.ptr.size - 1), np.diff(self.special_ptr))
        texts = [""] * starts.size + [edge.text for edge in found]
        all_starts = np.concatenate((starts, [edge.start for edge in found]))
        order = np.argsort(all_starts, kind="stable")

        def joined(old: Any, new: list[Any]) -> Any:
            return np.concatenate((old, np.array(new, old.dtype)))[order]

        return self._replace(
            special_ptr=np.searchsorted(all_starts[order], np.arange(self.ptr.size)),
            special_end=joined(self.special_end, [edge.end for edge in found]),
            special_logp=joined(self.special_logp, [edge.logp for edge in found]),
            special_form=joined(self.special_form, [WITH_ITS_OWN_TEXT] * len(found)),
            special_class=joined(self.special_class, [edge.word_class for edge in found]),
            special_text=[texts[k] for k in order.tolist()],
        )


class Ways(NamedTuple):
    """Best ways of several readings as arrays, by reading and then best first.

    Way w has the words ``ptr[w] .. ptr[w + 1]``: ids (-1: not in the lexicon), ends in the reading and in ``text``.
    """

    found: Offsets
    score: Floats
    ptr: Offsets
    word: Ints
    end: Ints
    text_end: Offsets
    text: npt.NDArray[np.uint8]

    def text_of(self, way: int) -> str:
        """Text of a way."""
        first, last = int(self.ptr[way]), int(self.ptr[way + 1])
        begin = int(self.text_end[first - 1]) if first else 0
        stop = int(self.text_end[last - 1]) if last else 0
        return self.text[begin:stop].tobytes().decode("utf-8", "surrogatepass")

    def words_of(self, way: int) -> list[Word]:
        """Words of a way."""
        first, last = int(self.ptr[way]), int(self.ptr[way + 1])
        at, begin, words = 0, int(self.text_end[first - 1]) if first else 0, []
        numbers = (array[first:last].tolist() for array in (self.word, self.end, self.text_end))
        for id, end, text_end in zip(*numbers, strict=True):
            surface = str(self.text[begin:text_end].data, "utf-8", "surrogatepass")
            words.append(Word(at, end, surface, id))
            at, begin = end, text_end
        return words


class WordScore(NamedTuple):
    """Score of a word of a conversion: natural log-probability, order of its n-gram, user bonus."""

    token: str
    logp: float
    order: int
    bonus: float


class Decoder:
    """Converts readings with a lexicon, a trigram model and a model of unknown words.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["橋/はし を 渡る/わたる", "箸/はし を 使う/つかう"]).decoder
    >>> [way.text for way in decoder.k_best("はしをつかう", 2)]
    ['箸を使う', '橋を使う']
    """

    def __init__(
        self, lexicon: Lexicon, scorer: Scorer, unknown: UnknownWords, numbers: NumberForms | None = None
    ) -> None:
        if scorer.n_words != len(lexicon):
            raise InputError(f"a model of {scorer.n_words} words does not fit a lexicon of {len(lexicon)}")
        if not 0 <= unknown.katakana_class < scorer.n_classes:
            raise InputError(f"unknown words are of class {unknown.katakana_class}, which the model lacks")
        self.lexicon = lexicon
        self.scorer = scorer
        self.unknown = unknown
        self.numbers = numbers or NumberForms()
        self.bonus: Singles = np.zeros(len(lexicon), np.float32)
        self.recent: frozenset[int] = frozenset()
        self.left = ""
        self._recent_bits = np.zeros(0, np.uint8)
        self.user_words = UserWords()
        self._char_logp = unknown.char_logp

    @cached_property
    def _backwards(self) -> Any:
        """Further arrays of the backward search as a C structure."""
        lexicon, scorer = self.lexicon, self.scorer
        nodes = np.empty(3 * scorer.gain.size + 3, np.uint64)
        bindings.ime_pack_nodes(scorer.core, lexicon.core, scorer.gain, nodes)
        made = bindings.Backwards(
            nodes, scorer.class_logp.max(axis=0), scorer.node_word, scorer.node_prefix, lexicon.word_length,
            lexicon.surface_ptr, lexicon.surface_raw,
        )  # fmt: skip
        bindings.ime_engine_trim()  # what reading the model and these arrays has freed
        return made

    @cached_property
    def _unknown(self) -> Any:
        """Model of unknown words as a C structure."""
        unknown = self.unknown
        return bindings.UnknownModel(
            len(unknown.hiragana),
            LONGEST_UNKNOWN,
            unknown.katakana_class,
            unknown.hiragana,
            unknown.katakana,
            unknown.class_logp,
            self._char_logp,
        )

    @cached_property
    def _special(self) -> Any:
        """Numbers, signs and letters as a C structure."""
        return special_texts(self.numbers)

    def __getstate__(self) -> dict[str, Any]:
        cached = ("_backwards", "_unknown", "_special")
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    def after(self, words: Sequence[int]) -> Decoder:
        """View of this decoder after words of the lexicon; corrections are shared."""
        node = self.scorer.start
        for word in words:
            _, node = self.scorer.step(node, word)
        return self._view(node, "".join(map(self.lexicon.surface, words)))

    def _view(self, node: int, left: str) -> Decoder:
        """View that starts at a node; what only the model determines is not made again."""
        other = copy(self)
        other.__dict__.update(_backwards=self._backwards, _unknown=self._unknown)
        other.scorer, other.left = self.scorer.starting_at(node), left
        return other

    def following(self, before: str) -> Decoder:
        """View of this decoder after a text; corrections are shared."""
        found = read_before(self.lexicon, self.scorer, before)
        other = self._view(found.node, before)
        other.recent, other._recent_bits = found.recent, np.zeros(len(self.lexicon) // 8 + 1, np.uint8)
        for word in found.recent:
            other._recent_bits[word >> 3] |= 1 << (word & 7)
        return other

    def best(self, reading: str, cuts: Sequence[int] = ()) -> Conversion:
        """Most probable conversion; no word crosses one of the offsets ``cuts``."""
        return self.conversions([reading], self.ways([reading], 1, cuts))[0]

    def k_best(self, reading: str, k: int = 20, cuts: Sequence[int] = ()) -> list[Conversion]:
        """Up to ``k`` most probable conversions with distinct texts, best first."""
        if k < 1:
            raise InputError(f"the number of candidates must be at least 1, not {k}")
        return self.conversions([reading], self.ways([reading], k, cuts))

    def ways(self, readings: Sequence[str], k: int, cuts: Sequence[int] = (), margin: float = np.inf) -> Ways:
        """Find the ``k`` most probable conversions of each reading in one call of C.

        Those that are worse than the best by more than ``margin`` are left out.
        """
        for reading in readings:
            if len(reading) > LONGEST_INPUT:
                raise InputError(
                    f"a reading of {len(reading):,} characters; at most {LONGEST_INPUT:,} are converted at once. "
                    "Split it at sentence ends."
                )
        lengths = [len(reading) for reading in readings]
        chars = characters("".join(readings))
        n, own = len(readings), self._own_edges(readings)
        pieces = np.zeros(0, np.int32)
        if cuts:
            pieces = np.cumsum(np.bincount(np.asarray(cuts, np.int64), minlength=chars.size + 1)).astype(
                np.int32
            )
        found, score = np.empty(n, np.int64), np.empty(n * k)
        ptr, room, text_room = np.empty(n * k + 1, np.int64), chars.size * k, 16 * chars.size * k + 256
        while True:
            word, end, text_end = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            text = np.empty(text_room, np.uint8)
            n_ways = bindings.ime_engine_ways(
                self.lexicon.core, self.scorer.core, self._backwards, self._unknown, own, self.scorer.start,
                self.bonus, self._recent_bits,
                RECENT, k, margin, np.cumsum([0, *lengths]), chars, pieces[: chars.size], found, score, ptr, word, end,
                text_end, text,
            )  # fmt: skip
            if n_ways >= 0:
                return Ways(found, score[:n_ways], ptr[: n_ways + 1], word, end, text_end, text)
            if n_ways == -1:
                raise MemoryError(f"no room for {k} conversions of {chars.size} characters")
            text_room *= 4

    def conversions(self, readings: Sequence[str], ways: Ways) -> list[Conversion]:
        """Conversions of the ways of readings; phrases of the user are spelled by their words."""
        of_way = [reading for reading, n in zip(readings, ways.found.tolist(), strict=True) for _ in range(n)]
        return [
            Conversion(reading, self.spelled(reading, ways, k), float(ways.score[k]))
            for k, reading in enumerate(of_way)
        ]

    def spelled(self, reading: str, ways: Ways, way: int) -> tuple[Word, ...]:
        """Words of a way, those of phrases one by one."""
        words = ways.words_of(way)
        if not self.user_words:
            return tuple(words)
        out: list[Word] = []
        for word in words:
            phrase = (
                self.user_words.spelled(reading[word.start : word.end], word.surface) if word.id < 0 else ()
            )
            out += self.words_of(phrase, word.start) or [word]
        return tuple(out)

    def own_edges(self, reading: str) -> list[SpecialEdge]:
        """Edges that have texts: numbers, signs and user words."""
        found = special_edges(self._special, reading)
        if self.user_words:
            found += map(partial(self._with_recent_words, reading), self.user_words.edges(reading, self.left))
        return found

    def _with_recent_words(self, reading: str, edge: SpecialEdge) -> SpecialEdge:
        """Edge of the user; a phrase has the bonus of its recent words, as other ways have."""
        words = self.user_words.spelled(reading[edge.start : edge.end], edge.text) if self.recent else ()
        n = sum(word.id in self.recent for word in self.words_of(words, 0))
        return edge._replace(logp=edge.logp + n * RECENT) if n else edge

    def _own_edges(self, readings: Sequence[str]) -> Any:
        """Own edges of several readings, each sorted by start, as a C structure."""
        if not self.user_words:
            return bindings.OwnEdges(*own_edges(self._special, readings))
        lists = [sorted(self.own_edges(reading), key=itemgetter(0)) for reading in readings]
        flat = [edge for own in lists for edge in own]
        texts = [edge.text.encode("utf-8", "surrogatepass") for edge in flat]
        starts, ends, _, logps, classes = zip(*flat, strict=True) if flat else ((),) * 5
        return bindings.OwnEdges(
            np.cumsum([0, *map(len, lists)]), np.array(starts, np.int32), np.array(ends, np.int32),
            np.array(logps, np.float64), np.array(classes, np.uint16), np.cumsum([0, *map(len, texts)]),
            np.frombuffer(b"".join(texts), np.uint8),
        )  # fmt: skip

    def score(self, reading: str, words: Sequence[Word]) -> float:
        """Natural log-probability of a conversion, with bonuses."""
        scorer = self.scorer
        node, total = scorer.start, 0.0
        for word in words:
            if word.id >= 0:
                logp, node = scorer.step(node, word.id)
                total += logp + self.bonus_of(word.id)
                continue
            logp, to = self.special_score(reading[word.start : word.end], word.surface)
            total += scorer.special(node, to) + logp
            node = to
        return total + scorer.step(node, BOUNDARY)[0]

    def explain(self, conversion: Conversion) -> list[WordScore]:
        """Score a conversion word by word, the end of the sentence last.

        The order of a word outside the lexicon is 0.

        Examples
        --------
        >>> from epigram import KanaKanjiConverter
        >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
        >>> [(row.token, row.order) for row in converter.decoder.explain(converter.best("はしをわたる"))]
        [('橋/はし', 2), ('を', 3), ('渡る/わたる', 3), ('</s>', 3)]
        """
        scorer = self.scorer
        parents = scorer.tables.node_parent
        node = scorer.start
        rows: list[WordScore] = []
        ids = [*(word.id for word in conversion.words), BOUNDARY]
        for word, token in zip(ids, [*conversion.tokens, "</s>"], strict=True):
            if word < 0:
                unknown = conversion.words[len(rows)]
                reading = conversion.reading[unknown.start : unknown.end]
                logp, to = self.special_score(reading, unknown.surface)
                rows.append(WordScore(token, scorer.special(node, to) + logp, 0, 0.0))
                node = to
                continue
            at, order = node, 1
            while at >= scorer.n_classes and not scorer.stores(at, word):
                at = int(parents[at])
            if at >= scorer.n_classes:
                order = 2 if parents[at] < scorer.n_classes else 3
            logp, node = scorer.step(node, word)
            rows.append(WordScore(token, logp, order, self.bonus_of(word)))
        return rows

    def bonus_of(self, word: int) -> float:
        """Bonus of a word by corrections and left context, in natural log-probability."""
        return float(self.bonus[word]) + (RECENT if word in self.recent else 0.0)

    def special_score(self, reading: str, surface: str) -> tuple[float, int]:
        """Best log-probability of a word outside the lexicon, and its class."""
        edges = self.edges(reading)
        whole = range(int(edges.special_ptr[0]), int(edges.special_ptr[1]))
        return max(
            (
                (float(edges.special_logp[e]), int(edges.special_class[e]))
                for e in whole
                if edges.special_end[e] == len(reading) and self.special_text(reading, 0, e, edges) == surface
            ),
            default=(-np.inf, ANY),
        )

    def edges(self, reading: str) -> Edges:
        """Make the lattice of a reading."""
        chars = characters(reading)
        n = chars.size
        unknown = self.unknown
        room = 2 * n * LONGEST_UNKNOWN
        special_ptr, special_logp = np.empty(n + 1, np.int64), np.empty(room)
        special_end, special_form = np.empty(room, np.int32), np.empty(room, np.int32)
        bindings.ime_find_unknown(
            *classify(chars), LONGEST_UNKNOWN, len(unknown.hiragana), unknown.hiragana, unknown.katakana,
            unknown.class_logp, self._char_logp, special_ptr, special_end, special_form, special_logp,
        )  # fmt: skip
        used = int(special_ptr[-1])
        edges = Edges(
            *self.lexicon.edges(chars),
            special_ptr,
            special_end[:used],
            special_logp[:used],
            None,
            special_form[:used],
            np.where(special_form[:used] == AS_KATAKANA, unknown.katakana_class, 0).astype(np.uint16),
        )
        own = self.own_edges(reading)
        return edges.with_own(own) if own else edges

    def special_text(self, reading: str, start: int, special: int, edges: Edges) -> str:
        """Text of a special edge that begins at ``start``."""
        form = edges.special_form[special]
        if form == WITH_ITS_OWN_TEXT and edges.special_text is not None:
            return edges.special_text[special]
        piece = reading[start : edges.special_end[special]]
        return to_katakana(piece) if form == AS_KATAKANA else piece

    def words_of(self, pairs: Iterable[tuple[str, str]], start: int) -> list[Word]:
        """Words of surfaces and readings, the first of which begins at ``start``."""
        words = []
        for surface, reading in pairs:
            words.append(Word(start, start + len(reading), surface, self.lexicon.find(surface, reading)))
            start += len(reading)
        return words


def as_lists(
    lists: Iterable[Sequence[Conversion | Candidate]], references: Sequence[Sequence[str]] | None = None
) -> NBest:
    """Convert conversions to n-best lists, with the tokens of each known reference.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["橋/はし を 渡る/わたる", "箸/はし"]).decoder
    >>> lists = as_lists([decoder.k_best("はし", 2)], [["橋/はし"]])
    >>> lists.texts, lists.errors("cer").tolist()
    (['箸', '橋'], [1.0, 0.0])
    """
    from epigram.rerank.nbest import Builder

    builder = Builder()
    for number, ways in enumerate(lists):
        if references is None:
            builder.begin(str(number + 1), None, None)
        else:
            tokens = list(references[number])
            builder.begin(str(number + 1), "".join(split_token(token)[0] for token in tokens), tokens)
        for way in ways:
            builder.candidate(way.tokens, way.score, None, text=way.text)
    return builder.build()


def convert_text(
    decoder: Decoder, sentences: Sequence[Sequence[str]], k: int, tick: Callable[[], object] | None = None
) -> NBest:
    """Make n-best lists of tokenised sentences by converting their readings.

    ``tick`` is called after each sentence; True ends the work with the lists so far.
    """

    with piece(f"{k} best of {len(sentences)} sentences") as kept:
        saved = (kept.result or kept.state or {"found": []})["found"]
        found, stop = [[Candidate(*way) for way in ways] for ways in saved], False
        if not all(ways and all(way.is_sound for way in ways) for ways in found):
            raise InputError(DOES_NOT_FIT)
        for tokens in sentences[len(found) :]:
            best = decoder.k_best("".join(split_token(token)[1] for token in tokens), k)
            found.append([Candidate(way.tokens, way.text, way.score) for way in best])
            stop = tick is not None and bool(tick())
            kept.save({"found": found}, stop=stop)
            if stop:
                break
        kept.finish({"found": found}, stop)
    return as_lists(found, sentences)


class Candidate(NamedTuple):
    """Conversion in an n-best list."""

    tokens: list[str]
    text: str
    score: float

    @property
    def is_sound(self) -> bool:
        """Whether values from a checkpoint are valid."""
        words = [self.text, *self.tokens]
        return all(isinstance(word, str) for word in words) and bool(np.isfinite(self.score))
