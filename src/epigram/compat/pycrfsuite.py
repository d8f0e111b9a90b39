"""python-crfsuite's API: ``import epigram.compat.pycrfsuite as pycrfsuite``.

Names, arguments, defaults, errors and model files are those of python-crfsuite. Features, training and decoding are
those of epigram.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from epigram.chain.model import ChainModel
from epigram.chain.single_sentence import SentenceTagger
from epigram.chain.storage import FAMILY, chain_model, model_file
from epigram.compat.crfsuite.dump import ParsedDump, dump_lines, parsed_dump
from epigram.compat.crfsuite.file import write_model
from epigram.compat.crfsuite.log import TrainLog
from epigram.compat.crfsuite.params import ALGORITHMS, ALIASES
from epigram.compat.crfsuite.training import Instances, train
from epigram.errors import InputError, ModelFileError
from epigram.features.feature_dicts import flatten
from epigram.features.sequences import Sequences
from epigram.files import write_atomically
from epigram.protocols import Floats
from epigram.storage import ModelFile

__all__ = [
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "Trainer",
    "replace_original",
]
CRFSUITE_VERSION = "0.12"


def replace_original(small_files: bool = True) -> None:
    """Make ``import pycrfsuite`` return this module; call it before that import.

    Model files are then written in the format of epigram, less than half as large as CRFsuite's; ``small_files=False``
    writes CRFsuite's format.
    """
    sys.modules["pycrfsuite"] = sys.modules[__name__]
    BaseTrainer.small_files = small_files


class CRFSuiteError(Exception):
    """Raised when a model cannot be trained."""


class ItemSequence:
    """Features of the items of a sequence.

    Examples
    --------
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence):
            self._items: list[dict[str, float]] = pyseq._items
            return
        self._items = []
        for item in pyseq:
            features: dict[str, float] = {}
            for name, value in _features_of(item):
                features[name] = features.get(name, 0.0) + value
            self._items.append(features)

    def items(self) -> list[dict[str, float]]:
        """Return the attributes and values of each item."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _features_of(item: Any) -> Iterator[tuple[str, float]]:
    """Yield names and values of features; raise TypeError, as python-crfsuite does, for others."""
    try:
        yield from flatten(item)
    except ValueError as error:
        raise TypeError(str(error)) from None


def _sentence(xseq: Any) -> Any:
    """Convert a sequence to a list of feature dicts or lists."""
    if isinstance(xseq, ItemSequence):
        return xseq._items
    return xseq if isinstance(xseq, list | tuple) else list(xseq)


class BaseTrainer:
    """Collects sequences and trains a model on them.

    Parameters
    ----------
    algorithm : ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``; see :meth:`select`.
    params : settings of the algorithm; see :meth:`set_params`.
    verbose : whether messages are printed.

    Attributes
    ----------
    small_files : False for model files of CRFsuite; True for those of epigram, a third as large, which :class:`Tagger`
        opens too.
    """

    small_files = False

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        self._data = Instances()
        self.select(algorithm or "lbfgs")
        self.set_params(params or {})

    def message(self, message: str) -> None:
        """Handle a message of the training; by default, print it."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Sequence[str], group: int = 0) -> None:
        """Append a sequence of item features with its labels; ``group`` is for held-out evaluation."""
        xseq, yseq = _sentence(xseq), list(yseq)
        if len(xseq) != len(yseq):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(xseq)}, |y| = {len(yseq)}")
        labels = [label.decode() if isinstance(label, bytes) else label for label in yseq]
        wrong = next((label for label in labels if not isinstance(label, str)), None)
        if wrong is not None:
            raise TypeError(f"a label must be a string, not {wrong!r}")
        try:
            self._data.add(xseq, labels, group)
        except InputError as error:
            raise TypeError(str(error)) from None

    def clear(self) -> None:
        """Remove all sequences."""
        self._data = Instances()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm: ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``."""
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self._algorithm, self._chosen = name, dict[str, Any]()

    def params(self) -> list[str]:
        """Return the names of the parameters of the algorithm."""
        return list(ALGORITHMS[self._algorithm])

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters."""
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Any) -> None:
        """Set one parameter."""
        if name not in ALGORITHMS[self._algorithm]:
            raise ValueError(f"Parameter not found: {name} = {value}")
        text = str(int(value) if isinstance(value, bool) else value)
        self._chosen[name] = ALGORITHMS[self._algorithm][name].read(text)

    def get(self, name: str) -> Any:
        """Return the value of one parameter."""
        if name not in ALGORITHMS[self._algorithm]:
            raise ValueError(f"Parameter not found: {name}")
        return self._chosen.get(name, ALGORITHMS[self._algorithm][name].default)

    def help(self, name: str) -> str:
        """Return the help text of a parameter."""
        if name not in ALGORITHMS[self._algorithm]:
            raise ValueError(f"Parameter not found: {name}")
        return ALGORITHMS[self._algorithm][name].help

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write the model to a file (no file if the name is empty).

        Sequences of the group ``holdout`` are held out: the log has scores on them after each iteration.
        """
        self._before_train()
        if not self._data.labels:
            raise CRFSuiteError("no sequences to train on; append some")
        trained, seconds = train(
            self._data, self._algorithm, self.get_params(), holdout, self.message, self._event
        )
        began = time.process_time()
        self._event("optimization_end", {"training_seconds": seconds})
        self.message("Storing the model\n")
        self.message(f"Number of active features: {trained.weights.n_nonzero}\n")
        self.message(f"Number of active attributes: {len(trained.table)}\n")
        self.message(f"Number of active labels: {len(trained.labels)}\n")
        if os.fspath(model):
            write_atomically(model, self._file_of(trained))
        seconds = time.process_time() - began
        self.message(f"Seconds required: {seconds:.3f}\n")
        self.message("\n")
        self._event("end", {"storing_seconds": seconds})

    def _file_of(self, model: ChainModel) -> bytes:
        """Return the content of the model file."""
        if not self.small_files:
            return write_model(model)
        return model_file(model).to_bytes()

    def _before_train(self) -> None:
        """Prepare the training; for subclasses."""

    def _event(self, event: str, numbers: dict[str, Any]) -> None:
        """Handle the end of an event; for subclasses."""


class Trainer(BaseTrainer):
    """A trainer that records its log: ``logparser`` has the iterations as numbers.

    Methods ``on_...`` are called during training with the text of the event; by default, they print it.
    """

    logparser: TrainLog | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLog()

    def message(self, message: str) -> None:
        """Record a message."""
        assert self.logparser is not None
        self.logparser.log.append(message)

    def _event(self, event: str, numbers: dict[str, Any]) -> None:
        assert self.logparser is not None
        self.logparser.end(event, numbers)
        if self.verbose:
            extra = {"featgen_progress": list(numbers.values()), "iteration": [numbers]}.get(event, [])
            getattr(self, f"on_{event}")(self.logparser.last_log, *extra)

    def on_start(self, log: str) -> None:
        """Handle an event of training without numbers: print its text."""
        print(log, end="")

    on_featgen_end = on_prepared = on_prepare_error = on_optimization_end = on_end = on_start

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Handle progress of feature generation."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Handle the end of an iteration; ``info`` has its numbers."""
        print(log, end="")


class Tagger:
    """Labels sequences by a model file of CRFsuite, or of epigram without a template."""

    def __init__(self) -> None:
        self._model: ChainModel | None = None
        self._quick: SentenceTagger | None = None
        self._content = b""
        self._sentence: Any = []
        self._found: tuple[Sequences, Floats, float] | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; usable in a ``with`` statement."""
        with open(name, "rb") as file:
            content = file.read()
        return self._open(content, name)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open the content of a model file."""
        if not isinstance(value, bytes):
            raise TypeError(f"the content of a model file must be bytes, not {type(value).__name__}")
        return self._open(value, None)

    def _open(self, content: bytes, name: str | os.PathLike[str] | None) -> contextlib.closing[Tagger]:
        model = chain_model(ModelFile.from_bytes(content, FAMILY, name))
        if model.template is not None:
            raise ModelFileError(
                "this model has a template, so it takes columns, not features; use epigram.load", path=name
            )
        self.close()
        self._model, self._content, self._quick = model, content, SentenceTagger(model)
        return contextlib.closing(self)

    def close(self) -> None:
        """Release the model."""
        self._model = self._quick = self._found = None
        self._content, self._sentence = b"", []

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return list(self._opened().labels)

    def tag(self, xseq: Any = None) -> list[str]:
        """Return the best labels of a sequence, by default of that given to :meth:`set`."""
        self._opened()
        if xseq is not None:
            self.set(xseq)
        assert self._quick is not None
        try:
            return self._quick.label(self._sentence)
        except InputError as error:
            raise TypeError(str(error)) from None

    def viterbi(self) -> list[str]:
        """Return the best labels of the sequence given to :meth:`set`."""
        return self.tag()

    def set(self, xseq: Any) -> None:
        """Set the current sequence."""
        self._opened()
        self._sentence, self._found = _sentence(xseq), None

    def probability(self, yseq: Sequence[str]) -> float:
        """Return the probability of labels for the current sequence."""
        sequences, _, log_z = self._marginals()
        yseq = list(yseq)
        if len(yseq) != sequences.n_tokens:
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {sequences.n_tokens}, |y| = {len(yseq)}"
            )
        model = self._opened()
        for label in yseq:
            self._number(label)
        if not yseq:
            return 1.0
        _, _, part = model.marginals(sequences, [[[label] for label in yseq]])
        return min(1.0, float(np.exp(part[0] - log_z)))

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of a label at a position of the current sequence."""
        sequences, nodes, _ = self._marginals()
        if not sequences.n_tokens:
            return 0.0
        if not 0 <= pos < sequences.n_tokens:
            raise ValueError(f"The position, {pos} is out of range of {sequences.n_tokens}")
        return float(nodes[pos, self._number(y)])

    def marginals(self) -> Floats:
        """Return p(label) of the current sequence, a row per position and a column per label."""
        return self._marginals()[1]

    def info(self) -> ParsedDump:
        """Return all weights of the model."""
        return parsed_dump(self._model_for_dump(), self._content)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write all weights as text, by default to standard output."""
        lines = dump_lines(parsed_dump(self._model_for_dump(), self._content))
        if filename is None:
            sys.stdout.writelines(lines)
            return
        write_atomically(filename, "".join(lines).encode())

    def _opened(self) -> ChainModel:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    def _model_for_dump(self) -> ChainModel:
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        return self._model

    def _number(self, label: str) -> int:
        labels = self._opened().labels
        if label not in labels:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")
        return labels.index(label)

    def _marginals(self) -> tuple[Sequences, Floats, float]:
        """Return the current sequence, p(label) of its items, and log Z."""
        model = self._opened()
        if self._found is None:
            try:
                sequences = model.encode([self._sentence])
            except InputError as error:
                raise TypeError(str(error)) from None
            nodes, _, log_z = model.marginals(sequences)
            self._found = sequences, nodes, float(log_z[0])
        return self._found
