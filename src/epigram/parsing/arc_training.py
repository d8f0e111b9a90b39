"""Trains arc models: template, loss, pruner, and the model of the nonzero weights."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, Fingerprints
from epigram.features.columns import Columns
from epigram.features.lexicon import WordTable
from epigram.parsing.arc_features import Known, encode_parts, learn_features, locate
from epigram.parsing.arc_loss import ArcLoss, Kept
from epigram.parsing.arc_model import ArcModel, Pruner
from epigram.parsing.arc_templates import ArcTemplate, read_built_in
from epigram.parsing.arc_words import Words
from epigram.parsing.forest_loss import ForestLoss
from epigram.penalties.separable import L1
from epigram.protocols import Floats, Ints
from epigram.solvers.sgd import SGD

RATE, SLOW_RATE, RATE_BY_SENTENCES = 0.1, 0.03, 60.0
PRUNER_PASSES, PRUNER_L1 = 4, 3.0
OWN_SHARE = (
    1 / 3
)  # of the pruning threshold on the sentences that the pruner was trained on, of which it is surer


class ArcSamples(NamedTuple):
    """Encoded sentences, their projective heads, and one weight per sentence (None: ones)."""

    words: Words
    heads: Ints
    weights: Floats | None = None


def choose_rate(n_sentences: int) -> float:
    """Choose the first learning rate of SGD by the number of sentences.

    A step moves every score by the rate times its number of features, so that large training sets need a low rate.

    Examples
    --------
    >>> choose_rate(100), choose_rate(1000), choose_rate(10000)
    (0.1, 0.06, 0.03)
    """
    return min(RATE, max(SLOW_RATE, RATE_BY_SENTENCES / max(1, n_sentences)))


def choose_template(
    given: str | ArcTemplate | None, order: int, columns: Columns, has_classes: bool
) -> ArcTemplate:
    """Parse the template given, or the built-in one for the columns; keep lines up to the order."""
    if order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3, not {order!r}.")
    if given is None:
        has_morphology = columns.n_columns > 3 and len(np.unique(columns.columns[3].ids)) > 1
        given = read_built_in("arcs", "morphology") if has_morphology else read_built_in("arcs")
        if has_classes:
            given += read_built_in("classes").format(columns.n_columns)
    return (given if isinstance(given, ArcTemplate) else ArcTemplate.parse(given)).of_order(order)


def kept_arcs(
    samples: ArcSamples, pruner: Pruner | None, threads: int = 1, held_out: bool = False
) -> Kept | None:
    """Mark the arcs that pruning keeps and those of training trees; None for all arcs."""
    if pruner is None:
        return None
    if held_out:
        return pruner.kept(samples.words, threads=threads)
    own = replace(pruner, share=OWN_SHARE * pruner.share)
    return own.kept(samples.words, samples.heads, threads=threads)


def build_loss(
    samples: ArcSamples, template: ArcTemplate, known: Known, keep: Kept | None, threads: int = 1
) -> ArcLoss:
    """Build the loss of the template's order over the kept arcs."""
    parts = encode_parts(samples.words, template, known, keep)
    kind = ForestLoss if template.part_lines else ArcLoss
    return kind(parts, samples.heads, len(known.keys), samples.weights, threads)


def compact_model(
    samples: ArcSamples,
    template: ArcTemplate,
    keys: Fingerprints,
    w: Floats,
    classes: WordTable | None = None,
    pruner: Pruner | None = None,
    keep: Kept | None = None,
) -> ArcModel:
    """Make the model of the weights that are not zero, of features with these keys."""
    kept = np.flatnonzero(w)
    places = locate(samples.words, samples.heads, template, AttributeTable(keys[kept]), keep)
    return ArcModel.of_places(template, samples.words, *places, w[kept], classes, pruner)


def train_pruner(
    samples: ArcSamples, template: ArcTemplate, min_count: int, share: float, random_state: int | None
) -> Pruner | None:
    """Train the first-order model that prunes arcs; None for first order and for ``share=0``."""
    if not 0.0 <= share < 1.0:
        raise InputError(f"prune must be a share from 0 to below 1, not {share!r}")
    if not template.part_lines or not share:
        return None
    small = ArcTemplate.parse(read_built_in("pruner")).within(template.n_columns)
    known = learn_features(samples.words, samples.heads, small, min_count, None)
    loss = build_loss(samples, small, known, None)
    solver = SGD(passes=PRUNER_PASSES, eta0=RATE, random_state=random_state)
    w = solver.solve(loss, L1(PRUNER_L1), np.zeros(loss.n_weights)).w
    return Pruner(compact_model(samples, small, known.keys, w), share)
