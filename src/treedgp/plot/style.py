"""What all pictures share: colours, the axes, and text that is never read as mathematics."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours in an order where neighbours differ most; black and yellow vanish on a dark or a white page.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d46")
# Ways to draw them: where the colours begin anew, the next.
LINES, POINTS, HATCHES = ("-", "--", ":", "-."), ("o", "s", "^", "D"), ("", "////", "....", "xxxx")
MEAN_MAP, ERROR_MAP = "viridis", "cividis"
# Used for nothing else, so that the report can exchange them on a dark page.
INK, MUTED, GRID, PAPER = "#1d2733", "#5f6b7b", "#dde3ea", "#fefefd"

WIDTH, HEIGHT = 4.2, 3.1  # inches: text stays readable when a phone shrinks the picture
MANY_POINTS = 400  # drawn as pixels: each would be an element of a vector file
LONGEST = 22  # characters of a column name or level
CHARACTERS = 17  # of a legend, to an inch of the axes' width, labels of the ticks included
LEGEND_ROW, TICK = 0.21, 0.15  # inches for each row of a legend, and for each label of a level
OWN = "treedgp"  # label of a figure that may grow: the user gave none
NOT_IN_XML = re.compile("[^ -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # and so not in an SVG


def colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def form(i: int, forms: tuple[str, ...]) -> str:
    """That of `forms` in which the thing with colour(i) is drawn."""
    return forms[i // len(COLOURS) % len(forms)]


def shade(i: int) -> tuple[float, ...]:
    """For areas, which have no form: red, green and blue of colour(i), darker where the colours begin anew."""
    from matplotlib.colors import to_rgb

    share = 0.7 ** (i // len(COLOURS))
    return tuple(share * a + (1 - share) * b for a, b in zip(to_rgb(colour(i)), to_rgb(INK), strict=True))


def axes_for(ax: Axes | None, width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """The axes given, or those of a new figure that pyplot does not know; in the style of this package."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Plots need matplotlib, which is not installed; run: pip install 'treedgp[plot]'") from error
    if ax is None:
        ax = Figure(figsize=(width, height), layout="constrained", label=OWN).add_subplot()
        ax.patch.set_alpha(0)
        ax.figure.set_facecolor("none")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=9)
    ax.set_axisbelow(True)
    return ax


def grow(ax: Axes, inches: float) -> None:
    """Make the figure higher unless it is the user's."""
    figure: Any = ax.figure
    if inches > 0 and figure.get_label() == OWN:
        figure.set_figheight(figure.get_figheight() + inches)


def grid(ax: Axes, axis: Any = "both") -> None:
    ax.grid(True, axis=axis, color=GRID, linewidth=0.8)


def label(ax: Axes, *, x: str | None = None, y: str | None = None, title: str | None = None) -> None:
    if x is not None:
        ax.set_xlabel(x, color=INK, parse_math=False)
    if y is not None:
        ax.set_ylabel(y, color=INK, parse_math=False)
    if title is not None:
        ax.set_title(title, color=INK, fontsize=10, loc="left", parse_math=False)


def level_ticks(ax: Axes, axis: str, labels: Sequence[str]) -> None:
    """Levels 0, 1, ... of a categorical column as ticks; of many, every second or third or ... has one."""
    along, inches = (ax.xaxis, ax.bbox.width) if axis == "x" else (ax.yaxis, ax.bbox.height)
    shown = range(0, len(labels), math.ceil(TICK * len(labels) * ax.figure.dpi / inches))
    texts = [shorten(labels[i], 14) for i in shown]
    turned: dict[str, Any] = {}
    if axis == "x" and sum(len(text) + 1 for text in texts) > 45:
        turned = {"rotation": 90} if len(texts) > 14 else {"rotation": 35, "ha": "right"}
    along.set_ticks(shown, texts, parse_math=False, **turned)


def number_ticks(ax: Axes, axis: str) -> None:
    """Few ticks, in full: a power of ten beside the axis would stand in the way of its label."""
    ticks = ax.xaxis if axis == "x" else ax.yaxis
    if axis == "x":
        ax.locator_params(axis="x", nbins=6)
    ticks.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))


def key(name: str) -> str:
    """A class in a legend, which leaves out what begins with an underscore."""
    text = shorten(name)
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def legend(ax: Axes, *, above: int = 0, **options: Any) -> None:
    """Where it hides least, or above the axes, and their title, for this many entries."""
    if above:
        entries = options.get("handles") or ax.get_legend_handles_labels()[0]
        longest = max((len(str(entry.get_label())) for entry in entries), default=0)
        fitting = int(CHARACTERS * ax.bbox.width / ax.figure.dpi / (longest + 4))  # 4: the key
        pad = 2.0 if ax.get_title(loc="left") else 0.5  # lines
        options |= {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "borderaxespad": pad}
        options["ncols"] = max(1, min(4, above, fitting))
    box = ax.legend(frameon=False, fontsize=9, labelcolor=INK, **options)
    for text in box.get_texts():
        text.set_parse_math(False)
    if above:
        grow(ax, LEGEND_ROW * (math.ceil(len(box.get_texts()) / options["ncols"]) - 1))


def colour_bar(ax: Axes, mappable: Any, text: str) -> None:
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(mappable, ax=ax, pad=0.02)
    bar.set_label(shorten(text, 40), color=INK, parse_math=False)
    bar.ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=9)
    bar.outline.set_visible(False)


def shorten(text: str, room: int = LONGEST) -> str:
    """Cut in the middle: names that begin alike differ at the end."""
    text = NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split())) or repr(text)
    tail = (room - 1) // 2
    return text if len(text) <= room else f"{text[: room - 1 - tail]}…{text[-tail:]}"
