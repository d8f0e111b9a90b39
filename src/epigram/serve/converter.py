"""Routes for kana-kanji conversion and for the corrections that a session learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, field

from epigram.ime.kana import from_romaji, romaji_table
from epigram.serve.http import MAX_READING, MAX_SENTENCES, Body, ModelBody, RequestError, String
from epigram.serve.state import Call, Operation

Reading = Annotated[str, Meta(max_length=MAX_READING)]
MAX_SEGMENTED = 2000
MAX_LESSONS = 1000
Left = Annotated[list[String], Meta(max_length=8)]
Lengths = Annotated[list[Annotated[int, Meta(ge=1, le=MAX_READING)]], Meta(max_length=MAX_READING)]


class Convert(Body, frozen=True):
    """Readings to convert; ``left`` are the tokens (surface/reading) before them.

    ``fixed`` gives the lengths of the first segments of each reading, for ``segments``.
    """

    readings: Annotated[list[Reading], Meta(max_length=MAX_SENTENCES)]
    model: String | None = None
    romaji: bool = False
    left: Left = field(default_factory=list)
    nbest: Annotated[int, Meta(ge=1, le=20)] = 1
    segments: bool = False
    fixed: Lengths = field(default_factory=list)
    explain: bool = False


class Learn(Body, frozen=True):
    """A reading and the text that the user chose for it."""

    reading: Reading
    text: Reading
    model: String | None = None
    left: Left = field(default_factory=list)


async def convert(call: Call) -> Any:
    """Convert readings to text; ``nbest`` adds alternatives, ``segments`` segments with theirs."""
    body: Convert = call.body
    entry = call.state.registry.get(body.model, "converter")
    converter = await call.estimator(entry)
    readings = [from_romaji(text) for text in body.readings] if body.romaji else body.readings
    if body.segments and (n := sum(map(len, readings))) > MAX_SEGMENTED:
        raise RequestError(
            413, f"{n:,} characters; at most {MAX_SEGMENTED:,} are cut into segments", "readings"
        )

    def work(batch: list[Any]) -> list[Any]:
        there = converter.after(body.left) if body.left else converter
        return [_converted(there, reading, body) for reading in batch]

    how = (body.nbest, body.segments, body.explain, tuple(body.fixed), tuple(body.left))
    found = await call.state.run_batched((id(converter), how), work, readings)
    session = call.state.sessions.find(call.session)
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
        found["words"] = [row._asdict() for row in converter.decoder.explain(way)]
    return found


def explain_conversion(converter: Any, reading: str, left: Sequence[str]) -> dict[str, Any]:
    """Return the words of the best conversion with their probabilities and the user's bonuses."""
    there = converter.after(left) if left else converter
    return _way(there, there.best(reading), True)


async def learn(call: Call) -> Any:
    """Learn a correction; only this session sees the change."""
    body: Learn = call.body
    entry = call.state.registry.get(body.model, "converter")
    session = call.state.sessions.get_or_create(call.session)

    def work() -> int:
        with session.lock:
            mine = session.models.get(entry.name)
            copy = entry.estimator.copy() if mine is None else mine.copy()
            if len(copy.journal.lessons) >= MAX_LESSONS:
                raise RequestError(
                    422, f"this session has learnt {MAX_LESSONS:,} corrections; undo some first"
                )
            there = copy.after(body.left) if body.left else copy
            there.learn(body.reading, body.text)
            session.models[entry.name] = copy
            return len(copy.journal.lessons)

    return {"model": entry.name, "corrections": await call.state.run(work)}


async def undo(call: Call) -> Any:
    """Undo the last correction of this session."""
    entry = call.state.registry.get(call.body.model, "converter")
    session = call.state.sessions.find(call.session)
    if session is None or entry.name not in session.models:
        raise RequestError(422, "nothing learnt yet in this session; there is nothing to undo")

    def work() -> int:
        with session.lock:
            copy = session.models[entry.name].copy()
            copy.undo()
            session.models[entry.name] = copy
            return len(copy.journal.lessons)

    return {"model": entry.name, "corrections": await call.state.run(work)}


async def romaji(call: Call) -> Any:
    """Return the romaji of each kana syllable, for editors."""
    return {"syllables": romaji_table()}


OPERATIONS = [
    Operation("POST", "/v1/convert", convert, Convert, {"readings": ["はしをわたる"], "nbest": 3}),
    Operation("POST", "/v1/convert/learn", learn, Learn),
    Operation("POST", "/v1/convert/undo", undo, ModelBody),
    Operation("GET", "/v1/convert/romaji", romaji),
]
