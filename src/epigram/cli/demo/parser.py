"""Parser tour: a dependency parser learns from the sample treebank and draws trees."""

from __future__ import annotations

from itertools import chain

from epigram.cli import console
from epigram.datasets import sample

SENTENCE = (
    "The/DET/DT old/ADJ/JJ sailor/NOUN/NN watched/VERB/VBD the/DET/DT ship/NOUN/NN with/ADP/IN him/PRON/PRP"
)
DOUBTFUL = 8  # the word that may hang from two others


def show(seed: int) -> None:
    """Train, score, draw."""
    import numpy as np

    from epigram.parsing.drawing import terminal_picture
    from epigram.parsing.metrics import evaluate_trees
    from epigram.parsing.parser import DependencyParser
    from epigram.parsing.treebank import parse_treebank

    screen = console.stdout()
    screen.rule("[bold]a parser draws the tree of a sentence", style="dim")
    train, test = (parse_treebank(sample.treebank(part, seed=seed).encode()) for part in ("train", "test"))
    parser = DependencyParser(observed="form,upos,xpos", random_state=seed)
    with console.progress() as bars:
        task = bars.add_task("training", total=None, status="")
        parser.fit(train, callback=lambda entry: bars.update(task, status=f"pass {entry['iteration']}"))
    found = list(chain.from_iterable(parser.predict(test)))
    heads = test.heads, np.array([head for head, _ in found], np.int32)
    relations = list(chain.from_iterable(test.relations())), [name for _, name in found]
    scores = evaluate_trees(test.sentence_ptr, heads, relations).overall
    screen.print(
        f"{train.n_sentences} sentences with trees to learn from; in {test.n_sentences} others "
        f"[bold]{scores.uas:.1%}[/] of the words get the right head, [bold]{scores.las:.1%}[/] the right relation too, "
        f"by {parser.fit_['active_features']:,} weights.\n",
        highlight=False,
    )
    rows = [tuple(token.split("/")) for token in SENTENCE.split()]
    words, (tree,) = [row[0] for row in rows], parser.predict([rows])
    picture = terminal_picture(words, [head for head, _ in tree], [name for _, name in tree])
    screen.print("\n".join("  " + line for line in picture.splitlines()), highlight=False, markup=False)
    likely = parser.predict_marginals([rows])[0][:, DOUBTFUL - 1]
    places = "   ".join(
        f"{words[head - 1] if head else 'the root'} [dim]{likely[head]:.0%}[/]"
        for head in np.argsort(-likely)[:3].tolist()
    )
    screen.print(
        f"\n  where [bold]{words[DOUBTFUL - 1]}[/] may hang, over all trees:  {places}", highlight=False
    )
