"""Draws what a dashboard would show, as Grafana would lay it out: for people who have no Grafana at hand."""

from __future__ import annotations

import datetime
import math
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import dates, patches, ticker
from matplotlib import pyplot as plots

COLUMNS, ROW = 24, 0.27  # of a dashboard; inches of one of its rows
WIDTH = 17.0  # inches
COLOURS = {"green": "#299c46", "yellow": "#c9a100", "red": "#c4162a"}
INK, PALE = "#22252b", "#d5d8dd"


def named(legend: str, labels: dict[str, str]) -> str:
    """What a series is called."""
    if not legend:
        return "|".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend)


def draw(
    dashboard: dict[str, Any], panels: Sequence[tuple[Any, Any]], begin: float, end: float, path: pathlib.Path
) -> None:
    """All panels of a dashboard, each with its answers."""
    rows = max(_place(panel)[1] + _place(panel)[3] for panel in dashboard["panels"])
    height = rows * ROW + 0.5
    figure = plots.figure(figsize=(WIDTH, height), facecolor="#f4f5f5")
    figure.text(0.01, 1 - 0.3 / height, dashboard["title"], size=15, weight="bold", color=INK, va="center")
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            _, y, _, _ = _place(panel)
            figure.text(0.01, 1 - (y * ROW + 0.5 + 0.15) / height, panel["title"], size=11, color=INK, va="center")
    for panel, answers in panels:
        x, y, w, h = _place(panel)
        top = 1 - (y * ROW + 0.5) / height
        at = (x / COLUMNS + 0.004, top - (h - 0.25) * ROW / height, w / COLUMNS - 0.008, (h - 0.25) * ROW / height)
        box = figure.add_axes(at, facecolor="white")
        box.set_xticks([])
        box.set_yticks([])
        for side in box.spines.values():
            side.set_color(PALE)
        figure.text(
            at[0] + 0.006, at[1] + at[3] - 0.13 / height, panel["title"], size=9, weight="bold", color=INK, va="center"
        )
        inner = (at[0] + 0.045, at[1] + 0.62 / height, at[2] - 0.055, at[3] - 0.95 / height)
        kind = {"stat": _figure, "timeseries": _graph, "state-timeline": _timeline, "table": _sheet}[panel["type"]]
        kind(figure, box, inner, panel, answers, (begin, end))
    figure.savefig(path, dpi=80)
    plots.close(figure)


def _place(panel: Any) -> tuple[float, float, float, float]:
    place = panel["gridPos"]
    return place["x"], place["y"], place["w"], place["h"]


def _defaults(panel: Any) -> dict[str, Any]:
    return dict(panel["fieldConfig"]["defaults"])


def shown(value: float, unit: str, decimals: int | None = None) -> str:
    """A value as Grafana would write it."""
    if not math.isfinite(value):
        return "-"
    if unit == "percentunit":
        return f"{100 * value:.{decimals if decimals is not None else 1}f} %"
    if unit == "s":
        for name, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
            if abs(value) >= size or name == "µs":
                return f"{value / size:.3g} {name}" if value else "0 s"
    after = unit.removeprefix("suffix:") if unit.startswith("suffix:") else ""
    base, names = (1024, ("", " Ki", " Mi", " Gi")) if unit == "bytes" else (1000, ("", " k", " M", " G"))
    level = min(int(math.log(abs(value), base)), 3) if abs(value) >= base else 0
    scaled = value / base**level
    text = f"{scaled:.{decimals}f}" if decimals is not None and not level else f"{scaled:.3g}"
    return f"{text}{names[level]}{after}"


def _words(config: dict[str, Any]) -> dict[float, tuple[str, str]]:
    found: dict[float, tuple[str, str]] = {}
    for mapping in config.get("mappings", []):
        found |= {float(value): (one["text"], _colour(one["color"])) for value, one in mapping["options"].items()}
    return found


def _colour(name: str) -> str:
    return COLOURS.get(name, name)


def _step(config: dict[str, Any], value: float) -> str:
    colour = INK
    for step in config.get("thresholds", {}).get("steps", []):
        if step.get("value") is None or value >= step["value"]:
            colour = _colour(step["color"])
    return colour


def _figure(figure: Any, box: Any, inner: Any, panel: Any, answers: Any, span: Any) -> None:
    config, words = _defaults(panel), _words(_defaults(panel))
    series = [points for answer in answers for _, points in answer.series]
    value = series[0][-1][1] if series else math.nan
    text, colour = words.get(value, (shown(value, config["unit"], config.get("decimals")), _step(config, value)))
    box.text(0.5, 0.42, text, size=20, weight="bold", color=colour, ha="center", va="center", transform=box.transAxes)
    if series and len(series[0]) > 1:
        axes = box.inset_axes((0, 0, 1, 0.3))
        axes.fill_between(*zip(*series[0], strict=True), color=colour, alpha=0.2)
        axes.axis("off")


def _graph(figure: Any, box: Any, inner: Any, panel: Any, answers: Any, span: Any) -> None:
    config = _defaults(panel)
    custom = config["custom"]
    axes = figure.add_axes(inner)
    fixed = {
        one["matcher"]["options"]: _colour(part["value"]["fixedColor"])
        for one in panel["fieldConfig"]["overrides"]
        for part in one["properties"]
        if part["id"] == "color"
    }
    lines = [line for answer in answers for line in answer.series]
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    below: dict[float, float] = {}
    for number, (name, points) in enumerate(lines):
        patterns = (colour for pattern, colour in fixed.items() if pattern[0] == "/" and re.search(pattern[1:-1], name))
        colour = fixed.get(name) or next(patterns, f"C{number % 10}")
        times = [_time(at) for at, _ in points]
        values = [value for _, value in points]
        if custom.get("drawStyle") == "bars":
            axes.bar(times, values, bottom=[below.get(at, 0) for at, _ in points], width=3e-5, color=colour, label=name)
        elif stacked:
            base = [below.get(at, 0.0) for at, _ in points]
            axes.fill_between(
                times,
                base,
                [a + b for a, b in zip(base, values, strict=True)],
                color=colour,
                alpha=0.6,
                label=name,
                lw=0,
            )
        else:
            axes.plot(times, values, color=colour, lw=1.3, label=name)
        for at, value in points:
            below[at] = below.get(at, 0.0) + value
    axes.set_xlim(_time(span[0]), _time(span[1]))
    axes.set_ylim(0, config.get("max"))
    axes.grid(visible=True, color=PALE, lw=0.5)
    axes.tick_params(labelsize=7, colors=INK, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.xaxis.set_major_formatter(_clock())
    axes.xaxis.set_major_locator(ticker.MaxNLocator(6))
    axes.yaxis.set_major_locator(ticker.MaxNLocator(5))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: shown(value, config["unit"])))
    if lines:
        below_it = (-0.02, -0.12)
        axes.legend(loc="upper left", bbox_to_anchor=below_it, ncol=4, fontsize=7, frameon=False, labelcolor=INK)
    else:
        axes.text(0.5, 0.5, "no data", ha="center", va="center", transform=axes.transAxes, color=PALE)


def _timeline(figure: Any, box: Any, inner: Any, panel: Any, answers: Any, span: Any) -> None:
    words = _words(_defaults(panel))
    axes = figure.add_axes((inner[0] + 0.03, inner[1], inner[2] - 0.03, inner[3]))
    lines = [line for answer in answers for line in answer.series]
    for number, (_, points) in enumerate(lines):
        for (at, value), (then, _) in zip(points, [*points[1:], (points[-1][0], 0)], strict=True):
            axes.barh(
                number, _time(then) - _time(at), left=_time(at), height=0.7, color=words.get(value, ("", PALE))[1], lw=0
            )
    axes.set_yticks(range(len(lines)), [name for name, _ in lines])
    axes.set_xlim(_time(span[0]), _time(span[1]))
    axes.set_ylim(-0.6, max(len(lines), 1) - 0.4)
    axes.xaxis_date()
    axes.xaxis.set_major_formatter(_clock())
    axes.tick_params(labelsize=7, colors=INK, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    marks = [patches.Rectangle((0, 0), 1, 1, color=colour) for _, colour in words.values()]
    axes.legend(
        marks,
        [text for text, _ in words.values()],
        loc="upper left",
        bbox_to_anchor=(-0.02, -0.15),
        ncol=4,
        fontsize=7,
        frameon=False,
    )


def _sheet(figure: Any, box: Any, inner: Any, panel: Any, answers: Any, span: Any) -> None:
    organise = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    names = organise["renameByName"]
    columns = [name for key, name in names.items() if key.startswith("Value #")]
    styles = {
        one["matcher"]["options"]: {part["id"]: part["value"] for part in one["properties"]}
        for one in panel["fieldConfig"]["overrides"]
    }
    rows: dict[str, dict[str, float]] = {}
    for column, answer in zip(columns, answers, strict=True):
        for name, points in answer.series:
            rows.setdefault(name, {})[column] = points[-1][1]
    for number, column in enumerate(["series", *columns]):
        x = 0.01 + number * 0.98 / (len(columns) + 1)
        box.text(x, 0.78, column, size=8, weight="bold", color=INK, transform=box.transAxes)
        style = styles.get(column, {})
        config = {"mappings": style.get("mappings", []), "thresholds": style.get("thresholds", {})}
        for line, (name, values) in enumerate(sorted(rows.items())):
            if column == "series":
                text, colour = ",".join(part.split("=")[1] for part in name.split("|")), INK
            elif column in values:
                value = values[column]
                plain = (shown(value, style.get("unit", "short"), style.get("decimals")), _step(config, value))
                text, colour = _words(config).get(value, plain)
            else:
                text, colour = "", INK
            box.text(x, 0.66 - 0.1 * line, text, size=8, color=colour, transform=box.transAxes)


def _time(at: float) -> Any:
    return dates.date2num(datetime.datetime.fromtimestamp(at, datetime.UTC))  # type: ignore[no-untyped-call]


def _clock() -> Any:
    return dates.DateFormatter("%H:%M:%S")  # type: ignore[no-untyped-call]
