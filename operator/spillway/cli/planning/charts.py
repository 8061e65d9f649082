"""A job under a load trace, drawn: the load, the latency against the bound, and what was paid for."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from spillway.cli.planning import canvas, sizes
from spillway.cli.planning.courses import Course
from spillway.cli.planning.sheets import Asked
from spillway.simulation.runs import Kind, Row, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (9.0, 6.4)  # inches
_FLOOR = 1e-3  # seconds: what is faster than that is drawn there, on a logarithmic scale
# Each policy has a colour and a dash of its own; ours is the first, and the thickest.
_LINES: Sequence[tuple[str, object, float]] = (
    (canvas.BLUE, "-", 1.6),
    (canvas.ORANGE, (0, (5, 1.5)), 1.0),
    (canvas.GREEN, (0, (1.5, 1)), 1.0),
    (canvas.PURPLE, (0, (6, 1.5, 1.5, 1.5)), 1.0),
    (canvas.SKY, (0, (3, 1, 1, 1, 1, 1)), 1.0),
    (canvas.RED, (0, (2, 2)), 1.0),
)


def draw(course: Course, asked: Asked, path: pathlib.Path) -> None:
    """Write the picture of a course."""
    runs: Mapping[str, Run] = {"spillway": course.run, **course.rivals}
    totals, cores = course.run.totals, any(row.cores for run in runs.values() for row in run.rows)
    title = (
        f"{asked.job}: {sizes.of_all(totals.within)} within {sizes.duration(course.run.bound)}, for {_paid(course.run)}"
    )
    with canvas.drawing(path, *_SIZE) as figure:
        panels = figure.subplots(4 if cores else 3, 1, sharex=True, height_ratios=[2, 3, 2, 1] if cores else [2, 3, 2])
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold")
        _rate(panels[0], course.run)
        _latency(panels[1], runs)
        _steps(panels[2], runs, "worker slots", lambda row: row.slots)
        if cores:
            _steps(panels[3], runs, "executor cores", lambda row: row.cores)
        _time(panels[-1], course.run)
        handles, _ = panels[1].get_legend_handles_labels()
        if len(handles) > 1:
            figure.legend(handles=handles, loc="outside lower left", ncols=3, columnspacing=2, handlelength=3)


def _rate(axes: Axes, run: Run) -> None:
    """What came, and what was done of it."""
    times = [row.at for row in run.rows]
    axes.fill_between(times, [row.rate for row in run.rows], color=canvas.PALE, linewidth=0)
    axes.plot(times, [row.rate for row in run.rows], color=canvas.GREY, linewidth=1)
    axes.set_ylim(0)
    axes.yaxis.set_major_formatter(lambda rate, _: sizes.rate(rate) if rate else "0")
    axes.set_title("records that come")
    canvas.plainly(axes, along="y")


def _latency(axes: Axes, runs: Mapping[str, Run]) -> None:
    """On a logarithmic scale, because milliseconds and minutes are both of interest; switches of ours are marked."""
    ours = next(iter(runs.values()))
    finite = [row.latency for run in runs.values() for row in run.rows if math.isfinite(row.latency)]
    top = max([ours.bound * 2, *finite]) * 1.3
    for (name, run), (colour, dash, width) in zip(runs.items(), _looks(runs), strict=False):
        latencies = [min(top, max(_FLOOR, row.latency)) for row in run.rows]
        label = f"{name}: {sizes.of_all(run.totals.within)} in time"
        axes.plot(
            [row.at for row in run.rows],
            latencies,
            color=colour,
            linestyle=dash,
            linewidth=width,
            label=label,
            zorder=_order(width),
        )
    axes.set_yscale("log")
    axes.set_ylim(_FLOOR if min(finite, default=1.0) < 2 * _FLOOR else min(finite) / 1.5, top)
    axes.axhspan(ours.bound, top, color=canvas.RED, alpha=0.08, linewidth=0)
    axes.axhline(ours.bound, color=canvas.INK, linewidth=1.2)
    bound = f" {sizes.duration(ours.bound)}\n bound"
    axes.annotate(bound, (1, ours.bound), xycoords=("axes fraction", "data"), ha="left", va="center", weight="bold")
    switches = [event for event in ours.events if event.kind is Kind.SWITCH]
    for event in switches:
        batch = "batch" in event.after.values()
        axes.axvline(event.at, color=canvas.INK, linewidth=0.9, linestyle="-" if batch else ":")
    if switches:
        axes.plot([], [], color=canvas.INK, linewidth=0.9, label="switch to batches")
        axes.plot([], [], color=canvas.INK, linewidth=0.9, linestyle=":", label="and back")
    axes.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g} s" if seconds >= 1 else sizes.duration(seconds))
    axes.minorticks_off()
    axes.set_title(f"latency of {sizes.quantile(ours.quantile)} of the records")
    canvas.plainly(axes, along="y")


def _steps(axes: Axes, runs: Mapping[str, Run], title: str, of: Callable[[Row], int]) -> None:
    """What is paid for, of each policy."""
    from matplotlib import ticker

    for run, (colour, dash, width) in zip(runs.values(), _looks(runs), strict=False):
        times = [row.at for row in run.rows]
        axes.step(
            times,
            [of(row) for row in run.rows],
            where="post",
            color=colour,
            linestyle=dash,
            linewidth=width,
            zorder=_order(width),
        )
    axes.set_ylim(0, max(1, *(of(row) for run in runs.values() for row in run.rows)) * 1.12)
    axes.yaxis.set_major_locator(ticker.MaxNLocator(nbins=4, integer=True))
    axes.set_title(title)
    canvas.plainly(axes, along="y")


def _time(axes: Axes, run: Run) -> None:
    """The time since the start, in steps that people count in."""
    end = run.rows[-1].at + run.every
    step = next((step for step in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14400) if end / step <= 8), 28800)
    axes.set_xlim(0, end)
    axes.set_xticks([step * i for i in range(int(end / step) + 1)])
    axes.xaxis.set_major_formatter(lambda at, _: sizes.duration(at) if at else "0")


def _order(width: float) -> float:
    """Ours is drawn over all others."""
    return 2 + width


def _looks(runs: Mapping[str, Run]) -> list[tuple[str, object, float]]:
    return [_LINES[i % len(_LINES)] for i in range(len(runs))]


def _paid(run: Run) -> str:
    totals = run.totals
    cores = f" and {totals.core_hours:.2f} core-hours" if totals.core_hours else ""
    return f"{totals.slot_hours:.2f} slot-hours{cores}"
