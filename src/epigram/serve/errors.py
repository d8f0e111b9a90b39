"""Answers that say no, as JSON with one sentence: what is wrong, and the way out."""

from __future__ import annotations

from typing import Any

from epigram.errors import EpigramError


class Refusal(Exception):
    """An answer other than 200; ``field`` names the part of the request that is wrong."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    @property
    def record(self) -> dict[str, Any]:
        """The body of the answer."""
        place = {} if self.field is None else {"field": self.field}
        return {"error": {"status": self.status, **place, "message": self.message}}


def refusal_of(error: Exception) -> Refusal:
    """What the library refuses is a bad request in the library's words; anything else is our fault, unexplained."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, EpigramError):
        return Refusal(422, str(error))
    if isinstance(error, TimeoutError):
        return Refusal(503, "this took too long; send less at once")
    return Refusal(500, "the server failed at this request; its log says why")
