"""Explanations over HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("starlette")

from epigram.serve import explain
from epigram.serve.state import Call, ServerState


def test_explanations_of_one_model_do_not_overlap(
    studio: ServerState, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    def slow(model: Any, context: str, word: str) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.05)
        running -= 1
        return {"word": word}

    async def ask(word: str) -> Any:
        return await explain.explain(Call(studio, explain.Explain("log-linear", word=word), None))

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*map(ask, ("soup", "cook", "boat")))

    monkeypatch.setattr(explain, "explain_word", slow)
    assert [answer["word"] for answer in asyncio.run(ask_all())] == ["soup", "cook", "boat"]
    assert most == 1
