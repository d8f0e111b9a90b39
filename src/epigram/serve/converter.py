"""Converters over HTTP: kana or romaji to text, its pieces, and corrections that a session learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from epigram.ime.explain import explain
from epigram.ime.text import from_romaji, romaji_table
from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_READING, LONGEST_TOKEN, MOST_SENTENCES
from epigram.serve.studio import Call, Operation

String = Annotated[str, Longest(LONGEST_TOKEN)]
Reading = Annotated[str, Longest(LONGEST_READING)]
Left = Annotated[list[String], Longest(8)]


@dataclass(frozen=True)
class Convert:
    """Readings to write as text; ``left`` are the tokens (surface/reading) before them.

    ``fixed`` gives the lengths of the first pieces of each reading, for ``segments``.
    """

    readings: Annotated[list[Reading], Longest(MOST_SENTENCES)]
    model: String | None = None
    romaji: bool = False
    left: Left = field(default_factory=list)
    nbest: Annotated[int, Between(1, 20)] = 1
    segments: bool = False
    fixed: Annotated[list[Annotated[int, Between(1, LONGEST_READING)]], Longest(LONGEST_READING)] = field(
        default_factory=list
    )
    explain: bool = False


@dataclass(frozen=True)
class Learn:
    """A reading and the text that was chosen for it."""

    reading: Reading
    text: Reading
    model: String | None = None
    left: Left = field(default_factory=list)


@dataclass(frozen=True)
class Undo:
    """The converter whose last correction is to be forgotten."""

    model: String | None = None


async def convert(call: Call) -> Any:
    """The best text of each reading; with ``nbest`` others, with ``segments`` its pieces and ways to write them."""
    body: Convert = call.body
    entry = call.studio.shelf.get(body.model, "converter")
    converter = call.model(entry)
    readings = [from_romaji(text) for text in body.readings] if body.romaji else body.readings

    def work(batch: list[Any]) -> list[Any]:
        there = converter.after(body.left) if body.left else converter
        return [_converted(there, reading, body) for reading in batch]

    how = (body.nbest, body.segments, body.explain, tuple(body.fixed), tuple(body.left))
    found = await call.studio.together((id(converter), how), work, readings)
    session = call.studio.sessions.find(call.session)
    mine = session.models.get(entry.name) if session is not None else None
    return {
        "model": entry.name,
        "corrections": 0 if mine is None else len(mine.journal.lessons),
        "conversions": found,
    }


def _converted(converter: Any, reading: str, body: Convert) -> dict[str, Any]:
    found: dict[str, Any] = {"reading": reading}
    if body.segments:
        pieces = converter.segments(reading, fixed=body.fixed)
        found["segments"] = [piece._asdict() for piece in pieces]
        found["text"] = "".join(piece.surface for piece in pieces)
    if body.nbest > 1 or not body.segments:
        ways = converter.nbest(reading, body.nbest) if body.nbest > 1 else [converter.best(reading)]
        found.setdefault("text", ways[0].text)
        found["score"], found["tokens"] = ways[0].score, ways[0].tokens
        if body.nbest > 1 or body.explain:
            found["nbest"] = [_way(converter, way, body.explain) for way in ways]
    return found


def _way(converter: Any, way: Any, explained: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"text": way.text, "score": way.score, "tokens": way.tokens}
    if explained:
        found["words"] = [row._asdict() for row in explain(converter, way)]
    return found


def explain_conversion(converter: Any, reading: str, left: Sequence[str]) -> dict[str, Any]:
    """Words of the best conversion with their probabilities, and the user's bonuses."""
    there = converter.after(left) if left else converter
    return _way(there, there.best(reading), True)


async def learn(call: Call) -> Any:
    """Learn a correction for this session: the reading is then written so."""
    body: Learn = call.body
    entry = call.studio.shelf.get(body.model, "converter")
    session = call.studio.sessions.need(call.session)

    def work() -> int:
        with session.lock:
            mine = session.models.get(entry.name)
            copy = entry.estimator.copy() if mine is None else mine.copy()
            there = copy.after(body.left) if body.left else copy
            there.learn(body.reading, body.text)
            session.models[entry.name] = copy
            return len(copy.journal.lessons)

    return {"model": entry.name, "corrections": await call.studio.alone(work)}


async def undo(call: Call) -> Any:
    """Forget the last correction of this session."""
    entry = call.studio.shelf.get(call.body.model, "converter")
    session = call.studio.sessions.find(call.session)
    if session is None or entry.name not in session.models:
        raise Refusal(422, "nothing learnt yet that could be undone")

    def work() -> int:
        with session.lock:
            copy = session.models[entry.name].copy()
            copy.undo()
            session.models[entry.name] = copy
            return len(copy.journal.lessons)

    return {"model": entry.name, "corrections": await call.studio.alone(work)}


async def romaji(call: Call) -> Any:
    """Syllables in Latin letters and their kana, for editors that turn one into the other."""
    return {"syllables": romaji_table()}


OPERATIONS = [
    Operation("POST", "/v1/convert", convert, Convert, {"readings": ["はしをわたる"], "nbest": 3}),
    Operation("POST", "/v1/convert/learn", learn, Learn),
    Operation("POST", "/v1/convert/undo", undo, Undo),
    Operation("GET", "/v1/convert/romaji", romaji),
]
