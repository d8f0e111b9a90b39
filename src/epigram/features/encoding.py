"""Expands templates over a corpus into feature ids, in C, without a string per token.

A cell function runs once per distinct string of its column and leaves (hash, power) pairs; the fingerprint of
a token's attribute is then put together from those of its cells and of the literals between them (see
``_core/encoding.h``) and looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, Fingerprints, hash_parts, utf8
from epigram.features.cell_functions import (
    MOST_VALUES,
    CellFunction,
    Line,
    apply_chain,
    too_many,
)
from epigram.features.columns import Columns, as_columns
from epigram.features.feature_dicts import encode_features
from epigram.features.sequences import Sequences
from epigram.features.template import Template, outside_mark
from epigram.features.trees import Trees, hang
from epigram.protocols import Ints, Offsets

KEYS_PER_BLOCK = 1 << 14  # so many stay in the cache between expansion and look-up
TOKENS_PER_WINDOW = 64
SINGLE = ("lower", "shape", "normalise", "match")
"""Functions that make exactly one string of a string."""
Mapped: TypeAlias = dict[tuple[CellFunction, ...], list[str] | None]


def encode_sentences(X: Any, template: Template | None, table: AttributeTable, grow: bool) -> Sequences:
    """Encode columns (or rows) by a template, feature lists or dicts without one.

    Of :class:`~epigram.features.trees.Trees` the transitions are those from parents.
    """
    if isinstance(X, Trees):
        nodes = X.nodes
        if template is not None and not isinstance(nodes, Columns):
            nodes = Columns.from_rows(nodes)
        if template is None or not nodes.n_tokens:
            return hang(encode_sentences(nodes, template, table, grow), X.parents)
        return hang(encode(nodes, template, table, grow, first_too=True), X.parents)
    if template is None:
        if isinstance(X, Columns):
            raise InputError("columns need a template; give template='chunking' or a CRF++ template")
        return encode_features(X, table, grow)
    columns = as_columns(X)
    if not columns.n_tokens:  # then there are no columns either, and the template would miss them
        return Sequences.of(columns.sentence_ptr, [0], [])
    return encode(columns, template, table, grow)


def encode(
    columns: Columns, template: Template, table: AttributeTable, grow: bool, first_too: bool = False
) -> Sequences:
    """Expand a template over a corpus.

    Parameters
    ----------
    columns
        Observations, without the column of labels.
    template
        Its ``U`` lines give attributes of tokens, its ``B`` lines with cells attributes of transitions.
    table
        Numbers the attributes.
    grow
        True in training: new attributes get new ids. Otherwise unknown attributes are dropped, the table does
        not change, and calls may run at the same time.
    first_too
        Whether the first token of a sentence may have attributes of a transition: in trees it may have a parent.

    Examples
    --------
    >>> table = AttributeTable()
    >>> train = Columns.from_rows([[("a",), ("b",)]])
    >>> s = encode(train, Template.parse("U0:%x[0,0]"), table, grow=True)
    >>> s.attributes, table.names([1])
    (array([0, 1], dtype=int32), ['U0:b'])
    >>> test = Columns.from_rows([[("b",), ("c",)]])
    >>> encode(test, Template.parse("U0:%x[0,0]"), table, grow=False).attribute_ptr
    array([0, 1, 1])
    """
    template.check(columns.n_columns, columns.path)
    template, columns = template.placed(columns)
    attribute_ptr, attributes = _encode_lines(columns, template, template.nodes, False, table, grow)
    edge_ptr, edge_attributes = _encode_lines(columns, template, template.edges, not first_too, table, grow)
    return Sequences(columns.sentence_ptr, attribute_ptr, attributes, np.ones(1), edge_ptr, edge_attributes)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Names an attribute by expanding the token that first had it."""

    columns: Columns = field(repr=False)
    template: Template
    lines: tuple[Line, ...]
    ptr: Offsets = field(repr=False)

    def names(self, occurrences: Offsets) -> list[str]:
        """The expanded strings of some occurrences."""
        if not len(occurrences):
            return []
        tokens = np.searchsorted(self.ptr, occurrences, side="right") - 1
        sentences = np.searchsorted(self.columns.sentence_ptr, tokens, side="right") - 1
        begins, ends = self.columns.sentence_ptr[sentences], self.columns.sentence_ptr[sentences + 1]
        numbers, combinations = np.empty_like(tokens), np.empty_like(tokens)
        lines = _compile(self.columns, self.template, self.lines)
        ranks = occurrences - self.ptr[tokens]
        bindings.encoding_locate_keys(
            _corpus(self.columns), lines, tokens, ranks, begins, ends, numbers, combinations
        )
        found = zip(tokens, begins, ends, numbers, combinations, strict=True)
        return [
            self.template.spell(self.columns, self.lines[line], int(token), int(begin), int(end))[rank]
            for token, begin, end, line, rank in found
        ]


def _encode_lines(
    columns: Columns,
    template: Template,
    lines: tuple[Line, ...],
    skip_first: bool,
    table: AttributeTable,
    grow: bool,
) -> tuple[Offsets, Ints]:
    """Return offsets and attribute ids of some lines; ``skip_first`` skips first tokens."""
    ptr = np.zeros(columns.n_tokens + 1, dtype=np.int64)
    if not lines or not columns.n_tokens:
        return ptr, np.empty(0, dtype=np.int32)
    corpus, compiled = _corpus(columns), _compile(columns, template, lines)
    if grow:
        table.add_source(Expansion(columns, template, lines, ptr))
    keys = np.empty(KEYS_PER_BLOCK, dtype=np.uint64)
    n_window = sum(len(line.cells) for line in lines) * (TOKENS_PER_WINDOW + 2 * (template.reach + 1))
    window, n_keys = np.empty(4 * n_window, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    blocks: list[Ints] = []
    s = 0
    while s < columns.n_sentences:
        done = bindings.encoding_expand_keys(corpus, compiled, skip_first, s, keys, window, ptr, n_keys)
        if done == s:  # not even one sentence fits
            keys = np.empty(2 * len(keys), dtype=np.uint64)
            continue
        found = keys[: n_keys[0]]
        blocks.append(table.intern_more(found) if grow else table.look_up(found))
        s = done
    ids = np.concatenate(blocks)
    if grow:
        return ptr, ids
    known_ptr = np.empty_like(ptr)
    n = bindings.encoding_drop_unknown(ptr, ids, known_ptr)
    return known_ptr, ids[:n].copy()


def _corpus(columns: Columns) -> Any:
    """The ids of all columns as C takes them."""
    cells = np.array([column.ids for column in columns.columns], dtype=np.int32)
    return bindings.Corpus(columns.n_tokens, len(cells), columns.sentence_ptr, cells)


@dataclass(frozen=True, slots=True)
class Plan:
    """The part of a compiled template that does not depend on the text."""

    views: tuple[tuple[int, tuple[CellFunction, ...]], ...]
    fields: dict[str, Any]
    wide: tuple[Line, ...] = ()  # lines with several cells that may each have many values

    @classmethod
    def of(cls, template: Template, lines: tuple[Line, ...]) -> Plan:
        """The plan of some lines, made once a template."""
        key = tuple(line.number for line in lines)
        if key not in template.plans:
            template.plans[key] = cls._make(template, lines)
        found: Plan = template.plans[key]
        return found

    @classmethod
    def _make(cls, template: Template, lines: tuple[Line, ...]) -> Plan:
        cells = [cell for line in lines for cell in line.cells]
        marks = {(cell.column, cell.functions): template.marks(cell) for cell in reversed(cells)}
        views = tuple(dict.fromkeys((cell.column, cell.functions) for cell in cells))
        reach = template.reach + 1
        stride = TOKENS_PER_WINDOW + 2 * reach
        cell_offset = np.array([cell.offset for cell in cells], dtype=np.int64)
        cell_view = np.array([views.index((cell.column, cell.functions)) for cell in cells], dtype=np.int64)
        literal_hash, literal_power = hash_parts([text for line in lines for text in line.literals])
        outside_hash, outside_power = hash_parts([outside_mark(k) for k in range(-reach, reach)])
        fields = {
            "stride": stride,
            "line_ptr": offsets([len(line.cells) for line in lines]),
            "cell_offset": cell_offset,
            "cell_view": cell_view,
            "cell_site": cell_view * stride + reach + cell_offset,
            "view_column": np.array([column for column, _ in views], dtype=np.int64),
            "view_marks": np.array([marks[view] for view in views], dtype=np.int64),
            "literal_hash": literal_hash,
            "literal_power": literal_power,
            "outside_hash": outside_hash,
            "outside_power": outside_power,
        }
        wide = tuple(
            line
            for line in lines
            if sum(any(function.makes_many for function in cell.functions) for cell in line.cells) > 1
        )
        return cls(views, fields, wide)


def _compile(columns: Columns, template: Template, lines: tuple[Line, ...]) -> Any:
    """Apply cell functions to distinct strings; return lines and values as the C structure."""
    plan = Plan.of(template, lines)
    bases, value_ptrs, hashes, powers = [], [], [], []
    n_rows = n_values = 0
    known: dict[int, Mapped] = {}
    for column, functions in plan.views:
        bases.append(n_rows)
        value_ptr, hash_, power = _view(
            columns.columns[column].strings, functions, known.setdefault(column, {})
        )
        value_ptrs.append(value_ptr + n_values)
        hashes.append(hash_)
        powers.append(power)
        n_rows += len(value_ptr)
        n_values += len(hash_)
    if plan.wide:
        sizes = [np.diff(ptr) for ptr in value_ptrs]
        _check_products(columns, template, plan.wide, dict(zip(plan.views, sizes, strict=True)))
    return bindings.TemplateLines(
        view_base=np.array(bases, dtype=np.int64),
        value_ptr=np.concatenate([np.empty(0, dtype=np.int64), *value_ptrs]),
        value_hash=np.concatenate([np.empty(0, dtype=np.uint64), *hashes]),
        value_power=np.concatenate([np.empty(0, dtype=np.uint64), *powers]),
        **plan.fields,
    )


def _check_products(
    columns: Columns,
    template: Template,
    lines: tuple[Line, ...],
    size_of: dict[tuple[int, tuple[CellFunction, ...]], Offsets],
) -> None:
    """Refuse a line that makes too many attributes of one token."""
    begins = np.repeat(columns.sentence_ptr[:-1], np.diff(columns.sentence_ptr))
    for line in lines:
        per_cell = [size_of[cell.column, cell.functions] for cell in line.cells]
        if math.prod(int(size.max(initial=1)) for size in per_cell) <= MOST_VALUES:
            continue
        made = np.ones(columns.n_tokens)
        for cell, size in zip(line.cells, per_cell, strict=True):
            here = np.maximum(np.arange(columns.n_tokens) + cell.offset, 0)
            inside = np.minimum(here, columns.n_tokens - 1)
            of_token = size[columns.columns[cell.column].ids[inside]]
            made *= np.where((begins[inside] == begins) & (here == inside), of_token, 1)
        if made.max() > MOST_VALUES:
            raise InputError(
                f"makes {int(made.max()):,} attributes of one token, more than {MOST_VALUES:,}: fewer cells with "
                "substrings and the like in one line, or shorter ones",
                path=template.path or "template",
                line=line.number,
            )


def _view(
    strings: Sequence[str], functions: tuple[CellFunction, ...], known: Mapped
) -> tuple[Offsets, Fingerprints, Fingerprints]:
    """The values of a chain of functions at each distinct string: offsets, hashes, powers."""
    if not functions:
        return np.arange(len(strings) + 1, dtype=np.int64), *hash_parts(strings)
    if any(function.text == "boundary" for function in functions):  # no values inside a sentence
        return np.zeros(len(strings) + 1, np.int64), np.empty(0, np.uint64), np.empty(0, np.uint64)
    *before, last = functions
    name, _, argument = last.text.partition(":")
    if name in ("prefix", "suffix", "substrings"):
        single = strings if not before else _map_strings(strings, tuple(before), known)
        if single is not None:
            return _slices(single, name, int(argument))
    elif (mapped := _map_strings(strings, functions, known)) is not None:
        return np.arange(len(strings) + 1, dtype=np.int64), *hash_parts(mapped)
    chosen = [apply_chain(functions, string) for string in strings]
    ptr = offsets([len(values) for values in chosen])
    return ptr, *hash_parts([value for values in chosen for value in values])


def _map_strings(
    strings: Sequence[str], functions: tuple[CellFunction, ...], known: Mapped
) -> list[str] | None:
    """Apply functions that make one string of each string; None where others are among them.

    ``known`` keeps the results for other views of the column.
    """
    if functions not in known:
        values = None
        if [function.text for function in functions] == ["lower"]:
            values = list(map(str.lower, strings))
        elif all(function.text.partition(":")[0] in SINGLE for function in functions):
            values = [apply_chain(functions, string)[0] for string in strings]
        known[functions] = values
    return known[functions]


def _slices(strings: Sequence[str], name: str, argument: int) -> tuple[Offsets, Fingerprints, Fingerprints]:
    """Return the values of functions that are slices of the string, as offsets."""
    content, ptr = utf8(strings)
    most = len(strings)
    if name == "substrings":
        lengths = np.array([len(string) for string in strings], dtype=np.int64)
        sizes = lengths * np.minimum(lengths, argument - 1)
        if sizes.max(initial=0) > MOST_VALUES:
            raise too_many(f"{name}:{argument}", strings[int(sizes.argmax())])
        most = int(sizes.sum())
    hashes, powers = np.empty(most, dtype=np.uint64), np.empty(most, dtype=np.uint64)
    value_ptr = np.empty(len(strings) + 1, dtype=np.int64)
    if name == "substrings":
        n = bindings.encoding_hash_substrings(ptr, content, argument - 1, hashes, powers, value_ptr)
    else:
        at_end = name == "suffix"
        n = bindings.encoding_hash_affixes(ptr, content, argument, at_end, hashes, powers, value_ptr)
    return value_ptr, hashes[:n], powers[:n]


def encode_known(X: Any, template: Template | None, table: AttributeTable, longest: int) -> Sequences:
    """Encode sentences with known attributes, and segments up to ``longest`` tokens (0: none)."""
    if not longest or template is None:
        return encode_sentences(X, template, table, grow=False)
    from epigram.features.segments import SegmentEncoder, with_units

    columns = as_columns(X)
    tokens = encode_sentences(columns, template, table, grow=False)
    encoder = SegmentEncoder(columns, template.segments, template.drops_outside)
    return with_units(tokens, encoder, table, longest)[0]
