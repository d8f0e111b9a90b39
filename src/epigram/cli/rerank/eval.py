"""``epigram rerank eval``: error rates of a reranker, of the base score and of the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epigram.cli import console
from epigram.cli.options import Json, Model
from epigram.cli.rerank.arguments import Lists, Lm, References, read_lists


def command(
    model: Model,
    nbest: Lists,
    against: Path | None = None,
    lm: Lm = None,
    references: References = None,
    json: Json = False,
) -> None:
    """Compute error rates of a reranker, of the base score and of the oracle.

    Parameters
    ----------
    against MODEL2 : Second reranker; tests whether the two differ.
    """
    from epigram.rerank import (
        Reranker,
        bleu,
        compare,
        error_rate,
        mean_reciprocal_rank,
        ndcg,
        sentence_accuracy,
    )
    from epigram.rerank.metrics import base_choice, errors_of

    reranker = Reranker.load(model)
    other = None if against is None else Reranker.load(against)
    lists = read_lists(nbest, references, lm, [reranker] if other is None else [reranker, other])
    choice, base = reranker.predict(lists), base_choice(lists)
    record: dict[str, Any] = {"lists": len(lists), "candidates": lists.n_candidates}
    for measure in ("cer", "wer"):
        record[measure] = error_rate(lists, choice, measure)
        record[f"{measure}_base"] = error_rate(lists, base, measure)
        record[f"{measure}_oracle"] = error_rate(lists, lists.oracle(measure) - lists.list_ptr[:-1], measure)
    record["sentence_accuracy"] = sentence_accuracy(lists, choice)
    record["sentence_accuracy_base"] = sentence_accuracy(lists, base)
    if None not in lists.references:
        record |= {"bleu": bleu(lists, choice), "bleu_base": bleu(lists, base)}
    for name, scores in (("", reranker.scores(lists)), ("_base", lists.scores)):
        record[f"ndcg{name}"] = ndcg(lists, scores, measure=reranker.measure)
        record[f"ndcg_10{name}"] = ndcg(lists, scores, 10, reranker.measure)
        record[f"mrr{name}"] = mean_reciprocal_rank(lists, scores, reranker.measure)
    if other is not None:
        theirs = other.predict(lists)
        result = compare(
            errors_of(lists, choice, reranker.measure), errors_of(lists, theirs, reranker.measure)
        )
        record["cer_against"] = error_rate(lists, theirs, "cer")
        record["p_value"] = result.p_matched_pairs
        record["p_bootstrap"] = result.p_bootstrap
    console.report(record, f"{model} on {nbest}", json)
