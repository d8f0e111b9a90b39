"""Training on a stream: the weights of Nelakanti et al. 2013 (section 7, "can be trained online") kept at the optimum.

Contexts that end in the same word make a *block*: a subtree below the root whose contexts nothing else shares. Given
the weights of the root, the loss is a sum over blocks. So new text is learnt by solving a small problem exactly:

    sum of -ln P over all positions, old and new, of the blocks that grew  +  rest(root weights)  +  penalty

where ``rest`` stands for the positions of all other blocks. With a[u] the number of times those expect u at the
present weights w0, n[u] how often they saw it, and N of them, Jensen's inequality gives

    rest(w) = N ln( sum over u of a[u] exp(w[u] - w0[u]) / N ) - sum over u of n[u] (w[u] - w0[u])

which touches their loss at w0 and lies above it elsewhere: a step that lowers the problem lowers the whole objective.

A model of so many weights at most keeps as many in the blocks as they had, with those that are free: the ones worth
most, fitted again.

A block waits until it grew by a share of its size (``WORK``), so that a new position costs ``WORK`` positions at most,
however long the text is. What a call leaves out waits for the next one, or for :meth:`Online.settle`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from epigram._core.native import dot
from epigram.lm.corpus import Corpus, Vocabulary
from epigram.lm.loglinear.growing import Blocks, Keys, TextSoFar, WeightTable, keys_of, last_symbols
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.problem import Strength, build_penalty
from epigram.lm.loglinear.sparsify import KeptPairs, MaskedPenalty, largest, weight_importance
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.protocols import Floats, Ints, Offsets
from epigram.solvers.proximal import FISTA

WORK = 25
"""Positions gone through again for each new one, on average."""

LEAST_WORK = 10_000
"""Positions a call may go through in any case, so that a few sentences are learnt at once by a small model."""

ITERATIONS = 80  # the norms over trees need most of them, the others a dozen
SHARE = np.uint64(0xA0761D6478BD642F)  # apart from the weights, the table holds the shares of the first level


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a model is trained with."""

    penalty: str
    strength: Strength
    nonnegative: bool
    order: int
    collapse: bool
    threads: int
    tolerance: float
    max_weights: int | None = None


class WithRest:
    """A loss over some positions, and the bound on the others' as a function of the root's weights.

    ``expected`` and ``count`` are a and n above for the root's pairs, ``others`` the sum of a over words
    without a pair. ``slope`` is added to the gradient.
    """

    def __init__(
        self,
        loss: SuffixLoss,
        start: Floats,
        expected: Floats,
        count: Floats,
        others: float,
        slope: Floats | None = None,
    ) -> None:
        self._slope = slope
        self._loss, self._start = loss, start[: expected.size].copy()
        self._expected, self._count, self._others = expected, count, others
        self._n = float(expected.sum()) + others
        self.n_weights, self.n_samples = loss.n_weights, loss.n_samples + round(self._n)

    def value(self, w: Floats) -> float:
        """The loss and the bound."""
        return self._loss.value(w) + self._rest(w)[0] + self._sloping(w)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Both, and their gradient."""
        value = self._loss.value_and_gradient(w, out)
        rest, gradient = self._rest(w)
        out[: gradient.size] += gradient
        if self._slope is not None:
            out += self._slope
        return value + rest + self._sloping(w)

    def _sloping(self, w: Floats) -> float:
        return 0.0 if self._slope is None else dot(self._slope, w)

    def curvature(self, gradient: Floats) -> Floats:
        """The larger of count and expected count, as for the loss alone."""
        out = self._loss.curvature(gradient)
        out[: self._count.size] += self._count
        return out

    def _rest(self, w: Floats) -> tuple[float, Floats]:
        if self._n <= 0:
            return 0.0, np.zeros(self._count.size)
        move = w[: self._start.size] - self._start
        shares = self._expected * np.exp(move)
        total = float(shares.sum()) + self._others
        value = self._n * np.log(total / self._n) - dot(self._count, move)
        return float(value), self._n / total * shares - self._count


class Online:
    """A model on a stream: the text so far, its weights in a table, and what the blocks expect of the root.

    Of word u a block s expects ``exp(root[u]) * share`` with a share of its own where s has a pair for u, else
    the block's sum of 1 / Z. ``recalled`` says that the first positions are a guess at the text; ``kept`` are pairs
    that have weights though the text may not have them.
    """

    def __init__(
        self,
        recipe: Recipe,
        vocabulary: Vocabulary,
        positions: Positions,
        loss: SuffixLoss,
        w: Floats,
        recalled: bool = False,
        kept: KeptPairs | None = None,
    ) -> None:
        self.recalled, self.kept = recalled, kept
        self.recipe, self.vocabulary = recipe, vocabulary
        self.free = None if recipe.max_weights is None else recipe.max_weights - int(np.count_nonzero(w))
        self.text, self.blocks, self.table = TextSoFar(), Blocks.empty(), WeightTable()
        self.credit, self.log_likelihood, self.n_scored = 0, 0.0, 0
        self._room(len(vocabulary))
        self.text.add(positions)
        self.blocks.add(last_symbols(positions))
        self.blocks.learnt[:] = self.blocks.total
        self.count += np.bincount(positions.target, minlength=self.count.size)
        self.root[loss.tree.word[: loss.tree.pair_ptr[1]]] = w[: loss.tree.pair_ptr[1]]
        self._keep(loss, w, keys_of(loss.tree), np.flatnonzero(self.blocks.total))
        self._note_groups(loss.tree, w, np.zeros(w.size))

    def _room(self, n_words: int) -> None:
        """Arrays by word (and for ``inverse``, the sums of 1 / Z, by block) for a vocabulary of so many words."""
        names = ("root", "count", "shares", "covered", "inverse", "squares", "largest", "largest_at")
        for name in names:
            old = getattr(self, name, np.empty(0))
            more = n_words + (name == "inverse") - old.size
            setattr(self, name, np.append(old, np.zeros(more)))
        self.blocks.reserve(n_words + 1)

    root: Floats
    count: Floats
    shares: Floats
    covered: Floats
    inverse: Floats
    squares: Floats
    largest: Floats
    largest_at: Floats

    def learn(self, corpus: Corpus) -> None:
        """Go on with new text, in words of the vocabulary of this model or of one that begins with it."""
        self.vocabulary = corpus.vocabulary
        self._room(len(self.vocabulary))
        new = Positions.of(corpus)
        self.text.add(new)
        self.blocks.add(last_symbols(new))
        n_positions = int(self.blocks.total.sum())
        self.credit = min(self.credit + WORK * new.target.size, n_positions)
        due = self.blocks.due(max(self.credit, LEAST_WORK))
        if due.size:
            self.credit = max(self.credit - int(self.blocks.total[due].sum()), 0)
            self._solve(due)

    def settle(self) -> None:
        """Learn what waits, whatever it costs."""
        due = np.flatnonzero(self.blocks.total > self.blocks.learnt)
        if due.size:
            self._solve(due)

    def model(self) -> tuple[ContextTree, Floats]:
        """The tree of the text so far and its weights: a pass over all of it."""
        n_words = len(self.vocabulary)
        tree = self._grow(self.text.positions(n_words))
        w, _ = self._known(tree, np.flatnonzero(self.blocks.total), None)
        return tree, w

    def _grow(self, positions: Positions) -> ContextTree:
        tree = ContextTree.grow(positions, self.recipe.order, self.recipe.collapse)
        return tree if self.kept is None else self.kept.added_to(tree)

    def _solve(self, due: Offsets) -> None:
        """Minimise over the weights of some blocks and of the root."""
        n_words = len(self.vocabulary)
        at, is_old = self.blocks.of(due), self.blocks.is_old(due)
        positions = self.text.positions(n_words, at)
        tree = self._grow(positions)
        words = tree.word[: tree.pair_ptr[1]]
        unseen = np.delete(self.root, words)
        tree = replace(tree, n_unseen=np.array([np.exp(unseen).sum()]))
        keys = keys_of(tree)
        start, shares = self._known(tree, due, keys)
        loss = SuffixLoss(tree, self.recipe.threads)
        self._score(loss, start, self.text.positions(n_words, at[~is_old]))
        old_targets = np.bincount(positions.target[is_old], minlength=n_words)
        expected = self._expected_by_rest(tree, due, shares, self.count.sum() - old_targets.sum())
        count = (self.count - old_targets)[words]
        penalty = build_penalty(
            self.recipe.penalty,
            tree,
            self.recipe.strength,
            self.recipe.nonnegative,
            root_factors=self._root_factors(tree, start, due),
        )
        slope, subgradient = None, getattr(penalty, "subgradient", None)  # norms over trees have none
        if self.recalled:  # counts that are not known: those for which the root's weights are the best
            count = expected[words] + self.recipe.strength.strength * (self.root[words] > 0)
        if self.recalled and subgradient is not None:
            slope = self._slope_of_old(tree, self.text.positions(n_words, at[~is_old]), start, subgradient)
        whole = WithRest(loss, start, expected[words], count, float(np.delete(expected, words).sum()), slope)
        solver = FISTA(self.recipe.tolerance, ITERATIONS)
        w = solver.solve(whole, penalty, start).w
        if self.free is not None:
            n_before = int(np.count_nonzero(start))
            most = max(n_before + self.free, 1)
            if np.count_nonzero(w) > most:
                mask = largest(weight_importance(loss, w), most)
                w = solver.solve(whole, MaskedPenalty(penalty, mask), np.where(mask, w, 0.0)).w
            self.free -= int(np.count_nonzero(w)) - n_before
        self._forget(tree, due, shares)
        self.root[words] = w[: words.size]
        self.count += np.bincount(positions.target[~is_old], minlength=n_words)
        self.blocks.learnt[due] = self.blocks.total[due]
        self._note_groups(tree, w, start)
        self._keep(loss, w, keys, due)

    def _slope_of_old(
        self,
        tree: ContextTree,
        new: Positions,
        start: Floats,
        subgradient: Callable[[Floats, Floats], Floats],
    ) -> Floats:
        """A slope that makes the weights so far the best ones for the old text, whose counts are a guess."""
        other = ContextTree.grow(new, self.recipe.order, self.recipe.collapse)
        node = tree.contexts_in(other)
        terminal = tree.terminal - np.where(node >= 0, other.terminal[node], 0).astype(np.int32)
        old = SuffixLoss(replace(tree, terminal=terminal))
        gradient = np.empty_like(start)
        old.value_and_gradient(start, gradient)
        in_new = tree.carry_over(other, other.count.astype(np.float64))
        gradient += tree.per_pair(tree.multiplicity) * in_new
        best = -subgradient(start, -gradient)
        best[: int(tree.pair_ptr[1])] = 0.0  # the price of the root's weights stands against the other blocks
        return best - gradient

    def _known(self, tree: ContextTree, due: Offsets, keys: Keys | None) -> tuple[Floats, Floats]:
        """The weights so far in the pairs of a tree over some blocks, and the shares of its first level."""
        n_top = int(tree.pair_ptr[1])
        first = _first_level(tree)
        if not tree.collapsed:
            keys = keys_of(tree) if keys is None else keys
            w, shares = self.table.get(keys), self.table.get(keys[first] ^ SHARE)
        else:
            # Keys of a collapsed tree are those of its own text: find the tree of the old text again.
            at = self.blocks.of(due)[self.blocks.is_old(due)]
            w, shares = np.zeros(tree.n_pairs), np.zeros(first.stop - first.start)
            if at.size:
                old = self._grow(self.text.positions(len(self.vocabulary), at))
                keys = keys_of(old)
                w = tree.carry_over(old, self.table.get(keys))
                old_first = _first_level(old)
                old_shares = np.zeros(old.n_pairs)
                old_shares[old_first] = self.table.get(keys[old_first] ^ SHARE)
                shares = tree.carry_over(old, old_shares)[first]
        w[:n_top] = self.root[tree.word[:n_top]]
        return w, shares

    def _score(self, loss: SuffixLoss, w: Floats, new: Positions) -> None:
        """Add the log-probabilities of new positions, before they are learnt."""
        scores = Located(loss.tree, new).log_probabilities(loss, w)
        self.log_likelihood += float(scores.sum())
        self.n_scored += scores.size

    def _expected_by_rest(self, tree: ContextTree, due: Offsets, shares: Floats, n: float) -> Floats:
        """How often the positions outside some blocks, ``n`` of them, expect each word."""
        per_word = self.shares - self.covered
        word = tree.word[_first_level(tree)]
        np.add.at(per_word, word, self._inverse_of_pairs(tree) * (shares > 0) - shares)
        per_word += self.inverse.sum() - self.inverse[due].sum()
        expected = np.exp(self.root) * np.maximum(per_word, 0.0)
        total = float(expected.sum())
        return expected * (n / total) if n > 0 and total > 0 else np.zeros_like(expected)

    def _inverse_of_pairs(self, tree: ContextTree) -> Floats:
        """For each pair of the first level the sum of 1 / Z of its block."""
        first, last = tree.level_ptr[1:3] if tree.level_ptr.size > 2 else (0, 0)
        return np.repeat(self.inverse[tree.symbol[first:last] + 1], np.diff(tree.pair_ptr[first : last + 1]))

    def _forget(self, tree: ContextTree, due: Offsets, shares: Floats) -> None:
        """Take the shares of some blocks out of the sums."""
        word = tree.word[_first_level(tree)]
        np.subtract.at(self.shares, word, shares)
        np.subtract.at(self.covered, word, self._inverse_of_pairs(tree) * (shares > 0))
        self.inverse[due] = 0.0

    def _keep(self, loss: SuffixLoss, w: Floats, keys: Keys, blocks: Offsets) -> None:
        """Put away the weights of some blocks and what they expect of the root."""
        tree, gradient = loss.tree, np.empty(loss.n_weights)
        loss.value_and_gradient(w, gradient)
        n_top, first = int(tree.pair_ptr[1]), _first_level(tree)
        self.table.put(keys[n_top:], w[n_top:])
        if blocks.size and blocks[0] == 0 and self.blocks.total[0]:
            self.inverse[0] = tree.terminal[0] / loss.z[0]
        if first.stop > first.start:
            contexts = slice(*tree.level_ptr[1:3].tolist())
            self.inverse[tree.symbol[contexts] + 1] = loss.r[contexts]
            m = np.repeat(
                tree.multiplicity[contexts], np.diff(tree.pair_ptr[contexts.start : contexts.stop + 1])
            )
            word = tree.word[first]
            shares = np.maximum(gradient[first] / m + tree.count[first], 1e-12) * np.exp(-self.root[word])
            self.table.put(keys[first] ^ SHARE, shares)
            np.add.at(self.shares, word, shares)
            np.add.at(self.covered, word, self._inverse_of_pairs(tree))

    def _root_factors(self, tree: ContextTree, start: Floats, due: Offsets) -> Floats | None:
        """The share of the penalty on the root's groups that falls on these blocks."""
        factors = _ROOT_FACTORS.get(self.recipe.penalty)
        if factors is None:
            return None
        n_top, n_words = int(tree.pair_ptr[1]), self.root.size
        words = tree.word[:n_top]
        squares, largest = _per_word(tree, start, n_words)
        squares_of_rest = np.maximum(self.squares - squares, 0.0)
        is_due = np.zeros(self.blocks.total.size, bool)
        is_due[due] = True
        elsewhere = ~is_due[self.largest_at.astype(np.int64)] & (self.largest_at > 0)
        return factors(squares, squares_of_rest, largest, np.where(elsewhere, self.largest, 0.0))[words]

    def _note_groups(self, tree: ContextTree, w: Floats, start: Floats) -> None:
        """Keep the sum of squares and the largest weight of each word, and the block of that one."""
        if self.recipe.penalty not in _ROOT_FACTORS:
            return
        before, _ = _per_word(tree, start, self.root.size)
        after, largest = _per_word(tree, w, self.root.size)
        self.squares += after - before
        block = tree.per_pair(_block_of_context(tree))
        is_largest = np.abs(w) >= largest[tree.word]
        mine = np.isin(self.largest_at, np.unique(block)) | (largest > self.largest)
        mine[np.delete(np.arange(mine.size), tree.word[: tree.pair_ptr[1]])] = False
        at = np.zeros(self.root.size)
        at[tree.word[is_largest]] = block[is_largest]
        self.largest_at = np.where(mine, at, self.largest_at)
        self.largest = np.where(mine, largest, self.largest)


RootFactors = Callable[[Floats, Floats, Floats, Floats], Floats]


def _share_l2(squares: Floats, squares_of_rest: Floats, largest: Floats, largest_of_rest: Floats) -> Floats:
    """d sqrt(r^2 + rest^2) = r / sqrt(r^2 + rest^2) dr."""
    return np.sqrt(squares / np.maximum(squares + squares_of_rest, 1e-300))


def _share_linf(squares: Floats, squares_of_rest: Floats, largest: Floats, largest_of_rest: Floats) -> Floats:
    """Only the largest weight of a group pays for it."""
    return (largest >= largest_of_rest).astype(np.float64)


_ROOT_FACTORS: dict[str, RootFactors] = {"tree-l2": _share_l2, "tree-linf": _share_linf}


def _first_level(tree: ContextTree) -> slice:
    """The pairs just below the root."""
    bounds = tree.level_of_pair
    return slice(int(bounds[1]), int(bounds[2]) if bounds.size > 2 else int(bounds[1]))


def _per_word(tree: ContextTree, w: Floats, n_words: int) -> tuple[Floats, Floats]:
    """Sum of squares and largest size of the weights of each word."""
    squares = np.bincount(tree.word, weights=w * w, minlength=n_words).astype(np.float64)
    largest = np.zeros(n_words)
    np.maximum.at(largest, tree.word, np.abs(w))
    return squares, largest


def _block_of_context(tree: ContextTree) -> Ints:
    """0 for the root, else one more than the newest symbol of the context."""
    out = np.zeros(tree.n_contexts, np.int32)
    for level in range(1, tree.level_ptr.size - 1):
        here = slice(int(tree.level_ptr[level]), int(tree.level_ptr[level + 1]))
        out[here] = tree.symbol[here] + 1 if level == 1 else out[tree.parent[here]]
    return out
