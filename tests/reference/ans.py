"""Asymmetric numeral systems with unbounded whole numbers: a state that grows by one choice after the other.

    x' = (x div share) * 2^bits + start + x mod share

A state that would reach 2^63 hands its lower 32 bits out first. What is coded last is read first.
"""

from __future__ import annotations

LANES, BITS = 4, 12


def cut(value: int) -> tuple[int, int, int]:
    """Token, other bits, and how many these are."""
    if value < 16:
        return value, 0, 0
    length = value.bit_length()
    rest = length - 4
    return 16 + 8 * (length - 5) + (value >> rest) % 8, value % 2**rest, rest


def choices(values, tables):
    """(lane, share, start, bits) in the order in which they are read; a token's share is that after its context."""
    n = len(values)
    lanes = [values[n * k // LANES : n * (k + 1) // LANES] for k in range(LANES)]
    for k in range(max(map(len, lanes))):
        for lane, numbers in enumerate(lanes):
            if k < len(numbers):
                shares = tables[min(numbers[k - 1].bit_length(), 15) if k else 0]
                token, other, rest = cut(numbers[k])
                yield lane, int(shares[token]), int(sum(shares[:token])), BITS
                yield lane, 1, other, rest


def pack(values, tables) -> bytes:
    """States of the lanes, then the words in the order in which they are read."""
    states, words = [2**31] * LANES, []
    for lane, share, start, bits in reversed(list(choices(values, tables))):
        x = states[lane]
        after = (x // share << bits) + start + x % share
        if after >= 2**63:
            words.append(x % 2**32)
            x >>= 32
            after = (x // share << bits) + start + x % share
        states[lane] = after
    pieces = [x.to_bytes(8, "little") for x in states] + [w.to_bytes(4, "little") for w in reversed(words)]
    return b"".join(pieces)
