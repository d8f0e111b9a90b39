"""Back-off models in model files: the forward trie as differences, compressed.

Logarithms are in single precision. Where the distributions of a model sum to 1, those of its file do within 1e-9: the
rounding errors of probabilities go into the back-off weights, and these are stored to 2^-34, a float32 and 16 bits
(``fine``) beside it. Single words, and words after contexts with next to nothing to back off to (``exact``), have
probabilities of that precision too. Where numbers are codes of a few bits, every distribution is divided by its sum
when the file is opened (``normalised``). Other models (of ARPA files, or of files of earlier versions) are rounded and
no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import gather, offsets
from epigram.lm.base import LanguageModel
from epigram.lm.ngram.backoff import BackoffModel, Links, as_backoff
from epigram.lm.storage import FAMILY, HEADER, IN_PLACE, Rows, pack_words, settings_of, unpack_words
from epigram.lm.vocabulary import BOUNDARY, START, Vocabulary
from epigram.protocols import Floats
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import differences, narrow, pack_weights, unpack_weights
from epigram.storage.schema import Array, Schema, damaged
from epigram.storage.schema import weights as weights_schema

LARGEST_LOG = 1e-6
"""Largest logarithm of a probability, rounding included."""
LARGEST_BACKOFF = 100 * float(np.log(10.0))
"""Largest logarithm of a back-off weight, except that of a context that backs off to nothing."""
LARGEST_CHAIN = 700.0
"""Largest sum of the back-off weights of one word: beyond it, its probability would be infinite."""
UNIT, FINEST = 2.0**-34, -(1 << 15)
"""Unit of the numbers beside single precision, and the least multiple of it that 16 bits hold."""


def to_model_file(
    fitted: LanguageModel, bits: int, fit: dict[str, Any], text: bool, compress: bool
) -> ModelFile:
    """Convert a back-off model, or an estimator that holds one, to header and arrays."""
    model = as_backoff(fitted)
    settings = {"model": "backoff", **settings_of(fitted), "bits": bits}
    known = {"ngrams": model.n_ngrams, "order": model.order}
    if fitted.text_digest_:
        known["text_digest"] = fitted.text_digest_
    header = {"settings": settings, "fit": {**known, **fit}}
    words = pack_words(model.vocabulary_)
    if not compress:
        arrays = arrays_in_place(model)
        return ModelFile(FAMILY, header, {**words, **arrays}, list(arrays))
    pair_logp, node_bow, fine = _rounded(model)
    if bits and fine:
        settings["normalised"] = True
    if bits:
        pair_logp, node_bow, fine = model.pair_logp, model.node_bow, {}
    tensors = {
        **words,
        "node_pair": narrow(np.diff(model.node_pair[1:], prepend=0)),
        "pairs": narrow(np.diff(model.pair_ptr)),
        "targets": narrow(differences(model.pair_word, model.pair_node)),
        **{f"logp.{name}": tensor for name, tensor in pack_weights(pair_logp, bits).items()},
        **{f"bow.{name}": tensor for name, tensor in pack_weights(node_bow, bits).items()},
        **fine,
    }
    possibly_zero = [name for name in tensors if name.startswith(("logp.", "bow."))]
    return ModelFile(FAMILY, header, tensors, possibly_zero)


def _rounded(model: BackoffModel) -> tuple[Floats, Floats, dict[str, Any]]:
    """Numbers whose stored distributions sum to 1, and the arrays of their last bits."""
    pair_logp, node_bow = np.empty_like(model.pair_logp), np.empty_like(model.node_bow)
    exact = np.empty(node_bow.size, np.uint8)
    if not bindings.ngram_round_stored(model.core, node_bow, exact, pair_logp):
        return model.pair_logp, model.node_bow, {}
    nodes = np.flatnonzero(exact)
    _, own = gather(model.pair_ptr, nodes)
    fine = {
        "exact": narrow(np.diff(nodes, prepend=0)),
        "logp.fine": finer(pair_logp[own]),
        "bow.fine": finer(node_bow),
    }
    return pair_logp, node_bow, fine


def finer(numbers: Floats) -> npt.NDArray[np.int16]:
    """The rest of numbers (multiples of the unit) beyond single precision, in units."""
    rounded = numbers.astype(np.float32)
    left = np.subtract(numbers, rounded, out=np.zeros_like(numbers), where=np.isfinite(numbers))
    return (left / UNIT).astype(np.int16)


ARRAYS_IN_PLACE = {
    "node_pair": Array(np.int64, ("nodes",), least=-1),
    "pair_ptr": Array(np.int64, ("nodes+1",)),
    "pair_word": Array(np.int32, ("ngrams",)),
    "pair_logp": Array(np.float64, ("ngrams",), below=LARGEST_LOG, infinite="-"),
    "node_bow": Array(np.float64, ("nodes",), infinite="-", most=LARGEST_BACKOFF),
    "pair_node_of": Array(np.int32, ("ngrams",), least=-1),
    "node_parent": Array(np.int32, ("nodes",), least=-1),
    "node_depth": Array(np.int32, ("nodes",)),
    "pair_next": Array(np.int32, ("ngrams",)),
}
"""The arrays as :class:`BackoffModel` names and uses them, in a file that is not compressed."""


def arrays_in_place(model: BackoffModel) -> dict[str, Any]:
    """Return these arrays of a model by their names in a file."""
    return {f"{IN_PLACE}{name}": getattr(model, name) for name in ARRAYS_IN_PLACE}


def use_in_place(file: ModelFile, vocabulary: Vocabulary) -> BackoffModel | None:
    """Return the model whose arrays a file holds as they are used; None if it holds none."""
    if f"{IN_PLACE}pair_ptr" not in file.tensors:
        return None
    found: dict[str, Any] = Schema({}, ARRAYS_IN_PLACE).read_arrays(file.tensors, IN_PLACE)
    node_pair, pair_ptr, pair_word, pair_logp, node_bow, pair_node_of, *links = found.values()
    trie = node_pair, pair_ptr, pair_word, pair_logp, node_bow
    model = BackoffModel.linked_before(vocabulary, trie, pair_node_of, Links(*links))
    _check_chains(model)
    return model


def _check_chains(model: BackoffModel) -> None:
    """Refuse back-off weights that add up to infinite probabilities."""
    if max(float(model.node_bow.max(initial=0.0)), 0.0) * (model.order - 1) <= LARGEST_CHAIN:
        return  # the usual case, for which nothing needs to be followed
    depth, sums = model.node_depth, model.node_bow.copy()
    for level in range(1, int(depth.max()) + 1):
        nodes = np.flatnonzero(depth == level)
        sums[nodes] += sums[model.node_parent[nodes]]
    if sums.max() > LARGEST_CHAIN:
        damaged(f"its back-off weights add up to {sums.max():g}")


ARRAYS = {
    "node_pair": Array(np.int64, ("contexts",), steps=True, below="ngrams"),
    "pairs": Array(np.int64, ("nodes",), total="ngrams"),
    "targets": Array(np.int64, ("ngrams",), per_count="pairs", below="words"),
    **weights_schema("ngrams", "logp.", below=LARGEST_LOG, infinite="-"),
    **weights_schema("nodes", "bow.", infinite="-", most=LARGEST_BACKOFF),
    "exact": Array(np.int64, ("exact",), steps=True, below="nodes"),
    "logp.fine": Array(np.int16, ("fine",), least=FINEST),
    "bow.fine": Array(np.int16, ("nodes",), least=FINEST, optional=True),
}


def from_model_file(file: ModelFile) -> BackoffModel:
    """The model of a file."""
    vocabulary = unpack_words(file.tensors)
    digest = file.header.get("fit", {}).get("text_digest", 0)
    if (model := use_in_place(file, vocabulary)) is not None:
        model.text_digest_ = digest
        return model
    found = Schema(HEADER, ARRAYS).read(file, words=len(vocabulary))

    def numbers(prefix: str) -> Floats:
        names = [name for name in found if name.startswith(prefix)]
        return unpack_weights({name.removeprefix(prefix): found[name] for name in names})

    pair_ptr, pair_logp, node_bow = offsets(found["pairs"]), numbers("logp."), numbers("bow.")
    if found["pairs"][found["exact"]].sum() != found["logp.fine"].size:
        damaged("'logp.fine' does not fit its contexts")
    if found["exact"].size:
        pair_logp[gather(pair_ptr, found["exact"])[1]] += found["logp.fine"] * UNIT
    if "bow.fine" in found:
        node_bow += found["bow.fine"] * UNIT
    model = BackoffModel(
        vocabulary,
        np.concatenate(([-1], found["node_pair"])),
        pair_ptr,
        found["targets"].astype(np.int32),
        pair_logp,
        node_bow,
    )
    if file.header["settings"].get("normalised"):
        bindings.ngram_divide_by_sums(model.core)
        model.root_changed()
    _check_chains(model)
    model.text_digest_ = digest
    return model


def describe(file: ModelFile) -> list[Section]:
    """N-grams per order."""
    model = from_model_file(file)
    lengths = model.node_depth[model.pair_node] + 1
    rows = [(int(n), int(k)) for n, k in zip(*np.unique(lengths, return_counts=True), strict=True)]
    return [Section("n-grams", ("order", "number"), rows)]


def weights(file: ModelFile) -> Rows:
    """Every n-gram with its natural log-probability and its back-off weight (0 for none)."""
    return ("attribute", "label", "weight", "backoff"), ngram_rows(from_model_file(file))


def ngram_rows(model: BackoffModel) -> Iterator[tuple[Any, ...]]:
    """Context, word, log-probability and back-off weight of every n-gram, short ones first."""
    words, home = model.vocabulary_.words, model.pair_node
    for depth in range(model.order):
        nodes = np.flatnonzero(model.node_depth == depth).astype(np.int32)
        contexts = dict(zip(nodes.tolist(), model.spell(nodes).tolist(), strict=True))
        for pair in np.flatnonzero(model.node_depth[home] == depth).tolist():
            context = " ".join(START if k == BOUNDARY else words[k] for k in contexts[int(home[pair])])
            node = int(model.pair_node_of[pair])
            backoff = float(model.node_bow[node]) if node >= 0 else 0.0
            yield context, words[model.pair_word[pair]], float(model.pair_logp[pair]), backoff
