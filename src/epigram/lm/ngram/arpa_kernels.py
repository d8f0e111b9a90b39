"""Kernels that read and write the n-gram lines of ARPA files (arpa.py)."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def hash_words(raw, word_start, word_length, slots):
    """Open-addressing table of words by their bytes; ``slots.size`` is a power of two."""
    for k in range(word_start.size):
        h = np.uint64(14695981039346656037)
        for j in range(word_start[k], word_start[k] + word_length[k]):
            h = (h ^ np.uint64(raw[j])) * np.uint64(1099511628211)
        h ^= h >> np.uint64(29)
        slot = np.int64(h & np.uint64(slots.size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = k


@kernel
def parse_number(raw, start, stop):
    """A decimal number, or NaN where there is none ("-inf" is one, "nan" is not)."""
    at = start
    negative = False
    if at < stop and (raw[at] == 45 or raw[at] == 43):
        negative = raw[at] == 45
        at += 1
    if stop - at >= 3 and (raw[at] | 32) == 105 and (raw[at + 1] | 32) == 110 and (raw[at + 2] | 32) == 102:
        return -np.inf if negative else np.inf
    mantissa = 0.0
    scale = 0
    digits = 0
    point = False
    while at < stop:
        byte = raw[at]
        if 48 <= byte <= 57:
            mantissa = mantissa * 10.0 + (byte - 48)
            digits += 1
            scale -= point
        elif byte == 46 and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return np.nan
    if at < stop:
        if (raw[at] | 32) != 101:
            return np.nan
        at += 1
        minus = False
        if at < stop and (raw[at] == 45 or raw[at] == 43):
            minus = raw[at] == 45
            at += 1
        exponent = 0
        if at == stop:
            return np.nan
        while at < stop:
            if not 48 <= raw[at] <= 57:
                return np.nan
            exponent = exponent * 10 + (raw[at] - 48)
            at += 1
        scale += -exponent if minus else exponent
    value = mantissa / 10.0**-scale if scale < 0 else mantissa * 10.0**scale
    return -value if negative else value


@kernel
def parse_arpa_section(
    raw, start, stop, n, names, name_start, name_length, slots, word_id, n_rows, grams, logp, bow, line_of
):
    """Lines ``logp w1 .. wn [bow]`` of one section; ``names`` holds the bytes of the words.

    ``word_id``: -1 for ``<s>``, which may only open an n-gram, 0 for ``</s>``, which may only close one;
    rows where they stand elsewhere can never be reached and are marked by a NaN in ``logp``. ``bow`` is NaN
    where the column is missing. Returns rows read, 0 or what is wrong (1 a field is missing or too many,
    2 not a number, 3 an unlisted word, 4 more rows than said), and the line it is on, from 0.
    """
    at = start
    row = 0
    line = 0
    begins = np.empty(n + 3, np.int64)
    ends = np.empty(n + 3, np.int64)
    while at < stop:
        n_fields = 0
        while at < stop and raw[at] != 10:
            byte = raw[at]
            if byte == 32 or (9 <= byte <= 13) or byte == 0:
                at += 1
                continue
            first = at
            while at < stop and not (raw[at] == 32 or (9 <= raw[at] <= 13) or raw[at] == 0):
                at += 1
            if n_fields < n + 3:
                begins[n_fields] = first
                ends[n_fields] = at
            n_fields += 1
        at += 1
        line += 1
        if n_fields == 0:
            continue
        if row == n_rows:
            return row, 4, line - 1
        if n_fields < n + 1 or n_fields > n + 2:
            return row, 1, line - 1
        logp[row] = parse_number(raw, begins[0], ends[0])
        bow[row] = np.nan
        if np.isnan(logp[row]):
            return row, 2, line - 1
        if n_fields == n + 2:
            bow[row] = parse_number(raw, begins[n + 1], ends[n + 1])
            if np.isnan(bow[row]):
                return row, 2, line - 1
        for j in range(n):
            first = begins[j + 1]
            length = ends[j + 1] - first
            h = np.uint64(14695981039346656037)
            for b in range(first, first + length):
                h = (h ^ np.uint64(raw[b])) * np.uint64(1099511628211)
            h ^= h >> np.uint64(29)
            slot = np.int64(h & np.uint64(slots.size - 1))
            found = -1
            while slots[slot] >= 0:
                k = slots[slot]
                if name_length[k] == length:
                    same = True
                    for b in range(length):
                        if names[name_start[k] + b] != raw[first + b]:
                            same = False
                            break
                    if same:
                        found = k
                        break
                slot = (slot + 1) & (slots.size - 1)
            if found < 0:
                return row, 3, line - 1
            u = word_id[found]
            if (u == -1 and j > 0) or (u == 0 and j < n - 1):
                logp[row] = np.nan
            grams[row, j] = max(u, 0)
        line_of[row] = line - 1
        row += 1
    return row, 0, line


@kernel
def put_number(value, out, at):
    """Write a decimal number with at most seven places, no trailing zeros; returns where it ends."""
    if value <= -99.0:
        out[at] = 45
        out[at + 1] = 57
        out[at + 2] = 57
        return at + 3
    scaled = np.int64(np.round(abs(value) * 1e7))
    if value < 0.0 and scaled > 0:
        out[at] = 45
        at += 1
    whole = scaled // 10_000_000
    part = scaled - whole * 10_000_000
    n_digits = 1
    power = np.int64(10)
    while power <= whole:
        power *= 10
        n_digits += 1
    for k in range(n_digits - 1, -1, -1):
        out[at + k] = 48 + whole % 10
        whole //= 10
    at += n_digits
    if part > 0:
        out[at] = 46
        n_digits = 7
        while part % 10 == 0:
            part //= 10
            n_digits -= 1
        for k in range(n_digits, 0, -1):
            out[at + k] = 48 + part % 10
            part //= 10
        at += n_digits + 1
    return at


@kernel
def arpa_lines(
    first_node, last_node, names, name_start, depth, node_pair, pair_ptr, pair_word, pair_node, logp, bow, out
):
    """Lines of the n-grams of some nodes of one depth, in log10; ``names`` are the words' bytes, each with a
    blank after it, the last being ``<s>`` for the boundary as a context. Returns the bytes written."""
    at = 0
    context = np.empty(depth, np.int64)
    for x in range(first_node, last_node):
        y = x
        for j in range(depth - 1, -1, -1):
            pair = node_pair[y]
            context[j] = pair_word[pair] if pair_word[pair] > 0 else name_start.size - 2
            y = pair_node[pair]
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            at = put_number(logp[pair], out, at)
            out[at] = 9
            at += 1
            for j in range(depth):
                for b in range(name_start[context[j]], name_start[context[j] + 1]):
                    out[at] = names[b]
                    at += 1
            u = pair_word[pair]
            for b in range(name_start[u], name_start[u + 1] - 1):
                out[at] = names[b]
                at += 1
            if u > 0 and bow[pair] == bow[pair]:
                out[at] = 9
                at = put_number(bow[pair], out, at + 1)
            out[at] = 10
            at += 1
    return at
