"""Kernels that lay out weights and sentences: which (attribute, label) pairs were seen, which rows a sentence has."""

from __future__ import annotations

from epigram.jit import kernel


@kernel
def mark_pairs(attribute_ptr, attributes, labels, seen):
    """seen[a, y // 64] gets bit y % 64 for every attribute a on a token with label y."""
    for t in range(labels.size):
        y = labels[t]
        word, bit = y >> 6, 1 << (y & 63)
        for k in range(attribute_ptr[t], attribute_ptr[t + 1]):
            seen[attributes[k], word] |= bit


@kernel
def count_bits(seen, out):
    """Number of set bits of each row."""
    for a in range(seen.shape[0]):
        n = 0
        for word in range(seen.shape[1]):
            bits = seen[a, word]
            while bits:
                bits &= bits - 1
                n += 1
        out[a] = n


@kernel
def fill_rows(seen, row_of, width, dense_end, codes, free):
    """Labels of the sparse rows, and which weights of the dense rows are free."""
    for a in range(seen.shape[0]):
        p = row_of[a]
        if p < 0:
            continue
        n = 0
        for word in range(seen.shape[1]):
            for bit in range(64):
                if (seen[a, word] >> bit) & 1:
                    label = word * 64 + bit
                    if p < dense_end:
                        free[p + label] = 1
                    else:
                        codes[p + n] = label
                        free[p + n] = 1
                        n += 1
        for m in range(n):
            codes[p + m] |= (n - m) << 16


@kernel
def mark_edges(sentence_ptr, edge_ptr, edge_attributes, labels, n_labels, width, keys):
    """keys[k] = attribute * L * width + pair for every occurrence of an attribute on a transition."""
    size = n_labels * width
    for s in range(sentence_ptr.size - 1):
        for t in range(sentence_ptr[s] + 1, sentence_ptr[s + 1]):
            pair = labels[t - 1] * width + labels[t]
            for k in range(edge_ptr[t], edge_ptr[t + 1]):
                keys[k] = edge_attributes[k] * size + pair


@kernel
def dense_first(attribute_ptr, row_of, dense_end, attributes, values):
    """Reorder the occurrences of each token in place: those with dense rows first. Branches then come in runs."""
    for t in range(attribute_ptr.size - 1):
        left, right = attribute_ptr[t], attribute_ptr[t + 1] - 1
        while left < right:
            if row_of[attributes[left]] < dense_end:
                left += 1
            elif row_of[attributes[right]] >= dense_end:
                right -= 1
            else:
                attributes[left], attributes[right] = attributes[right], attributes[left]
                if values.size > 1:
                    values[left], values[right] = values[right], values[left]


@kernel
def measure_sentences(rows_ptr, rows, codes, width, dense_end, out):
    """How many weights the distinct rows of each sentence have."""
    for s in range(rows_ptr.size - 1):
        n = 0
        for m in range(rows_ptr[s], rows_ptr[s + 1]):
            n += width if rows[m] < dense_end else codes[rows[m]] >> 16
        out[s] = n


@kernel
def distinct_rows(
    sentence_ptr, attribute_ptr, attributes, row_of, count, number, rows_ptr, n_shared, rows, local
):
    """The distinct rows of each sentence, those that occur more than once first; returns how many in all.

    ``count`` and ``number`` are working memory, one zero per attribute.
    """
    n = 0
    for s in range(sentence_ptr.size - 1):
        first, last = attribute_ptr[sentence_ptr[s]], attribute_ptr[sentence_ptr[s + 1]]
        rows_ptr[s] = n
        for k in range(first, last):
            count[attributes[k]] += 1
        for repeated in (True, False):
            for k in range(first, last):
                a = attributes[k]
                if count[a] > 0 and (count[a] > 1) == repeated:
                    rows[n] = row_of[a]
                    number[a] = n - rows_ptr[s]
                    count[a] = -1
                    n += 1
            if repeated:
                n_shared[s] = n - rows_ptr[s]
        for k in range(first, last):
            local[k] = number[attributes[k]]
            count[attributes[k]] = 0
    rows_ptr[sentence_ptr.size - 1] = n
    return n
