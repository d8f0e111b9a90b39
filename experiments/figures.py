"""Draws the figures of a report as SVG.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; marker and dashes differ too. The legend
is below the axes, where it covers nothing. A label has one look in all figures of a paper. Figures are small by
nature, so that their text can still be read on a phone.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from epigram.errors import InputError, install
from experiments.report import Curve, Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (6, 2, 1, 2)), (0, (1, 1.3)))
INCHES = (4.6, 3.3)  # width, and height without the legend
MAX_POINTS = 300
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, can be searched and read aloud
    "text.parse_math": False,
    "font.size": 11,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "legend.fontsize": 10,
}


class Look(NamedTuple):
    """Colour, marker and dashes of a label."""

    colour: str
    marker: str
    dashes: Any


def check_plots() -> None:
    """Fail before hours of work if nothing could be drawn after them."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(f"figures need matplotlib: {install('plot')}") from error


def looks(figures: Iterable[Figure]) -> dict[str, Look]:
    """A look for every label, in order of appearance; "X (paper)" has the colour of "X".

    No two labels of a figure have the same colour, unless there are more than there are colours.
    """
    found: dict[str, Look] = {}
    for figure in figures:
        names = list(dict.fromkeys(_base(curve) for curve in figure.curves))
        for name in names:
            if name not in found:
                k = len(found)
                colours = [COLOURS[(k + j) % len(COLOURS)] for j in range(len(COLOURS))]
                taken = {found[other].colour for other in names if other in found}
                colour = next((one for one in colours if one not in taken), colours[0])
                found[name] = Look(colour, MARKERS[k % len(MARKERS)], DASHES[k % len(DASHES)])
    return found


def draw(figure: Figure, styles: Mapping[str, Look]) -> str:
    """Draw a figure as the text of an SVG file; equal figures give equal texts."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    settings: dict[Any, Any] = {**SETTINGS, "svg.hashsalt": figure.name}
    with mpl.rc_context({**mpl.rcParamsDefault, **settings}):
        columns, rows = _legend_shape([_lines(curve.label, 46) for curve in figure.curves])
        canvas = Canvas(figsize=(INCHES[0], INCHES[1] + 0.21 * rows), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        for curve in figure.curves:
            _plot(axes, curve, styles[_base(curve)])
        _scale(axes, figure)
        axes.set(xlabel=_lines(figure.x_label, 46), ylabel=_lines(figure.y_label, 30))
        if rows:
            canvas.legend(loc="outside lower center", ncols=columns, handlelength=2.6, columnspacing=1.4)
        svg = io.StringIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Title": figure.title})
    return svg.getvalue()


def _plot(axes: Any, curve: Curve, look: Look) -> None:
    points = [
        (math.nan if x is None else x, math.nan if y is None else y)
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    points = _thinned(points)
    paper = curve.source == "paper"
    dashes = {"line": "-" if not paper else (0, (1, 1.3)), "dots": "none", "dashed": (0, (5, 2))}[curve.style]
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        label=_lines(curve.label, 46),
        color=look.colour,
        linestyle=look.dashes if curve.style == "line" and curve.source == "epigram" else dashes,
        marker=look.marker,
        markevery=max(1, len(points) // 10),
        markerfacecolor="white" if paper else look.colour,
        alpha=0.9,
    )


def _scale(axes: Any, figure: Figure) -> None:
    """Logarithms where asked for and possible; ticks written for people."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    for k, (axis, log) in enumerate(((axes.xaxis, figure.x_log), (axes.yaxis, figure.y_log))):
        values = [
            float(value)
            for curve in figure.curves
            for value in (curve.x, curve.y)[k]
            if value is not None and math.isfinite(value)
        ]
        if log and values and min(values) > 0:
            (axes.set_xscale, axes.set_yscale)[k]("log")
            short = max(values) < 30 * min(values)  # a decade or so: label more than its ends
            axis.set_minor_formatter(FuncFormatter(_minor_tick) if short else NullFormatter())
            axis.set_major_formatter(FuncFormatter(tick))
            continue
        if values and max(map(abs, values)) >= 10_000:
            axis.set_major_formatter(FuncFormatter(tick))
        if k == 0 and all(value.is_integer() for value in values):
            axis.set_major_locator(MaxNLocator(integer=True))


def tick(value: float, _: object = None) -> str:
    """A number on an axis.

    >>> [tick(v) for v in (0.0, 0.001, 0.5, 200.0, 1500.0, 20_000.0, 3e6, 1e-5)]
    ['0', '0.001', '0.5', '200', '1.5k', '20k', '3M', '1e-05']
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * (1 - 1e-9):
            return f"{value / unit:.4g}{name}".replace("-", "−")
    return f"{value:.4g}" if abs(value) < 1e-3 else f"{value:.4g}".replace("-", "−")


def _minor_tick(value: float, _: object = None) -> str:
    digit = round(value / 10 ** math.floor(math.log10(value) + 1e-9))
    return tick(value) if digit in (2, 3, 5) else ""


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MAX_POINTS of them, evenly, with both ends."""
    if len(points) <= MAX_POINTS:
        return points
    step = (len(points) - 1) / (MAX_POINTS - 1)
    return [points[round(k * step)] for k in range(MAX_POINTS)]


def _legend_shape(labels: list[str]) -> tuple[int, int]:
    """Columns of the legend and lines of text in one of them; none for a single curve without a name."""
    if not any(labels):
        return 1, 0
    longest = max(map(len, labels))
    columns = min(3 if longest <= 11 else 2 if longest <= 22 else 1, len(labels))
    return columns, math.ceil(sum(label.count("\n") + 1 for label in labels) / columns)


def _lines(text: str, width: int) -> str:
    """The text in as few lines of about the same length as it needs."""
    wrap = textwrap.TextWrapper(width, break_on_hyphens=False, break_long_words=False)
    n_lines = len(wrap.wrap(text))
    while wrap.width > 1 and len(wrap.wrap(text)) == n_lines:
        wrap.width -= 1
    wrap.width += wrap.width < width
    return wrap.fill(text)


def _base(curve: Curve) -> str:
    return re.sub(r"[,\s]*\(?\b(paper|epigram)\b[^)]*\)?$", "", curve.label) or curve.label
