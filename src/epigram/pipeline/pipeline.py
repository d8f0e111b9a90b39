"""Pipeline: an estimator of whole analyses, trained from a treebank.

Tokens and sentences come from a CRF over characters (:mod:`epigram.pipeline.splitter`), the words of multiword tokens
and lemmas from edit scripts (:mod:`epigram.pipeline.edits`), tags from chain models, trees from
:class:`~epigram.parsing.DependencyParser`. Lemmas, later tags and trees are trained on cross-validated tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from epigram._core.arrays import gather, offsets
from epigram.errors import InputError
from epigram.estimator import check_fitted
from epigram.features.columns import Column, Columns
from epigram.files import read_bytes
from epigram.parsing.parser import DependencyParser
from epigram.pipeline.analysis import TAGS, Analysis, as_column, read_gold, single_words
from epigram.pipeline.splitter import Splitter
from epigram.pipeline.stages import Stage, apply_lemmas, plan_tags, split_words
from epigram.pipeline.tokenization import Tokenization
from epigram.storage.settings import StoredEstimator

if TYPE_CHECKING:
    from epigram.pipeline.document import Doc

PARTS = ("tokens", "words", "tags", "lemmas", "trees")
"""The parts of a pipeline, in the order in which they run."""
PARSED = 3  # columns that the parser's features read at least: the word, a coarse and a fine tag
Progress = Callable[[str], Any]


def _silent(_: str) -> None:
    """Show no progress."""


@dataclass(eq=False, repr=False)
class Pipeline(StoredEstimator):
    """Analyses raw text: sentences, tokens, words, tags, lemmas and dependency trees.

    Parameters
    ----------
    parts : the parts to train, of ``tokens``, ``words``, ``tags``, ``lemmas``, ``trees``; None for all that the
        treebank has.
    folds : tags that lemmas and trees are trained on come from so many folds; 0 trains on gold tags.
    token_l1, tag_l1, lemma_l1, tree_l1 : penalty weights of the parts.
    token_passes, tag_passes, lemma_passes : passes over the training sentences.
    threads : for analysing.
    random_state : seed of all parts.

    Attributes
    ----------
    splitter_ : finds tokens and sentences; None where the pipeline takes tokens only.
    stages_ : words of multiword tokens, tags and lemmas, in this order, each only if the treebank has it.
    parser_ : the :class:`~epigram.parsing.DependencyParser`; None for none.
    fit_ : counts of the training set.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> rows = ["1 Dogs dog NOUN 2 nsubj", "2 bark bark VERB 0 root", "3 . . PUNCT 2 punct"]
    >>> cells = [row.split() for row in rows]
    >>> lines = ["\\t".join((*c[:4], "_", "_", *c[4:], "_", "SpaceAfter=No" if c[0] == "2" else "_")) for c in cells]
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tiny.conllu"
    >>> _ = file.write_text(("\\n".join(lines) + "\\n\\n") * 8)
    >>> nlp = Pipeline(folds=2).fit(file)
    >>> [(word.text, word.upos, word.lemma) for word in nlp("Dogs bark.").words]
    [('Dogs', 'NOUN', 'dog'), ('bark', 'VERB', 'bark'), ('.', 'PUNCT', '.')]
    """

    parts: Sequence[str] | None = None
    _: KW_ONLY
    folds: int = 4
    token_l1: float = 0.25
    tag_l1: float = 0.3
    lemma_l1: float = 0.3
    tree_l1: float = 1.2
    token_passes: int = 8
    tag_passes: int = 12
    lemma_passes: int = 16
    threads: int = 1
    random_state: int | None = 0
    _family: ClassVar[str] = "pipeline"
    splitter_: Splitter | None = field(init=False)
    stages_: list[Stage] = field(init=False)
    parser_: DependencyParser | None = field(init=False)
    card_: dict[str, str] | None = field(init=False, default=None)

    def fit(self, X: Any, y: None = None, *, dev: Any = None, progress: Progress = _silent) -> Self:
        """Train on a treebank.

        Parameters
        ----------
        X : the path of a CoNLL-U file, or an :class:`~epigram.pipeline.analysis.Analysis` with gold columns.
        y : not used.
        dev : a held-out treebank that chooses the pass of the parser, of the kind of ``X``.
        progress : called with the name of each step.
        """
        wanted = self._wanted()
        gold, documents = _gold(X)
        self.splitter_, self.stages_, self.parser_ = None, [], None
        if "tokens" in wanted:
            progress("tokens")
            self.splitter_ = Splitter.fit(
                gold.tokens, documents, self.token_l1, self.token_passes, self.random_state
            )
        read, n = {"form": gold.columns["form"]}, gold.tokens.n_sentences
        folds = min(self.folds, n)
        for stage in self._plan(gold, wanted):
            progress(stage.name)
            observed, labels = stage.examples(gold, read)
            stage.tagger.fit(observed, labels)
            self.stages_.append(replace(stage, tagger=copy(stage.tagger)))  # without the memory of training
            if stage.writes[0] in TAGS:
                known = {name: gold.columns[name] for name in stage.writes}
                read |= known if folds < 2 else stage.cross_predict(observed, labels, n, folds, progress)
        if "trees" in wanted and gold.heads is not None and "deprel" in gold.columns:
            self.parser_ = self._fit_parser(gold, read, dev, progress)
        self.fit_ = {
            "sentences": gold.tokens.n_sentences,
            "tokens": gold.tokens.n_tokens,
            "words": gold.n_words,
            "documents": len(documents) + 1,
        }
        return self

    def _wanted(self) -> tuple[str, ...]:
        chosen = PARTS if self.parts is None else tuple(self.parts)
        for name in chosen:
            if name not in PARTS:
                raise ValueError(f"parts are {', '.join(PARTS)}, not {name!r}.")
        if self.folds == 1 or self.folds < 0:
            raise ValueError(f"folds must be 2 or more, or 0 for gold tags, not {self.folds!r}.")
        return chosen

    def _plan(self, gold: Analysis, wanted: Sequence[str]) -> list[Stage]:
        """Choose the stages of a treebank."""
        lemmas = self.lemma_passes, self.random_state
        stages = []
        if "words" in wanted and gold.n_words > gold.tokens.n_tokens:
            stages.append(
                Stage.untrained("words", ("token",), ("script",), "words", 0.5 * self.lemma_l1, *lemmas)
            )
        if "tags" in wanted:
            stages += plan_tags(gold.columns, self.tag_l1, self.tag_passes, self.random_state)
        if "lemmas" in wanted and "lemma" in gold.columns:
            reads = ("form", *(name for name in TAGS if "tags" in wanted and name in gold.columns))
            stages.append(Stage.untrained("lemmas", reads, ("lemma",), "lemmas", self.lemma_l1, *lemmas))
        return stages

    def _fit_parser(
        self, gold: Analysis, read: dict[str, Column], dev: Any, progress: Progress
    ) -> DependencyParser | None:
        names = [name for name in ("form", *TAGS) if name in read]
        # Without XPOS and FEATS the coarse tag is the fine one too.
        names += names[-1:] * (PARSED - len(names))
        trees = _trees(gold, names, {name: _alternate(gold, read[name], name) for name in names})
        if trees is None:
            return None
        held_out = None
        if dev is not None:
            dev_gold = _gold(dev)[0]
            held_out = _trees(dev_gold, names, self.annotate(dev_gold.bare()).columns)
        parser = DependencyParser(
            l1=self.tree_l1,
            observed=",".join(names),
            threads=self.threads,
            random_state=self.random_state,
        )
        return parser.fit(
            *trees,
            dev=held_out,
            callback=lambda entry: progress(f"trees: {entry['stage']}, pass {entry['iteration']}"),
        )

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Train on more sentences of the same columns: all parts go on from what they have learnt."""
        if not hasattr(self, "stages_"):
            return self.fit(X)
        gold, documents = _gold(X)
        if self.splitter_ is not None:
            self.splitter_.update(gold.tokens, documents)
        predicted = self.annotate(gold.bare(), ("tags",))
        for stage in self.stages_:
            stage.tagger.partial_fit(*stage.examples(gold, predicted.columns))
        if self.parser_ is not None:
            trees = _trees(gold, self.parser_.observed.split(","), predicted.columns)
            if trees is not None:
                self.parser_.partial_fit(*trees)
        counts = {"sentences": gold.tokens.n_sentences, "tokens": gold.tokens.n_tokens, "words": gold.n_words}
        self.fit_ = self.fit_ | {name: self.fit_[name] + n for name, n in counts.items()}
        return self

    def __call__(self, text: str, parts: Sequence[str] | None = None) -> Doc:
        """Analyse a text."""
        from epigram.pipeline.document import Doc

        return Doc(self.analyse(text, parts), self)

    def pipe(
        self, texts: Iterable[str], parts: Sequence[str] | None = None, batch: int = 64
    ) -> Iterator[Doc]:
        """Analyse texts in batches, in order; the texts may be a generator."""
        from epigram.pipeline.document import Doc

        waiting: list[str] = []
        for text in texts:
            waiting.append(text)
            if len(waiting) == batch:
                yield from (Doc(own, self) for own in self._analyse_all(waiting, parts))
                waiting = []
        yield from (Doc(own, self) for own in self._analyse_all(waiting, parts))

    def analyse(self, text: str, parts: Sequence[str] | None = None) -> Analysis:
        """Return the tokens of a text with the columns of some parts (None: all)."""
        check_fitted(self, "stages_")
        if not isinstance(text, str):
            raise InputError(f"text must be a string, not {type(text).__name__}")
        return self.annotate(single_words(self._split(text)), parts)

    def _analyse_all(self, texts: list[str], parts: Sequence[str] | None) -> list[Analysis]:
        """Analyse several texts with one call of each part."""
        found = [single_words(self._split(text)) for text in texts]
        if len(found) < 2:
            return [self.annotate(own, parts) for own in found]
        whole = self.annotate(_concatenated(found), parts)
        bounds = pairwise(offsets([own.tokens.n_tokens for own in found]).tolist())
        return [_part(whole, own.tokens, a, b) for own, (a, b) in zip(found, bounds, strict=True)]

    def _split(self, text: str) -> Tokenization:
        if self.splitter_ is None:
            raise InputError("this pipeline has no tokenizer; give it text that is split already")
        return self.splitter_.split(text, self.threads)

    def annotate(self, analysis: Analysis, parts: Sequence[str] | None = None) -> Analysis:
        """Add words, tags, lemmas and trees to an analysis; what it has already is kept."""
        wanted = PARTS if parts is None else tuple(parts)
        columns, ptr = dict(analysis.columns), analysis.word_ptr
        is_single = analysis.n_words == analysis.tokens.n_tokens
        for stage in self.stages_:
            if stage.name == "words":
                if is_single and "words" in wanted and list(columns) == ["form"]:
                    own = stage.label({"token": columns["form"]}, analysis.tokens.sentence_ptr, self.threads)
                    scripts = Column(own, list(stage.tagger.fitted_model().labels))
                    columns["form"], sizes = split_words(columns["form"], scripts)
                    ptr = offsets(sizes)
                continue
            part = "lemmas" if stage.name == "lemmas" else "tags"
            needed = part in wanted or (part == "tags" and {"lemmas", "trees"} & set(wanted))
            if not needed or all(name in columns for name in stage.writes):
                continue
            found = stage.predict(columns, ptr[analysis.tokens.sentence_ptr], self.threads)
            if part == "lemmas":
                found = {"lemma": apply_lemmas(columns["form"], found["lemma"])}
            columns |= {name: column for name, column in found.items() if name not in columns}
        made = replace(analysis, word_ptr=ptr, columns=columns)
        if self.parser_ is not None and "trees" in wanted:
            self._parse(made)
        return made

    def _parse(self, analysis: Analysis) -> None:
        assert self.parser_ is not None
        self.parser_.threads = self.threads
        observed = analysis.observed(self.parser_.observed.split(","))
        if not observed.n_tokens:
            return
        analysis.heads = self.parser_.predict_heads(observed)
        analysis.columns["deprel"] = as_column(self.parser_.predict_relations(observed, analysis.heads))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _gold(X: Any) -> tuple[Analysis, list[int]]:
    """Return the gold analysis of a treebank, and the sentences that open documents."""
    if isinstance(X, Analysis):
        return X, []
    if isinstance(X, str | PathLike):
        return read_gold(read_bytes(X), str(X))
    raise InputError(f"X must be the path of a CoNLL-U file or an Analysis, not {type(X).__name__}")


def _trees(gold: Analysis, names: Sequence[str], read: dict[str, Column]) -> tuple[Columns, Any] | None:
    """Return the sentences that have a tree, and the trees; None where no sentence has one."""
    from epigram.parsing.treebank import find_tree_error

    assert gold.heads is not None
    ptr, heads, relations = gold.sentence_ptr, gold.heads, gold.cells("deprel")
    whole = Columns(ptr, [read[name] for name in names])
    kept = []
    for s, (a, b) in enumerate(zip(ptr.tolist(), ptr[1:].tolist(), strict=False)):
        if b > a and find_tree_error(heads[a:b], np.array([0, b - a])) is None:
            kept.append(s)
    if not kept:
        return None
    rows = np.array(kept, dtype=np.int64)
    new_ptr, words = gather(ptr, rows)
    pairs = list(zip(heads[words].tolist(), (relations[k] for k in words.tolist()), strict=True))
    trees = [pairs[a:b] for a, b in zip(new_ptr.tolist(), new_ptr[1:].tolist(), strict=False)]
    return whole.take(rows), trees


def _alternate(gold: Analysis, predicted: Column, name: str) -> Column:
    """Return the column of the treebank, with predicted cells in every second sentence."""
    own, ptr = gold.columns[name], gold.sentence_ptr
    if predicted is own:
        return own
    takes = np.repeat(np.arange(len(ptr) - 1) % 2, np.diff(ptr)).tolist()
    pairs = zip(takes, own.ids.tolist(), predicted.ids.tolist(), strict=True)
    return as_column([predicted.strings[b] if take else own.strings[a] for take, a, b in pairs])


def _concatenated(found: list[Analysis]) -> Analysis:
    """Return the tokens of several texts as one analysis without a text."""
    ptr = offsets([n for own in found for n in np.diff(own.tokens.sentence_ptr).tolist()])
    n = int(ptr[-1])
    empty = np.zeros(n, dtype=np.int64)
    tokens = Tokenization("", empty, empty, ptr, np.zeros(len(ptr) - 1, dtype=np.bool_))
    forms = [form for own in found for form in own.cells("form")]
    return Analysis(tokens, np.arange(n + 1), {"form": as_column(forms)})


def _part(whole: Analysis, tokens: Tokenization, first: int, last: int) -> Analysis:
    """Return the analysis of one text out of several."""
    a, b = whole.word_ptr[first], whole.word_ptr[last]
    columns = {name: Column(column.ids[a:b], column.strings) for name, column in whole.columns.items()}
    heads = None if whole.heads is None else whole.heads[a:b]
    return Analysis(tokens, whole.word_ptr[first : last + 1] - a, columns, heads)
