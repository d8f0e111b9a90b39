"""What ``epigram lm`` does with a model and a text: ``eval``, ``score``, ``filter``."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram import cli
from epigram.cli.cluster import Cluster
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
    from epigram.rerank.language_models import WordScorer

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file, or an ARPA file (gzip too).")]
Text = Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line (gzip too); - is stdin.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def evaluate(
    model: Model,
    text: Text,
    by: Annotated[
        Literal["sentence", "word"] | None,
        typer.Option(help="Also where it is surprised most: sentences, or words (by bits in all)."),
    ] = None,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Also the words that the model does not know.")
    ] = False,
    k: Annotated[int, typer.Option("-k", min=1, help="How many sentences or words are shown.")] = 20,
    cache: Annotated[
        int, typer.Option(min=0, metavar="N", help="Report perplexity with a cache of the last N words too.")
    ] = 0,
    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --cache: held-out text that chooses its weight.")
    ] = None,
    cache_weight: Annotated[float, typer.Option(help="With --cache and without --valid.")] = 0.1,
    json: Json = False,
) -> None:
    """Perplexity of a text, with and without the ends of sentences; by sentence, by word, and what is unknown."""
    from epigram.lm.pieces import read_as
    from epigram.lm.report import Report

    language_model = open_model(model)
    whole = read_as(language_model.vocabulary_, text)
    corpus = whole.with_vocabulary(language_model.vocabulary_)
    language_model.score_stream(corpus.stream()[:2])
    watch = cli.Stopwatch()
    found = language_model.evaluate(corpus)
    seconds = max(watch.cpu_seconds, 1e-9)
    record = {
        "perplexity": found.perplexity,
        "perplexity_without_end": found.perplexity_without_end,
        "tokens": found.tokens,
        "sentences": found.sentences,
        "oov": found.oov,
        "words_per_second": (found.tokens + found.sentences) / seconds,
    }
    if cache:
        from epigram.lm.mixed.cached import CachedLM

        cached = CachedLM(language_model, cache, cache_weight)
        if valid is not None:
            cached = CachedLM.chosen(language_model, valid, cache)
        record["cache_weight"] = cached.weight
        record["perplexity_with_cache"] = cached.perplexity(corpus)
    tables: list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = []
    if by is not None or unknown:
        report = Report.of(language_model, whole)
        if by == "sentence":
            tables.append(
                ("sentences", ("number", "perplexity", "oov", "sentence"), _worst(report, whole, k))
            )
        if by == "word":
            tables.append(("words", ("word", "count", "bits"), report.by_word()[:k]))
        if unknown:
            tables.append(("unknown", ("word", "count"), report.unknown()[:k]))
    if json:
        rows = {
            name: [dict(zip(columns, row, strict=True)) for row in rows] for name, columns, rows in tables
        }
        cli.print_json(record | rows)
        return
    cli.facts(str(model), record)
    for name, columns, found_rows in tables:
        cli.table(name, columns, found_rows)


def _worst(report: Any, text: Any, k: int) -> list[tuple[Any, ...]]:
    """The sentences of highest perplexity: number, perplexity, unknown words, text."""
    import numpy as np

    perplexities, unknown = report.perplexities, report.n_unknown
    worst = np.argsort(-perplexities, kind="stable")[:k].tolist()
    words = {n: next(iter(text.take(n, n + 1).sentences())) for n in worst}
    return [(n + 1, float(perplexities[n]), int(unknown[n]), " ".join(words[n])) for n in worst]


def score(
    model: Model,
    text: Text,
    nbest: Annotated[
        bool,
        typer.Option("--nbest", help="TEXT holds n-best lists: add the model to their scores and sort them."),
    ] = False,
    weight: Annotated[
        float, typer.Option(help="With --nbest: what a nat of the model counts in the score.")
    ] = 1.0,
    unknown_cost: Annotated[
        float, typer.Option(help="With --nbest: nats that a word costs that the model does not know.")
    ] = 10.0,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Natural log-probability of each sentence, or with --json of each of its words (a line each).

    With --nbest, lists in any format of epigram rerank come out as JSON lines, best candidate first; `lm` among its
    features is the model's log-probability, `lm:unknown` the number of words the model does not know.
    """
    if nbest:
        if cluster is not None:
            raise InputError("--nbest works on this machine; leave out --cluster.")
        _score_nbest(model, text, weight, unknown_cost)
        return
    if cluster is not None:
        from epigram.cli.cluster import run_in_pieces
        from epigram.scale.pieces import LINE

        words = ["lm", "score", str(model.resolve()), "-", *(["--json"] if json else [])]
        run_in_pieces(words, text, cluster, LINE)
        return
    import numpy as np

    from epigram.lm.corpus import Corpus

    language_model = open_model(model)
    words = [*language_model.vocabulary_.words, "<unk>"]
    corpus = Corpus.read(text, language_model.vocabulary_)
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
        print(cli.echoed(encoder.dumps(record, ensure_ascii=False)))


def _score_nbest(model: Path, path: Path, weight: float, unknown_cost: float) -> None:
    """n-best lists with the model's part added to their scores, best first."""
    from epigram.rerank.formats import json_lines, read_nbest
    from epigram.rerank.language_models import with_language_models

    for line in json_lines(with_language_models(read_nbest(path), [open_word_scorer(model)])):
        record = encoder.loads(line)
        for candidate in record["candidates"]:
            features = candidate["features"]
            own = features.get("lm", 0.0) - unknown_cost * features.get("lm:unknown", 0.0)
            candidate["score"] += weight * own
        record["candidates"].sort(key=lambda candidate: -candidate["score"])
        print(encoder.dumps(record, ensure_ascii=False))


def choose(
    model: Model,
    text: Text,
    keep: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Keep this share of the sentences, the best.")
    ] = None,
    max_perplexity: Annotated[
        float | None, typer.Option(metavar="X", help="Keep the sentences of at most this perplexity.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Choose by how much less likely this model finds a sentence."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where they go; standard output by default."),
    ] = Path("-"),
    json: Annotated[bool, typer.Option("--json", help="How many were kept, on standard error.")] = False,
) -> None:
    """Keep the sentences of a text that a model finds likely, in their order.

    With --against GENERAL, a model of text of any kind, this finds the sentences that are like the text of MODEL:
    the perplexity is then that under MODEL divided by that under GENERAL (Moore and Lewis 2010).
    """
    import numpy as np

    from epigram.cli.lm_prepare import write_text
    from epigram.lm.corpus import Corpus, tokens_of
    from epigram.lm.report import Report
    from epigram.text import read_lines

    if (keep is None) == (max_perplexity is None):
        raise InputError("give --keep SHARE or --max-perplexity X, one of them.")
    if keep is not None and not 0 < keep <= 1:
        raise InputError(f"--keep {keep:g}: a share above 0 and at most 1.")
    lines = [line for line in read_lines(text) if tokens_of(line)]
    language_model = open_model(model)
    corpus = Corpus.of(map(language_model.vocabulary_.tokens, lines))
    measure = Report.of(language_model, corpus).perplexities
    if against is not None:
        general = open_model(against)
        if general.vocabulary_.pieces != language_model.vocabulary_.pieces:
            raise InputError("cuts text in another way than MODEL (words, characters, pieces)", path=against)
        measure = measure / Report.of(general, corpus).perplexities
    if max_perplexity is not None:
        chosen = measure <= max_perplexity
    else:
        chosen = np.zeros(len(lines), dtype=bool)
        chosen[np.argsort(measure, kind="stable")[: round((keep or 0.0) * len(lines))]] = True
    kept = [line for line, wanted in zip(lines, chosen.tolist(), strict=True) if wanted]
    write_text(output, "".join(f"{line}\n" for line in kept).encode())
    record = {"sentences": len(lines), "kept": len(kept), "most": float(measure[chosen].max(initial=0.0))}
    if json:
        print(encoder.dumps(record), file=sys.stderr)


def open_model(path: Path) -> LanguageModel:
    """A language model from a model file, which is mapped into memory and not copied, or from an ARPA file."""
    from epigram.lm.ngram.arpa import looks_like_arpa, parse_arpa
    from epigram.lm.storage import FAMILY, from_model_file
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming
    from epigram.text import read_bytes

    if _is_safetensors(path):
        file = ModelFile.load(path, FAMILY)
    elif looks_like_arpa(content := read_bytes(path)):
        return parse_arpa(content, path)
    else:
        file = ModelFile.from_bytes(content, FAMILY, path)
    with blaming(path):
        return from_model_file(file)


def _is_safetensors(path: Path) -> bool:
    """Whether a file begins as model files of ours do: a length in eight bytes, then JSON."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(9)[8:] == b"{"
    except OSError:
        return False


def open_word_scorer(path: Path) -> WordScorer:
    """A language model that takes sentences as words, also where it cuts them into other pieces."""
    from epigram.lm.pieces import Words

    model = open_model(path)
    return model if model.vocabulary_.pieces is None else Words(model)
