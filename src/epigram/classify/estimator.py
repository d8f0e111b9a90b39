"""TextClassifier: labels of raw texts, with the methods of scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.classify.labels import checked_texts, label_columns, weights_of_texts
from epigram.classify.model import Changed, prints_of, pruned, strongest
from epigram.classify.selection import (
    STRENGTHS,
    GramChoice,
    Selection,
    agreement,
    candidates_for,
    seen_columns,
)
from epigram.classify.training import (
    best_temperature,
    factors_of,
    fit_columns,
    scaled,
)
from epigram.classify.update import change_weights, columns_of, with_columns
from epigram.errors import InputError
from epigram.estimator import check_fitted
from epigram.features.attributes import AttributeTable
from epigram.features.grams import GramSpec, Rows, learn_grams, locate_grams
from epigram.protocols import Floats
from epigram.storage.settings import StoredEstimator

L1_DEFAULT, L2_DEFAULT = 0.001, 0.03
L1_ALONE = 0.05
FILE_BYTES, LABEL_BYTES = 495_000, 9_900
"""Size that a file may have, in all or per label, if ``max_features`` is not given."""
WEIGHT_BYTES = 2.1
"""The least bytes that a weight takes in a file."""
SHARE = 0.997
"""Share of the sum of squared weights times texts that is kept, if ``max_features`` is not given."""
NAMED = 40
"""N-grams of each label whose text is kept for ``inspect``."""
FIRM = 4.0
"""Strength of l2 for changes of weights, in those for weights: measured best where a quarter of the texts is new."""
FEW = 200
"""Training texts below which n-grams that occur once are kept."""


@dataclass(eq=False, repr=False, kw_only=True)
class TextClassifier(StoredEstimator):
    """Log-linear classifier of raw texts; parameters that are None are chosen on held-out texts.

    Parameters
    ----------
    words, chars, across, lowercase, weighting : n-grams, see :class:`~epigram.features.grams.GramSpec`; give
        ``words`` (0 to 3), ``chars`` (shortest, longest) or both; weighting is ``"binary"`` or ``"log"``.
    normalise : Unicode normalisation: ``"NFC"``, ``"NFKC"`` or ``""``.
    scale : factors of columns: ``"idf"``, inverse document frequencies, ``"ratios"``, naive-Bayes log-count ratios (two
        classes only), or ``"none"``; they become part of the weights.
    l1, l2 : strengths of ``l1 sum |w| + l2 sum w^2``. With l2 = 0, which makes small models, accuracy is lost.
    min_count : texts that an n-gram occurs in [2; 1 for less than 200 texts].
    max_features : weights that are kept, the largest by ``|w| sqrt(texts)`` [as many as fit into 0.5 MB,
        or 10 KB a label with more than 50; 0: all].
    several : whether a text may have several labels; by default so if the labels are lists.
    class_weight : dict or ``"balanced"``.
    bits : of a stored weight: 8, 16 or 0 for float32.
    budget : CPU seconds that the choice may take.
    threads, random_state : same results for any number of threads.

    Attributes
    ----------
    classes_ : the labels, sorted.
    model_ : the :class:`~epigram.classify.model.TextModel`.
    thresholds_ : probabilities above which labels are given, by label; empty for the most probable one.
    fit_ : what was chosen, and the trials.

    Examples
    --------
    >>> texts = ["cheap pills now", "lunch at noon?", "cheap watches", "meeting at noon"] * 5
    >>> classifier = TextClassifier(words=2, l2=0.1).fit(texts, ["spam", "ham"] * 10)
    >>> classifier.predict(["cheap lunch pills", "a meeting"]).tolist()
    ['spam', 'ham']
    """

    words: int | None = None
    chars: tuple[int, int] | None = None
    across: bool = True
    lowercase: bool | None = None
    weighting: str | None = None
    normalise: str = "NFC"
    scale: str | None = None
    l1: float | None = None
    l2: float | None = None
    min_count: int | None = None
    max_features: int | None = None
    several: bool | None = None
    class_weight: Mapping[Any, float] | str | None = None
    bits: int = 8
    budget: float = 60.0
    threads: int = 1
    random_state: int = 0

    _family = "classifier"

    def fit(
        self,
        X: Sequence[str],
        y: Sequence[Any],
        sample_weight: npt.ArrayLike | None = None,
        callback: Callable[[str], object] = lambda said: False,
    ) -> Self:
        """Train on texts and their labels.

        ``callback`` is called with the name of each step; True ends the choice, and the best so far is fitted.
        """
        texts = checked_texts(X)
        self._check_settings()
        columns = label_columns(y, len(texts), self.several)
        self.classes_, self.several_, self.matrix_ = columns.classes, columns.several, columns.matrix
        targets, classes, several = columns.targets, columns.numbers, columns.several
        weights = weights_of_texts(columns, self.class_weight, sample_weight)
        min_count = self.min_count or (1 if len(texts) < FEW else 2)
        l1 = self.l1 if self.l1 is not None else (L1_ALONE if self.l2 == 0.0 else L1_DEFAULT)
        candidates, strengths = self._candidates(texts, targets.shape[1])
        selection = Selection(
            texts,
            targets,
            classes,
            several,
            weights,
            l1,
            min_count,
            self.budget,
            self.threads,
            callback,
            self._used,
        )
        best, chosen, temperature, reached = None, candidates[0], 1.0, None
        l2 = strengths[0] if len(strengths) == 1 else L2_DEFAULT
        if np.bincount(classes).max(initial=0) > 1 and len(texts) >= 10:
            best = selection.run(candidates, strengths)
        if best is not None:
            chosen, l2 = best.candidate, best.l2
            gold, held = selection.targets[np.concatenate(best.rows)], np.concatenate(best.scores)
            temperature = best_temperature(held, gold, several)
            reached = agreement(held, gold, several)
        callback("all texts")
        table, rows = learn_grams(texts, chosen.spec, min_count)
        factors = factors_of(rows, targets, chosen.scale)
        fit = fit_columns(
            scaled(rows, factors), targets, l1, l2, weights, None, 0.01, self.threads, self.random_state
        )
        own = fit.weights[:-1] if factors is None else fit.weights[:-1] * factors[:, None]
        weighted = Changed(
            prints_of(table.fingerprints), own, fit.weights[-1].copy(), seen_columns(rows).astype(np.float64)
        )
        self._prune(weighted, chosen.spec, temperature)
        self.thresholds_: dict[str, float] = {}
        self.strongest_ = self._name(texts, rows, table)
        self.fit_: dict[str, Any] = {
            "samples": len(texts), "words": chosen.spec.words, "chars": chosen.spec.chars,
            "across": chosen.spec.across, "lowercase": chosen.spec.lowercase, "log_counts": chosen.spec.log_counts,
            "scale": chosen.scale, "l1": l1, "l2": l2, "temperature": temperature, "passes": fit.iterations,
            "held_out_score": reached,
            "trials": [trial.record(selection.targets, several) for trial in selection.trials.values()],
        }  # fmt: skip
        self._shrink(weighted)
        return self

    def partial_fit(
        self, X: Sequence[str], y: Sequence[Any], sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Update with further texts; labels may be new. Without a model this is :meth:`fit`.

        N-grams, l1 and temperature stay, and changes of weights cost four times l2. What the new texts do not speak of
        keeps its weights; for a new label, give texts of the others too.
        """
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        texts, known = checked_texts(X), self.classes_.tolist()
        columns = label_columns(y, len(texts), self.several_, known)
        if columns.matrix != self.matrix_:
            raise InputError(
                "labels must be of the form of the first training: a matrix of 0 and 1, or names"
            )
        weights = weights_of_texts(columns, self.class_weight, sample_weight)
        model, n_before, min_count = self.model_, int(self.fit_["samples"]), self.min_count or 2
        if len(columns.classes) > len(known):
            at = columns_of(known, columns.classes.tolist())
            if not (columns.targets[:, at].any(axis=1) | ~columns.targets.any(axis=1)).any():
                raise InputError(
                    "all texts have new labels alone, so that every word would speak for them; give texts of the known "
                    f"labels too ({', '.join(map(str, known[:3]))}), as many"
                )
            model = with_columns(model, at.tolist(), len(columns.classes), n_before)
        changed, table, rows = change_weights(
            model, texts, columns.targets, n_before, self.fit_["l1"], FIRM * (self.fit_["l2"] or L2_DEFAULT),
            min_count, weights, self.threads, self.random_state,
        )  # fmt: skip
        self.classes_ = columns.classes
        self._prune(changed, model.spec, model.temperature)
        named = [name for column in self.strongest_ for name, _ in column]
        self.strongest_ = self._name(texts, rows, table, named)
        self.fit_["samples"] = n_before + len(texts)
        self._shrink(changed)
        return self

    def _check_settings(self) -> None:
        for name, value, known in (
            ("weighting", self.weighting, (None, "binary", "log")), ("bits", self.bits, (0, 8, 16)),
            ("scale", self.scale, (None, "idf", "ratios", "none")),
        ):  # fmt: skip
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(map(str, known))}, not {value!r}")

    def _candidates(self, texts: Sequence[str], n_columns: int) -> tuple[list[GramChoice], tuple[float, ...]]:
        """Candidates and strengths that the parameters leave open."""
        strengths = STRENGTHS if self.l2 is None else (float(self.l2),)
        single = n_columns == 1 and not self.several_
        if self.scale == "ratios" and not single:
            raise InputError("scale='ratios' is for two classes")
        if self.words is None and self.chars is None:
            log = None if self.weighting is None else self.weighting == "log"
            fixed: dict[str, Any] = {"lowercase": self.lowercase, "log_counts": log}
            fixed = {name: value for name, value in fixed.items() if value is not None}
            found = candidates_for(texts, single, self.normalise)
            chosen = [GramChoice(replace(spec, **fixed), self.scale or scale) for spec, scale in found]
            return list(dict.fromkeys(chosen)), strengths
        spec = GramSpec(
            self.words or 0, self.chars, self.across, self.lowercase is not False, self.normalise,
            self.weighting == "log", bool(self.words and self.chars),
        )  # fmt: skip
        scales = ["ratios"] if single else ["none", "idf"] if self.l2 is None else ["none"]
        return [GramChoice(spec, scale) for scale in ([self.scale] if self.scale else scales)], strengths

    def _used(self, weights: Floats, counts: Floats, part: float = 1.0) -> npt.NDArray[np.bool_]:
        """The weights to keep: ``max_features``, or those that this part of the largest file holds."""
        if self.max_features is not None:
            return strongest(weights, counts, self.max_features)
        each = WEIGHT_BYTES + max(0, self.bits or 32) / 8 - 1
        return strongest(weights, counts, int(part * self._most_bytes() / each), SHARE)

    def _most_bytes(self) -> int:
        return max(FILE_BYTES, LABEL_BYTES * len(self.classes_))

    def _prune(self, changed: Changed, spec: GramSpec, temperature: float, part: float = 1.0) -> None:
        """Keep the largest weights as the model."""
        used = self._used(changed.weights, changed.counts, part)
        self.model_ = pruned(changed, spec, temperature, self.several_, used)

    def _shrink(self, changed: Changed) -> None:
        """Keep fewer weights until the file is small enough, unless ``max_features`` is given."""
        part, most = 1.0, self._most_bytes()
        while self.max_features is None and (size := len(self.to_bytes())) > most:
            part *= 0.98 * most / size
            self._prune(changed, self.model_.spec, self.model_.temperature, part)
        self.fit_ |= {
            "classes": len(self.classes_), "features": len(self.model_.prints), "weights": len(self.model_.weights),
        }  # fmt: skip

    def _name(
        self, texts: Sequence[str], rows: Rows, table: AttributeTable, named: Sequence[str] = ()
    ) -> list[list[tuple[str, float]]]:
        """The strongest n-grams of each column with their weights, as text.

        They are found in the texts of rows, or are ``named`` already.
        """
        model = self.model_
        row = np.repeat(np.arange(len(model.prints)), np.diff(model.row_ptr))
        chosen = []
        for k in range(len(model.bias)):
            own = np.flatnonzero(model.columns == k)
            best = own[np.argsort(-np.abs(model.weights[own]), kind="stable")]
            chosen.append(best[: NAMED if len(model.bias) < 100 else 5])
        wanted = np.unique(model.prints[row[np.concatenate(chosen)]]) if chosen else np.empty(0, np.uint32)
        ids = np.flatnonzero(np.isin(prints_of(table.fingerprints), wanted))
        at = np.flatnonzero(np.isin(rows.ids, ids))
        _, first = np.unique(rows.ids[at], return_index=True)
        owners = np.unique(np.searchsorted(rows.ptr, at[first], side="right") - 1)
        names: dict[int, str] = {}
        for text in (*(texts[i] for i in owners.tolist()), *named):
            keys, begins, ends, _, content = locate_grams(text, model.spec)
            found = prints_of(keys)
            for j in np.flatnonzero(np.isin(found, wanted)).tolist():
                names.setdefault(
                    int(found[j]), bytes(content[begins[j] : ends[j]]).decode("utf-8", "replace")
                )
        return [
            [
                (names.get(int(model.prints[row[j]]), "?"), round(float(model.weights[j]), 4))
                for j in own.tolist()
            ]
            for own in chosen
        ]

    def decision_function(self, X: Sequence[str]) -> Floats:
        """Scores: one number a text for two classes, else one per label."""
        check_fitted(self, "model_")
        scores = self.model_.score(checked_texts(X), self.threads)
        return scores[:, 0] if scores.shape[1] == 1 and not self.several_ else scores

    def predict_proba(self, X: Sequence[str]) -> Floats:
        """Calibrated probability of each label, in the order of ``classes_``."""
        check_fitted(self, "model_")
        return self.model_.probabilities(self.model_.score(checked_texts(X), self.threads))

    def predict(self, X: Sequence[str]) -> npt.NDArray[Any]:
        """The label of each text; with several labels a tuple of them (those above their threshold)."""
        p = self.predict_proba(X)
        if not self.several_:
            best: npt.NDArray[Any] = self.classes_[p.argmax(axis=1)]
            return best
        least = np.array([self.thresholds_.get(str(name), 0.5) for name in self.classes_.tolist()])
        if self.matrix_:
            return np.asarray(p >= least, dtype=np.int64)
        out = np.empty(len(p), dtype=object)
        out[:] = [tuple(self.classes_[row].tolist()) for row in p >= least]
        return out

    def score(self, X: Sequence[str], y: Sequence[Any], sample_weight: npt.ArrayLike | None = None) -> float:
        """Accuracy; with several labels the share of texts whose labels are all right."""
        found = self.predict(X).tolist()
        if self.matrix_:
            right = [list(one) == list(gold) for one, gold in zip(found, np.asarray(y).tolist(), strict=True)]
        elif self.several_:
            right = [set(one) == set(gold) for one, gold in zip(found, y, strict=True)]
        else:
            right = [one == gold for one, gold in zip(found, y, strict=True)]
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def set_thresholds(self, X: Sequence[str], y: Sequence[Any], precision: float) -> Self:
        """Set for every label the lowest threshold with this precision on texts; 2: none has it."""
        p = self.predict_proba(X)
        for k, name in enumerate(self.classes_.tolist()):
            gold = np.array(
                [name in one if isinstance(one, list | tuple | set) else name == one for one in y]
            )
            order = np.argsort(-p[:, k], kind="stable")
            right = np.cumsum(gold[order]) / np.arange(1, len(gold) + 1)
            enough = np.flatnonzero(right >= precision)
            self.thresholds_[str(name)] = float(p[order[enough[-1]], k]) if len(enough) else 2.0
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
