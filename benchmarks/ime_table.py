"""Table 1 of Gao et al. 2006 on our data: character error rates (%) of adaptation methods, domain by domain.

    python benchmarks/ime_table.py [--domains tanaka,mdn] [--sizes 800,8000,0] [--both] [--no-map] [--json FILE]

Rows are domains and sizes (0: all training sentences), columns the cross entropy of the domain (bits a word under
the background), the background alone, MAP with P_a by maximum likelihood and by Kneser-Ney, boosting and BLasso on
20-best lists of the background, and with --both BLasso on top of MAP-KN. All models are plain trigrams, as in the
paper (no share of bigrams). Every choice is made on the held-out sentences, all of them: the weight of MAP, the
smoothing of boosting (equation 16), the eps of BLasso, and the step of both; the paths end where they are half as
long again as their best step. The test set is read once. p: paired bootstrap of BLasso against boosting.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from _data import DATA
from epigram.ime.adapt import adapt_by_map, cross_entropy, crossed_lists
from epigram.ime.build import build
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.evaluate import error_counts, split_sentence
from epigram.ime.nbest import convert_text
from epigram.ime.text import read_sentences
from epigram.ime.wordlist import read_word_list
from epigram.lm.corpus import Corpus
from epigram.rerank import Reranker
from epigram.rerank.learners import make_learner
from epigram.rerank.metrics import compare, errors_of

IME = DATA / "ime"
LEARNERS = {"boosting": {"shrinkage": 1.0}, "blasso": {"theta": 0.0}}
"""What is given; all other settings are chosen on the held-out lists."""


def rates(background, domain: str, size: int, shared: dict, with_map: bool, both: bool) -> dict:
    """One row of the table."""
    sentences = shared["train"][: size or None]
    train, test = Corpus.of(sentences), shared["test"]
    length = sum(len(split_sentence(tokens)[1]) for tokens in test)
    row = {"domain": domain, "sentences": len(sentences)}
    row["entropy"] = cross_entropy(background.model, train)
    row["baseline"] = 100 * shared["baseline"].sum() / length
    for smoothing in ("map", "map-kn") if with_map else ():
        adapted = adapt_by_map(
            background.decoder, background.model, train, shared["heldout_corpus"], smoothing
        )
        row[smoothing] = 100 * error_counts(KanaKanjiConverter(adapted.decoder), test).sum() / length
        row[f"{smoothing} lambda"] = adapted.weight
    lists = convert_text(background.decoder, sentences, 20)
    errors = {}
    for name, options in LEARNERS.items():
        began = time.process_time()
        reranker = Reranker(make_learner(name, **options)).fit(lists, dev=shared["heldout_lists"])
        errors[name] = errors_of(shared["test_lists"], reranker.predict(shared["test_lists"]))
        row[name] = 100 * errors[name].sum() / length
        row[f"{name} chosen"] = {**asdict(reranker.learner_), "steps": reranker.step_}
        row[f"{name} trials"] = [asdict(trial) for trial in reranker.trials_]
        row[f"{name} weights"] = int(np.count_nonzero(reranker.weights_))
        row[f"{name} seconds"] = time.process_time() - began
    row["p"] = compare(errors["boosting"], errors["blasso"]).p_bootstrap
    if both and with_map:
        del lists
        crossed = crossed_lists(
            background.decoder, background.model, train, shared["heldout_corpus"], "map-kn"
        )
        dev = convert_text(adapted.decoder, shared["heldout"], 20)
        reranker = Reranker(make_learner("blasso", **LEARNERS["blasso"])).fit(crossed, dev=dev)
        reranked = KanaKanjiConverter(adapted.decoder, reranker)
        row["map-kn+blasso"] = 100 * error_counts(reranked, test).sum() / length
    return row


def main() -> None:
    """Print the table, one row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--domains", default="wikinews,tanaka,mdn,aozora")
    parser.add_argument("--sizes", default="800,8000,0")
    parser.add_argument("--both", action="store_true", help="also BLasso on top of MAP-KN")
    parser.add_argument("--no-map", action="store_true", help="learners only")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not IME.is_dir():
        sys.exit(f"no data at {IME}; set EPIGRAM_DATA")
    background = build([IME / "kftt" / "train.txt.gz"], read_word_list(IME / "lexicon.tsv.gz"), bigram=0.0)
    rows = []
    for domain in options.domains.split(","):
        shared = {
            part: read_sentences(IME / domain / f"{part}.txt.gz") for part in ("train", "heldout", "test")
        }
        shared["heldout_corpus"] = Corpus.of(shared["heldout"])
        shared["heldout_lists"] = convert_text(background.decoder, shared["heldout"], 20)
        shared["test_lists"] = convert_text(background.decoder, shared["test"], 20)
        first = np.zeros(len(shared["test"]), np.int64)
        shared["baseline"] = errors_of(shared["test_lists"], first)
        for size in map(int, options.sizes.split(",")):
            rows.append(rates(background, domain, size, shared, not options.no_map, options.both))
            print("  ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                            for name, value in rows[-1].items() if "trials" not in name), flush=True)  # fmt: skip
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
