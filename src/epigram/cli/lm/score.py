"""``epigram lm score``: log-probability of each line or n-best candidate."""

from __future__ import annotations

import json as encoder
from pathlib import Path

from epigram.cli import console
from epigram.cli.documents import Field, plain_text
from epigram.cli.lm.models import Model, Text, open_model, open_word_scorer, warn_if_left_out
from epigram.cli.options import Json
from epigram.errors import InputError


def command(
    model: Model,
    text: Text,
    nbest: bool = False,
    weight: float = 1.0,
    unknown_cost: float = 10.0,
    field: Field = None,
    json: Json = False,
) -> None:
    """Print the natural log-probability of each line, or with --json of each word.

    A word outside the vocabulary has the probability of <unk>; a closed model (lm train --closed) leaves it out.

    With --nbest, lists in any format of epigram rerank come out as JSON lines, best candidate first; `lm` among its
    features is the model's log-probability, `lm:unknown` the number of words the model does not know.

    Parameters
    ----------
    nbest : Read n-best lists; add the model's scores to theirs and sort them.
    weight : With --nbest: weight of the model's log-probability in the score.
    unknown_cost : With --nbest: cost of an unknown word, in nats.
    """
    if nbest:
        _score_nbest(model, text, weight, unknown_cost)
        return
    import numpy as np

    from epigram.lm.corpus import Corpus

    language_model = open_model(model)
    words = [*language_model.vocabulary_.words, "<unk>"]
    corpus = Corpus.read(plain_text(text, field), language_model.vocabulary_)
    if not corpus.n_sentences:
        raise InputError("no sentences: the file is empty or blank", path=text)
    warn_if_left_out(language_model, corpus.n_unseen, corpus.n_tokens)
    logps = language_model.score_corpus(corpus)
    ends = corpus.sentence_ptr + np.arange(corpus.n_sentences + 1)
    for k in range(corpus.n_sentences):
        own = logps[ends[k] : ends[k + 1]]
        if not json:
            print(f"{float(np.nansum(own)):.6f}")
            continue
        ids = corpus.ids[corpus.sentence_ptr[k] : corpus.sentence_ptr[k + 1]].tolist()
        scored = [
            [word, None if np.isnan(p) else round(float(p), 6)]
            for word, p in zip([*(words[i] for i in ids), "</s>"], own, strict=True)
        ]
        record = {"score": float(np.nansum(own)), "words": scored}
        console.print_line(record)


def _score_nbest(model: Path, path: Path, weight: float, unknown_cost: float) -> None:
    """n-best lists with the model's part added to their scores, best first."""
    from epigram.rerank.formats import json_lines, read_nbest
    from epigram.rerank.lm_features import with_language_models

    for line in json_lines(with_language_models(read_nbest(path), [open_word_scorer(model)])):
        record = encoder.loads(line)
        for candidate in record["candidates"]:
            features = candidate["features"]
            own = features.get("lm", 0.0) - unknown_cost * features.get("lm:unknown", 0.0)
            candidate["score"] += weight * own
        record["candidates"].sort(key=lambda candidate: -candidate["score"])
        console.print_line(record)
