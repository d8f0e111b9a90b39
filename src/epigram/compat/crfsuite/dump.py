"""Lists the weights of a CRFsuite model as dicts and as the text of ``crfsuite dump``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from epigram.chain.model import ChainModel
from epigram.compat.crfsuite.file import header_of, write_model


@dataclass
class ParsedDump:
    """The weights of a CRFsuite model by name.

    Attributes
    ----------
    transitions : ``{(label, next label): weight}``.
    state_features : ``{(attribute, label): weight}``.
    header : fields of the file's header, as text.
    labels, attributes : ``{name: number as text}``.
    """

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)


def parsed_dump(model: ChainModel, content: bytes) -> ParsedDump:
    """Return the weights of a model read from a file with this content, of epigram or CRFsuite."""
    names = model.table.names(range(len(model.table)))
    found, square = model.weights, model.weights.transitions
    states = zip(found.attributes.tolist(), found.labels.tolist(), found.values.tolist(), strict=True)
    return ParsedDump(
        header_of(content if content[:4] == b"lCRF" else write_model(model)),
        {label: str(k) for k, label in enumerate(model.labels)},
        {name: str(k) for k, name in enumerate(names)},
        {
            (model.labels[i], model.labels[j]): float(square[i, j])
            for i, j in zip(*(part.tolist() for part in square.nonzero()), strict=True)
        },
        {(names[a], model.labels[j]): weight for a, j, weight in sorted(states)},
    )


def dump_lines(dump: ParsedDump) -> Iterator[str]:
    """Format the weights as ``crfsuite dump`` does."""
    yield "FILEHEADER = {\n"
    yield from (f"  {name}: {value}\n" for name, value in dump.header.items())
    for title, numbered in (("LABELS", dump.labels), ("ATTRIBUTES", dump.attributes)):
        yield f"}}\n\n{title} = {{\n"
        yield from (f"  {number:>5}: {name}\n" for name, number in numbered.items())
    for kind, title, weights in (
        (1, "TRANSITIONS", dump.transitions),
        (0, "STATE_FEATURES", dump.state_features),
    ):
        yield f"}}\n\n{title} = {{\n"
        yield from (
            f"  ({kind}) {source} --> {label}: {weight:f}\n" for (source, label), weight in weights.items()
        )
    yield "}\n\n"
