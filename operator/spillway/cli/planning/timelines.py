"""A job under a load trace on a terminal: curves of a line each, what was changed and why, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from spillway.cli import terminal
from spillway.cli.planning import courses, sheets, sizes
from spillway.cli.planning.courses import Course
from spillway.simulation.runs import Event, Kind, Row, Run

_LEVELS = " ▁▂▃▄▅▆▇█"
_WRITTEN = " .:-=+*%#"
_MOST = 40  # events on a screen; the rest is in the JSON
_ASIDE = 32  # columns for the numbers beside a curve
_MARKS: Mapping[Kind, tuple[str, str]] = {
    Kind.RESIZE: ("cyan", "r"),
    Kind.SWITCH: ("magenta", "s"),
    Kind.FAULT: ("red", "!"),
}


def show(course: Course, asked: sheets.Asked, screen: Console) -> None:
    """Print a course."""
    sheets.put(screen, _Drawing(screen).sheet(course, asked))


class _Drawing:
    """Draws for one screen: its width, and the signs that it has."""

    def __init__(self, screen: Console) -> None:
        self.width = screen.width
        self.ascii = screen.options.ascii_only
        self.columns = max(20, self.width - sheets.LABEL - _ASIDE)

    def sheet(self, course: Course, asked: sheets.Asked) -> Iterator[RenderableType]:
        """From top to bottom."""
        run = course.run
        yield self._head(run, asked, course.trace.length)
        yield ""
        yield self._curves(run)
        yield ""
        yield from self._changes(run)
        yield sheets.section("cost", [Text(line) for line in _cost(run)])
        if course.rivals:
            yield ""
            yield self._compared(course)
        if asked.assumed:
            yield ""
            yield sheets.section("assumed", [Text(terminal.clean(line), "dim") for line in asked.assumed])

    def _head(self, run: Run, asked: sheets.Asked, length: float) -> Text:
        rates = [row.rate for row in run.rows]
        promise = f"{sizes.quantile(run.quantile)} within {sizes.duration(run.bound)}"
        load = f"{sizes.rate(min(rates))} to {sizes.rate(max(rates))}"
        text = Text.assemble((asked.job, "bold"), f" over {sizes.duration(length)}, {load}, {promise}: ")
        kept = ("kept", "bold green") if run.totals.kept else ("not kept", "bold red")
        return text.append(*kept).append(f" ({sizes.of_all(run.totals.within)})")

    # Curves

    def _curves(self, run: Run) -> RenderableType:
        buckets = list(_buckets(run.rows, self.columns))
        table = Table.grid(padding=0)
        table.add_column(width=sheets.LABEL, no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for title, line, note in self._lines(run, buckets):
            table.add_row(Text(title, "dim"), line, Text(f"  {note}", "dim"))
        end = sizes.duration(run.rows[-1].at + run.every)
        table.add_row("", Text("0" + end.rjust(len(buckets) - 1), "dim"), "")
        return table

    def _lines(self, run: Run, buckets: Sequence[Sequence[Row]]) -> Iterator[tuple[str, Text, str]]:
        top = max(row.rate for row in run.rows)
        yield "rate", self._curve(buckets, lambda row: row.rate, top, "blue"), f"{sizes.rate(top)} at the most"
        late = f", {sizes.duration(run.totals.late)} late" if run.totals.late else ""
        yield "latency", self._latency(buckets, run.bound), f"{sizes.duration(run.totals.worst)} worst{late}"
        yield "slots", *self._sizes(buckets, lambda row: row.slots)
        if any(row.cores for row in run.rows):
            yield "cores", *self._sizes(buckets, lambda row: row.cores)
        if run.events:
            yield "changes", self._marks(run.events, run.rows[-1].at + run.every), "resize, switch, ! fault"

    def _sizes(self, buckets: Sequence[Sequence[Row]], of: Callable[[Row], int]) -> tuple[Text, str]:
        found = [of(row) for bucket in buckets for row in bucket]
        note = f"{min(found)} to {max(found)}" if min(found) < max(found) else f"{found[0]} all the time"
        return self._curve(buckets, of, max(found), "green"), note

    def _curve(self, buckets: Sequence[Sequence[Row]], of: Callable[[Row], float], top: float, look: str) -> Text:
        """The highest of each bucket, in eighths of the top."""
        return Text("".join(self._level(max(map(of, bucket)) / top if top else 0.0) for bucket in buckets), look)

    def _latency(self, buckets: Sequence[Sequence[Row]], bound: float) -> Text:
        """In sevenths of the bound; only what is beyond it fills the line, and is red."""
        line = Text()
        for bucket in buckets:
            share = max(row.latency for row in bucket) / bound
            line.append(
                self._level(min(share, 1.0) * 7 / 8 if share <= 1 else 1.0), "green" if share <= 1 else "bold red"
            )
        return line

    def _level(self, share: float) -> str:
        levels = _WRITTEN if self.ascii else _LEVELS
        return levels[min(8, math.ceil(share * 8))] if share > 0 else levels[0]

    def _marks(self, events: Sequence[Event], length: float) -> Text:
        """Who changed what, when; of several in one column a switch counts more than a resize, and a fault most."""
        cells: list[Kind | None] = [None] * self.columns
        for event in sorted(events, key=lambda event: list(_MARKS).index(event.kind)):
            cells[min(self.columns - 1, int(event.at / length * self.columns))] = event.kind
        line = Text()
        for kind in cells:
            look, mark = _MARKS[kind] if kind is not None else ("", " ")
            line.append(mark, look)
        return line

    # Changes

    def _changes(self, run: Run) -> Iterator[RenderableType]:
        if not run.events:
            yield Text("nothing was changed\n", "dim")
            return
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=sheets.LABEL - 2, justify="right", no_wrap=True)
        for event in run.events[:_MOST]:
            what = Text.assemble((str(event.kind), _MARKS[event.kind][0]), " ", self._change(event))
            table.add_row(_clock(event.at), Text.assemble(what, "\n", (terminal.clean(event.sentence), "dim")))
        yield table
        if len(run.events) > _MOST:
            yield Text(f"and {len(run.events) - _MOST} more; -o json has all of them", "dim")
        yield ""

    def _change(self, event: Event) -> Text:
        arrow = "->" if self.ascii else "→"
        alike: dict[tuple[str, str], list[str]] = {}
        before, after = courses.sizes(event)
        for name, size in after.items():
            alike.setdefault((before.get(name, ""), size), []).append(name)
        parts = [f"{', '.join(names)} {old} {arrow} {new}" for (old, new), names in alike.items()]
        return Text("; ".join(parts) or ", ".join(event.segments))

    # Comparison

    def _compared(self, course: Course) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("policy", no_wrap=True)
        for name in ("in time", "worst", "late", "slot-h", "core-h", "resizes", "switches"):
            table.add_column(name, justify="right", no_wrap=True)
        for name, run in {"spillway": course.run, **course.rivals}.items():
            totals = run.totals
            table.add_row(
                Text(name, "bold" if run is course.run else ""),
                Text(sizes.of_all(totals.within), "green" if totals.kept else "red"),
                sizes.duration(totals.worst),
                sizes.duration(totals.late),
                f"{totals.slot_hours:.2f}",
                f"{totals.core_hours:.2f}",
                f"{totals.resizes}",
                f"{totals.switches}",
            )
        return table


def _buckets(rows: Sequence[Row], columns: int) -> Iterator[Sequence[Row]]:
    """As many as there are columns; where rows are fewer, each is in several."""
    for i in range(columns):
        start, end = len(rows) * i // columns, len(rows) * (i + 1) // columns
        yield rows[start : max(end, start + 1)]


def _cost(run: Run) -> Iterator[str]:
    totals = run.totals
    cores = f" and {totals.core_hours:.2f} core-hours" if totals.core_hours else ""
    yield f"{totals.slot_hours:.2f} slot-hours{cores}"
    yield f"{sizes.count(totals.resizes, 'resize')}, {sizes.count(totals.switches, 'switch', 'switches')}"


def _clock(at: float) -> str:
    """Minutes and seconds since the start: `12:30`, or `1:02:05`."""
    seconds = round(at)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"
