"""Generates the Python bindings of the C core from its headers.

:func:`parse` reads the headers of ``src/epigram/_core``; :func:`emit_python` and :func:`emit_stub` write what it found
as ``bindings.py`` and ``bindings.pyi``. A prototype whose name starts with the name of its header is for Python, and so
are the structures that such prototypes take; the others are for other C files. From ``f64 vectors_dot(i64 n, const f64
x[n], const f64 y[n]);`` in ``vectors.h`` comes ``vectors_dot(x, y)``. A length that an array determines (``n``,
``n + 1``, ``2 * n``) is no argument of the Python function; arrays that share it must agree, and so must the field of
that name of the first structure among the arguments that has one. All other lengths (``n * width``, ``tree->n_nodes``)
are lower bounds.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NUMBERS = ("f64", "f32", "i64", "i32", "i16", "u64", "u32", "u16", "u8")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
_FUNCTION = re.compile(r"^(\w+) (\w+)\(([^)]*)\);", re.MULTILINE)
_PARAMETER = re.compile(r"(const )?(\w+) (\*)?(\w+)(?:\[(.+)\])?$")
_FIELD = re.compile(r"(const )?(\w+) (\*)?(\w+);(?:\s*/\* \[(.*?)\] \*/)?")
_LINEAR = re.compile(r"(?:(\d+) \* )?([A-Za-z_]\w*)(?: \+ (\d+))?$")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a prototype, or one field of a structure; ``length`` is None where it is no array."""

    name: str
    kind: str
    is_const: bool
    length: str | None

    @property
    def is_struct(self) -> bool:
        """Whether the kind is a structure."""
        return self.kind not in NUMBERS and self.kind != "char"

    @property
    def is_array(self) -> bool:
        """Whether it is an array of numbers."""
        return self.kind in NUMBERS and self.length is not None

    @property
    def size(self) -> str:
        """Python expression of the number of elements; ``char`` arrays are bytes in Python."""
        return f"len({self.name})" if self.kind == "char" else f"{self.name}.size"

    @property
    def passed(self) -> str:
        """The Python variable that C gets."""
        return f"{self.name}_" if self.is_struct or self.is_array else self.name


@dataclass(frozen=True)
class Signature:
    """A prototype (``result`` is the kind of what it returns) or a structure (``result`` is empty)."""

    header: str
    name: str
    result: str
    parameters: tuple[Parameter, ...]
    filled: dict[str, list[tuple[Parameter, int, int]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Find the lengths that arrays determine: of each, the arrays with their factor and summand, best first."""
        integers = {p.name for p in self.parameters if p.kind == "i64" and p.length is None}
        for p in self.parameters:
            found = _LINEAR.match(p.length or "")
            if found and found[2] in integers:
                self.filled.setdefault(found[2], []).append((p, int(found[1] or 1), int(found[3] or 0)))
        for users in self.filled.values():
            users.sort(key=lambda user: user[1:] != (1, 0))  # n itself before n + 1

    @property
    def names(self) -> set[str]:
        """The names of all parameters."""
        return {p.name for p in self.parameters}

    @property
    def given(self) -> list[Parameter]:
        """The parameters that Python hands over."""
        return [p for p in self.parameters if p.name not in self.filled]


@dataclass(frozen=True)
class Headers:
    """What Python may use of the C core; load.py refuses a library whose headers had another checksum."""

    digest: int
    structs: dict[str, Signature]
    functions: dict[str, Signature]


def parse(folder: Path) -> Headers:
    """Read all headers of a folder; ValueError where one is not as Python needs it."""
    raw = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.h"))}
    texts = {header: content.decode() for header, content in raw.items()}
    bodies = {name: (header, body) for header, text in texts.items() for body, name in _STRUCT.findall(text)}
    functions, used = {}, {}
    for header, text in texts.items():
        for result, name, arguments in _FUNCTION.findall(_COMMENT.sub("", text)):
            if name.startswith(f"{header}_"):
                parameters = tuple(_parameters(f"{header}.h: {name}", arguments, bodies))
                functions[name] = Signature(header, name, result, parameters)
                used |= {p.kind: bodies[p.kind] for p in parameters if p.is_struct}
    structs = {
        name: Signature(header, name, "", tuple(_fields(f"{header}.h: {name}", body)))
        for name, (header, body) in sorted(used.items())
    }
    return Headers(zlib.crc32(b"".join(raw.values())), structs, functions)


def _parameters(what: str, arguments: str, structs: dict[str, tuple[str, str]]) -> Iterator[Parameter]:
    for text in (" ".join(part.split()) for part in arguments.split(",")):
        if text == "void":
            continue
        found = _PARAMETER.match(text)
        if found is None or found[2] not in (*NUMBERS, "char", *structs):
            raise ValueError(f"{what}: cannot read the parameter {text!r}")
        const, kind, star, name, length = found.groups()
        if star and kind not in structs:
            raise ValueError(f"{what}: the pointer {name} has no length; write {kind} {name}[...]")
        yield Parameter(name, kind, bool(const), length)


def _fields(what: str, body: str) -> Iterator[Parameter]:
    for const, kind, star, name, length in _FIELD.findall(body):
        if kind not in NUMBERS:
            raise ValueError(f"{what}: cannot read the field {kind} {name}")
        if star and not length:
            raise ValueError(f"{what}: the pointer {name} has no length; write /* [...] */ after it")
        yield Parameter(name, kind, bool(const), length if star else None)


def emit_python(headers: Headers) -> str:
    """The text of bindings.py."""
    kinds = ", ".join(NUMBERS)
    parts = [
        '"""Checked calls of the C core. Generated from its headers by hatch_bindings.py: do not edit."""\n\n'
        f"from epigram._core.checks import address, disagree, misfit, negative, short, {kinds}\n"
        "from epigram._core.load import Structure, declare, layout, library\n\n"
        f"C = library(0x{headers.digest:08x})\n"
    ]
    parts += [_emit_struct(struct) for struct in headers.structs.values()]
    parts += [_emit_function(function, headers.structs) for function in headers.functions.values()]
    return "\n".join(parts)


def _emit_function(function: Signature, structs: dict[str, Signature]) -> str:
    types = " ".join("*" if p.is_struct or p.is_array else p.kind for p in function.parameters)
    return (
        f"\ndeclare(C.{function.name}, {function.result!r}, {types!r})\n\n\n"
        f"def {function.name}({', '.join(p.name for p in function.given)}):  # {function.header}.h\n"
        + "".join(f"    {line}\n" for line in _checks(function, f"{function.name}: ", structs))
        + f"    return C.{function.name}({', '.join(p.passed for p in function.parameters)})\n"
    )


def _emit_struct(struct: Signature) -> str:
    types = " ".join(f"{p.name}:{'*' if p.is_array else p.kind}" for p in struct.parameters)
    integers = [p.name for p in struct.given if p.length is None and p.kind[0] != "f"]
    lines = [f"{name} = int({name})" for name in integers]
    lines += _checks(struct, f"{struct.name}.", {})
    fields = ", ".join(p.passed for p in struct.parameters)
    arrays = ", ".join(p.name for p in struct.parameters if p.is_array)
    lines.append(f"self.keep(_{struct.name}({fields}), [{arrays}])")
    return (
        f"\n_{struct.name} = layout({struct.name!r}, {types!r})\n\n\n"
        f"class {struct.name}(Structure):  # {struct.header}.h\n    __slots__ = ()\n\n"
        f"    def __init__(self, {', '.join(p.name for p in struct.given)}):\n"
        + "".join(f"        {line}\n" for line in lines)
    )


def _checks(signature: Signature, what: str, structs: dict[str, Signature]) -> list[str]:
    """Python lines that check all arrays, compute the lengths and compare them."""
    lines, lengths = [], {}
    for p in signature.parameters:
        if p.is_struct:
            lines.append(
                f"{p.passed} = {p.name}._at if type({p.name}) is {p.kind} else misfit({p.name}, {p.kind})"
            )
        elif p.is_array:
            lines.append(f"{p.passed} = address({p.name}, {p.kind}, {not p.is_const}, {what + p.name!r})")
        if p.length is not None:
            lengths[p] = p.length.replace("->", "._c.")
    for size, users in signature.filled.items():
        first, factor, summand = users[0]
        value = f"({first.size} - {summand})" if summand else first.size
        lines.append(f"{size} = {value}" + (f" // {factor}" if factor > 1 else ""))
        wrong = [f"{size} < 0"] if summand else []
        wrong += [f"{p.size} != {lengths[p]}" for p, *_ in (users if factor > 1 else users[1:])]
        sizes = [f"{p.name}={p.size}" for p, *_ in users]
        shapes = [f"{p.name}[{p.length}]" for p, *_ in users]
        owners = (p for p in signature.parameters if p.kind in structs)
        owner = next((p.name for p in owners if size in structs[p.kind].names), None)
        if owner is not None:
            wrong.append(f"{size} != {owner}._c.{size}")
            sizes.append(f"{owner}={owner}._c.{size}")
            shapes.append(f"{owner}->{size}")
        if wrong:
            shown = f"{signature.name}: {', '.join(shapes)}"
            lines += [f"if {' or '.join(wrong)}:", f"    disagree({shown!r}, {', '.join(sizes)})"]
        for p, *_ in users:
            del lengths[p]
    words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\w+\._c\.\w+", "", " ".join(lengths.values()))))
    explicit = [p.name for p in signature.given if p.length is None and p.name in words]
    if explicit:
        sizes = ", ".join(f"{size}={size}" for size in explicit)
        test = " or ".join(f"{size} < 0" for size in explicit)
        lines += [f"if {test}:", f"    negative({signature.name!r}, {sizes})"]
    for p, length in lengths.items():
        lines += [f"if {p.size} < {length}:", f"    short({what + p.name!r}, {p.size}, {length})"]
    return lines


def emit_stub(headers: Headers) -> str:
    """The text of bindings.pyi."""
    aliases = {
        kind: f"NDArray[np.{ {'f': 'float', 'i': 'int', 'u': 'uint'}[kind[0]] }{kind[1:]}]"
        for kind in NUMBERS
    }
    aliases["u8"] += " | NDArray[np.bool_]"
    lines = [
        "# Generated by hatch_bindings.py: do not edit.",
        "from typing import Any, TypeAlias\n\nimport numpy as np\nfrom numpy.typing import NDArray\n",
        "from epigram._core.load import Structure\n",
        "_Integer: TypeAlias = int | np.integer[Any]",
        "_Float: TypeAlias = float | np.floating[Any]",
        *(f"_{kind}: TypeAlias = {alias}" for kind, alias in aliases.items()),
    ]
    for struct in headers.structs.values():
        lines += ["", f"class {struct.name}(Structure):"]
        lines += [f"    def __init__(self, {_typed(struct)}) -> None: ..."]
    results = {"void": "None"} | {kind: "float" if kind[0] == "f" else "int" for kind in NUMBERS}
    lines += [""]
    lines += [f"def {f.name}({_typed(f)}) -> {results[f.result]}: ..." for f in headers.functions.values()]
    return "\n".join(lines) + "\n"


def _typed(signature: Signature) -> str:
    def hint(p: Parameter) -> str:
        if p.is_struct:
            return p.kind
        if p.kind == "char":
            return "bytes"
        return f"_{p.kind}" if p.is_array else "_Float" if p.kind[0] == "f" else "_Integer"

    return ", ".join(f"{p.name}: {hint(p)}" for p in signature.given)


_BYTES = {kind: int(kind[1:]) // 8 for kind in NUMBERS}


def emit_javascript(headers: Headers, words: set[str]) -> str:
    """The text of bindings.mjs: checked calls of those functions and structures that are among some words.

    An array is ``{at, n, kind}``, a structure ``{at}`` with its integers. Structures are laid out as wasm32 has them:
    four bytes a pointer, every field aligned to its size. Names with $ are those of no parameter.
    """
    structs = [struct for name, struct in headers.structs.items() if name in words]
    functions = [function for name, function in headers.functions.items() if name in words]
    lines = [
        "// Generated by hatch_bindings.py from the headers of the C core: do not edit.",
        f"export const HEADERS = {headers.digest};",
        "export const bindings = ($x, $m) => ({",
        *(line for struct in structs for line in _javascript_struct(struct)),
        *(line for function in functions for line in _javascript_function(function, headers.structs)),
        "});",
    ]
    return "\n".join(lines) + "\n"


def _javascript_struct(struct: Signature) -> Iterator[str]:
    given = ", ".join(f"{p.name} = {'NONE' if p.is_array else 0}" for p in struct.given)
    yield f"  {struct.name}({{ {given} }}) {{"
    yield from (f"    {line}" for line in _javascript_checks(struct, {}))
    places, size = [], 0
    for p in struct.parameters:
        n = 4 if p.is_array else _BYTES[p.kind]
        size = -(-size // n) * n
        value = f'$m.of({p.name}, "{p.kind}")' if p.is_array else p.name
        places.append(f'[{size}, "{"u32" if p.is_array else p.kind}", {value}]')
        size += n
    kept = ", ".join(p.name for p in struct.parameters if not p.is_array)
    yield f"    return $m.structure({-(-size // 8) * 8}, [{', '.join(places)}], {{ {kept} }});"
    yield "  },"


def _javascript_function(function: Signature, structs: dict[str, Signature]) -> Iterator[str]:
    yield f"  {function.name}({', '.join(p.name for p in function.given)}) {{"
    yield from (f"    {line}" for line in _javascript_checks(function, structs))

    def passed(p: Parameter) -> str:
        if p.is_array:
            return f'$m.of({p.name}, "{p.kind}")'
        if p.is_struct:
            return f"{p.name}.at"
        return f"{'BigInt' if p.kind in ('i64', 'u64') else 'Number'}({p.name})"

    call = f"$x.{function.name}({', '.join(map(passed, function.parameters))})"
    result = {"void": call, "i64": f"Number({call})", "u64": f"Number({call})"}.get(function.result, call)
    yield f"    return {result};\n  }},"


def _javascript_checks(signature: Signature, structs: dict[str, Signature]) -> Iterator[str]:
    lengths = {p: p.length.replace("->", ".") for p in signature.parameters if p.length is not None}
    wrong = []
    for size, users in signature.filled.items():
        first, factor, summand = users[0]
        whole = f"{first.name}.n" + (f" - {summand}" if summand else "")
        yield f"const {size} = " + (f"({whole}) / {factor};" if factor > 1 else f"{whole};")
        wrong += [f"{p.name}.n !== {lengths.pop(p)}" for p, *_ in users if p is not first or factor > 1]
        lengths.pop(first, None)
        owner = next(
            (p.name for p in signature.parameters if p.kind in structs and size in structs[p.kind].names),
            None,
        )
        if owner is not None:
            wrong.append(f"{size} !== {owner}.{size}")
    wrong += [f"{p.name}.n < {length}" for p, length in lengths.items()]
    if wrong:
        yield f'if ({" || ".join(wrong)}) $m.misfit("{signature.name}");'


def write(folder: Path, out: Path) -> Headers:
    """Write bindings.pyi and bindings.py of the headers of a folder; returns what they say."""
    headers = parse(folder)
    (out / "bindings.pyi").write_text(emit_stub(headers), "utf-8")
    (out / "bindings.py").write_text(emit_python(headers), "utf-8")
    return headers
