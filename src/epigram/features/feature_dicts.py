"""Encodes feature dicts and lists, in every form that python-crfsuite takes.

A token is a list of names, or a dict: ``{"word": "cat"}`` is the attribute ``word:cat``, a number or bool is
the value of the attribute named by its key, and dicts, lists and sets nest with a colon between the names
(python-crfsuite's own documentation writes ``=`` where its code writes a colon; we do as the code does).
Input is streamed: only the distinct names are kept while it is read. A value of zero is left out.

Sentences of plain dicts, lists, strings and numbers are copied to bytes by Python's :mod:`marshal` and walked through
in C (``_core/features.h``); what marshal does not know (generators, numpy's numbers, subclasses) goes the slow way.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError, each
from epigram.features.attributes import AttributeTable, Fingerprints, SpeltNames, fingerprints
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints, Offsets

Token: TypeAlias = Mapping[str, Any] | Iterable[str]
NoteZeros: TypeAlias = Callable[[int, int, Offsets, Ints], None]
FORMAT = 4  # of marshal: the same bytes in every Python since 3.4
BLOCK = 1 << 18  # bytes of sentences that are walked through in one call
OTHER_FORM, NO_ROOM = -1, -2


def encode_features(sentences: Iterable[Iterable[Token]], table: AttributeTable, grow: bool) -> Sequences:
    """Encode sentences whose tokens are dicts or lists of features.

    Parameters
    ----------
    sentences
        Any iterable, a generator too.
    table
        Numbers the attributes; the same table serves templates.
    grow
        True in training: new attributes get new ids. Otherwise unknown attributes are dropped.

    Examples
    --------
    >>> table = AttributeTable()
    >>> s = encode_features([[{"w": "cat", "length": 3.0}, ["bias", "w:dog"]]], table, grow=True)
    >>> table.names(s.attributes), s.values
    (['w:cat', 'length', 'bias', 'w:dog'], array([1., 3., 1., 1.]))
    """
    reader = FeatureReader(table, grow)
    for sentence in each(sentences, "X", "sentences"):
        reader.add(sentence)
    return reader.sequences()


class FeatureReader:
    """Encodes sentences as they come; parameters as for :func:`encode_features`.

    With ``eager``, what is wrong with a sentence is said at once, and it may be changed after :meth:`add` has returned.
    Attributes of value 0 are left out; ``zeros``, if given, is called with them: the number of the first sentence of a
    block, how many it has, and for each such attribute its token within the block and its id.
    """

    def __init__(
        self, table: AttributeTable, grow: bool, eager: bool = False, zeros: NoteZeros | None = None
    ) -> None:
        self.table, self.grow, self.eager, self._zeros = table, grow, eager, zeros
        self._waiting: list[tuple[bytes, Iterable[Token]]] = []
        self._n_bytes = 0
        self._room = ReadBuffers(1 << 10, 1 << 13, zeros is not None)
        self._n_sentences = 0
        self._lengths: list[
            Offsets
        ] = []  # tokens of each sentence, attributes of each token, and so on, in blocks
        self._counts: list[Offsets] = []
        self._ids: list[Ints] = []
        self._values: list[Floats | None] = []
        self._names, self._start = SpeltNames(), table.n_occurrences
        if grow:
            table.add_source(self._names)

    def add(self, sentence: Any) -> None:
        """One more sentence."""
        content = as_bytes(sentence)
        if content is None or (self.eager and self._room.read(content)[0] == OTHER_FORM):
            self._flush()
            self._add_slowly(sentence)
            return
        self._waiting.append((content, sentence))
        self._n_bytes += len(content)
        if self._n_bytes > BLOCK:
            self._flush()

    def sequences(self) -> Sequences:
        """All sentences so far."""
        self._flush()
        ids = np.concatenate([np.empty(0, dtype=np.int32), *self._ids])
        values = np.ones(1)
        if any(block is not None for block in self._values):
            blocks = zip(self._values, self._ids, strict=True)
            values = np.concatenate([np.ones(len(ids)) if own is None else own for own, ids in blocks])
        known = ids >= 0
        sentence_ptr, attribute_ptr = (
            offsets(np.concatenate([[], *blocks])) for blocks in (self._lengths, self._counts)
        )
        if not known.all():
            attribute_ptr = offsets(known)[attribute_ptr]
            values = values[known] if len(values) == len(ids) else values
            ids = ids[known]
        return Sequences.of(sentence_ptr, attribute_ptr, ids, values)

    def _flush(self) -> None:
        waiting, self._waiting, self._n_bytes = self._waiting, [], 0
        while waiting:
            content = b"".join(one for one, _ in waiting)
            code, n_sentences, n_tokens, n_occurrences, all_ones = self._room.read(content)
            if n_sentences:
                room = self._room
                self._lengths.append(np.diff(room.sentence_ptr[: n_sentences + 1]))
                counts = np.diff(room.attribute_ptr[: n_tokens + 1])
                first, known = self.table.n_occurrences, len(self.table)
                values = None if all_ones else room.values[:n_occurrences].copy()
                self._keep(n_sentences, counts, room.keys[:n_occurrences], values)
                if self.grow:
                    new = self.table.first_met[known:]
                    self._names.add(new - self._start, *room.spell(content, new - first))
                self._n_sentences += n_sentences
            if code == OTHER_FORM:
                self._add_slowly(waiting[n_sentences][1])
                n_sentences += 1
            waiting = waiting[n_sentences:]

    def _keep(self, n_sentences: int, counts: Offsets, keys: Fingerprints, values: Floats | None) -> None:
        """Ids of the next occurrences; -1 for unknown ones of a table that does not grow."""
        ids = self.table.intern_more(keys) if self.grow else self.table.look_up(keys)
        if self._zeros is not None and values is not None and not values.all():
            token, kept = np.repeat(np.arange(len(counts)), counts), values != 0.0
            self._zeros(self._n_sentences, n_sentences, token[~kept], ids[~kept])
            counts = np.bincount(token[kept], minlength=len(counts))
            ids, values = ids[kept], None if (values[kept] == 1.0).all() else values[kept]
        self._counts.append(counts)
        self._ids.append(ids)
        self._values.append(values)

    def _add_slowly(self, sentence: Iterable[Token]) -> None:
        """The same for any iterable of any mappings and iterables."""
        counts, names, values = [], [], []
        for t, token in enumerate(each(sentence, f"sentence {self._n_sentences}", "tokens")):
            try:
                found = [(name, value) for name, value in flatten(token) if value != 0.0 or self._zeros]
            except ValueError as error:
                raise InputError(f"sentence {self._n_sentences}, token {t}: {error}") from None
            counts.append(len(found))
            names += [name for name, _ in found]
            values += [value for _, value in found]
        self._lengths.append(np.array([len(counts)], dtype=np.int64))
        first, known = self.table.n_occurrences, len(self.table)
        usual = all(value == 1.0 for value in values)
        own = None if usual else np.array(values, dtype=np.float64)
        self._keep(1, np.array(counts, dtype=np.int64), fingerprints(names), own)
        if self.grow:
            new = self.table.first_met[known:]
            self._names.add_strings(new - self._start, [names[k] for k in (new - first).tolist()])
        self._n_sentences += 1


class ReadBuffers:
    """Arrays for what is read in one call, made larger when they do not suffice."""

    def __init__(self, n_tokens: int, n_occurrences: int, zeros: bool = False) -> None:
        self.zeros = zeros
        self.sentence_ptr = np.empty(n_tokens + 1, dtype=np.int64)
        self.attribute_ptr = np.empty(n_tokens + 1, dtype=np.int64)
        self.keys, self.values = np.empty(n_occurrences, dtype=np.uint64), np.empty(n_occurrences)
        self.refs = np.empty(5 * n_occurrences, dtype=np.uint64)
        self.counts = np.empty(4, dtype=np.int64)
        self.found = bindings.Found(
            zeros, self.sentence_ptr, self.attribute_ptr, self.keys, self.values, self.refs
        )

    def read(self, content: bytes) -> tuple[int, ...]:
        """Return 0 or -1 (another form), counts of sentences, tokens, occurrences, and unit values."""
        raw = np.frombuffer(content, dtype=np.uint8)
        while (code := bindings.features_read(raw, self.found, self.counts)) == NO_ROOM:
            self.grow()
        return code, *self.counts.tolist()

    def grow(self) -> None:
        """Room for twice as much."""
        self.__init__(2 * len(self.sentence_ptr), 2 * len(self.keys), self.zeros)  # type: ignore[misc]

    def spell(self, content: bytes, wanted: Offsets) -> tuple[bytes, Offsets]:
        """The names of the wanted occurrences end to end as UTF-8, and where each begins."""
        raw, ptr = np.frombuffer(content, dtype=np.uint8), np.empty(len(wanted) + 1, dtype=np.int64)
        text = np.empty(64 * len(wanted) + 64, dtype=np.uint8)
        while bindings.features_spell(raw, self.found, wanted, text, ptr) == NO_ROOM:
            text = np.empty(2 * len(text), dtype=np.uint8)
        return text[: ptr[-1]].tobytes(), ptr


def as_bytes(sentence: Any) -> bytes | None:
    """A sentence as C walks through it; None where marshal cannot write it."""
    try:
        return marshal.dumps(sentence, FORMAT) if _is_known() else None
    except ValueError:
        return None


@cache
def _is_known() -> bool:
    """Whether this Python's marshal format is the one that C reads; if not, Python encodes."""
    word = "".join(["w", "\u00e9"])
    token = {
        "a": word,
        "b": 1.5,
        "c": True,
        "d": False,
        "e": {"f": ["g", word], "h": -3},
        word: ("i", "j"),
        "k": {"l"},
    }
    content, room = marshal.dumps([token, token, [word, "m"]], FORMAT), ReadBuffers(8, 64)
    code, *_, n, _ = room.read(content)
    flat = [feature for one in (token, token, [word, "m"]) for feature in flatten(one) if feature[1]]
    return (
        code == 0
        and np.array_equal(room.keys[:n], fingerprints([name for name, _ in flat]))
        and room.values[:n].tolist() == [value for _, value in flat]
    )


def flatten(token: Token) -> Iterator[tuple[str, float]]:
    """Names and values of a token's features; a ValueError says what is not a feature.

    Examples
    --------
    >>> list(flatten({"w": "cat", "caps": True, "sub": {"c": ["a", "t"]}}))
    [('w:cat', 1.0), ('caps', 1.0), ('sub:c:a', 1.0), ('sub:c:t', 1.0)]
    """
    if isinstance(token, Mapping):
        for key, value in token.items():
            if isinstance(value, str):
                yield f"{_name(key)}:{value}", 1.0
            elif isinstance(value, Mapping | list | tuple | set | frozenset):
                for name, inner in flatten(value):
                    yield f"{_name(key)}:{name}", inner
            else:
                yield _name(key), _number(key, value)
    elif isinstance(token, str | bytes) or not isinstance(token, Iterable):
        raise ValueError(f"a token is a dict or a list of features, not {token!r}")
    else:
        for name in token:
            yield _name(name), 1.0


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise ValueError(f"the name of a feature is a string, not {name!r}")


def _number(key: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"feature {key!r} is a string, a number, a dict or a list, not {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"feature {key!r} has the value {number}; values are finite")
    return number
