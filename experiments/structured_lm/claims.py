"""What the paper says about perplexity and size (Figure 2), and what this run says to it. Verdicts are computed.

A model *degrades* with the order where its mean perplexity at the highest order is over half a percent above its
least; two models are *comparable* within two percent. A quick run gives no verdict that chance may turn
(:func:`judged`).
"""

from __future__ import annotations

from experiments.report import Claim, claim_of, too_small, verdict_of
from experiments.structured_lm.paper import ALPHAS, BEST_ORDER
from experiments.structured_lm.plan import CHOSEN_AT, NORMS, WEIGHTINGS
from experiments.structured_lm.results import LABELS, Results

DEGRADES = 1.005
COMPARABLE = 1.02
SATURATED = 1.05
CHANCE = 0.008
"""Perplexities of two models on the quick run's text may differ by this share by chance: three standard errors of their
log-probabilities' difference, which are 0.4 to 0.8 percent for the norms here and Kneser-Ney."""
ACROSS_ORDERS = 0.004
"""The same for one norm at two orders: two and a half standard errors for tree-linf, five for tree-l2."""
SURE = float("inf")
"""The distance of a claim about counts, which have no chance in them."""


def perplexity_claims(results: Results) -> list[Claim]:
    """Figure 2a."""
    return [
        degrades(results, "l1"),
        degrades(results, "l2"),
        does_not_degrade(results),
        best_at_five(results),
        linf_degrades(results),
        similar_to_kneser_ney(results),
        positivity_is_free(results),
    ]


def weighted_claims(results: Results) -> list[Claim]:
    """Figure 2b, and section 7."""
    return [
        flat_with_weights(results),
        l1_is_worst(results),
        l2_catches_up(results),
        gains_most(results),
        ends_best(results),
        directions(results),
        long_contexts(results),
        beats_kneser_ney(results),
    ]


def size_claims(results: Results) -> list[Claim]:
    """Figure 2c."""
    return [trie_grows(results), tree_saturates(results)]


def judged(
    results: Results,
    text: str,
    why: str,
    holds: bool,
    distance: float | None,
    better: bool = False,
    chance: float = CHANCE,
    *,
    reason: str,
) -> Claim:
    """A claim with its verdict, and the reason where it fails; on the quick subset none, unless the numbers are clear.

    ``distance`` is how far the numbers lie from where the verdict would turn, as a share; None where the subset lacks
    what the claim is about. They are clear from ``chance`` on.
    """
    claim = Claim(text, verdict_of(holds, better), why)
    if not results.quick or (distance is not None and distance >= chance):
        return claim_of(text, claim.verdict, why, reason)
    if distance is None:
        return too_small(claim, "the quick subset does not reach so far")
    return too_small(claim, "so little may be chance on the quick subset")


def rise(results: Results, key: str) -> float:
    """Perplexity at the highest order over the least of all orders."""
    return results.perplexity[key][-1] / results.best(key)[1]


def degrades(results: Results, norm: str) -> Claim:
    """l1 and squared l2."""
    key = f"{norm}/plain"
    order, _ = results.best(key)
    holds = rise(results, key) > DEGRADES and order < results.orders[-1]
    why = (
        f"{_path(results, key)}. With the strength chosen anew at order {results.orders[-1]}, "
        f"{results.again[norm]:.2f} there."
    )
    text = f"Unweighted {LABELS[key]} improves until a relatively low order and then degrades (Fig. 2a)."
    distance = abs(rise(results, key) - DEGRADES)
    reason = "It rises by less than half a percent."
    return judged(results, text, why, holds, distance, chance=ACROSS_ORDERS, reason=reason)


def does_not_degrade(results: Results) -> Claim:
    """tree-l2."""
    risen = rise(results, "tree-l2/plain")
    text = "Tree-l2 does not degrade with the order: taking the tree structure into account helps (Fig. 2a)."
    why = f"{_path(results, 'tree-l2/plain')}."
    distance = abs(risen - DEGRADES)
    reason = "It rises by more than half a percent from its best order on."
    return judged(results, text, why, risen <= DEGRADES, distance, chance=ACROSS_ORDERS, reason=reason)


def best_at_five(results: Results) -> Claim:
    """tree-linf against all others, Kneser-Ney as the paper has it."""
    order = CHOSEN_AT if CHOSEN_AT in results.orders else results.orders[-1]
    others = [f"{norm}/plain" for norm in NORMS if norm != "tree-linf"] + ["kn"]
    ours = results.at("tree-linf/plain", order)
    holds = all(ours < results.at(key, order) for key in others)
    listed = ", ".join(f"{LABELS[key]} {results.at(key, order):.2f}" for key in others)
    modified = results.at("mkn", order)
    distance = abs(min(results.at(key, order) for key in others) / ours - 1)
    why = f"Order {order}: tree-linf {ours:.2f}; {listed}; modified Kneser-Ney {modified:.2f}."
    text = "Tree-linf outperforms all other models at order 5 (Fig. 2a)."
    nearest = min(others, key=lambda key: results.at(key, order))
    reason = f"{LABELS[nearest]} is ahead."
    return judged(results, text, why, holds, distance, better=ours < modified, reason=reason)


def linf_degrades(results: Results) -> Claim:
    """A model that does not degrade is better than the paper's."""
    risen = rise(results, "tree-linf/plain")
    why = (
        f"{_path(results, 'tree-linf/plain')}; {results.unbounded:.2f} without a limit of the order; "
        f"{results.again['tree-linf']:.2f} at order {results.orders[-1]} with the strength chosen there."
    )
    text = "Unweighted tree-linf degrades at higher orders, unlike tree-l2 (Fig. 2a)."
    flat = risen <= DEGRADES
    distance = abs(risen - DEGRADES)
    return judged(results, text, why, True, distance, better=flat, chance=ACROSS_ORDERS, reason="")


def similar_to_kneser_ney(results: Results) -> Claim:
    """tree-l2 at the highest order."""
    ratio = results.perplexity["tree-l2/plain"][-1] / results.perplexity["kn"][-1]
    why = (
        f"Order {results.orders[-1]}: {results.perplexity['tree-l2/plain'][-1]:.2f} against "
        f"{results.perplexity['kn'][-1]:.2f} ({100 * (ratio - 1):+.1f} %)."
    )
    text = "Tree-l2 performs similarly to interpolated Kneser-Ney (Fig. 2a)."
    return _comparable(results, text, why, ratio)


def positivity_is_free(results: Results) -> Claim:
    """Weights of either sign at order 5, with a strength of their own; on pairs that were seen, as ours always are."""
    order = CHOSEN_AT
    lost = {norm: results.at(f"{norm}/plain", order) / results.free[norm] - 1 for norm in NORMS}
    listed = ", ".join(
        f"{LABELS[f'{norm}/plain']} {results.at(f'{norm}/plain', order):.2f} and {results.free[norm]:.2f}"
        for norm in NORMS
    )
    worst = max(lost.values())
    text = (
        "Constraining weights to be positive saves memory, nearly |V|-fold for long contexts, without loss of "
        "accuracy (section 2.5)."
    )
    why = (
        f"Order {order}, perplexity with weights >= 0 and with free signs, each at its own strength: {listed}. Free "
        "signs are on the pairs that were seen; weights on unseen pairs too could only widen the difference."
    )
    reason = (
        f"The limit costs up to {100 * worst:.1f} %: without negative weights no context can say that a word is less "
        "likely after it than after its suffixes."
    )
    return judged(results, text, why, worst <= DEGRADES - 1, abs(worst - (DEGRADES - 1)), reason=reason)


def flat_with_weights(results: Results) -> Claim:
    """No weighted model degrades."""
    rises = {norm: rise(results, f"{norm}/weighted") for norm in NORMS}
    listed = ", ".join(f"{norm} {100 * (rise - 1):.2f} %" for norm, rise in rises.items())
    text = "With depth weights no penalty degrades at larger orders (Fig. 2b)."
    why = f"From the least perplexity to that at order {results.orders[-1]}: {listed}."
    worst = max(rises.values())
    distance = abs(worst - DEGRADES)
    reason = (
        f"{max(rises, key=lambda norm: rises[norm])} rises by more than half a percent: its weights are those "
        f"chosen at order {CHOSEN_AT}, for every order."
    )
    return judged(results, text, why, worst <= DEGRADES, distance, chance=ACROSS_ORDERS, reason=reason)


def l1_is_worst(results: Results) -> Claim:
    """Weighted l1 against plain l1 and the other weighted norms, at the highest order."""
    last = {norm: results.perplexity[f"{norm}/weighted"][-1] for norm in NORMS}
    plain = results.perplexity["l1/plain"][-1]
    holds = last["l1"] < plain and last["l1"] == max(last.values())
    others = max(value for norm, value in last.items() if norm != "l1")
    distance = min(abs(plain / last["l1"] - 1), abs(last["l1"] / others - 1))
    listed = ", ".join(f"{norm} {value:.2f}" for norm, value in last.items())
    text = (
        "Weighted l1 improves at larger depths but fails to compare to the others: the problem does not admit "
        "sparse solutions (Fig. 2b)."
    )
    why = f"Order {results.orders[-1]}: l1 without weights {plain:.2f}; with weights {listed}."
    reason = "Weights do not help l1." if last["l1"] >= plain else "Another norm does worse."
    return judged(results, text, why, holds, distance, reason=reason)


def l2_catches_up(results: Results) -> Claim:
    """Weighted l2 against the better of the unweighted tree norms."""
    ours = results.perplexity["l2/weighted"][-1]
    trees = {norm: results.perplexity[f"{norm}/plain"][-1] for norm in ("tree-l2", "tree-linf")}
    ratio = ours / min(trees.values())
    text = "Weighted l2² improves considerably and compares with the unweighted tree norms (Fig. 2b)."
    why = (
        f"Order {results.orders[-1]}: {results.perplexity['l2/plain'][-1]:.2f} without weights, {ours:.2f} with; "
        f"tree-l2 {trees['tree-l2']:.2f}, tree-linf {trees['tree-linf']:.2f}."
    )
    return _comparable(results, text, why, ratio)


def gains_most(results: Results) -> Claim:
    """What weights do for each norm, at the highest order: the sentence of the paper to the letter."""
    gains = {
        norm: 1 - results.perplexity[f"{norm}/weighted"][-1] / results.perplexity[f"{norm}/plain"][-1]
        for norm in NORMS
    }
    listed = ", ".join(f"{norm} {100 * gain:.1f} %" for norm, gain in gains.items())
    text = "Tree-l2 gains more than the others from depth weights (Fig. 2b): by what the weights take off each norm."
    why = f"Gains at order {results.orders[-1]}: {listed}."
    most = max((norm for norm in NORMS if norm != "tree-l2"), key=lambda norm: gains[norm])
    ahead = gains["tree-l2"] - gains[most]
    before = {norm: results.perplexity[f"{norm}/plain"][-1] for norm in (most, "tree-l2")}
    room = " and has more to gain" if before[most] > before["tree-l2"] else ""
    reason = (
        f"{LABELS[f'{most}/plain']} gains more{room}: without weights it is at {before[most]:.2f} there, tree-l2 at "
        f"{before['tree-l2']:.2f}."
    )
    return judged(results, text, why, ahead > 0, abs(ahead), reason=reason)


def ends_best(results: Results) -> Claim:
    """Where the curves of Figure 2b lie: each norm at its best order."""
    best = {norm: results.best(f"{norm}/weighted") for norm in NORMS}
    listed = ", ".join(f"{norm} {value:.2f} at order {order}" for norm, (order, value) in best.items())
    text = (
        "Tree-l2 gains more than the others from depth weights (Fig. 2b): with them it is the best of all, each at "
        "its best order."
    )
    rival = min((norm for norm in NORMS if norm != "tree-l2"), key=lambda norm: best[norm][1])
    ahead = best[rival][1] / best["tree-l2"][1] - 1
    plain = results.best("tree-l2/plain")
    why = f"Weighted: {listed}; tree-l2 without weights {plain[1]:.2f} at order {plain[0]}."
    reason = f"{rival} is ahead by {-100 * ahead:.1f} %."
    return judged(results, text, why, ahead > 0, abs(ahead), reason=reason)


def directions(results: Results) -> Claim:
    """Whether strengths grow with the depth where the paper's do."""
    chosen = {norm: results.strengths[f"{norm}/weighted"].depth_weight for norm in NORMS}
    agree = [norm for norm in NORMS if (chosen[norm] > 1) == (ALPHAS[norm] < 1)]
    listed = ", ".join(f"{norm} {chosen[norm]:.2f} (alpha {ALPHAS[norm]:g})" for norm in NORMS)
    text = (
        "The best alpha is below 1 for all norms but tree-l2: the unweighted tree-l2 over-penalises deep "
        "features, the others under-penalise them (section 6)."
    )
    why = f"Factor of the strength for each symbol of depth, above 1 where alpha is below: {listed}."
    reason = f"Held-out text chose the other side of 1 for {', '.join(n for n in NORMS if n not in agree)}."
    return judged(results, text, why, len(agree) == len(NORMS), None, reason=reason)


def long_contexts(results: Results) -> Claim:
    """The order of the least perplexity of weighted tree-l2."""
    order, least = results.best("tree-l2/weighted")
    wanted = min(BEST_ORDER - 1, results.orders[-1])
    text = "With weighted tree-l2 the perplexity improves up to about 9-grams (section 6)."
    five = results.at("tree-l2/weighted", CHOSEN_AT)
    why = f"Least perplexity {least:.2f} at order {order}; {five:.2f} at order {CHOSEN_AT}."
    reason = f"Longer contexts than {order - 1} words do not help here."
    return judged(results, text, why, order >= wanted, None, reason=reason)


def beats_kneser_ney(results: Results) -> Claim:
    """The best tree norm against both kinds of Kneser-Ney, each at its best order."""
    keys = [f"{norm}/{kind}" for norm in ("tree-l2", "tree-linf") for kind in WEIGHTINGS]
    best = min(keys, key=lambda key: results.best(key)[1])
    (order, ours), (_, plain), (_, modified) = results.best(best), results.best("kn"), results.best("mkn")
    text = "Log-linear models with structured norms outperform standard Kneser-Ney smoothing (section 7)."
    why = (
        f"{LABELS[best]} {ours:.2f} at order {order}; interpolated Kneser-Ney {plain:.2f} and modified Kneser-Ney "
        f"{modified:.2f} at their best orders."
    )
    reason = "Kneser-Ney is ahead."
    return judged(
        results, text, why, ours < plain, abs(plain / ours - 1), better=ours < modified, reason=reason
    )


def trie_grows(results: Results) -> Claim:
    """Steps of |S| from order to order: roughly equal ones mean a linear rate."""
    trie = results.counts["trie"]
    steps = [
        (after - before) / (b - a)
        for before, after, a, b in zip(trie, trie[1:], results.orders, results.orders[1:], strict=False)
    ]
    holds = max(steps) <= 2 * min(steps)
    text = "The number of parameters of tree-l2, as of Kneser-Ney, grows roughly linearly with the order (Fig. 2c)."
    why = (
        f"|S| grows from {trie[0]:,.0f} at order {results.orders[0]} to {trie[-1]:,.0f} at "
        f"{results.orders[-1]}, by {min(steps):,.0f} to {max(steps):,.0f} an order; Kneser-Ney has "
        f"{results.counts['ngrams'][-1]:,.0f} n-grams."
    )
    return judged(results, text, why, holds, SURE, reason="Its steps differ by more than a factor of two.")


def tree_saturates(results: Results) -> Claim:
    """From order 5 on, while the trie goes on growing."""
    start = results.orders.index(CHOSEN_AT) if CHOSEN_AT in results.orders else 0
    tree, trie = results.counts["tree"], results.counts["trie"]
    used = results.counts["tree-linf/plain/nonzero"]
    growth = tree[-1] / tree[start]
    holds = growth <= SATURATED and used[-1] / used[start] <= SATURATED < trie[-1] / trie[start]
    text = (
        "The number of parameters of tree-linf saturates: it grows logarithmically with the order (Fig. 2c)."
    )
    why = (
        f"From order {results.orders[start]} to {results.orders[-1]}, |T| grows by {100 * (growth - 1):.1f} % "
        f"to {tree[-1]:,.0f} ({results.limits['tree']:,.0f} without a limit), the weights in use by "
        f"{100 * (used[-1] / used[start] - 1):.1f} % to {used[-1]:,.0f}, |S| by "
        f"{100 * (trie[-1] / trie[start] - 1):.0f} %."
    )
    reason = f"A growth of more than {100 * (SATURATED - 1):.0f} % is no saturation."
    return judged(results, text, why, holds, SURE, reason=reason)


def _comparable(results: Results, text: str, why: str, ratio: float) -> Claim:
    """Perplexity over that of a rival: at most comparable, or much better."""
    much = 1 / COMPARABLE - (CHANCE if results.quick else 0.0)
    holds, distance = ratio <= COMPARABLE, abs(ratio - COMPARABLE)
    reason = f"It is {100 * (ratio - 1):.1f} % behind; {100 * (COMPARABLE - 1):.0f} % count as comparable."
    return judged(results, text, why, holds, distance, better=ratio < much, reason=reason)


def _path(results: Results, key: str) -> str:
    """First, least and last perplexity."""
    order, least = results.best(key)
    values = results.perplexity[key]
    return (
        f"Order {results.orders[0]}: {values[0]:.2f}; least at order {order}: {least:.2f}; order "
        f"{results.orders[-1]}: {values[-1]:.2f} ({100 * (values[-1] / least - 1):+.2f} %)"
    )
