"""A plan on a terminal: segments with their load, where the time goes, and why; plain where it is piped."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TextIO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spillway.cli import terminal
from spillway.cli.planning import answers, sizes
from spillway.controllers.latency.phases import Phase
from spillway.controllers.planning.plan import Plan, Planned, Segment
from spillway.controllers.planning.problem import Promise
from spillway.model.operators import Paradigm

WIDEST = 120  # longer bars say no more
_WIDE = 100  # from here on there is room for what comes out
LABEL = 9  # columns of the titles of sections


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What a plan is of, for its head line.

    Attributes:
        job: its name.
        rates: records per second, by stream and table.
        promise: what is to be kept.
        headroom: share of capacity to keep free.
        assumed: what nobody declared.
    """

    job: str
    rates: Mapping[str, float]
    promise: Promise
    headroom: float
    assumed: tuple[str, ...]


# What phases are drawn with: apart from one another also without colours, and for who can't tell some from others.
_GLYPHS: Mapping[Phase | None, tuple[str, str, str]] = {
    Phase.WAIT: ("▓", "w", "cyan"),
    Phase.QUEUE: ("▒", "q", "yellow"),
    Phase.NETWORK: ("░", "n", "blue"),
    Phase.CPU: ("█", "c", "green"),
    Phase.BATCH: ("▚", "b", "magenta"),
    Phase.SCHEDULE: ("▞", "s", "bright_magenta"),
    Phase.WINDOW: ("▤", "v", "bright_blue"),
    None: ("╌", "~", "white"),
}
_SPELT = str.maketrans({"µ": "u", "…": "~"})  # rich cuts names with the latter


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """Where sheets are printed: with colours at a terminal that wants them, at most `WIDEST` wide."""
    stream = sys.stdout if stream is None else stream
    colours: Literal["auto"] | None = None if terminal.plain(stream) else "auto"
    found = Console(file=stream, color_system=colours, width=width, highlight=False, markup=False, emoji=False)
    found.width = min(found.width, WIDEST)
    return found


def show(planned: Planned, asked: Asked, screen: Console) -> None:
    """Print a plan."""
    put(screen, _Drawing(screen).sheet(planned, asked))


def put(screen: Console, parts: Iterable[RenderableType]) -> None:
    """Print all parts, without the blanks that fill up the lines of tables."""
    with screen.capture() as caught:
        screen.print(Group(*parts))
    text = caught.get().translate(_SPELT) if screen.options.ascii_only else caught.get()
    for line in text.splitlines():
        screen.file.write(f"{line.rstrip()}\n")


class _Drawing:
    """Draws for one screen: its width, and the signs that it has."""

    def __init__(self, screen: Console) -> None:
        self.width = screen.width
        self.ascii = screen.options.ascii_only

    def sheet(self, planned: Planned, asked: Asked) -> Iterator[RenderableType]:
        """From top to bottom."""
        yield self._head(planned, asked)
        yield ""
        if planned.plan is not None:
            yield self._segments(planned.plan, asked.headroom)
            yield from self._legend(planned.plan)
            yield ""
            yield section("latency", self._latency(planned.plan, asked.promise))
            yield ""
        yield section("why", self._reasons(planned))
        if asked.assumed:
            yield ""
            yield section("assumed", [Text(terminal.clean(line), "dim") for line in asked.assumed])

    def _head(self, planned: Planned, asked: Asked) -> RenderableType:
        promise = f"{sizes.quantile(asked.promise.quantile)} within {sizes.duration(asked.promise.bound)}"
        rates = [rate for rate in asked.rates.values() if rate]
        load = sizes.rate(math.fsum(rates)) + (f" from {len(rates)} sources" if len(rates) > 1 else "")
        text = Text.assemble((asked.job, "bold"), f": {load}, {promise}: ")
        if planned.plan is None or not planned.feasible:
            return text.append("not feasible", "bold red")
        plan = planned.plan
        cost = [sizes.count(plan.slots, "slot"), *([sizes.count(plan.cores, "executor core")] if plan.cores else [])]
        return text.append("feasible", "bold green").append(f" with {' and '.join(cost)}")

    # Segments

    def _segments(self, plan: Plan, headroom: float) -> Table:
        wide = self.width >= _WIDE
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("  segment", overflow="ellipsis", no_wrap=True, max_width=40 if wide else 24)
        table.add_column("runs", no_wrap=True)
        table.add_column("on", no_wrap=True)
        table.add_column("frame", justify="right", no_wrap=True)
        table.add_column("in", justify="right", no_wrap=True)
        if wide:
            table.add_column("out", justify="right", no_wrap=True)
        table.add_column("utilisation", no_wrap=True)
        marked = _marked(plan)
        for segment in plan.segments:
            for cells in self._rows(segment, headroom, marked=segment is marked):
                table.add_row(*(cells if wide else [*cells[:5], cells[6]]))
        return table

    def _rows(self, segment: Segment, headroom: float, *, marked: bool) -> Iterator[list[Text]]:
        name = Text.assemble((self._sign("▶ ", "> ") if marked else "  ", "bold red"), (segment.name, "bold"))
        taken, given = segment.inside[segment.operators[0]]
        yield [
            name,
            Text(str(segment.paradigm), "magenta" if segment.paradigm is Paradigm.BATCH else ""),
            Text(placed(segment)),
            Text("-" if segment.frame is None else f"{segment.frame}"),
            Text(sizes.rate(taken)),
            Text(sizes.rate(given)),
            self._load(segment, headroom),
        ]
        for i, inner in enumerate(segment.operators[1:], 2):
            taken, given = segment.inside[inner]
            branch = self._sign("└ ", "` ") if i == len(segment.operators) else self._sign("├ ", "| ")
            label = Text(f"  {branch}{inner}", "dim")
            yield [
                label,
                Text(),
                Text(),
                Text(),
                Text(sizes.rate(taken), "dim"),
                Text(sizes.rate(given), "dim"),
                Text(),
            ]

    def _load(self, segment: Segment, headroom: float) -> Text:
        """A bar, and the share in numbers."""
        share = segment.load.utilisation
        look = "red" if segment.load.bottleneck else "yellow" if share > 1 - headroom else "green"
        length = 24 if self.width >= _WIDE else 12
        return Text.assemble((terminal.bar(share, length, ascii_only=self.ascii), look), f" {sizes.share(share):>6}")

    def _legend(self, plan: Plan) -> Iterator[RenderableType]:
        marked = _marked(plan)
        if marked is None:
            return
        sign = self._sign("▶", ">")
        if marked.load.bottleneck:
            bounds = " and ".join(str(bound).replace("-", " ") for bound in marked.load.bounds)
            yield Text(f"{sign} bottleneck: more comes than it can do ({bounds})", "red")
        elif len(plan.segments) > 1:
            yield Text(f"{sign} the fullest, and the first to need more when the load grows", "dim")

    # Latency

    def _latency(self, plan: Plan, promise: Promise) -> Iterator[RenderableType]:
        """The phases on the worst way, and what the quantile adds to their mean, against the bound."""
        at, allowed = sizes.quantile(promise.quantile), f"{sizes.duration(promise.bound)} allowed"
        if not math.isfinite(plan.predicted):
            yield Text(f"grows without end, because more comes than gets through; {allowed}", "red")
            return
        kept = plan.predicted <= promise.bound
        yield Text.assemble(
            (f"{sizes.duration(plan.predicted)} for {at}", "bold" if kept else "bold red"), f", {allowed}"
        )
        means: dict[Phase | None, float] = dict(answers.phases(plan).items())
        means[None] = max(0.0, plan.predicted - plan.prediction.mean)
        yield self._line(means, promise.bound, (self.width - LABEL - 1) / max(promise.bound, plan.predicted))
        parts = [
            Text.assemble(
                self._glyph(phase),
                f" {sizes.PHASES[phase] if phase else f'from the mean to {at}'} {sizes.duration(seconds)}",
            )
            for phase, seconds in means.items()
            if seconds > 0
        ]
        yield from _filled(parts, self.width - LABEL)
        if len(plan.segments) > 1:
            way = self._sign(" → ", " > ").join(plan.prediction.path)
            yield Text(f"the slowest way: {way}", "dim")

    def _line(self, means: Mapping[Phase | None, float], bound: float, scale: float) -> Text:
        """Phases one after the other, then air until the bound; rounded so that the total is right."""
        line, at = Text(), 0.0
        for phase, seconds in means.items():
            start, at = round(at * scale), at + seconds
            glyph, look = self._glyph(phase)
            line.append(glyph * (round(at * scale) - start), look)
        limit = round(bound * scale)
        mark = self._sign("│", "|")
        if len(line) <= limit:
            return line.append(self._sign("·", ".") * (limit - len(line)), "dim").append(mark, "bold")
        return Text.assemble(line[:limit], (mark, "bold red"), line[limit:])

    def _glyph(self, phase: Phase | None) -> tuple[str, str]:
        drawn, written, look = _GLYPHS[phase]
        return (written if self.ascii else drawn), look

    # Words

    def _reasons(self, planned: Planned) -> Iterator[RenderableType]:
        yield Text(terminal.clean(planned.sentence))
        yield from (Text(terminal.clean(limit), "yellow") for limit in planned.limits)
        yield from (Text(terminal.clean(str(lost)), "dim") for lost in planned.alternatives)

    def _sign(self, drawn: str, written: str) -> str:
        return written if self.ascii else drawn


def _marked(plan: Plan) -> Segment | None:
    """The segment to look at: the one that is fullest, or over-full."""
    return max(plan.segments, key=lambda segment: segment.load.utilisation, default=None)


def placed(segment: Segment) -> str:
    """What it runs on."""
    if segment.paradigm is Paradigm.BATCH:
        return sizes.count(segment.parallelism, "core")
    return "shared" if segment.shares else sizes.count(segment.parallelism, "slot")


def section(title: str, lines: Iterable[RenderableType]) -> RenderableType:
    """Lines beside their title."""
    table = Table.grid(padding=0)
    table.add_column(width=LABEL, no_wrap=True)
    table.add_column()
    for i, line in enumerate(lines):
        table.add_row(Text(title if i == 0 else "", "dim"), line)
    return table


def _filled(parts: Sequence[Text], width: int) -> Iterator[Text]:
    """As many parts in a line as fit, none of them broken."""
    line = Text()
    for part in parts:
        if line and len(line) + 3 + len(part) > width:
            yield line
            line = Text()
        line = Text.assemble(line, "   ", part) if line else part
    if line:
        yield line
