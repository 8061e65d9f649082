"""What all pictures have in common: the library, which is an extra, its look, and files of two kinds."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spillway.cli.planning.questions import RefusedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".svg", ".png")
# The colours of Okabe and Ito, which people with any colour vision can tell apart. What lies side by side also has a
# hatch or a dash of its own, for print in grey.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442",
)  # fmt: skip
INK, GREY, PALE = "#222222", "#777777", "#E3E3E3"
_DOTS = 150  # per inch: sharp on a page, and 200 kB
_LOOK: Any = {
    "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left", "axes.titleweight": "bold",
    "axes.edgecolor": GREY, "axes.labelcolor": INK, "text.color": INK, "xtick.color": GREY, "ytick.color": GREY,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "grid.color": PALE, "legend.frameon": False, "hatch.linewidth": 0.6,
    "svg.hashsalt": "spillway", "figure.dpi": _DOTS,
}  # fmt: skip


def check(path: pathlib.Path, option: str = "--plot") -> None:
    """Refuse a kind of file that can't be drawn, or a machine that can't draw; before anything is computed."""
    if path.suffix.lower() not in KINDS:
        message = f"'{path.name}' is neither .svg nor .png"
        raise RefusedError(message, option=option)
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        message = "drawing needs matplotlib, which is not installed: pip install 'spillway[plot]'"
        raise RefusedError(message) from None


@contextlib.contextmanager
def drawing(path: pathlib.Path, width: float, height: float) -> Iterator[Figure]:
    """An empty figure, in inches, that is written to the file at the end; the same picture is the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with mpl.rc_context(_LOOK):
        drawn = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(hspace=0.06))
        yield drawn
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        try:
            drawn.savefig(path, dpi=_DOTS, metadata=metadata)
        except OSError as error:
            message = f"{path}: can't be written: {error.strerror}"
            raise RefusedError(message) from None


def plainly(axes: Axes, *, along: str) -> None:
    """Only the lines that help to read numbers off."""
    axes.grid(visible=True, axis="x" if along == "x" else "y")
    axes.tick_params(length=0)
    axes.spines["left" if along == "x" else "bottom"].set_visible(False)
