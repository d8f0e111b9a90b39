"""Bodies of requests as dataclasses: checked when they are read, described in the OpenAPI document.

One source for both: the annotations. ``Annotated[str, Longest(20)]`` bounds a string, and a list in the
same way, ``Annotated[int, Between(1, 9)]`` a number. A default makes a field optional. Unknown fields are refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from epigram.serve.errors import Refusal

T = TypeVar("T")
Check = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Longest:
    """At most so many characters, or items."""

    most: int


@dataclass(frozen=True)
class Between:
    """A number from ``low`` to ``high``, both included."""

    low: float
    high: float


def parse(raw: bytes) -> Any:
    """JSON as the standard has it: UTF-8, no NaN, not endlessly nested."""
    try:
        return _DECODER.decode(raw.decode())
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def read(kind: type[T], value: Any) -> T:
    """A body of this dataclass; a Refusal names the field that does not fit."""
    made: T = _checker(kind)(value, "")  # type: ignore[arg-type]
    return made


@cache
def _checker(kind: Any) -> Check:
    """The function that checks values of a type and says what is wrong."""
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _record_checker(kind)
    if origin is Annotated:
        inner, *bounds = get_args(kind)
        return _bounded(_checker(inner), bounds)
    if origin is Literal:
        return _one_of(get_args(kind))
    if origin in (Union, types.UnionType):
        return _any_of([_checker(part) for part in get_args(kind)], schema(kind))
    if origin is list:
        return _list_of(_checker(get_args(kind)[0]))
    if origin is dict:
        return _map_of(_checker(get_args(kind)[1]))
    return {str: _text, int: _integer, float: _number, bool: _truth, type(None): _nothing}[kind]


def _record_checker(kind: Any) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name: (_checker(hints[field.name]), field) for field in dataclasses.fields(kind)}
    needed = [
        name for name, (_, f) in fields.items() if f.default is MISSING and f.default_factory is MISSING
    ]

    def check(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise Refusal(422, f"expected an object, not {_shown(value)}", place or None)
        found = {}
        for name, item in value.items():
            if name not in fields:
                known = ", ".join(fields)
                raise Refusal(422, f"unknown field {name[:40]!r}; there are {known}", place or None)
            found[name] = fields[name][0](item, f"{place}.{name}" if place else name)
        for name in needed:
            if name not in found:
                raise Refusal(422, f"the field {name!r} is missing", place or None)
        return kind(**found)

    return check


def _bounded(inner: Check, bounds: list[Any]) -> Check:
    def check(value: Any, place: str) -> Any:
        for bound in bounds:
            if isinstance(bound, Longest) and isinstance(value, str | list) and len(value) > bound.most:
                what = "characters" if isinstance(value, str) else "items"
                raise Refusal(413, f"{len(value):,} {what}; at most {bound.most:,} are taken", place)
        found = inner(value, place)
        for bound in bounds:
            if isinstance(bound, Between) and not bound.low <= found <= bound.high:
                raise Refusal(422, f"expected a number from {bound.low:g} to {bound.high:g}", place)
        return found

    if inner is _text:
        _SHORT[check] = min(bound.most for bound in bounds)
    return check


_SHORT: dict[Check, int] = {}
"""Checks that take any string up to a length: a list of such is checked as a whole first."""


def _one_of(choices: tuple[Any, ...]) -> Check:
    def check(value: Any, place: str) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise Refusal(422, f"expected one of {', '.join(choices)}, not {_shown(value)}", place)
        return value

    return check


def _any_of(parts: list[Check], described: dict[str, Any]) -> Check:
    def check(value: Any, place: str) -> Any:
        refused: Refusal | None = None
        for part in parts:
            try:
                return part(value, place)
            except Refusal as error:
                inner = error.field is not None and len(error.field) > len(place)
                if refused is None or inner or error.status == 413:  # the one that came furthest
                    refused = error
        assert refused is not None, described
        raise refused

    if parts[0] in _SHORT:
        _SHORT[check] = _SHORT[parts[0]]
    return check


def _list_of(inner: Check) -> Check:
    most = _SHORT.get(inner, 0)

    def check(value: Any, place: str) -> Any:
        if not isinstance(value, list):
            raise Refusal(422, f"expected a list, not {_shown(value)}", place)
        if most and set(map(type, value)) == {str} and max(map(len, value)) <= most:
            _text("".join(value), place)
            return value
        return [inner(item, f"{place}[{k}]") for k, item in enumerate(value)]

    return check


def _map_of(inner: Check) -> Check:
    def check(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise Refusal(422, f"expected an object, not {_shown(value)}", place)
        return {_text(name, place): inner(item, f"{place}.{name[:40]}") for name, item in value.items()}

    return check


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise Refusal(422, f"expected a string, not {_shown(value)}", place)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refusal(422, "half a surrogate pair is no text", place) from None
    return value


def _integer(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refusal(422, f"expected a whole number, not {_shown(value)}", place)
    if abs(value) >= 1 << 53:
        raise Refusal(422, "this number is too large", place)
    return value


def _number(value: Any, place: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Refusal(422, f"expected a number, not {_shown(value)}", place)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Refusal(422, "this number is too large", place)
    return found


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise Refusal(422, f"expected true or false, not {_shown(value)}", place)
    return value


def _nothing(value: Any, place: str) -> None:
    if value is not None:
        raise Refusal(422, f"expected null, not {_shown(value)}", place)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else text[:37] + "..."


_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}


def schema(kind: Any, references: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema of a type; dataclasses become references where ``references`` collects them."""
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        if references is None:
            return _record_schema(kind, references)
        if kind.__name__ not in references:
            references[kind.__name__] = {}
            references[kind.__name__] = _record_schema(kind, references)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    if origin is Annotated:
        inner, *bounds = get_args(kind)
        found = dict(schema(inner, references))
        for bound in bounds:
            if isinstance(bound, Longest):
                found["maxLength" if found.get("type") == "string" else "maxItems"] = bound.most
            elif isinstance(bound, Between):
                found |= {"minimum": bound.low, "maximum": bound.high}
        return found
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(part, references) for part in get_args(kind)]}
    if origin is list:
        return {"type": "array", "items": schema(get_args(kind)[0], references)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(get_args(kind)[1], references)}
    return _SCHEMAS[kind]


def _record_schema(kind: type, references: dict[str, Any] | None) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    properties, needed = {}, []
    for field in dataclasses.fields(kind):
        properties[field.name] = dict(schema(hints[field.name], references))
        if field.default is not MISSING:
            properties[field.name]["default"] = field.default
        elif field.default_factory is MISSING:
            needed.append(field.name)
    described = {"description": (kind.__doc__ or "").partition("\n")[0]}
    return {
        "type": "object",
        **described,
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }
