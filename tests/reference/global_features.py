"""Reference implementation of epigram.tagging.stacked.labelling_features, one labelling at a time."""

from __future__ import annotations

from collections import Counter

from epigram.chain.chunks import are_chunk_labels, chunks


def units_of(labels: list[str], chunked: bool) -> list[tuple[str, int, int]]:
    """Type, first token, first token after it."""
    if not chunked:
        return [(label, t, t + 1) for t, label in enumerate(labels)]
    found = chunks(labels)
    inside = {t for _, begin, end in found for t in range(begin, end)}
    return sorted(
        [*found, *(("O", t, t + 1) for t in range(len(labels)) if t not in inside)], key=lambda unit: unit[1]
    )


def errors_of(labels: list[str], gold: list[str]) -> int:
    """Wrong and missing chunks, or wrong labels."""
    if not are_chunk_labels([*labels, *gold]):
        return sum(a != b for a, b in zip(labels, gold, strict=True))
    mine, answers = set(chunks(labels)), set(chunks(gold))
    return len(mine - answers) + len(answers - mine)


def usual_type(
    name: list[str], sentences: list[list[str]], first: list[list[str]], near: list[int], chunked: bool
) -> str | None:
    """The type that first labellings nearby mostly give to a word, or to a name of several words."""
    votes: Counter[str] = Counter()
    for s in near:
        words = [word.lower() for word in sentences[s]]
        for kind, begin, end in units_of(first[s], chunked):
            if len(name) == 1:
                votes[kind] += words[begin:end].count(name[0])
            elif words[begin:end] == name:
                votes[kind] += 1
    votes = +votes
    order = sorted({label for labels in first for label, _, _ in units_of(labels, chunked)} - {"O"})
    ranked = {"O": -1, **{kind: k for k, kind in enumerate(order)}}
    return min(votes, key=lambda kind: (-votes[kind], ranked[kind])) if votes else None


def features(
    s: int, labels: list[str], sentences: list[list[tuple[str, ...]]], first: list[list[str]], reach: int
) -> Counter[str]:
    """All features of one labelling of sentence ``s``, those that decide nothing too."""
    chunked = are_chunk_labels([label for one in [labels, *first] for label in one])
    words = [row[0].lower() for row in sentences[s]]
    padded = ["<s>", *words, "<s>"]
    found: Counter[str] = Counter()
    kinds = ["<s>"] * 3
    texts = [[row[0] for row in sentence] for sentence in sentences]
    near = [t for t in range(len(sentences)) if t != s and abs(t - s) <= reach]
    for kind, begin, end in units_of(labels, chunked):
        mine, before, after = words[begin:end], padded[begin], padded[end + 1]
        found[f"{kind} text {'_'.join(mine)}"] += 1
        found[f"{kind} before {before}"] += 1
        found[f"{kind} after {after}"] += 1
        found[f"{kind} around {before} {after}"] += 1
        if kind != "O":
            found[f"{kind} shape {'_'.join(_shape(row[0]) for row in sentences[s][begin:end])}"] += 1
            found[f"{kind} first {mine[0]}"] += 1
            found[f"{kind} last {mine[-1]}"] += 1
            found[f"{kind} length {min(len(mine), 6)}"] += 1
        if len(sentences[s][0]) > 1:
            cells = ["<s>", *(row[1] for row in sentences[s]), "<s>"]
            inner = "_".join(cells[begin + 1 : end + 1])
            found[f"{kind} cells {inner}"] += 1
            found[f"{kind} cells {cells[begin]} {inner} {cells[end + 1]}"] += 1
        found[f"{kind} types {kinds[-2]} {kinds[-1]}"] += 1
        found[f"{kind} types {kinds[-3]} {kinds[-2]} {kinds[-1]}"] += 1
        found[f"{kind} join {kinds[-1]} {before} {words[begin]}"] += 1
        found[f"{kind} begins {kinds[-1]} {words[begin]}"] += 1
        kinds.append(kind)
        for name in [[word] for word in mine] + ([mine] if len(mine) > 1 else []):
            usual = usual_type(name, texts, first, near, chunked) if reach else None
            if usual is not None:
                says = "agrees" if usual == kind else f"differs {usual}"
                found[f"{kind} {'name ' * (len(name) > 1)}{says}"] += 1
    return found


def _shape(word: str) -> str:
    out = ""
    for letter in word:
        mark = "#" if letter.isdigit() else "A" if letter.isupper() else "a" if letter.isalpha() else letter
        out += "" if out.endswith(mark) else mark
    return out
