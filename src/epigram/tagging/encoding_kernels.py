"""Kernels from strings to attribute ids: fingerprints, templates, the attribute table.

The fingerprint of a string with bytes b_1..b_n is mix(H) where H = sum_i (b_i + 1) B^(n-i) mod 2^64, so that
H(xy) = H(x) B^|y| + H(y): the key of an expanded template costs a few multiplications and no string is built.
A power is B^|y|. Everything here is uint64; a signed operand would turn the arithmetic into floating point.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

BASE = np.uint64(0x9E3779B97F4A7C15)
ZERO, ONE = np.uint64(0), np.uint64(1)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


@kernel
def mix(h):
    """Steele, Lea and Flood's 64-bit finaliser (splitmix64, variant 13); never 0, which marks a free slot."""
    h = (h ^ (h >> SHIFT_1)) * MIX_1
    h = (h ^ (h >> SHIFT_2)) * MIX_2
    h = h ^ (h >> SHIFT_3)
    return h if h != ZERO else ONE


@kernel
def hash_strings(content, ptr, hashes, powers):
    """H and B^length of each string, before :func:`mix`."""
    for i in range(ptr.shape[0] - 1):
        h, p = ZERO, ONE
        for k in range(ptr[i], ptr[i + 1]):
            h = h * BASE + np.uint64(content[k]) + ONE
            p = p * BASE
        hashes[i] = h
        powers[i] = p


@kernel
def mix_all(hashes, out):
    """Fingerprints of whole strings from their H."""
    for i in range(hashes.shape[0]):
        out[i] = mix(hashes[i])


@kernel
def hash_substrings(content, ptr, longest, hashes, powers, value_ptr):
    """All distinct substrings of each string, by start and then by length; returns how many in all."""
    n_out = 0
    value_ptr[0] = 0
    for i in range(ptr.shape[0] - 1):
        begin = n_out
        for k in range(ptr[i], ptr[i + 1]):
            if (content[k] & 0xC0) == 0x80:
                continue
            h, p, length, m = ZERO, ONE, 0, k
            while length < longest and m < ptr[i + 1]:
                h = h * BASE + np.uint64(content[m]) + ONE
                p = p * BASE
                m += 1
                while m < ptr[i + 1] and (content[m] & 0xC0) == 0x80:
                    h = h * BASE + np.uint64(content[m]) + ONE
                    p = p * BASE
                    m += 1
                length += 1
                seen = False
                for j in range(begin, n_out):
                    if hashes[j] == h and powers[j] == p:
                        seen = True
                        break
                if not seen:
                    hashes[n_out] = h
                    powers[n_out] = p
                    n_out += 1
        value_ptr[i + 1] = n_out
    return n_out


@kernel
def hash_affixes(content, ptr, length, at_end, hashes, powers, value_ptr):
    """The first (or, ``at_end``, last) ``length`` characters of each string, nothing of shorter ones."""
    n_out = 0
    value_ptr[0] = 0
    for i in range(ptr.shape[0] - 1):
        begin, end, n = ptr[i], ptr[i + 1], 0
        if at_end:
            begin = end
            while begin > ptr[i] and n < length:
                begin -= 1
                n += (content[begin] & 0xC0) != 0x80
        else:
            end = begin
            while end < ptr[i + 1] and n < length:
                end += 1
                n += end == ptr[i + 1] or (content[end] & 0xC0) != 0x80
        if n == length:
            h, p = ZERO, ONE
            for k in range(begin, end):
                h = h * BASE + np.uint64(content[k]) + ONE
                p = p * BASE
            hashes[n_out] = h
            powers[n_out] = p
            n_out += 1
        value_ptr[i + 1] = n_out
    return n_out


@kernel
def expand_keys(
    first_sentence,
    sentence_ptr,
    ids,
    line_ptr,
    cell_offset,
    cell_column,
    cell_base,
    cell_marks,
    value_ptr,
    value_hash,
    value_power,
    literal_hash,
    literal_power,
    outside_hash,
    outside_power,
    skip_first,
    keys,
    out_ptr,
):
    """Fingerprints of all attributes of sentences, token by token, line by line, last cell fastest.

    Line l has the cells line_ptr[l]..line_ptr[l+1]; literal c + l stands before cell c and the last one after
    all cells. A cell j places outside its sentence has row n + j (right) or n - j (left) of outside arrays.
    Returns the first sentence for which ``keys`` had no room, and the number of keys.
    """
    n_out = 0
    n_outside = outside_hash.shape[0] // 2
    for s in range(first_sentence, sentence_ptr.shape[0] - 1):
        begin, end, before = sentence_ptr[s], sentence_ptr[s + 1], n_out
        for t in range(begin, end):
            before_token = n_out
            for l in range(line_ptr.shape[0] - 1):
                if skip_first and t == begin:
                    break
                # m is the number of combinations of values; h is their hash where every cell has one value
                m = np.int64(1)
                h = literal_hash[line_ptr[l] + l]
                for c in range(line_ptr[l], line_ptr[l + 1]):
                    j = t + cell_offset[c]
                    if begin <= j < end:
                        v = cell_base[c] + ids[cell_column[c], j]
                        k = value_ptr[v]
                        n_values = value_ptr[v + 1] - k
                        m *= n_values
                        if m == 0:
                            break
                        h = h * value_power[k] + value_hash[k]
                    else:
                        m *= cell_marks[c]
                        if m == 0:
                            break
                        k = n_outside + (j - begin if j < begin else j - end + 1)
                        h = h * outside_power[k] + outside_hash[k]
                    h = h * literal_power[c + l + 1] + literal_hash[c + l + 1]
                if n_out + m > keys.shape[0]:
                    return s, before
                if m == 1:
                    keys[n_out] = mix(h)
                    n_out += 1
                    continue
                for combination in range(m):
                    rest = m
                    h = literal_hash[line_ptr[l] + l]
                    for c in range(line_ptr[l], line_ptr[l + 1]):
                        j = t + cell_offset[c]
                        if begin <= j < end:
                            v = cell_base[c] + ids[cell_column[c], j]
                            k = value_ptr[v]
                            n_values = value_ptr[v + 1] - k
                            if n_values > 1:
                                rest //= n_values
                                k += (combination // rest) % n_values
                            h = h * value_power[k] + value_hash[k]
                        else:
                            k = n_outside + (j - begin if j < begin else j - end + 1)
                            h = h * outside_power[k] + outside_hash[k]
                        h = h * literal_power[c + l + 1] + literal_hash[c + l + 1]
                    keys[n_out] = mix(h)
                    n_out += 1
            out_ptr[t + 1] = out_ptr[t] + n_out - before_token
    return sentence_ptr.shape[0] - 1, n_out


@kernel
def locate_keys(
    tokens,
    ranks,
    begins,
    ends,
    ids,
    line_ptr,
    cell_offset,
    cell_column,
    cell_base,
    cell_marks,
    value_ptr,
    lines,
    combinations,
):
    """Which line, and which combination of its values, made the attribute number ``ranks[i]`` of a token."""
    for i in range(tokens.shape[0]):
        rank = ranks[i]
        for l in range(line_ptr.shape[0] - 1):
            m = np.int64(1)
            for c in range(line_ptr[l], line_ptr[l + 1]):
                j = tokens[i] + cell_offset[c]
                if begins[i] <= j < ends[i]:
                    v = cell_base[c] + ids[cell_column[c], j]
                    m *= value_ptr[v + 1] - value_ptr[v]
                else:
                    m *= cell_marks[c]
            if rank < m:
                lines[i] = l
                combinations[i] = rank
                break
            rank -= m


@kernel
def fill_slots(fingerprints, n, slots):
    """Put ids 0..n-1 into an empty table; a slot is (fingerprint, id) side by side, 0 is free."""
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(n):
        slot = fingerprints[i] & mask
        while slots[slot, 0] != ZERO:
            slot = (slot + ONE) & mask
        slots[slot, 0] = fingerprints[i]
        slots[slot, 1] = np.uint64(i)


@kernel
def intern_keys(keys, begin, first_origin, n, slots, fingerprints, counts, origins, ids):
    """Ids of the keys, new ones where a key is new; stops early when the table is full.

    Returns the number of keys done and the number of attributes.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for o in range(begin, keys.shape[0]):
        key = keys[o]
        slot = key & mask
        while slots[slot, 0] != ZERO and slots[slot, 0] != key:
            slot = (slot + ONE) & mask
        if slots[slot, 0] == ZERO:
            if n == fingerprints.shape[0]:
                return o, n
            slots[slot, 0] = key
            slots[slot, 1] = np.uint64(n)
            fingerprints[n] = key
            counts[n] = 0
            origins[n] = first_origin + o
            n += 1
        i = np.int64(slots[slot, 1])
        counts[i] += 1
        ids[o] = i
    return keys.shape[0], n


@kernel
def look_up_keys(keys, slots, ids):
    """Ids of the keys, -1 where a key is not in the table."""
    mask = np.uint64(slots.shape[0] - 1)
    for o in range(keys.shape[0]):
        key = keys[o]
        slot = key & mask
        while slots[slot, 0] != ZERO and slots[slot, 0] != key:
            slot = (slot + ONE) & mask
        ids[o] = np.int32(slots[slot, 1]) if slots[slot, 0] == key else -1


@kernel
def drop_unknown(ptr, ids, new_ptr):
    """Close the gaps of negative ids in place."""
    n_out = 0
    new_ptr[0] = 0
    for t in range(ptr.shape[0] - 1):
        for o in range(ptr[t], ptr[t + 1]):
            if ids[o] >= 0:
                ids[n_out] = ids[o]
                n_out += 1
        new_ptr[t + 1] = n_out
    return n_out
