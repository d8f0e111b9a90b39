"""``epigram rerank``: train, evaluate, run, explain and plot rerankers of n-best lists."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli
from epigram.cli import EVERY, Resume, Seconds
from epigram.cli.cluster import Cluster
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.rerank import Progress, Reranker
    from epigram.rerank.nbest import NBest

app = typer.Typer(no_args_is_help=True)

Lists = Annotated[
    Path,
    typer.Argument(
        metavar="NBEST",
        help="N-best lists: JSON lines, blocks, Moses, SRILM, NeMo, ESPnet, Kaldi, HyPoradise, LETOR; - is stdin.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")]
References = Annotated[
    Path | None, typer.Option(metavar="FILE", help="References, one a line, for formats that carry none.")
]
Eps = Annotated[float | None, typer.Option(help="Step size of blasso, f-boosting and fslr.  [chosen]")]
Smoothing = Annotated[float | None, typer.Option(help="Smoothing of boosting, equation 16.  [chosen]")]
Shrinkage = Annotated[float | None, typer.Option(help="Shrinkage of boosting, equation 9.  [chosen]")]
Theta = Annotated[
    float | None, typer.Option(help="Least fall of the lasso loss for a step back, blasso.  [chosen]")
]
Rate = Annotated[float | None, typer.Option(help="Size of the perceptron's updates.  [chosen]")]
Top = Annotated[int | None, typer.Option(help="Features that msr uses, the most effective ones.  [chosen]")]
Reach = Annotated[
    float | None, typer.Option(help="How far msr moves into the interval of fewest errors.  [chosen]")
]
Strongest = Annotated[float | None, typer.Option(help="First l2 penalty of ridge and softmax.  [1000; 10]")]
Weakest = Annotated[
    float | None,
    typer.Option(help="Last penalty of ridge and softmax, of lasso by its first.  [0.01; 0.01; 0.001]"),
]
Steps = Annotated[
    int | None, typer.Option(help="Length of the path: steps, passes or penalties.  [as long as it helps]")
]
Lm = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="MODEL",
        help="A language model (*.epigram or ARPA) whose score is a feature; may be given more than once.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@app.command()
def train(
    nbest: Lists,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes.")],
    dev: Annotated[
        Path | None,
        typer.Option(metavar="NBEST", help="Held-out lists: they choose the step and the settings."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(help="blasso, boosting, fslr, f-boosting, softmax, perceptron, lasso, ridge or msr."),
    ] = "blasso",
    eps: Eps = None,
    smoothing: Smoothing = None,
    shrinkage: Shrinkage = None,
    theta: Theta = None,
    rate: Rate = None,
    top: Top = None,
    reach: Reach = None,
    strongest: Strongest = None,
    weakest: Weakest = None,
    steps: Steps = None,
    held_out: Annotated[
        float,
        typer.Option(help="Without --dev: share of the lists, the last ones, that settings are chosen on."),
    ] = 0.1,
    ngrams: Annotated[int, typer.Option(min=1, help="Longest word n-gram.")] = 2,
    min_count: Annotated[int, typer.Option(min=1, help="Occurrences an n-gram needs.")] = 2,
    headwords: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Content words, one a line: adds headword bigrams.")
    ] = None,
    headword_tags: Annotated[
        str | None, typer.Option(metavar="TAG,TAG", help="Tags of content words, for lists with tags.")
    ] = None,
    chars: Annotated[int, typer.Option(min=0, help="Longest character n-gram; 0 for none.")] = 0,
    measure: Annotated[str, typer.Option(help="cer or wer: what is to be lowered.")] = "cer",
    risk: Annotated[
        float, typer.Option(min=0, help="Weigh a rival by its extra errors to this power.")
    ] = 0.0,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many steps without a better dev result.")
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Go on from this model's path, with its settings."),
    ] = None,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    lm: Lm = None,
    least_lead: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|dev",
            help="Leave the first candidate unless another leads it by more; dev chooses on held-out lists.",
        ),
    ] = "0",
    references: References = None,
    dev_references: References = None,
    json: Json = False,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw the path.")] = None,
) -> None:
    """Learn a reranker. Settings that are not given are chosen on held-out lists; the whole path of models is kept."""
    from epigram.cli.training import TrainingRun
    from epigram.rerank import Reranker, read_nbest, with_language_models
    from epigram.rerank.language_models import check_models
    from epigram.rerank.model import make_learner

    training = TrainingRun(output, plot, json, checkpoint, resume)
    chosen = make_learner(
        learner, steps=steps, eps=eps, smoothing=smoothing, shrinkage=shrinkage, theta=theta, rate=rate,
        top=top, reach=reach, strongest=strongest, weakest=weakest,
    )  # fmt: skip
    model = Reranker.load(known) if known else Reranker(
        chosen, ngrams, min_count, _words(headwords),
        headword_tags.split(",") if headword_tags else None, chars, _measure(measure), risk,
        patience, held_out, _lead(least_lead),
    )  # fmt: skip
    scorers = _language_models(lm)
    if known:
        check_models(model.space_.names, len(scorers))
    lists, dev_lists = read_nbest(nbest, references), read_nbest(dev, dev_references) if dev else None
    if scorers:
        lists = with_language_models(lists, scorers)
        dev_lists = None if dev_lists is None else with_language_models(dev_lists, scorers)
    with training.progress("training", total=steps, step="step") as show:

        def tell(now: Progress) -> bool:
            rate = "" if now.dev_rate is None else f", dev {model.measure} {now.dev_rate:.2f}"
            return show(now.step, f"loss {now.loss:,.0f}, {now.nonzero:,} weights{rate}", now.trial or None)

        if known:
            model.resume(lists, steps=steps, dev=dev_lists, callback=tell)
        else:
            model.fit(lists, dev=dev_lists, callback=tell)
    training.finish(
        _fit_record(model, dev_lists),
        lambda: model.save(output),
        lambda target: _draw({learner: model}, target),
    )


@app.command("eval")
def evaluate(
    model: Model,
    nbest: Lists,
    against: Annotated[
        Path | None, typer.Option(metavar="MODEL2", help="Test whether the two models differ.")
    ] = None,
    lm: Lm = None,
    references: References = None,
    json: Json = False,
) -> None:
    """Error rates of a model, of the base score alone and of the oracle; BLEU, NDCG and MRR."""
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
    lists = _lists(nbest, references, lm, [reranker] if other is None else [reranker, other])
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
    cli.print_json(record) if json else cli.facts(f"{model} on {nbest}", record)


@app.command()
def run(
    model: Model,
    nbest: Lists,
    lm: Lm = None,
    cluster: Cluster = None,
    json: Annotated[
        bool, typer.Option("--json", help="JSON lines: id, text, index, ranking and scores.")
    ] = False,
) -> None:
    """The best candidate of each list, one a line."""
    if cluster is not None:
        _run_on(cluster, model, nbest, json, lm)
        return
    import json as text_json
    import sys

    from epigram.rerank import Reranker

    reranker = Reranker.load(model)
    lists = _lists(nbest, None, lm, [reranker])
    best = reranker.predict(lists)
    if not json:
        texts = (lists.texts[c] for c in (lists.list_ptr[:-1] + best).tolist())
        sys.stdout.write(cli.echoed("".join(f"{text}\n" for text in texts)))
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
        sys.stdout.write(cli.echoed(text_json.dumps(record, ensure_ascii=False) + "\n"))


def _run_on(cluster: str, model: Path, nbest: Path, json: bool, lm: list[Path] | None) -> None:
    """Choose from the lists of a file on a cluster."""
    from epigram.cli.cluster import run_in_pieces
    from epigram.scale.pieces import BLANK_LINE, LINE

    first = b"" if not nbest.is_file() else nbest.open("rb").read(1)
    if nbest.is_file() and first not in (b"{", b"#"):
        raise InputError("--cluster takes lists as JSON lines or blocks, which can be cut", path=nbest)
    words = ["rerank", "run", str(model.resolve()), "-", *(["--json"] if json else [])]
    words += [word for path in lm or () for word in ("--lm", str(path.resolve()))]
    run_in_pieces(words, nbest, cluster, LINE if first == b"{" else BLANK_LINE)


@app.command()
def explain(
    model: Model,
    nbest: Lists,
    id: Annotated[
        str | None, typer.Option("--id", help="Only the list with this id; else all that changed.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Terms shown per list.")] = 10,
    limit: Annotated[int, typer.Option(min=1, help="Lists shown.")] = 20,
    lm: Lm = None,
    json: Json = False,
) -> None:
    """Which weights lifted the winner over the base model's choice."""
    from epigram.rerank import Reranker
    from epigram.rerank.metrics import base_choice

    reranker = Reranker.load(model)
    lists = _lists(nbest, None, lm, [reranker])
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
        cli.print_json({"lists": records})
        return
    for item in found:
        title = f"{item.id}: {item.winner_text}  <-  {item.base_text}  (lead {item.lead:.3f})"
        rows = [(term.feature, term.weight, term.difference, term.lift) for term in item.terms[:top]]
        cli.table(title, ("feature", "weight", "difference", "lift"), rows)
    if not found:
        cli.stderr().print("the base model's choice wins in every list")


@app.command("path")
def show_path(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="One or more models to draw.")],
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="L1 norm and error against steps.")
    ] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Steps between rows.  [a twentieth]")] = None,
    json: Json = False,
) -> None:
    """Loss, L1 norm, non-zero weights and dev error along the path (Figures 3 and 4 of the paper)."""
    from epigram.plots import check_plot
    from epigram.rerank import Reranker

    if plot is not None:
        check_plot(plot)
    loaded = {str(path.stem if len(models) > 1 else path): Reranker.load(path) for path in models}
    if plot is not None:
        _draw(loaded, plot)
    tables = {name: _path_rows(model, every) for name, model in loaded.items()}
    if json:
        cli.print_json({"models": tables})
        return
    for name, rows in tables.items():
        cli.table(name, tuple(rows[0]), [tuple(row.values()) for row in rows])


def _path_rows(model: Reranker, every: int | None) -> list[dict[str, Any]]:
    curves, n = model.curves_, len(model.path_)
    stride = every or max(1, n // 20)
    return [
        {
            "step": t,
            "loss": float(curves.losses[t]),
            "l1_norm": float(curves.l1_norms[t]),
            "nonzero": int(curves.nonzeros[t]),
            f"{model.measure}_dev": _rate(float(curves.dev_errors[t]), model.dev_length_),
            "chosen": t == model.step_,
        }
        for t in sorted({*range(0, n + 1, stride), n, model.step_})
    ]


def _draw(models: dict[str, Reranker], target: Path) -> None:
    from epigram.plots import plot_paths

    plot_paths(models, target)


def _fit_record(model: Reranker, dev: NBest | None) -> dict[str, Any]:
    curves, step = model.curves_, model.step_
    settings = {name: getattr(model.learner_, name) for name in model.learner_.usual if name != "steps"}
    record: dict[str, Any] = {
        **settings,
        "settings_tried": len(model.trials_),
        "held_out_lists": model.n_held_out_ if dev is None else len(dev),
        "steps": len(model.path_),
        "chosen_step": step,
        "loss": float(curves.losses[step]),
        "l1_norm": float(curves.l1_norms[step]),
        "nonzero": int(curves.nonzeros[step]),
        "base_weight": model.base_weight_,
        "least_lead": model.least_lead_,
        "features": model.space_.n_weights,
        f"{model.measure}_dev": _rate(float(curves.dev_errors[step]), model.dev_length_),
    }
    if model.measure != "cer":
        record["cer_dev"] = None if dev is None else _cer(model, dev)
    return record


def _cer(model: Reranker, lists: NBest) -> float:
    from epigram.rerank import error_rate

    return error_rate(lists, model.predict(lists), "cer")


def _rate(errors: float, length: float | None) -> float | None:
    return 100.0 * errors / length if length else None


def _lists(path: Path, references: Path | None, lm: list[Path] | None, models: list[Reranker]) -> NBest:
    """Lists with the features of the language models that the rerankers learnt with."""
    from epigram.rerank import read_nbest, with_language_models
    from epigram.rerank.language_models import check_models

    for model in models:
        check_models(model.space_.names, len(lm or ()))
    return with_language_models(read_nbest(path, references), _language_models(lm))


def _language_models(paths: list[Path] | None) -> list[Any]:
    """The language models of these files."""
    from epigram.cli.lm_scoring import open_word_scorer

    return [open_word_scorer(path) for path in paths or ()]


def _lead(text: str) -> float | str:
    """The number, or ``dev``."""
    try:
        return "dev" if text == "dev" else float(text)
    except ValueError:
        raise InputError(f"--least-lead is a number or dev, not {text!r}") from None


def _measure(name: str) -> str:
    from epigram.rerank.nbest import MEASURES

    if name not in MEASURES:
        raise InputError(f"unknown measure {name!r}; use one of {', '.join(MEASURES)}")
    return name


def _words(path: Path | None) -> list[str] | None:
    from epigram.text import read_lines

    return None if path is None else [word for line in read_lines(path) if (word := line.strip())]
