"""``epigram ime nbest``: converts the readings of a text to n-best lists."""

from __future__ import annotations

from epigram.cli.ime.arguments import Model, Raw, Text, load_converter, read_sentences, show_progress
from epigram.cli.options import Output


def command(
    model: Model,
    text: Text,
    output: Output,
    k: int = 20,
    raw: Raw = False,
) -> None:
    """Convert the readings of a text to n-best lists (JSON lines) for epigram rerank.

    Parameters
    ----------
    k --nbest >= 1 : Number of candidates per sentence.
    """
    from epigram.files import check_writable
    from epigram.ime.decoder import convert_text
    from epigram.rerank import write_nbest

    check_writable(output)
    converter = load_converter(model)
    sentences = read_sentences(text, raw)
    with show_progress("converting", len(sentences)) as tick:
        lists = convert_text(converter.decoder, sentences, k, tick)
    write_nbest(lists, output)
    print(f"{len(lists):,} lists, {lists.n_candidates:,} candidates in {output}")
