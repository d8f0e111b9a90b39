"""Input-method tour: kana to text, adapted to a domain."""

from __future__ import annotations

from epigram.cli import console
from epigram.datasets.sample import BACKGROUND, DOMAIN, READINGS, WORDS
from epigram.ime import KanaKanjiConverter
from epigram.storage.installed import JAPANESE, installed_models, model_path

EVERYDAY = (
    "きょうはいいてんきですね。",
    "あしたのかいぎのしりょうをおくってください。",
    "ぱそこんがこわれたので、しゅうりにだした。",
)


def show(seed: int) -> None:
    """Build, convert, choose, learn, adapt; nothing here is random, the seed is not used."""
    from rich.markup import escape

    screen = console.stdout()
    screen.rule("[bold]an input method turns kana into text", style="dim")
    converter = KanaKanjiConverter.build(BACKGROUND, WORDS)
    size = len(converter.decoder.lexicon) - 1
    screen.print(f"A word trigram from {len(BACKGROUND)} sentences written for this demo, {size} words:\n")
    for kana, wanted in READINGS.items():
        text = converter.convert(kana)
        sign = "" if text == wanted else f"  [red](people write {escape(wanted)})[/red]"
        screen.print(f"  {escape(kana)}  →  [bold]{escape(text)}[/bold]{sign}")
    kana = "はしをつかう"
    ways = "  ".join(way.text for way in converter.nbest(kana, 4))
    screen.print(f"\nThe exact best four for {kana}:  {escape(ways)}")
    if JAPANESE in installed_models():
        ready = KanaKanjiConverter.load(model_path(JAPANESE))
        screen.print(
            f"The installed model [bold]{JAPANESE}[/bold], {len(ready.decoder.lexicon) - 1:,} words:\n"
        )
        for kana in EVERYDAY:
            screen.print(f"  {escape(kana)}  →  [bold]{escape(ready.convert(kana))}[/bold]")
        screen.print()
    before = converter.convert("はしで")
    converter.learn("はしで", "端で")
    after = converter.convert("はしで")
    converter.undo()
    screen.print(
        f"A correction: はしで was {before}, after [bold]learn[/bold] it is {after}, after [bold]undo[/bold] "
        f"{converter.convert('はしで')} again"
    )
    adapted = converter.adapt([line.split() for line in DOMAIN])
    weight = adapted.fit_["background_weight"]
    screen.print(
        f"Adapted to {len(DOMAIN)} sentences of another world (background weight {weight:.2f}): "
        f"きのはし was {converter.convert('きのはし')}, is {adapted.convert('きのはし')}"
    )
