"""Kernels of the n-gram side: tokens of a text to ids, n-gram counting, back-off walks, Kneser-Ney.

Array names are bound in the modules that call them: corpus.py, counts.py, backoff.py, kneser_ney.py.
"""

from __future__ import annotations

import numpy as np

from laconic.jit import kernel


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


@kernel
def find_pair(node, word, pair_ptr, pair_word):
    """Index of (node, word), or -1. The root holds every word, so that its pair k is word k."""
    if node == 0:
        return np.int64(word)
    low = pair_ptr[node]
    n = pair_ptr[node + 1] - low
    if n == 0:
        return np.int64(-1)
    while n > 1:
        half = n >> 1
        low = low + half if pair_word[low + half] <= word else low
        n -= half
    return low if pair_word[low] == word else np.int64(-1)


@kernel
def step(node, word, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """One word of a back-off model: its log-probability after ``node``, and the node it leads to.

    p(w | x) = p[x,w] where the pair is stored, else bow(x) p(w | x'), x' the longest stored suffix of x.
    Copy these lines with :func:`find_pair` into another kernels file rather than calling across files.
    """
    logp = 0.0
    while True:
        pair = find_pair(node, word, pair_ptr, pair_word)
        if pair >= 0:
            return logp + pair_logp[pair], pair_next[pair]
        logp += node_bow[node]
        node = node_parent[node]


@kernel
def score_stream(stream, start, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out):
    """Log-probability of each position of a stream from ``start``; -1 gives NaN and cuts the context.

    Time goes into waiting for memory, so eight runs of sentences advance in turn, one look-up each: their
    waits overlap. A run begins after a boundary, where the state is ``start`` again.
    """
    n_runs = 8
    at = np.empty(n_runs, np.int64)
    end = np.empty(n_runs, np.int64)
    nodes = np.full(n_runs, start, np.int32)
    backed_off = np.zeros(n_runs, np.float64)
    cut = 0
    for k in range(n_runs):
        at[k] = cut
        cut = max(cut, stream.size * (k + 1) // n_runs)
        while 0 < cut < stream.size and stream[cut - 1] != 0:
            cut += 1
        end[k] = cut
    n_open = 1
    while n_open > 0:
        n_open = 0
        for k in range(n_runs):
            i = at[k]
            if i >= end[k]:
                continue
            n_open += 1
            word = stream[i]
            node = nodes[k]
            if word < 0:
                out[i] = np.nan
                nodes[k] = 0
                backed_off[k] = 0.0
                at[k] += 1
                continue
            pair = find_pair(node, word, pair_ptr, pair_word)
            if pair >= 0:
                out[i] = backed_off[k] + pair_logp[pair]
                nodes[k] = pair_next[pair]
                backed_off[k] = 0.0
                at[k] += 1
            else:
                backed_off[k] += node_bow[node]
                nodes[k] = node_parent[node]


@kernel
def step_many(
    nodes, words, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out_logp, out_node
):
    """:func:`step` for many (node, word); the word -1 gives NaN and the root."""
    for k in range(nodes.size):
        if words[k] < 0:
            out_logp[k] = np.nan
            out_node[k] = 0
        else:
            out_logp[k], out_node[k] = step(
                nodes[k], words[k], pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow
            )


@kernel
def distribution(node, pair_ptr, pair_word, pair_logp, node_parent, node_bow, root_p, out):
    """p(. | node) over the whole vocabulary: the root's row, overwritten from short to long suffixes."""
    path = np.empty(256, np.int64)
    shift = np.empty(256, np.float64)
    n = 0
    total = 0.0
    x = node
    while x != 0:
        if n == path.size:
            path = np.concatenate((path, np.empty(n, np.int64)))
            shift = np.concatenate((shift, np.empty(n, np.float64)))
        path[n] = x
        shift[n] = total
        total += node_bow[x]
        x = node_parent[x]
        n += 1
    scale = np.exp(total)
    for u in range(root_p.size):
        out[u] = scale * root_p[u]
    for j in range(n - 1, -1, -1):
        x = path[j]
        for k in range(pair_ptr[x], pair_ptr[x + 1]):
            out[pair_word[k]] = np.exp(pair_logp[k] + shift[j])


@kernel
def link(node_pair, pair_ptr, pair_word, pair_node_of, start_pair, node_parent, node_depth, pair_next):
    """Suffix links of nodes and transitions of pairs, in one pass from short contexts to long ones.

    ``node_pair[x]`` is the pair (prefix context, last word) that spells node x, rising with x;
    ``pair_node_of`` its inverse (-1 where a pair is no context). The boundary leads to the start node.
    """
    start = pair_node_of[start_pair] if pair_node_of[start_pair] >= 0 else 0
    node_parent[0] = -1
    node_depth[0] = 0
    for x in range(node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            word = pair_word[pair]
            suffix = np.int32(0)
            y = node_parent[x]
            while y >= 0:
                shorter = find_pair(y, word, pair_ptr, pair_word)
                if shorter >= 0:
                    suffix = pair_next[shorter]
                    break
                y = node_parent[y]
            own = pair_node_of[pair]
            if own >= 0:
                node_parent[own] = suffix
                node_depth[own] = node_depth[x] + 1
            pair_next[pair] = own if own >= 0 else suffix
            if word == 0:
                pair_next[pair] = start


@kernel
def fill_missing(pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """Pairs that stand only because a longer context needs them (NaN) get their backed-off value."""
    for x in range(1, node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            if np.isnan(pair_logp[pair]):
                logp, _ = step(
                    node_parent[x],
                    pair_word[pair],
                    pair_ptr,
                    pair_word,
                    pair_logp,
                    pair_next,
                    node_parent,
                    node_bow,
                )
                pair_logp[pair] = node_bow[x] + logp


@kernel
def find_grams(grams, n_words, pair_ptr, pair_word, pair_node_of, out):
    """Pair that spells the first ``n_words`` words of each row, -1 where there is none."""
    for k in range(grams.shape[0]):
        node = np.int64(0)
        pair = np.int64(-1)
        for j in range(n_words):
            pair = find_pair(node, grams[k, j], pair_ptr, pair_word)
            if pair < 0:
                break
            if j + 1 < n_words:
                node = pair_node_of[pair]
                if node < 0:
                    pair = np.int64(-1)
                    break
        out[k] = pair


@kernel
def spell(nodes, node_pair, pair_word, pair_node, depth, out):
    """The context words of nodes of one depth, oldest first."""
    for k in range(nodes.size):
        x = nodes[k]
        for j in range(depth - 1, -1, -1):
            pair = node_pair[x]
            out[k, j] = pair_word[pair]
            x = pair_node[pair]


@kernel
def positions_by_word(stream, n_words, out):
    """Target positions (all but the first and the unseen) sorted by word, stable; returns how many."""
    ends = np.zeros(n_words + 1, np.int64)
    for i in range(1, stream.size):
        if stream[i] >= 0:
            ends[stream[i] + 1] += 1
    for u in range(n_words):
        ends[u + 1] += ends[u]
    for i in range(1, stream.size):
        if stream[i] >= 0:
            out[ends[stream[i]]] = i
            ends[stream[i]] += 1
    return ends[n_words - 1]


@kernel
def extend_grams(stream, by_word, n, grams, n_grams, ordered, longer, prefix, word, suffix, count):
    """From the (n-1)-grams ending at each position to the n-grams, numbered by (prefix, last word).

    ``grams[i]`` numbers the (n-1)-gram that ends at i (-1: none), ``longer[i]`` gets the n-gram; the rest
    describes each n-gram: its first n-1 words, last word, last n-1 words, occurrences. ``by_word`` keeps
    only positions that still have an n-gram. Returns the number of n-grams and of positions left.
    """
    ends = np.zeros(n_grams + 1, np.int64)
    longer[0] = -1
    for i in range(1, stream.size):
        longer[i] = -1
        h = grams[i - 1]
        if stream[i] >= 0 and h >= 0 and (n == 2 or stream[i - 1] != 0):
            ends[h + 1] += 1
    for h in range(n_grams):
        ends[h + 1] += ends[h]
    n_left = 0
    for k in range(by_word.size):
        i = by_word[k]
        h = grams[i - 1]
        if h >= 0 and (n == 2 or stream[i - 1] != 0):
            ordered[ends[h]] = i
            ends[h] += 1
            by_word[n_left] = i
            n_left += 1
    g = -1
    at = 0
    for h in range(n_grams):
        last_u = -1
        for k in range(at, ends[h]):
            i = ordered[k]
            u = stream[i]
            if u != last_u:
                g += 1
                last_u = u
                prefix[g] = h
                word[g] = u
                suffix[g] = grams[i]
                count[g] = 0
            count[g] += 1
            longer[i] = g
        at = ends[h]
    return g + 1, n_left


@kernel
def continuation_counts(suffix_of_longer, count, out):
    """Distinct words before each n-gram; where nothing precedes it (after ``<s>``), its occurrences."""
    out[:] = 0
    for g in range(suffix_of_longer.size):
        out[suffix_of_longer[g]] += 1
    for g in range(out.size):
        if out[g] == 0:
            out[g] = count[g]


@kernel
def kneser_ney_level(prefix, suffix, count, kept, discount, lower_p, total, mass, p):
    """p = (c - D(c)) / total(h) + gamma(h) p(w | h'), gamma(h) = (discounts and pruned counts) / total(h).

    ``mass`` ends as gamma per context. Pruned n-grams give all they have to their context's gamma.
    """
    total[:] = 0.0
    mass[:] = 0.0
    top = discount.size - 1
    for g in range(prefix.size):
        c = count[g]
        total[prefix[g]] += c
        mass[prefix[g]] += discount[min(c, top)] if kept[g] else c
    for h in range(total.size):
        mass[h] = mass[h] / total[h] if total[h] > 0 else 1.0
    for g in range(prefix.size):
        if kept[g]:
            h = prefix[g]
            p[g] = (count[g] - discount[min(count[g], top)]) / total[h] + mass[h] * lower_p[suffix[g]]


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
def renormalise(pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """bow(x) = (1 - sum p[x,w]) / (1 - sum p(w | x')) over stored pairs, from short contexts to long."""
    for x in range(1, node_parent.size):
        rest = 1.0
        lower_rest = 1.0
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            lower, _ = step(
                node_parent[x],
                pair_word[pair],
                pair_ptr,
                pair_word,
                pair_logp,
                pair_next,
                node_parent,
                node_bow,
            )
            rest -= np.exp(pair_logp[pair])
            lower_rest -= np.exp(lower)
        # all words stored: nothing is ever backed off to, and rounding must not make an infinity
        node_bow[x] = np.log(rest / lower_rest) if rest > 1e-12 and lower_rest > 1e-12 else 0.0
        if rest <= 1e-12 < lower_rest:
            node_bow[x] = np.log(1e-12 / lower_rest)


@kernel
def stationary_step(pair_ptr, pair_word, pair_logp, pair_node_of, node_bow, pi, out):
    """One step of the Markov chain of the 2-grams: out[w] = sum_v pi[v] p(w | v); id 0 is the boundary."""
    out[:] = 0.0
    base = 0.0
    for v in range(pi.size):
        x = pair_node_of[v]
        if x < 0:
            base += pi[v]
            continue
        bow = np.exp(node_bow[x])
        base += pi[v] * bow
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            u = pair_word[pair]
            out[u] += pi[v] * (np.exp(pair_logp[pair]) - bow * np.exp(pair_logp[u]))
    moved = 0.0
    for u in range(pi.size):
        out[u] = max(out[u] + base * np.exp(pair_logp[u]), 0.0)
        moved += abs(out[u] - pi[u])
    return moved


@kernel
def relative_entropy_scores(
    pi, node_pair, pair_ptr, pair_word, pair_logp, pair_next, pair_node_of, node_parent, node_bow, log_h, out
):
    """Stolcke 1998: the relative entropy each pair costs if it goes, or a pair that it holds up, if more."""
    log_h[0] = 0.0
    for x in range(node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            own = pair_node_of[pair]
            if own >= 0:
                log_h[own] = log_h[x] + pair_logp[pair] if x > 0 else np.log(pi[pair])
    out[: pair_ptr[1]] = np.inf
    lower = np.empty(pair_word.size, np.float64)
    for x in range(1, node_parent.size):
        rest = 1.0
        lower_rest = 1.0
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            lower[pair], _ = step(
                node_parent[x],
                pair_word[pair],
                pair_ptr,
                pair_word,
                pair_logp,
                pair_next,
                node_parent,
                node_bow,
            )
            rest -= np.exp(pair_logp[pair])
            lower_rest -= np.exp(lower[pair])
        rest = max(rest, 0.0)
        lower_rest = max(lower_rest, 0.0)
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            p = np.exp(pair_logp[pair])
            bow = np.log((rest + p) / (lower_rest + np.exp(lower[pair])))
            cost = p * (pair_logp[pair] - lower[pair] - bow)
            if rest > 0.0:
                cost -= rest * (bow - node_bow[x])
            out[pair] = np.exp(log_h[x]) * max(cost, 0.0)
    for x in range(node_parent.size - 1, 0, -1):
        held = node_pair[x]
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            out[held] = max(out[held], out[pair])


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
