"""Features given as Python objects, in every form that python-crfsuite's ``ItemSequence`` takes.

A token is a list of names, or a dict: ``{"word": "cat"}`` is the attribute ``word:cat``, a number or bool is
the value of the attribute named by its key, and dicts, lists and sets nest with a colon between the names
(python-crfsuite's own documentation writes ``=`` where its code writes a colon; we do as the code does).
Input is streamed: only the distinct names are kept while it is read. A value of zero is left out.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from epigram.errors import InputError
from epigram.tagging.attributes import AttributeTable, Strings, fingerprints
from epigram.tagging.columns import counting_dict
from epigram.tagging.sequences import Sequences

Token: TypeAlias = Mapping[str, Any] | Iterable[str]


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
    numbers = counting_dict()
    by_key: dict[Any, dict[Any, int]] = {}  # spares the common {"word": "cat"} the making of "word:cat"
    sentence_ptr, attribute_ptr = array("q", [0]), array("q", [0])
    occurrences, unusual, unusual_values = array("i"), array("q"), array("d")
    n_tokens = 0

    def add(features: Token) -> None:
        for name, value in flatten(features):
            if value == 0.0:
                continue
            if value != 1.0:
                unusual.append(len(occurrences))
                unusual_values.append(value)
            occurrences.append(numbers[name])

    for s, sentence in enumerate(sentences):
        for token in sentence:
            try:
                if type(token) is dict:
                    for key, value in token.items():
                        kind = type(value)
                        if kind is str or (kind is bool and value):
                            try:
                                occurrences.append(by_key[key][value])
                            except KeyError:
                                add({key: value})
                                by_key.setdefault(key, {})[value] = occurrences[-1]
                        elif kind is not bool:
                            add({key: value})
                else:
                    add(token)
            except ValueError as error:
                raise InputError(f"sentence {s}, token {n_tokens - sentence_ptr[-1]}: {error}") from None
            attribute_ptr.append(len(occurrences))
            n_tokens += 1
        sentence_ptr.append(n_tokens)
    values = np.ones(len(occurrences) if unusual else 1)
    values[np.array(unusual, dtype=np.int64)] = unusual_values
    local = np.array(occurrences, dtype=np.int32)
    names = list(numbers)
    keys = fingerprints(names)
    if grow:
        counts = np.bincount(local, minlength=len(names)).astype(np.int64)
        ids = table.intern(keys, Strings(names), counts)
    else:
        ids = table.look_up(keys)
    whole = Sequences.of(sentence_ptr, attribute_ptr, local, values)
    return whole.renumber(ids)


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
