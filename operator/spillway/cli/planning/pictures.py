"""A plan drawn: how full each segment is, and where the time of a record goes."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from spillway.cli.planning import answers, canvas, sizes
from spillway.cli.planning.sheets import Asked, placed
from spillway.controllers.latency.phases import Phase
from spillway.controllers.planning.plan import Plan, Planned, Segment
from spillway.model.operators import Paradigm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 8.0  # inches
_ROW = 0.34  # of a segment
_MOST = 40  # segments in a picture; more could not be read
_LOOKS: Mapping[Phase, tuple[str, str]] = {
    Phase.WAIT: (canvas.SKY, "//"),
    Phase.QUEUE: (canvas.ORANGE, ".."),
    Phase.NETWORK: (canvas.BLUE, ""),
    Phase.CPU: (canvas.GREEN, "\\\\"),
    Phase.BATCH: (canvas.PURPLE, "xx"),
    Phase.SCHEDULE: (canvas.YELLOW, "--"),
    Phase.WINDOW: (canvas.RED, "||"),
}


def draw(planned: Planned, asked: Asked, path: pathlib.Path) -> None:
    """Write the picture of a plan."""
    plan = planned.plan
    if plan is None:
        return
    shown = sorted(plan.segments, key=lambda segment: -segment.load.utilisation)[:_MOST]
    segments = [segment for segment in plan.segments if segment in shown]
    height = _ROW * len(segments) + 0.9
    cost = sizes.count(plan.slots, "slot") + (f", {sizes.count(plan.cores, 'executor core')}" if plan.cores else "")
    verdict = f"feasible with {cost}" if planned.feasible else "not feasible"
    title = f"{asked.job} at {sizes.rate(math.fsum(asked.rates.values()))}: {verdict}"
    ends = math.isfinite(plan.predicted)
    with canvas.drawing(path, _WIDTH, height + (2.4 if ends else 0.5)) as figure:
        panels = figure.subplots(1 + ends, 1, squeeze=False, height_ratios=[height, 1.3] if ends else None)[:, 0]
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold")
        _utilisation(panels[0], segments, asked, left_out=len(plan.segments) - len(segments))
        if ends:
            _latency(panels[1], plan, asked)


def _utilisation(axes: Axes, segments: list[Segment], asked: Asked, *, left_out: int) -> None:
    """A bar for each segment, and what it runs on at the right."""
    reach = max(1.0, *(min(segment.load.utilisation, 3.0) for segment in segments)) * 1.01
    for i, segment in enumerate(segments):
        share, batch = segment.load.utilisation, segment.paradigm is Paradigm.BATCH
        colour = canvas.RED if segment.load.bottleneck else canvas.PURPLE if batch else canvas.BLUE
        axes.barh(
            i,
            min(share, reach),
            color=colour,
            height=0.6,
            hatch="xx" if batch else "",
            edgecolor="white" if batch else colour,
        )
    axes.axvline(1.0, color=canvas.INK, linewidth=1.5)
    if asked.headroom:
        start = 1 - asked.headroom
        axes.axvline(start, color=canvas.INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            "headroom", (1 - asked.headroom / 2, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom"
        )
    axes.set_yticks(range(len(segments)), [_label(segment) for segment in segments])
    axes.set_ylim(len(segments) - 0.45, -0.55)
    axes.set_xlim(0, reach)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share * 100:.0f} %")
    more = f" (the {len(segments)} fullest of {len(segments) + left_out})" if left_out else ""
    axes.set_title(f"utilisation by segment{more}")
    canvas.plainly(axes, along="x")
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(segments)), [_note(segment) for segment in segments])
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def _latency(axes: Axes, plan: Plan, asked: Asked) -> None:
    """The phases on the slowest way one after the other, against the bound."""
    at, bound, left = sizes.quantile(asked.promise.quantile), asked.promise.bound, 0.0
    for phase, seconds in answers.phases(plan).items():
        colour, hatch = _LOOKS[phase]
        if seconds > 0:
            label = f"{sizes.PHASES[phase]} {sizes.duration(seconds)}"
            axes.barh(
                0,
                seconds,
                left=left,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
                height=0.6,
                label=label,
            )
        left += seconds
    spread = max(0.0, plan.predicted - left)
    label = f"from the mean to {at} {sizes.duration(spread)}"
    axes.barh(0, spread, left=left, color=canvas.PALE, edgecolor=canvas.GREY, linewidth=0.5, height=0.6, label=label)
    axes.axvline(bound, color=canvas.INK, linewidth=1.5)
    axes.annotate("bound ", (bound, 0.42), va="center", ha="right", weight="bold")
    axes.set_yticks([])
    axes.set_ylim(-0.4, 0.6)
    axes.set_xlim(0, max(bound, plan.predicted) * 1.01)
    axes.xaxis.set_major_formatter(lambda seconds, _: sizes.duration(seconds) if seconds else "0")
    axes.set_title(
        f"latency on the slowest way: {sizes.duration(plan.predicted)} for {at}, {sizes.duration(bound)} allowed"
    )
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.25), ncols=3, handleheight=1.2, columnspacing=1.6, borderpad=0)
    canvas.plainly(axes, along="x")


def _note(segment: Segment) -> str:
    """How full it is, on what, and with which frames."""
    frame = f", frames of {segment.frame}" if segment.frame is not None else ""
    return f"{sizes.share(segment.load.utilisation)} of {placed(segment)}{frame}"


def _label(segment: Segment) -> str:
    """The operators of a segment, as many as there is room for."""
    more = len(segment.operators) - 1
    return (
        segment.name
        if not more
        else f"{segment.name} + {more} more"
        if more > 1
        else f"{segment.name} + {segment.operators[1]}"
    )
