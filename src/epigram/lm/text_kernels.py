"""Kernels that read text: tokens to numbers by one pass over the bytes (corpus.py)."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def count_tokens(raw):
    """Tokens and non-blank lines of a text; blanks are the ASCII ones, as in KenLM."""
    n_tokens = 0
    n_lines = 0
    inside = False
    filled = False
    for byte in raw:
        if byte == 10:
            n_lines += filled
            inside = False
            filled = False
        elif byte == 32 or (9 <= byte <= 13) or byte == 0:
            inside = False
        elif not inside:
            inside = True
            filled = True
            n_tokens += 1
    return n_tokens, n_lines + filled


@kernel
def factorise(raw, ids, sentence_ptr, word_start, word_length):
    """Number the distinct tokens by first occurrence, by one pass and an open-addressing table.

    ``ids`` gets the number of each token, ``sentence_ptr`` where each non-blank line starts in it,
    ``word_start`` and ``word_length`` the bytes of each distinct token. Returns how many there are.
    """
    n_slots = 1 << 12
    slots = np.full(n_slots, -1, np.int32)
    hashes = np.empty(word_start.size, np.uint64)
    n_words = 0
    n_tokens = 0
    n_lines = 0
    n_bytes = raw.size
    at = 0
    line_open = False
    sentence_ptr[0] = 0
    while at < n_bytes:
        byte = raw[at]
        if byte == 10:
            if line_open:
                n_lines += 1
                sentence_ptr[n_lines] = n_tokens
                line_open = False
            at += 1
            continue
        if byte == 32 or (9 <= byte <= 13) or byte == 0:
            at += 1
            continue
        start = at
        h = np.uint64(14695981039346656037)
        while at < n_bytes:
            byte = raw[at]
            if byte == 32 or (9 <= byte <= 13) or byte == 0:
                break
            h = (h ^ np.uint64(byte)) * np.uint64(1099511628211)
            at += 1
        h ^= h >> np.uint64(29)
        length = at - start
        slot = np.int64(h & np.uint64(n_slots - 1))
        found = -1
        while slots[slot] >= 0:
            k = slots[slot]
            if hashes[k] == h and word_length[k] == length:
                same = True
                first = word_start[k]
                for j in range(length):
                    if raw[first + j] != raw[start + j]:
                        same = False
                        break
                if same:
                    found = k
                    break
            slot = (slot + 1) & (n_slots - 1)
        if found < 0:
            found = n_words
            slots[slot] = found
            hashes[found] = h
            word_start[found] = start
            word_length[found] = length
            n_words += 1
            if 2 * n_words > n_slots:
                n_slots *= 4
                slots = np.full(n_slots, -1, np.int32)
                for k in range(n_words):
                    slot = np.int64(hashes[k] & np.uint64(n_slots - 1))
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (n_slots - 1)
                    slots[slot] = k
        ids[n_tokens] = found
        n_tokens += 1
        line_open = True
    if line_open:
        sentence_ptr[n_lines + 1] = n_tokens
    return n_words
