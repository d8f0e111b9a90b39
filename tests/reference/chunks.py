"""Chunk scores the slow way: one token at a time, with conlleval's own lists of cases."""

from __future__ import annotations

from collections import Counter

# pairs of letters between which a chunk ends, and begins; those with S and EB are not conlleval's
ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO", "BS", "IS", "ES", "EB", "SE", "SI", "SO", "SS", "SB"}
STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE", "BS", "IS", "ES", "EB", "OS", "SE", "SI", "SS", "SB"}


def split(label: str) -> tuple[str, str]:
    letter, _, name = label.partition("-")
    return letter, name


def ends(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    return previous[0] + current[0] in ENDS or (previous[0] != "O" and previous[1] != current[1])


def starts(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    return previous[0] + current[0] in STARTS or (current[0] != "O" and previous[1] != current[1])


def conlleval(
    gold: list[list[str]], predicted: list[list[str]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Correct, predicted and gold chunks by type: the state machine of the program."""
    correct: Counter[str] = Counter()
    found: Counter[str] = Counter()
    there: Counter[str] = Counter()
    outside = ("O", "")
    inside_both, last_gold, last_predicted = False, outside, outside
    for gold_labels, predicted_labels in zip(gold, predicted, strict=True):
        for g, p in [
            *zip(map(split, gold_labels), map(split, predicted_labels), strict=True),
            (outside, outside),
        ]:
            if inside_both:
                gold_ends, predicted_ends = ends(last_gold, g), ends(last_predicted, p)
                if gold_ends and predicted_ends and last_gold[1] == last_predicted[1]:
                    inside_both = False
                    correct[last_gold[1]] += 1
                elif gold_ends != predicted_ends or g[1] != p[1]:
                    inside_both = False
            gold_starts, predicted_starts = starts(last_gold, g), starts(last_predicted, p)
            if gold_starts and predicted_starts and g[1] == p[1]:
                inside_both = True
            there[g[1]] += gold_starts
            found[p[1]] += predicted_starts
            last_gold, last_predicted = g, p
    return correct, found, there
