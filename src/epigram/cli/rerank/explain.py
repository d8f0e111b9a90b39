"""``epigram rerank explain``: lists the weights behind the reranker's choice."""

from __future__ import annotations

from dataclasses import asdict

from epigram.cli import console
from epigram.cli.options import Json, Model
from epigram.cli.rerank.arguments import Lists, Lm, read_lists
from epigram.errors import InputError


def command(
    model: Model,
    nbest: Lists,
    id: str | None = None,
    top: int = 10,
    limit: int = 20,
    lm: Lm = None,
    json: Json = False,
) -> None:
    """Show the weights that lift the winner over the first choice.

    Parameters
    ----------
    id : Id of one list to explain [default: all lists whose winner changed]
    top >= 1 : Number of terms per list.
    limit >= 1 : Lists shown.
    """
    from epigram.rerank import Reranker
    from epigram.rerank.metrics import base_choice

    reranker = Reranker.load(model)
    lists = read_lists(nbest, None, lm, [reranker])
    if id is not None:
        if id not in lists.ids:
            raise InputError(f"no list has the id {id!r}", path=nbest)
        wanted = [lists.ids.index(id)]
    else:
        wanted = (reranker.predict(lists) != base_choice(lists)).nonzero()[0].tolist()[:limit]
    found = [reranker.explain(lists, i) for i in wanted]
    if json:
        records = [
            {**asdict(item), "terms": [{**asdict(term), "lift": term.lift} for term in item.terms[:top]]}
            for item in found
        ]
        console.print_json({"lists": records})
        return
    for item in found:
        title = f"{item.id}: {item.winner_text}  <-  {item.base_text}  (lead {item.lead:.3f})"
        rows = [(term.feature, term.weight, term.difference, term.lift) for term in item.terms[:top]]
        console.table(title, ("feature", "weight", "difference", "lift"), rows)
    if not found:
        console.stderr().print("the base model's choice wins in every list")
