"""Edit scripts: changes of forms into lemmas, and of multiword tokens into words.

A lemma script is ``case|cut|put|cut|put``: lower-case the form (l), capitalise it (t) or keep it (k), then cut so many
characters in front and put others there, and the same at the end. ``=lemma`` stands for a lemma that shares nothing
with its form.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

LONGEST_PUT = 8
LEMMA_SCRIPT = re.compile(r"([ltk])\|(\d{1,6})\|([^|]*)\|(\d{1,6})\|([^|]*)", re.DOTALL)
WORD_SCRIPT = re.compile(r"[+-]\d{1,6}( [+-]\d{1,6})*|\d{1,6}>[^ <>]*( [^ <>]*<\d{1,6})+")
COPY = "="  # the script of a token that is one word


def lower(form: str) -> str:
    """Return a form in lower case; the dotted capital I of Turkish becomes one letter.

    Examples
    --------
    >>> lower("İki"), len("İki".lower())
    ('iki', 4)
    """
    return form.replace("İ", "i").lower()


@lru_cache(1 << 16)
def lemma_script(form: str, lemma: str) -> str:
    """Return the script that makes a lemma of a form.

    Examples
    --------
    >>> lemma_script("Dogs", "dog"), lemma_script("went", "go"), lemma_script("gemacht", "machen")
    ('l|0||1|', '=go', 'l|2||1|en')
    """
    if lemma == lemma.lower():
        case, base = "l", lower(form)
    elif len(form) > 1 and form.isupper() and lemma == lemma.capitalize():
        case, base = "t", form.capitalize()
    else:
        case, base = "k", form
    i, j, n = longest_common(base, lemma)
    if (
        "|" in lemma
        or not n
        or max(j, len(lemma) - j - n) > LONGEST_PUT
        or (n == 1 and len(base) > 2 and len(lemma) > 2)
    ):
        return "=" + lemma
    return f"{case}|{i}|{lemma[:j]}|{len(base) - i - n}|{lemma[j + n :]}"


@lru_cache(1 << 16)
def apply_lemma(form: str, script: str) -> str:
    """Return the lemma that a script makes of a form, or the form where it does not fit.

    Examples
    --------
    >>> apply_lemma("Cats", "l|0||1|"), apply_lemma("a", "l|0||3|x")
    ('cat', 'a')
    """
    if script.startswith("="):
        return script[1:] or form
    found = LEMMA_SCRIPT.fullmatch(script)
    if found is None:
        return form
    case, front, before, back, after = found.groups()
    base = lower(form) if case == "l" else form.capitalize() if case == "t" else form
    if int(front) + int(back) > len(base):
        return base
    return before + base[int(front) : len(base) - int(back)] + after or base


def longest_common(a: str, b: str) -> tuple[int, int, int]:
    """Return the first longest common substring as (begin in a, begin in b, length).

    Examples
    --------
    >>> longest_common("gemacht", "machen")
    (2, 0, 4)
    """
    best, before = (0, 0, 0), [0] * (len(b) + 1)
    for i, c in enumerate(a[:200], 1):
        now = [0] * (len(b) + 1)
        for j, d in enumerate(b[:200], 1):
            if c == d:
                now[j] = before[j - 1] + 1
                if now[j] > best[2]:
                    best = (i - now[j], j - now[j], now[j])
        before = now
    return best


def word_script(token: str, words: tuple[str, ...]) -> str:
    """Return the script that makes the words of a token: its cuts, or the parts of each word.

    ``+2`` cuts after two characters, ``-2`` before the last two. Otherwise a word is ``cut>put``: the beginning of the
    token without so many characters, and what follows; or ``put<n``: the last n characters after others.

    Examples
    --------
    >>> word_script("don't", ("do", "n't")), word_script("aux", ("à", "les"))
    ('+2', '3>à les<0')
    """
    if len(words) == 1:
        return COPY
    if "".join(words) == token:
        cuts, at = [], 0
        for word in words[:-1]:
            at += len(word)
            cuts.append(f"+{at}" if at < len(token) - at else f"-{len(token) - at}")
        return " ".join(cuts)
    return _rewrite(token, words)


def _rewrite(token: str, words: tuple[str, ...]) -> str:
    low, parts = token.lower(), []
    lowered = tuple(word.lower() for word in words)
    chosen = lowered if _recased(token, lowered) == words else words
    base = low if chosen is lowered else token
    for k, word in enumerate(chosen):
        if " " in word or ">" in word or "<" in word:
            return COPY
        n = 0
        if k == 0:
            while n < min(len(base), len(word)) and base[n] == word[n]:
                n += 1
            parts.append(f"{len(base) - n}>{word[n:]}")
        else:
            while k == len(chosen) - 1 and n < min(len(base), len(word)) and base[-n - 1] == word[-n - 1]:
                n += 1
            parts.append(f"{word[: len(word) - n]}<{n}")
    script = " ".join(parts)
    return script if apply_words(token, script) == words else COPY


def apply_words(token: str, script: str) -> tuple[str, ...]:
    """Return the words that a script makes of a token; the token itself where it does not fit.

    Examples
    --------
    >>> apply_words("can't", "-3"), apply_words("Aux", "3>à les<0"), apply_words("a", "-3")
    (('ca', "n't"), ('À', 'les'), ('a',))
    """
    if script == COPY or not WORD_SCRIPT.fullmatch(script):
        return (token,)
    if ">" not in script:
        return _cut(token, script.split(" "))
    base, found = token.lower(), []
    if len(base) != len(token):
        return (token,)
    for part in script.split(" "):
        if ">" in part:
            cut, _, put = part.partition(">")
            if int(cut) > len(base):
                return (token,)
            found.append(base[: len(base) - int(cut)] + put)
        else:
            put, _, n = part.partition("<")
            if int(n) > len(base):
                return (token,)
            found.append(put + base[len(base) - int(n) :])
    return _recased(token, tuple(found)) if all(found) else (token,)


def _cut(token: str, cuts: list[str]) -> tuple[str, ...]:
    marks = [0, *(int(cut) if cut[0] == "+" else len(token) + int(cut) for cut in cuts), len(token)]
    if any(a >= b for a, b in itertools.pairwise(marks)):
        return (token,)
    words = tuple(token[a:b] for a, b in itertools.pairwise(marks))
    return words if all(word == word.strip() for word in words) else (token,)


def _recased(token: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Give words the case of their token: all capitals, or a capital first."""
    if token.isupper() and len(token) > 1:
        return tuple(word.upper() for word in words)
    if token[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words
