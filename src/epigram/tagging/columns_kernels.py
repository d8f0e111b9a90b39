"""Kernels that read files: the cells of lines, and the distinct strings among cells."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

TAB, NEWLINE, RETURN, SPACE, DASH, DOT = 9, 10, 13, 32, 45, 46
BASE, ONE, ZERO, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(1), np.uint64(0), np.uint64(32)


@kernel
def find_cells(
    raw, separator, comments, comment_ptr, skip_ranges, n_columns, starts, ends, line_ends, sentence_ptr
):
    """Cells of column lines; ``separator`` 0 is any run of spaces and tabs.

    Returns tokens, sentences, and the first line with another number of cells than ``n_columns`` (else 0)
    with its number of cells. ``skip_ranges`` leaves out lines whose first cell holds a dash or a dot.
    """
    n, n_tokens, n_sentences, line, at = raw.shape[0], 0, 0, 0, 0
    sentence_ptr[0] = 0
    while at < n:
        line += 1
        begin = at
        while at < n and raw[at] != NEWLINE:
            at += 1
        end = at
        at += 1
        if end > begin and raw[end - 1] == RETURN:
            end -= 1
        blank = True
        for k in range(begin, end):
            if raw[k] != SPACE and raw[k] != TAB:
                blank = False
                break
        if blank:
            if n_tokens > sentence_ptr[n_sentences]:
                n_sentences += 1
                sentence_ptr[n_sentences] = n_tokens
            continue
        skip = False
        for c in range(comment_ptr.shape[0] - 1):
            length = comment_ptr[c + 1] - comment_ptr[c]
            same = begin + length <= end
            k = 0
            while same and k < length:
                same = raw[begin + k] == comments[comment_ptr[c] + k]
                k += 1
            skip = skip or same
        if skip_ranges and not skip:
            k = begin
            while k < end and raw[k] != TAB:
                skip = skip or raw[k] == DASH or raw[k] == DOT
                k += 1
        if skip:
            continue
        found, k = 0, begin
        if separator == 0:
            while k < end:
                while k < end and (raw[k] == SPACE or raw[k] == TAB):
                    k += 1
                if k == end:
                    break
                first = k
                while k < end and raw[k] != SPACE and raw[k] != TAB:
                    k += 1
                if found < n_columns:
                    starts[found, n_tokens] = first
                    ends[found, n_tokens] = k
                found += 1
        else:
            first = begin
            for k in range(begin, end + 1):
                if k == end or raw[k] == separator:
                    if found < n_columns:
                        starts[found, n_tokens] = first
                        ends[found, n_tokens] = k
                    found += 1
                    first = k + 1
        if found != n_columns:
            return n_tokens, n_sentences, line, found
        line_ends[n_tokens] = end
        n_tokens += 1
    if n_tokens > sentence_ptr[n_sentences]:
        n_sentences += 1
        sentence_ptr[n_sentences] = n_tokens
    return n_tokens, n_sentences, 0, n_columns


@kernel
def find_words(raw, slash, comments, starts, ends, sentence_ptr):
    """Words of lines that are sentences; with ``slash`` not 0, a word is split at its last one into two.

    Returns tokens, sentences, and the first line with a word that has no ``slash`` (else 0). Lines that begin
    with ``comments`` are left out where that is not empty.
    """
    n, n_tokens, n_sentences, line, at = raw.shape[0], 0, 0, 1, 0
    sentence_ptr[0] = 0
    while at < n:
        begin = at
        while at < n and raw[at] != NEWLINE:
            at += 1
        end = at
        at += 1
        length = comments.shape[0]
        skip = length > 0 and begin + length <= end
        k = 0
        while skip and k < length:
            skip = raw[begin + k] == comments[k]
            k += 1
        k = end if skip else begin
        while k < end:
            while k < end and (raw[k] == SPACE or raw[k] == TAB or raw[k] == RETURN):
                k += 1
            if k == end:
                break
            first, last_slash = k, -1
            while k < end and raw[k] != SPACE and raw[k] != TAB and raw[k] != RETURN:
                if raw[k] == slash:
                    last_slash = k
                k += 1
            starts[0, n_tokens] = first
            ends[0, n_tokens] = k
            if slash != 0:
                if last_slash < 0:
                    return n_tokens, n_sentences, line
                ends[0, n_tokens] = last_slash
                starts[1, n_tokens] = last_slash + 1
                ends[1, n_tokens] = k
            n_tokens += 1
        if n_tokens > sentence_ptr[n_sentences]:
            n_sentences += 1
            sentence_ptr[n_sentences] = n_tokens
        line += 1
    return n_tokens, n_sentences, 0


@kernel
def factorise(raw, starts, ends, ids, first):
    """Number the distinct byte slices in order of appearance; ``first[i]`` is a token that has string i.

    The hash table is made here because only here the number of distinct strings is known.
    """
    n_slots, n_distinct = 1024, 0
    slots = np.full(n_slots, -1, dtype=np.int32)
    hashes = np.empty(n_slots // 2, dtype=np.uint64)
    for t in range(starts.shape[0]):
        h = ZERO
        for k in range(starts[t], ends[t]):
            h = h * BASE + np.uint64(raw[k]) + ONE
        h = h ^ (h >> SHIFT)  # the low bits, which choose the slot, depend on few bytes otherwise
        slot = np.int64(h & np.uint64(n_slots - 1))
        while slots[slot] >= 0:
            i = slots[slot]
            if hashes[i] == h:
                f = first[i]
                length = ends[t] - starts[t]
                same = length == ends[f] - starts[f]
                k = 0
                while same and k < length:
                    same = raw[starts[t] + k] == raw[starts[f] + k]
                    k += 1
                if same:
                    break
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] >= 0:
            ids[t] = slots[slot]
            continue
        slots[slot] = n_distinct
        hashes[n_distinct] = h
        first[n_distinct] = t
        ids[t] = n_distinct
        n_distinct += 1
        if 2 * n_distinct == n_slots:
            n_slots *= 2
            slots = np.full(n_slots, -1, dtype=np.int32)
            more = np.empty(n_slots // 2, dtype=np.uint64)
            more[:n_distinct] = hashes
            hashes = more
            for i in range(n_distinct):
                slot = np.int64(hashes[i] & np.uint64(n_slots - 1))
                while slots[slot] >= 0:
                    slot = (slot + 1) & (n_slots - 1)
                slots[slot] = i
    return n_distinct
