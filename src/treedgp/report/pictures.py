"""A drawn figure as an image that a page can hold, in light and in dark."""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treedgp.plot.style import COLOURS, GRID, INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The dark members of the palette are lighter on a dark page.
DARK = {INK: "#e8ecf1", MUTED: "#98a4b3", GRID: "#36404c", PAPER: "#1b222b"} | {
    COLOURS[0]: "#3f9fdc",
    COLOURS[1]: "#f07a26",
    COLOURS[2]: "#1fbd90",
    COLOURS[6]: "#b8956a",
}
PIXELS_AN_INCH = 96  # of CSS
DPI = 192  # of the parts drawn as pixels


@dataclass(frozen=True)
class Picture:
    source: str  # a data address; empty if there is only text
    alt: str
    caption: str
    width: int  # CSS pixels
    height: int
    text: str = ""  # the same in characters, to copy


def picture(ax: Axes, alt: str, caption: str = "", text: str = "") -> Picture:
    from matplotlib import rc_context

    figure = ax.figure
    buffer = io.BytesIO()
    # Text stays text: the reader's browser has letters that matplotlib's font lacks.
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, format="svg", dpi=DPI, metadata={"Date": None})  # type: ignore[union-attr]
    source = "data:image/svg+xml;base64," + base64.b64encode(_themed(buffer.getvalue())).decode()
    width, height = (round(PIXELS_AN_INCH * inches) for inches in figure.get_size_inches())  # type: ignore[union-attr]
    return Picture(source, alt, caption or alt, width, height, text)


def _themed(svg: bytes) -> bytes:
    """The colours in `DARK` become variables that follow the reader's choice of light or dark."""
    text = svg.decode()
    names = {colour: f"--c{i}" for i, colour in enumerate(DARK)}
    light, dark = (
        "".join(f"{names[colour]}:{shown[colour]};" for colour in DARK)
        for shown in ({colour: colour for colour in DARK}, DARK)
    )
    for colour, name in names.items():
        text = text.replace(colour, f"var({name})")
    style = f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    return text.replace("<defs>", f"<defs>{style}", 1).encode()
