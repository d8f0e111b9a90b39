"""Averages the weights of several CRFs (logarithmic opinion pool, Smith et al. 2005).

    log p(y | x) = sum_k share_k score_k(y, x) - log Z(x)

Scores are linear in the weights, so a pool of CRFs is a CRF: it has the template lines, attributes and weights of all,
one model file, and every method of :class:`~epigram.tagging.crf.CRFTagger`. Taggers with other templates, orders or
strengths make other mistakes, which the pool averages out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from epigram.chain.crf import CRFEstimator
from epigram.chain.layout import ChainWeights
from epigram.chain.model import ChainModel
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, fingerprints
from epigram.features.lexicon import WordTable
from epigram.features.template import Template
from epigram.protocols import Floats, Ints


def pool(taggers: Sequence[CRFEstimator], shares: Sequence[float] | None = None) -> CRFEstimator:
    """One tagger of several fitted ones.

    Parameters
    ----------
    taggers : each a :class:`CRFTagger` or :class:`SegmentTagger` with a template, all with the same labels. Settings
        of the pool, such as its threads, are those of the first, or of the first :class:`SegmentTagger`.
    shares : the weight of each; by default all the same. What counts is their ratio.

    Examples
    --------
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> from epigram import CRFTagger
    >>> templates = ("U0:%x[0,0]\\nB\\n", "U0:%x[-1,0]\\nB\\n")
    >>> both = pool([CRFTagger(template, l1=0.01).fit(X, y) for template in templates])
    >>> both.predict([["the", "dog"]]), both.model_.template.text
    ([['D', 'N']], 'U0:%x[0,0]\\nB\\nU@2@0:%x[-1,0]\\n')
    """
    if not taggers:
        raise InputError("a pool needs taggers")
    given = np.ones(len(taggers)) if shares is None else np.asarray(shares, dtype=np.float64)
    if given.shape != (len(taggers),) or not (np.isfinite(given).all() and (given > 0).all()):
        raise InputError(f"{len(taggers)} taggers need as many shares above 0, not {shares}")
    models = [tagger.fitted_model() for tagger in taggers]
    if len(taggers) == 1:
        return taggers[0]
    first = next((t for t in taggers if t.model_.layout.types is not None), taggers[0])
    merged = pool_models(models, (given / given.sum()).tolist())
    settings = first.get_params(deep=False) | {"template": merged.template, "l1": first.l1_in_use}
    made = type(first)(**settings)
    n = merged.weights.n_nonzero
    made.model_, made.classes_, made.n_features_ = merged, first.classes_, n
    made.history_, made.columns_ = [], first.columns_
    made.fit_ = {"features": n, "active_features": n, "pooled": [model.weights.n_nonzero for model in models]}
    return made


def pool_models(models: Sequence[ChainModel], shares: Sequence[float]) -> ChainModel:
    """The model whose weights are those of the models, each times its share, added up."""
    labels, (template, new_heads) = models[0].labels, _one_template(models)
    for model in models[1:]:
        if model.labels != labels:
            unshared = sorted(set(labels) ^ set(model.labels))
            raise InputError(f"taggers of one pool have the same labels; {', '.join(unshared)} is not in all")
    longest = max(0 if model.layout.types is None else model.layout.types.longest for model in models)
    if longest and any(len(model.weights.triples) for model in models):
        raise InputError("a pool has segments or label triples, not both: leave out taggers of order 2")
    number: dict[str, int] = {}
    parts = []
    for model, heads, share in zip(models, new_heads, shares, strict=True):
        called = _renamed(model.table.names(range(len(model.table))), heads)
        ids = np.array([number.setdefault(name, len(number)) for name in called], dtype=np.int32)
        parts.append((model.weights.renumber(ids), share))
    names = list(number)
    allowed = reduce(np.logical_and, (model.layout.allowed_transitions for model in models))
    ends = [model.ends for model in models if model.ends is not None]
    return ChainModel.of_weights(
        labels,
        template,
        AttributeTable(fingerprints(names), names),
        _added(parts, len(labels)),
        any(model.layout.has_transitions for model in models),
        allowed,
        reduce(np.logical_and, ends) if ends else None,
        longest=longest,
    )


def _one_template(models: Sequence[ChainModel]) -> tuple[Template, list[dict[str, str]]]:
    """Return the union of the templates and, per model, the new prefix of each line head.

    Where a head stands for other lines than in a template before, it gets another name, so nothing is mixed up.
    """
    templates = [model.template for model in models if model.template is not None]
    if len(templates) < len(models):
        raise InputError("only taggers with a template can be pooled")
    if len({template.drops_outside for template in templates}) > 1:
        raise InputError("templates of one pool agree in their line '# outside:'")
    lexicons: dict[str, WordTable] = {}
    merged: dict[str, list[str]] = {}
    new_heads: list[dict[str, str]] = []
    for k, template in enumerate(templates, start=1):
        for name, lexicon in template.lexicons.items():
            if lexicons.setdefault(name, lexicon).table != lexicon.table:
                raise InputError(f"the taggers have different word lists of the name {name}")
        mine: dict[str, str] = {}
        for head, lines in _by_head(template.text).items():
            new = head if merged.get(head, lines) == lines else f"{head[0]}@{k}@{head[1:]}"
            merged[new] = [new + line[len(head) :] for line in lines]
            mine[head] = new
        new_heads.append(mine)
    outside = ["# outside: drop"] if templates[0].drops_outside else []
    text = "\n".join([*outside, *(line for lines in merged.values() for line in lines), ""])
    return Template.parse(text, lexicons=lexicons), new_heads


def _by_head(text: str) -> dict[str, list[str]]:
    """The lines of a template by what stands before their first cell."""
    found: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("#"):
            found.setdefault(line.partition("%x[")[0], []).append(line)
    return found


def _renamed(names: Sequence[str], heads: Mapping[str, str]) -> Sequence[str]:
    """Attributes with the new heads of their lines."""
    if all(head == new for head, new in heads.items()):
        return names
    head = re.compile("|".join(map(re.escape, sorted(heads, key=len, reverse=True))))
    return [head.sub(lambda found: heads[found[0]], name, count=1) for name in names]


def _added(parts: Sequence[tuple[ChainWeights, float]], n_labels: int) -> ChainWeights:
    """The sum of weights times shares; what belongs to the same thing becomes one weight."""

    def total(*names: str) -> tuple[list[Ints], Floats]:
        keys = [np.concatenate([getattr(w, name) for w, _ in parts]) for name in names[:-1]]
        values = np.concatenate([share * getattr(w, names[-1]) for w, share in parts])
        found, where = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
        sums = np.zeros(len(found))
        np.add.at(sums, where.ravel(), values)
        return [np.ascontiguousarray(column, dtype=np.int32) for column in found.T], sums

    (attributes, labels), values = total("attributes", "labels", "values")
    (edges, before, after), edge_values = total("edge_attributes", "before", "after", "edge_values")
    triples, triple_values = total("triples", "triple_values")
    transitions = sum((share * w.transitions for w, share in parts), np.zeros((n_labels, n_labels)))
    return ChainWeights(
        attributes,
        labels,
        values,
        transitions,
        edges,
        before,
        after,
        edge_values,
        np.column_stack(triples),
        triple_values,
    )
