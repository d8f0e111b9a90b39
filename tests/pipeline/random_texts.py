"""Random texts for pipelines: any code points, blanks of all kinds, and mutations of real text.

python tests/pipeline/random_texts.py MODEL --count 100000 [--text FILE] [--seed 0]     every text through a pipeline

Checks that offsets are exact, that the CoNLL-U of each analysis is read back with the same tokens and sentences, and
that its JSON can be written; prints the seed and the text of the first that fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epigram.pipeline.analysis import read_gold

BLANKS = [*" \t\x0b\x0c\x1c\x85\u00a0\u2028\u2029\u3000\n", "  ", "\n\n", "\r\n"]
RANGES = [
    (0x20, 0x7E), (0x20, 0x7E), (0, 0x2FF), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x6FF), (0x900, 0xDFF),
    (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xE000, 0xF8FF), (0xFB00, 0xFFFF), (0x1F300, 0x1FAFF), (0xE0000, 0xE01EF), (0, 0x10FFFF),
]  # fmt: skip
REAL = (
    "Dr. Smith didn't see the 3.5 cats (or dogs?) at http://a.b/c. \"Yes!\" he said...\n\nÜçüncü gün İstanbul'da; "
    "Hà Nội là thủ đô. 今日は雨です。明日は?\nשלום עולם. مرحبا بالعالم! ก็ไม่รู้ 👩‍👩‍👧 #hash "
    "@user :-) I'm gonna can't A.B.C. U.S.A.\n"
)


def random_character(rng: random.Random) -> str:
    """Return any character but a surrogate."""
    while True:
        low, high = rng.choice(RANGES)
        code = rng.randint(low, high)
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)


def random_text(rng: random.Random, real: str = REAL) -> str:
    """Return random characters, words between random blanks, or a mutated piece of real text."""
    kind, n = rng.random(), int(rng.expovariate(1 / 25))
    if kind < 0.3:
        return "".join(random_character(rng) for _ in range(n))
    if kind < 0.5:
        words = ("".join(random_character(rng) for _ in range(rng.randint(0, 6))) for _ in range(n // 4))
        return "".join(word + rng.choice(BLANKS) for word in words)
    at = rng.randrange(len(real))
    piece = list(real[at : at + n + 20])
    for _ in range(rng.randint(1, 6)):
        if not piece:
            break
        k, change = rng.randrange(len(piece)), rng.randrange(6)
        if change == 0:
            del piece[k : k + rng.randint(1, 3)]
        elif change == 1:
            piece[k:k] = random_character(rng)
        elif change == 2:
            piece[k:k] = rng.choice(BLANKS)
        elif change == 3:
            piece[k:k] = piece[k : k + 5] * rng.randint(1, 20)
        elif change == 4:
            piece[k] = piece[k].upper()
        else:
            piece[k], piece[-1] = piece[-1], piece[k]
    return "".join(piece)


def random_texts(count: int, seed: int, real: str = REAL) -> Iterator[str]:
    """Yield random texts; the same ones for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        yield random_text(rng, real)


def check_offsets(document: Any, text: str) -> None:
    """Check that tokens and the blanks between them give the text back, and all units lie where they say."""
    at = 0
    for token in document.tokens:
        assert not text[at : token.start].strip()
        assert token.text == text[token.start : token.end]
        assert token.text.strip() == token.text != ""
        assert token.words
        at = token.end
    assert not text[at:].strip()
    tokens = [token for sentence in document.sentences for token in sentence.tokens]
    assert [(t.start, t.end) for t in tokens] == [(t.start, t.end) for t in document.tokens]
    for sentence in document.sentences:
        assert sentence.text == text[sentence.start : sentence.end]
        assert [word.index for word in sentence.words] == list(range(1, len(sentence.words) + 1))
        assert sum(word.head == 0 for word in sentence.words) == 1


def check_formats(document: Any) -> None:
    """Check that CoNLL-U is read back with the same tokens and sentences, and that JSON can be written."""
    json.dumps(document.to_json())
    if document.tokens and "\0" not in document.text:  # which readers take for binary data
        again, _ = read_gold(document.to_conllu().encode(), "out.conllu")
        assert again.tokens.sentence_ptr.tolist() == document.analysis.tokens.sentence_ptr.tolist()
        assert again.tokens.forms() == [" ".join(token.text.split()) for token in document.tokens]


def main() -> None:
    """Analyse random texts with a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", type=Path, help="real text to mutate")
    options = parser.parse_args()
    from epigram import load

    nlp, start = load(options.model), time.process_time()
    real = REAL if options.text is None else options.text.read_text("utf-8")
    texts, characters, slowest = list(random_texts(options.count, options.seed, real)), 0, 0.0
    for k in range(0, len(texts), 64):
        batch, begun = texts[k : k + 64], time.process_time()
        for text, document in zip(batch, nlp.pipe(batch), strict=True):
            try:
                check_offsets(document, text)
                check_formats(document)
            except Exception as error:
                sys.exit(f"seed {options.seed}: {text!r}: {type(error).__name__} {error}")
            characters += len(text)
        slowest = max(slowest, time.process_time() - begun)
    print(
        f"{len(texts):,} texts, {characters:,} characters: offsets exact, CoNLL-U read back; "
        f"{time.process_time() - start:.0f} CPU s, slowest batch of 64 {slowest:.2f} s"
    )


if __name__ == "__main__":
    main()
