"""``epigram rerank run``: prints the best candidate of each n-best list."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.options import Model
from epigram.cli.rerank.arguments import Lists, Lm, read_lists


def command(
    model: Model,
    nbest: Lists,
    lm: Lm = None,
    json: bool = False,
) -> None:
    """Print the best candidate of each list, one per line.

    Parameters
    ----------
    json : Print JSON lines with id, text, index, ranking and scores.
    """

    from epigram.rerank import Reranker

    reranker = Reranker.load(model)
    lists = read_lists(nbest, None, lm, [reranker])
    best = reranker.predict(lists)
    if not json:
        texts = (lists.texts[c] for c in (lists.list_ptr[:-1] + best).tolist())
        console.write(f"{text}\n" for text in texts)
        return
    scores = reranker.scores(lists)
    for i, ranking in enumerate(reranker.rank(lists)):
        first, last = lists.list_ptr[i], lists.list_ptr[i + 1]
        record = {
            "id": lists.ids[i],
            "text": lists.texts[first + best[i]],
            "index": int(best[i]),
            "ranking": ranking.tolist(),
            "scores": scores[first:last].tolist(),
        }
        console.print_line(record)
