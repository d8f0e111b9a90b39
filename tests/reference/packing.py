"""The range coder of packed integers in exact arithmetic: an interval of whole numbers, narrowed bit by bit."""

from __future__ import annotations


class Learnt:
    """The probability of a 0 in 1 / 2^16, as the mean of one that learns fast and one that learns slowly."""

    def __init__(self) -> None:
        self.parts = [(1 << 15, 4), (1 << 15, 7)]

    def zero(self) -> int:
        return sum(p for p, _ in self.parts) // 2 | 1

    def see(self, bit: int) -> None:
        self.parts = [(p - (p >> k) if bit else p + ((65535 - p) >> k), k) for p, k in self.parts]


def decisions(values):
    """Every bit with the name of its context; None for bits that are taken as even."""
    before = 0
    for value in values:
        length = value.bit_length()
        for k in range(6):
            yield ("length", before, k, length >> (6 - k)), length >> (5 - k) & 1
        rest = bin(value)[3:] if value > 1 else ""
        for k, bit in enumerate(rest):
            yield ("lead", length, rest[:k]) if k < 4 else None, int(bit)
        before = length


def pack(values) -> bytes:
    """The digits, in base 256, of the lower end of the interval."""
    learnt: dict[object, Learnt] = {}
    low, size, n_digits = 0, 2**32 - 1, 4
    for context, bit in decisions(values):
        model = None if context is None else learnt.setdefault(context, Learnt())
        part = size >> 1 if model is None else (size >> 16) * model.zero()
        low += part if bit else 0
        size = part if not bit or model is None else size - part
        if model is not None:
            model.see(bit)
        while size < 2**24:
            low, size, n_digits = low << 8, size << 8, n_digits + 1
    return low.to_bytes(n_digits, "big")
