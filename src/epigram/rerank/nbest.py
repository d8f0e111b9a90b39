"""N-best lists as arrays: the candidates of all lists end to end, with offsets.

A list has an id, perhaps a reference, and candidates; a candidate has tokens, a text, a base score (log
probability, higher is better), perhaps named features, tags and a number of errors. Errors are edit
distances to the reference (Er of Gao et al. 2006, section 2) unless the input gives them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets, ranges
from epigram.errors import InputError
from epigram.files import check_text, counting_dict
from epigram.protocols import Floats, Ints, Offsets

MEASURES = ("cer", "wer")


@dataclass(slots=True)
class NBest:
    """Set of n-best lists; made by :func:`epigram.rerank.read_nbest` or :meth:`from_lists`.

    Examples
    --------
    >>> lists = NBest.from_lists([{"reference": "a b", "candidates": [
    ...     {"tokens": ["a", "c"], "score": -1.0}, {"text": "a b", "score": -2.0}]}])
    >>> len(lists), lists.n_candidates, lists.errors("cer").tolist(), lists.oracle("cer").tolist()
    (1, 2, [1.0, 0.0], [1])
    """

    ids: list[str]
    list_ptr: Offsets = field(repr=False)
    vocabulary: list[str] = field(repr=False)
    tokens: Ints = field(repr=False)
    token_ptr: Offsets = field(repr=False)
    scores: Floats = field(repr=False)
    texts: list[str] = field(repr=False)
    references: list[tuple[str, list[str]] | None] = field(repr=False)
    given_errors: Floats = field(repr=False)
    names: list[str] = field(repr=False)
    named_ptr: Offsets = field(repr=False)
    named: Ints = field(repr=False)
    named_values: Floats = field(repr=False)
    tags: list[list[str] | None] = field(repr=False)
    _errors: dict[str, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def from_lists(cls, lists: Iterable[Mapping[str, Any]], path: str | PathLike[str] | None = None) -> NBest:
        """Make lists from dictionaries as in the JSON lines format; errors name the list number."""
        builder = Builder(path)
        for number, record in enumerate(lists, 1):
            builder.add_record(record, number)
        return builder.build()

    @classmethod
    def joined(cls, parts: Sequence[NBest]) -> NBest:
        """Concatenate sets of lists.

        Examples
        --------
        >>> lists = NBest.from_lists([{"id": x, "candidates": [{"text": x, "score": 0}]} for x in "abc"])
        >>> NBest.joined([lists[2], lists[:2]]).texts
        ['c', 'a', 'b']
        """
        vocabulary, names = counting_dict(), counting_dict()
        words = [np.array([vocabulary[word] for word in part.vocabulary], np.int32) for part in parts]
        named = [np.array([names[name] for name in part.names], np.int32) for part in parts]
        tags = [tags for part in parts for tags in part.tags or [None] * part.n_candidates]

        def each(name: str) -> list[Any]:
            return [getattr(part, name) for part in parts]

        ends = ("list_ptr", "token_ptr", "named_ptr")
        columns: dict[str, Any] = {
            **{name: offsets(np.concatenate([np.diff(ptr) for ptr in each(name)])) for name in ends},
            **{name: np.concatenate(each(name)) for name in ("scores", "given_errors", "named_values")},
            **{name: list(chain.from_iterable(each(name))) for name in ("ids", "texts", "references")},
        }
        return cls(
            vocabulary=list(vocabulary),
            tokens=_chained([ours[part.tokens] for ours, part in zip(words, parts, strict=True)]),
            names=list(names),
            named=_chained([ours[part.named] for ours, part in zip(named, parts, strict=True)]),
            tags=tags if any(each("tags")) else [],
            **columns,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, which: int | slice) -> NBest:
        """Return one list, or a range of them, as NBest."""
        chosen = range(len(self))[which]
        return self.take([chosen] if isinstance(chosen, int) else chosen)

    @property
    def n_candidates(self) -> int:
        """Candidates of all lists together."""
        return len(self.scores)

    @property
    def list_of(self) -> Ints:
        """The list of each candidate."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.list_ptr))

    def words(self, candidate: int) -> list[str]:
        """Tokens of one candidate, counted over all lists."""
        span = self.tokens[self.token_ptr[candidate] : self.token_ptr[candidate + 1]]
        return [self.vocabulary[token] for token in span.tolist()]

    def errors(self, measure: str = "cer") -> Floats:
        """Errors of every candidate: as given, else by edit distance in characters or words."""
        if measure not in MEASURES:
            raise InputError(f"unknown measure {measure!r}; use one of {', '.join(MEASURES)}")
        if measure not in self._errors:
            self._errors[measure] = self._count_errors(measure)
        return self._errors[measure]

    def _count_errors(self, measure: str) -> Floats:
        out = self.given_errors.copy()
        starts = self.list_ptr.tolist()
        for i, reference in enumerate(self.references):
            first, last = starts[i], starts[i + 1]
            if reference is None:
                if np.isnan(out[first:last]).any():
                    raise InputError(
                        f"list {self.ids[i]!r} has neither a reference nor errors for every candidate"
                    )
                continue
            text, words = reference
            for c in range(first, last):
                if not math.isnan(out[c]):
                    continue
                if measure == "cer":
                    out[c] = edit_distance(_squeezed(self.texts[c]), text)
                else:
                    out[c] = edit_distance(self.words(c), words)
        return out

    def lengths(self, measure: str = "cer") -> Floats:
        """Length of each reference in characters or words; without a reference that of the oracle."""
        out = np.empty(len(self))
        oracle: Offsets | None = None
        for i, reference in enumerate(self.references):
            if reference is not None:
                out[i] = len(reference[0]) if measure == "cer" else len(reference[1])
                continue
            oracle = self.oracle(measure) if oracle is None else oracle
            c = int(oracle[i])
            out[i] = len(_squeezed(self.texts[c])) if measure == "cer" else len(self.words(c))
        return out

    def oracle(self, measure: str = "cer") -> Offsets:
        """Candidate with the fewest errors of each list; ties go to the best scored, then the first."""
        order = np.lexsort((-self.scores, self.errors(measure), self.list_of))
        return order[self.list_ptr[:-1]].astype(np.int64)

    def choose(self, scores: Floats) -> Offsets:
        """Index within its list of the candidate with the highest score; the first of equals.

        Examples
        --------
        >>> lists = NBest.from_lists([{"candidates": [{"text": x, "score": 0} for x in "abc"]}])
        >>> lists.choose(np.array([1.0, 2.0, 2.0])).tolist()
        [1]
        """
        out = np.empty(len(self), np.int64)
        bindings.rerank_best_of_lists(self.list_ptr, scores, out)
        return out

    def with_features(self, features: Mapping[str, Floats]) -> NBest:
        """Add named features: a value for every candidate of all lists.

        Examples
        --------
        >>> lists = NBest.from_lists([{"candidates": [{"text": x, "score": 0} for x in "ab"]}])
        >>> lists.with_features({"length": np.array([3.0, 4.0])}).named_values.tolist()
        [3.0, 4.0]
        """
        for name, values in features.items():
            if name in self.names:
                raise InputError(f"the lists have a feature {name!r} already")
            if len(values) != self.n_candidates or not np.isfinite(values).all():
                raise InputError(
                    f"feature {name!r} needs a finite number for each of {self.n_candidates} candidates"
                )
        owner = np.repeat(np.arange(self.n_candidates), np.diff(self.named_ptr))
        n, first = self.n_candidates, len(self.names)
        owners = np.concatenate([owner, *[np.arange(n)] * len(features)])
        order = np.argsort(owners, kind="stable")
        numbers = [np.full(n, first + k, np.int32) for k in range(len(features))]
        return replace(
            self,
            names=[*self.names, *features],
            named_ptr=offsets(np.diff(self.named_ptr) + len(features)),
            named=np.concatenate([self.named, *numbers])[order].astype(np.int32),
            named_values=np.concatenate([self.named_values, *features.values()])[order],
        )

    def take(self, lists: Sequence[int]) -> NBest:
        """Select lists by index, in the order given; repetitions are allowed.

        Examples
        --------
        >>> both = NBest.from_lists([{"id": x, "candidates": [{"text": x, "score": 0}]} for x in "ab"])
        >>> both.take([1, 1, 0]).ids
        ['b', 'b', 'a']
        """
        chosen = np.asarray(lists, dtype=np.int64)
        candidates = ranges(self.list_ptr[chosen], self.list_ptr[chosen + 1])
        spans = ranges(self.token_ptr[candidates], self.token_ptr[candidates + 1])
        named = ranges(self.named_ptr[candidates], self.named_ptr[candidates + 1])
        return NBest(
            ids=[self.ids[i] for i in chosen],
            list_ptr=offsets(np.diff(self.list_ptr)[chosen]),
            vocabulary=self.vocabulary,
            tokens=self.tokens[spans],
            token_ptr=offsets(np.diff(self.token_ptr)[candidates]),
            scores=self.scores[candidates],
            texts=[self.texts[c] for c in candidates],
            references=[self.references[i] for i in chosen],
            given_errors=self.given_errors[candidates],
            names=self.names,
            named_ptr=offsets(np.diff(self.named_ptr)[candidates]),
            named=self.named[named],
            named_values=self.named_values[named],
            tags=[self.tags[c] for c in candidates] if self.tags else [],
            _errors={measure: errors[candidates] for measure, errors in self._errors.items()},
        )


class Builder:
    """Builder of NBest: all readers add and validate lists through it."""

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = path
        self.ids: list[str] = []
        self.references: list[tuple[str, list[str]] | None] = []
        self.sizes: list[int] = []
        self.vocabulary = counting_dict()
        self.tokens: list[int] = []
        self.token_counts: list[int] = []
        self.scores: list[float] = []
        self.texts: list[str] = []
        self.errors: list[float] = []
        self.names: dict[str, int] = {}
        self.named: list[int] = []
        self.named_values: list[float] = []
        self.named_counts: list[int] = []
        self.tags: list[list[str] | None] = []
        self.any_tags = False

    def fail(self, message: str, line: int | None) -> InputError:
        """Error of an invalid list."""
        return InputError(message, path=self.path, line=line)

    def begin(self, id: str, text: str | None, words: list[str] | None) -> None:
        """Start a list; ``text`` and ``words`` are its reference."""
        self.ids.append(id)
        self.sizes.append(0)
        self.references.append(None if text is None else (_squeezed(text), words or []))

    def candidate(
        self,
        words: list[str],
        score: float,
        line: int | None,
        named: Mapping[str, float] | None = None,
        text: str | None = None,
        errors: float = math.nan,
        tags: list[str] | None = None,
    ) -> None:
        """Add a candidate to the list begun last; without a text it is that of the words."""
        if not math.isfinite(score):
            raise self.fail(f"candidate {self.sizes[-1] + 1}: score is {score}, not a finite number", line)
        self.tokens.extend(map(self.vocabulary.__getitem__, words))
        self.token_counts.append(len(words))
        self.scores.append(score)
        self.texts.append(" ".join(words) if text is None else text)
        self.errors.append(errors)
        self.tags.append(tags)
        self.any_tags = self.any_tags or tags is not None
        self.sizes[-1] += 1
        self.named_counts.append(len(named) if named else 0)
        for name, value in (named or {}).items():
            self.named.append(self.names.setdefault(name, len(self.names)))
            self.named_values.append(value)

    def add_record(self, record: Any, line: int | None) -> None:
        """One list as a dictionary of the JSON lines format."""
        if not isinstance(record, Mapping):
            raise self.fail(f"expected a JSON object with 'candidates', found {_kind(record)}", line)
        candidates = record.get("candidates")
        if not isinstance(candidates, list) or not candidates:
            raise self.fail("'candidates' is missing or empty; a list needs at least one candidate", line)
        reference = record.get("reference")
        if reference is not None and not isinstance(reference, str) and not _is_words(reference):
            raise self.fail(
                f"'reference' must be a string or a list of strings, not {_kind(reference)}", line
            )
        words = reference.split() if isinstance(reference, str) else reference
        text = reference if isinstance(reference, str) or reference is None else "".join(reference)
        self.begin(str(record.get("id", len(self.ids) + 1)), text, words)
        for number, candidate in enumerate(candidates, 1):
            if not isinstance(candidate, Mapping):
                raise self.fail(f"candidate {number}: expected an object, found {_kind(candidate)}", line)
            self._add_candidate(candidate, f"candidate {number}: ", line)

    def _add_candidate(self, candidate: Mapping[str, Any], place: str, line: int | None) -> None:
        words, text = candidate.get("tokens"), candidate.get("text")
        if words is None and text is None:
            raise self.fail(f"{place}needs 'tokens' or 'text'", line)
        if text is not None and not isinstance(text, str):
            raise self.fail(f"{place}'text' must be a string, not {_kind(text)}", line)
        if words is None:
            words = str(text).split()
        elif not _is_words(words):
            raise self.fail(f"{place}'tokens' must be a list of strings", line)
        if "score" not in candidate:
            raise self.fail(f"{place}'score' is missing", line)
        named = candidate.get("features") or {}
        if not isinstance(named, Mapping):
            raise self.fail(f"{place}'features' must be an object, not {_kind(named)}", line)
        tags = candidate.get("tags")
        if tags is not None and not (_is_words(tags) and len(tags) == len(words)):
            raise self.fail(f"{place}'tags' must be a list of strings, one for each token", line)
        errors = candidate.get("errors")
        self.candidate(
            words,
            self._number(candidate["score"], f"{place}'score'", line),
            line,
            {name: self._number(value, f"{place}feature {name!r}", line) for name, value in named.items()},
            text,
            math.nan if errors is None else self._number(errors, f"{place}'errors'", line, least=0),
            tags,
        )

    def _number(self, value: Any, what: str, line: int | None, least: float = -math.inf) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(f"{what} must be a number, not {_kind(value)}", line)
        if not (math.isfinite(value) and value >= least):
            raise self.fail(f"{what} is {value}; it must be finite" + (" and >= 0" * (least == 0)), line)
        return float(value)

    def parse_number(self, text: str, what: str, line: int | None) -> float:
        """Parse a number of a text file."""
        try:
            return float(text)
        except ValueError:
            raise self.fail(f"{what} must be a number, not {text!r}", line) from None

    def build(self) -> NBest:
        """Make the NBest."""
        check_text(self.vocabulary)
        check_text(self.names)
        return NBest(
            ids=self.ids,
            list_ptr=offsets(self.sizes),
            vocabulary=list(self.vocabulary),
            tokens=np.array(self.tokens, dtype=np.int32),
            token_ptr=offsets(self.token_counts),
            scores=np.array(self.scores, dtype=np.float64),
            texts=self.texts,
            references=self.references,
            given_errors=np.array(self.errors, dtype=np.float64),
            names=list(self.names),
            named_ptr=offsets(self.named_counts),
            named=np.array(self.named, dtype=np.int32),
            named_values=np.array(self.named_values, dtype=np.float64),
            tags=self.tags if self.any_tags else [],
        )


def _chained(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts).astype(np.int32)


def _squeezed(text: str) -> str:
    """Text without white space, which character errors ignore."""
    return "".join(text.split())


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def edit_distance(first: str | Sequence[str], second: str | Sequence[str]) -> int:
    """Edit distance (insertions, deletions, substitutions) of characters or words.

    Examples
    --------
    >>> edit_distance("sitting", "kitten"), edit_distance(["the", "cat"], ["cat"])
    (3, 1)
    """
    if isinstance(first, str) and isinstance(second, str):
        a, b = _characters(first), _characters(second)
    else:
        number: dict[str, int] = {}
        a, b = (
            np.array([number.setdefault(word, len(number)) for word in words], dtype=np.int32)
            for words in (first, second)
        )
    return int(bindings.distance_levenshtein(a, b, np.empty(b.size + 1, dtype=np.int64)))


def _characters(text: str) -> Ints:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.int32)
