"""Routes for kana-kanji conversion, typing and what a session learns of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, field

from epigram.ime.kana import from_romaji
from epigram.ime.typing.session import EditorSession, EditorState
from epigram.serve.http import MAX_READING, MAX_SENTENCES, Body, ModelBody, RequestError, String
from epigram.serve.registry import LoadedModel, Session
from epigram.serve.state import Call, Operation

Reading = Annotated[str, Meta(max_length=MAX_READING)]
MAX_SEGMENTED = 2000
MAX_LESSONS = 1000
EDITOR_FIELDS = ("key", "before", "reset", "set", "reconvert", "lessons", "forget")
Left = Annotated[list[String], Meta(max_length=8)]
Lengths = Annotated[list[Annotated[int, Meta(ge=1, le=MAX_READING)]], Meta(max_length=MAX_READING)]


class Convert(Body, frozen=True):
    """Readings to convert after the text ``before``, or after the tokens ``left``.

    ``fixed`` gives the lengths of the first segments of each reading, for ``segments``.
    """

    readings: Annotated[list[Reading], Meta(max_length=MAX_SENTENCES)]
    model: String | None = None
    romaji: bool = False
    left: Left = field(default_factory=list)
    before: Reading = ""
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


class Type(Body, frozen=True):
    """A key pressed in the editor of this session, or another request to it."""

    model: String | None = None
    key: Annotated[str, Meta(min_length=1, max_length=16)] | None = None
    before: Reading | None = None
    reset: bool | None = None
    set: dict[str, Any] | None = None
    reconvert: Reading | None = None
    lessons: bool | None = None
    forget: int | None = None


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
        there = converter.following(body.before) if body.before else converter.after(body.left)
        return [_converted(there, reading, body) for reading in batch]

    how = (body.nbest, body.segments, body.explain, tuple(body.fixed), tuple(body.left), body.before)
    found = await call.state.batcher.submit((id(converter), how), work, readings)
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


async def type_key(call: Call) -> Any:
    """Press a key in the editor of this session; ``fresh`` says that it was made for this."""
    body: Type = call.body
    entry = call.state.registry.get(body.model, "converter")
    session = call.state.sessions.get_or_create(call.session)
    given = ((name, getattr(body, name)) for name in EDITOR_FIELDS)
    request = {name: value for name, value in given if value is not None}

    def work() -> dict[str, Any]:
        with session.lock:
            is_fresh = entry.name not in session.editors
            editor = _editor(session, entry)
            lessons = editor.server.converter.journal.lessons
            before = lessons[:]
            editor.editor.private = len(before) >= MAX_LESSONS
            found = editor.answer(request)
            if lessons != before:
                session.models[entry.name] = editor.server.converter.copy()
            return {**found, "corrections": len(lessons), "fresh": is_fresh}

    return {"model": entry.name, **await call.state.run(work)}


def _editor(session: Session, entry: LoadedModel) -> EditorSession:
    """The editor of a session with all that it has learnt; its converter is its own."""
    shared = session.models.get(entry.name, entry.estimator)
    found = session.editors.get(entry.name)
    if found is None:
        found = session.editors[entry.name] = EditorSession(EditorState(shared.copy(), None, None))
    elif found.server.converter.journal.lessons != shared.journal.lessons:
        found.server.converter = found.editor.converter = shared.copy()
    return found


OPERATIONS = [
    Operation("POST", "/v1/convert", convert, Convert, {"readings": ["はしをわたる"], "nbest": 3}),
    Operation("POST", "/v1/convert/learn", learn, Learn),
    Operation("POST", "/v1/convert/undo", undo, ModelBody),
    Operation("POST", "/v1/type", type_key, Type),
]
