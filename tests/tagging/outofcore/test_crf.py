"""A folder of shards holds the arrays of one machine, however its files were cut, and its loss has the same bits."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import L1, L2, LBFGS, OWLQN, SGD, CRFTagger
from epigram.chain.labels import encode_labels
from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.seen_pairs import SeenPairs
from epigram.checkpoint import Checkpoint
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, renumbering
from epigram.features.encoding import encode
from epigram.features.formats import ColumnSpec, parse_columns
from epigram.features.template import Template
from epigram.outofcore import Here, Manifest, file_slices
from epigram.outofcore.dataset import map_array, write_arrays
from epigram.protocols import Steps
from epigram.tagging.outofcore.crf import ChainShard, StreamedChainLoss, TaggerShards, Terms
from epigram.tagging.outofcore.encode import ARRAYS, KIND, write_shards

TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,0|suffix:1]\nB\nB1:%x[0,1]\n")
READING = ColumnSpec("conll", None, (), -1, (0, 1), 3)
TOKEN = st.tuples(st.sampled_from("abcdé"), st.sampled_from("xy"), st.sampled_from(["O", "B", "I"]))
CORPUS = st.lists(st.lists(TOKEN, min_size=1, max_size=4), min_size=1, max_size=8)


def as_text(sentences: Any) -> str:
    return "".join("".join(" ".join(token) + "\n" for token in sentence) + "\n" for sentence in sentences)


def one_machine(text: str, template: Template = TEMPLATE, min_count: int = 1) -> tuple[Any, ...]:
    columns, label_column = READING.split(parse_columns(text.encode(), "text"))
    table = AttributeTable()
    sequences = encode(columns, template, table, grow=True)
    classes, labels = encode_labels(label_column, sequences)
    new_ids = renumbering(table.counts, min_count)
    table.renumber(new_ids)
    sequences = sequences.renumber(new_ids)
    return sequences, labels, classes, table, SeenPairs.of(sequences, labels, len(classes), len(table))


def whole(shards: TaggerShards) -> tuple[dict[str, Any], Any]:
    """The arrays of all shards end to end, in the ids of the corpus."""
    parts: dict[str, list[Any]] = {name: [] for name in (*ARRAYS, "labels")}
    for k in range(shards.manifest.n_shards):
        a = shards.manifest.shard(k)
        for name in parts:
            ids = name in ("attributes", "edge_attributes")
            parts[name].append(a["own"][a[name]] if ids else np.diff(a[name]) if "ptr" in name else a[name])
    return {name: np.concatenate(found) for name, found in parts.items()}, shards.seen()


@given(CORPUS, st.integers(1, 60), st.integers(1, 4), st.integers(1, 2), st.booleans())
@settings(max_examples=25)
def test_any_cut_gives_the_arrays_of_one_machine(
    sentences: Any, bytes_a_piece: int, n_shards: int, min_count: int, blanks: bool
) -> None:
    text = as_text(sentences) + "\n" * (20 * blanks)  # pieces without a token
    with TemporaryDirectory() as home:
        path = Path(home) / "train.txt"
        path.write_text(text, "utf-8")
        settings_ = {"n_shards": n_shards, "min_count": min_count, "partition_bytes": bytes_a_piece}
        write_shards([path], Path(home) / "shards", TEMPLATE, READING, **settings_)
        shards = TaggerShards.open(Path(home) / "shards")
        sequences, labels, classes, table, seen = one_machine(text, min_count=min_count)
        sequences = ChainLoss(sequences, labels, lay_out(seen)).sequences  # in the order of kernels
        found, found_seen = whole(shards)
        assert shards.classes == classes.tolist()
        assert shards.manifest.header["label_counts"] == np.bincount(labels).tolist()
        for name in ARRAYS:
            expected = getattr(sequences, name)
            if name != "values":
                np.testing.assert_array_equal(found[name], np.diff(expected) if "ptr" in name else expected)
        np.testing.assert_array_equal(found["labels"], labels)
        np.testing.assert_array_equal(found_seen.bits, seen.bits)
        np.testing.assert_array_equal(found_seen.transitions, seen.transitions)
        np.testing.assert_array_equal(found_seen.edges, seen.edges)
        everyone = range(len(table))
        assert shards.table().names(everyone) == table.names(everyone)
        assert shards.table().fingerprints.tolist() == table.fingerprints.tolist()


def tagged(name: str, n: int) -> str:
    return as_text(sample.tagged(name, n))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The same sentences as 1, 3 and 7 shards."""
    home = tmp_path_factory.mktemp("sharded")
    path = home / "train.txt"
    path.write_text(tagged("train", 60), "utf-8")
    out = {}
    for k in (1, 3, 7):
        out[k] = home / str(k)
        write_shards([path], out[k], TEMPLATE, READING, n_shards=k, partition_bytes=2000)
    return out


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("pairs", ["seen", "all"])
@pytest.mark.parametrize("threads", [1, 2])
def test_loss_has_the_bits_of_as_many_threads(
    folders: dict[int, Path], tmp_path: Path, k: int, pairs: str, threads: int
) -> None:
    path = folders[k]
    if pairs == "all":
        path = tmp_path / "all"
        write_shards([folders[1].parent / "train.txt"], path, TEMPLATE, READING, n_shards=k, pairs="all")
    shards = TaggerShards.open(path)
    sequences, labels, _, _, seen = one_machine(tagged("train", 60))
    one = ChainLoss(sequences, labels, lay_out(seen, pairs), threads=k)
    layout = shards.layout(shards.seen())
    loss = shards.loss(Here(threads), layout, shards.seen())
    assert (loss.n_weights, loss.n_samples) == (one.n_weights, one.n_samples)
    w = np.random.default_rng(0).normal(size=one.n_weights)
    expected, found = np.empty((2, one.n_weights))
    assert loss.value_and_gradient(w, found) == one.value_and_gradient(w, expected)
    np.testing.assert_array_equal(found, expected)
    for mine, theirs in zip(loss.summed_gradients(w), one.summed_gradients(w), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("solver", "penalty"), [(OWLQN, L1(0.3)), (LBFGS, L2(0.1))])
def test_batch_solvers_run_unchanged(folders: dict[int, Path], solver: Any, penalty: Any) -> None:
    shards = TaggerShards.open(folders[3])
    sequences, labels, _, _, seen = one_machine(tagged("train", 60))
    one = ChainLoss(sequences, labels, lay_out(seen), threads=3)
    loss = shards.loss(Here(), shards.layout(shards.seen()), shards.seen())
    found, expected = (solver(max_iterations=30).solve(f, penalty) for f in (loss, one))
    np.testing.assert_array_equal(found.w, expected.w)


def test_sgd_streams_from_shards_with_the_bits_of_memory(folders: dict[int, Path]) -> None:
    shards = TaggerShards.open(folders[3])
    sequences, labels, _, _, seen = one_machine(tagged("train", 60))
    one, layout = ChainLoss(sequences, labels, lay_out(seen)), shards.layout(shards.seen())
    streamed = StreamedChainLoss(shards, layout, shards.seen())
    order = streamed.visiting_order(np.random.default_rng(1))
    assert sorted(order.tolist()) == list(range(60))
    home = np.searchsorted(streamed._first, order, side="right")
    assert np.count_nonzero(np.diff(home)) == 2  # each shard is visited once
    rates = np.full(60, 0.1)
    penalties = 0.01 * np.arange(61)
    for method in ("cumulative", "lazy"):
        found, expected = ([np.zeros(one.n_weights), np.zeros(one.n_weights)] for _ in range(2))
        steps = Steps(order, rates, penalties)
        met = streamed.sgd_pass(method, steps, *found)
        assert met == pytest.approx(one.sgd_pass(method, steps, *expected), rel=1e-13)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-14)


def test_a_sample_has_the_loss_of_its_sentences(folders: dict[int, Path]) -> None:
    shards = TaggerShards.open(folders[7])
    sequences, labels, _, _, seen = one_machine(tagged("train", 60))
    chosen = np.array([50, 3, 17, 4], dtype=np.int32)
    tokens = np.concatenate([np.arange(*sequences.sentence_ptr[s : s + 2]) for s in np.sort(chosen)])
    one = ChainLoss(sequences.take(np.sort(chosen)), labels[tokens], lay_out(seen))
    some = StreamedChainLoss(shards, shards.layout(shards.seen()), shards.seen()).sampled(chosen)
    w = np.random.default_rng(0).normal(size=one.n_weights)
    expected, found = np.empty((2, one.n_weights))
    assert some.value_and_gradient(w, found) == pytest.approx(one.value_and_gradient(w, expected), rel=1e-14)
    np.testing.assert_allclose(found, expected, atol=1e-12)


SETTINGS = [
    {"solver": OWLQN(max_iterations=40), "l1": 0.2},
    {"solver": LBFGS(max_iterations=40), "l1": 0.0, "l2": 0.1, "class_weight": "balanced"},
    {"solver": SGD(passes=5, eta0=0.2), "l1": 0.2, "constrain": "iob2"},
]


@pytest.mark.parametrize("chosen", SETTINGS)
def test_tagger_of_shards_is_the_tagger_of_memory(folders: dict[int, Path], chosen: dict[str, Any]) -> None:
    sentences = sample.tagged("train", 60)
    X = [[token[:2] for token in sentence] for sentence in sentences]
    y = [[token[2] for token in sentence] for sentence in sentences]
    dev_rows = sample.tagged("test", 20)
    dev = [[t[:2] for t in s] for s in dev_rows], [[t[2] for t in s] for s in dev_rows]
    one = CRFTagger(TEMPLATE, **chosen).fit(X, y, dev=dev)
    many = CRFTagger(TEMPLATE, **chosen).fit_shards(folders[1], dev=dev)
    assert many.fit_["features"] == one.fit_["features"]
    assert many.fit_["tokens"] == one.fit_["tokens"]
    if isinstance(chosen["solver"], SGD):  # visits the sentences in another order
        assert many.fit_["objective"] == pytest.approx(one.fit_["objective"], rel=0.1)
    else:
        assert many.fit_["objective"] == pytest.approx(one.fit_["objective"], rel=1e-9)
        assert many.predict(dev[0]) == one.predict(dev[0])
    many.partial_fit(X[:3], y[:3])


def test_streamed_sgd_tries_rates_on_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(tagged("train", 1200), "utf-8")
    write_shards([path], tmp_path / "shards", TEMPLATE, READING, n_shards=4)
    tagger = CRFTagger(TEMPLATE, solver=SGD(passes=3)).fit_shards(tmp_path / "shards")
    one = CRFTagger(TEMPLATE, solver=SGD(passes=3)).fit(*sentences_of(1200))
    assert tagger.fit_["objective"] == pytest.approx(one.fit_["objective"], rel=0.05)


def sentences_of(n: int) -> tuple[Any, Any]:
    sentences = sample.tagged("train", n)
    return [[t[:2] for t in s] for s in sentences], [[t[2] for t in s] for s in sentences]


def test_what_shards_cannot_do_is_said(folders: dict[int, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one sentence a step"):
        CRFTagger(TEMPLATE, solver=SGD(batch_size=2, eta0=0.1)).fit_shards(folders[3])
    with pytest.raises(InputError, match=r"shard \d, sentence \d+: label"):
        CRFTagger(TEMPLATE, solver=OWLQN(), constrain="ioe2").fit_shards(folders[3])
    for wrong, message in (("1 x O\n2 x\n", "train.txt:2: expected 3 columns"), ("\n\n", "no tokens")):
        (tmp_path / "train.txt").write_text(wrong)
        with pytest.raises(InputError, match=message):
            write_shards([tmp_path / "train.txt"], tmp_path / "shards", TEMPLATE, READING)
    text = tagged("train", 10) + "only two\n\n" + tagged("train", 1)
    (tmp_path / "train.txt").write_text(text)
    line = text[: text.index("only")].count("\n") + 1
    with pytest.raises(InputError, match=f"train.txt:{line}: expected 3 columns, found 2"):
        write_shards([tmp_path / "train.txt"], tmp_path / "shards", TEMPLATE, READING, partition_bytes=100)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="not a folder of shards"):
        write_shards([tmp_path / "train.txt"], tmp_path / "mine", TEMPLATE, READING)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"


def test_damage_is_one_sentence(folders: dict[int, Path], tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(tagged("train", 10), "utf-8")
    manifest = write_shards([path], tmp_path / "s", TEMPLATE, READING, n_shards=2)
    shards = TaggerShards.open(tmp_path / "s")
    recipe = shards.recipes(Terms())[1]
    ChainShard(recipe)
    file = tmp_path / "s" / "shards" / "00001" / "attributes.npy"
    content = file.read_bytes()
    for damaged, message in (
        (content[:-1] + bytes([content[-1] ^ 1]), "corrupt: its digest"),
        (content.replace(b"}", b" "), "corrupt: its digest"),
        (content[:100], "corrupt"),
        (content[: len(content) - 8], "corrupt"),
        (b"", "corrupt"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=f"attributes.npy: .*({message})"):
            ChainShard(recipe)
    file.unlink()
    with pytest.raises(InputError, match=r"attributes.npy: .*cannot be read"):
        ChainShard(recipe)
    (manifest.folder / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="corrupt manifest"):
        Manifest.read(manifest.folder, KIND)
    with pytest.raises(InputError, match="no folder of shards"):
        Manifest.read(tmp_path / "nowhere", KIND)


def test_a_killed_training_goes_on(folders: dict[int, Path], tmp_path: Path) -> None:
    solver = OWLQN(max_iterations=500, tolerance=1e-7)

    def fit(**options: Any) -> bytes:
        return CRFTagger(TEMPLATE, l1=0.2, solver=solver).fit_shards(folders[3], **options).to_bytes()

    with Checkpoint(tmp_path / "state", "three", every=0.0) as saved:

        def told(entry: dict[str, Any]) -> bool:
            saved.interrupted = entry["iteration"] == 10
            return saved.interrupted

        stopped = fit(callback=told)
    with Checkpoint(saved.path, "three", resume=True):
        again = fit()
    assert again == fit() != stopped


def test_pieces_are_the_file_and_end_with_sentences(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"a b\r\n\r\nc d\n\n\n" + b"e f\n" * 40_000 + b"\ng h")
    for size in (1, 5, 9, 100_000, 10**9):
        pieces = file_slices.cut([path], file_slices.BLANK_LINE, size)
        assert b"".join(piece.read() for piece in pieces) == path.read_bytes()
        assert all(before.end == after.start for before, after in pairwise(pieces))
        assert all(piece.read().endswith((b"\n\n", b"\n\r\n")) for piece in pieces[:-1])


def test_l1_that_is_auto_is_chosen_on_shards_by_held_out_sentences(tmp_path: Path) -> None:
    (tmp_path / "train").write_text(as_text(sample.tagged("train", 60)), "utf-8")
    write_shards([tmp_path / "train"], tmp_path / "s", TEMPLATE, READING, n_shards=3)
    rows = sample.tagged("test", 20)
    X, y = ([[token[a:b] for token in sentence] for sentence in rows] for a, b in ((0, 2), (2, 3)))
    dev = X, [[token[0] for token in sentence] for sentence in y]
    tagger = CRFTagger(TEMPLATE, l1="auto", solver=OWLQN(max_iterations=15))
    with pytest.raises(InputError, match="needs held-out sentences"):
        tagger.fit_shards(tmp_path / "s")
    tagger.fit_shards(tmp_path / "s", dev=dev)
    path = tagger.fit_["path"]
    assert tagger.fit_["l1"] == max(path, key=lambda entry: entry["score"])["l1"]
    assert [entry["l1"] for entry in path[:3]] == [4.0, 2.0, 1.0]
    given = CRFTagger(TEMPLATE, l1=tagger.fit_["l1"], solver=OWLQN(max_iterations=15)).fit_shards(
        tmp_path / "s", dev=dev
    )
    np.testing.assert_array_equal(tagger.model_.w, given.model_.w)


class Cycle:
    """Rubbish whose removal lets another thread run."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(200):
            pass


def test_many_threads_open_arrays_at_once(tmp_path: Path) -> None:
    """Threads that change places while numpy reads a header: Python 3.11's parser of it is not made for that."""
    write_arrays(tmp_path, {"ids": np.arange(3)})

    def opened(_: int) -> int:
        Cycle()
        return len(map_array(tmp_path / "ids.npy"))

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(opened, range(4000))) == {3}
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
