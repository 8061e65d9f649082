"""How a job stands, as a panel: what flows through each segment, the promise, the workers, why, and where to reach it.

word-count  99 % within 500 ms                                        running, 2 min

  segment      reads        runs   partitions       in       out  waiting  busy
  words        lines      record            8  1.2 k/s  9.6 k/s        0  ██······  31 %
"""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spillway.cli import terminal
from spillway.cli.planning import sheets, sizes
from spillway.cli.watching import lines, samples
from spillway.local.conditions import WELL
from spillway.local.events import Scene
from spillway.model.observation import Observation, Segment
from spillway.model.operators import Operator, Paradigm

WIDE = 100  # from here on there is room for how segments hang together
BAR = 8
SLOTS = 6  # that are shown one by one
SAID_ABOVE = "provisioning: "  # its last news may be older than what it recommends
SILENT = 3.0  # seconds without a word of the driver; it answers each tick
_NONE = "-"


class Panel:
    """Draws scenes for one screen."""

    def __init__(self, screen: Console, began: datetime.datetime) -> None:
        """Samples of records are of the time when it `began`, so that they stay as they are."""
        self._screen = screen
        self._began = began
        self._ascii = screen.options.ascii_only

    def draw(self, scene: Scene) -> RenderableType:
        """As much as there is room for: first the operators inside of segments go."""
        for details in (True, False):
            parts = Group(*self._parts(scene, details=details))
            if len(self._screen.render_lines(parts, pad=False)) < self._screen.height:
                break
        return parts

    def _parts(self, scene: Scene, *, details: bool) -> Iterator[RenderableType]:
        yield ""
        yield self._head(scene)
        yield ""
        if scene.seen is not None and scene.seen.plan is not None:
            yield self._segments(scene, scene.seen, details=details)
            yield ""
        feed, read = self._feed(scene)
        for title, found in (
            ("promise", self._promise(scene)),
            ("workers", self._workers(scene)),
            ("why", self._why(scene)),
            ("look at", self._wrong(scene)),
            ("feed", self._commands(feed)),
            ("read", self._commands(read)),
            ("at", self._addresses(scene)),
        ):
            listed = list(found)
            if listed:
                yield sheets.section(title, listed)

    def _head(self, scene: Scene) -> RenderableType:
        latency = scene.job.spec.latency
        promise = f"{sizes.quantile(latency.quantile)} within {sizes.duration(latency.bound.seconds)}"
        well = scene.phase == "running"
        phase = Text.assemble(
            (scene.phase, "bold green" if well else "bold yellow"), (f"  {_clock(scene.since)}", "dim")
        )
        left = Text.assemble((scene.job.metadata.name, "bold"), f"  {promise}")
        grid = Table.grid(expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_row(left, phase)
        return grid

    # Segments

    def _segments(self, scene: Scene, seen: Observation, *, details: bool) -> Table:
        wide = self._screen.width >= WIDE
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("  segment", overflow="ellipsis", no_wrap=True, max_width=30 if wide else 20)
        if wide:
            table.add_column("reads", overflow="ellipsis", no_wrap=True, max_width=24)
            table.add_column("runs", no_wrap=True)
        for title in ("partitions", "in", "out", "waiting"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("busy", no_wrap=True)
        operators = {operator.name: operator for operator in scene.job.spec.operators}
        slots = sum(not slot.silent for slot in seen.slots)
        paradigms = {planned.name: planned.paradigm for planned in seen.plan.segments} if seen.plan else {}
        for segment in seen.segments:
            runs = Text(str(paradigms.get(segment.name, Paradigm.RECORD)))
            table.add_row(
                Text.assemble("  ", (segment.name, "bold")),
                *([Text(_reads(segment, operators), "dim"), runs] if wide else []),
                self._partitions(segment),
                Text(_rate(segment.rate_in)),
                Text(_rate(segment.rate_out)),
                Text(_NONE if segment.lag is None else f"{segment.lag:,}".replace(",", " ")),
                self._busy(None if segment.busy is None else segment.busy / max(1, slots)),
            )
            inner = [operator for operator in segment.operators if operator.name != segment.name] if details else []
            for i, operator in enumerate(inner, 1):
                branch = self._sign("└ ", "` ") if i == len(inner) else self._sign("├ ", "| ")
                flows = (_rate(operator.rate_in), _rate(operator.rate_out))
                empty = [""] * (3 if wide else 1)
                table.add_row(Text(f"  {branch}{operator.name}", "dim"), *empty, *(Text(flow, "dim") for flow in flows))
        return table

    def _partitions(self, segment: Segment) -> Text:
        if segment.working == segment.partitions:
            return Text(f"{segment.partitions}")
        moving = f", {segment.moving} moving" if segment.moving else ""
        return Text(f"{segment.working} of {segment.partitions}{moving}", "yellow")

    def _busy(self, share: float | None) -> Text:
        if share is None:
            return Text(_NONE)
        colour = "red" if share > 0.95 else "yellow" if share > 0.8 else "green"
        return Text.assemble((terminal.bar(share, BAR, ascii_only=self._ascii), colour), f" {sizes.share(share):>5}")

    def _sign(self, drawn: str, written: str) -> str:
        return written if self._ascii else drawn

    # Lines

    def _promise(self, scene: Scene) -> Iterator[Text]:
        if scene.seen is None:
            return
        promise = scene.seen.latency
        kept = promise.within is not None and promise.within >= promise.quantile
        colour = "" if promise.within is None else "green" if kept else "red"
        told = lines.kept(promise)
        out = f", {sizes.rate(promise.rate)} out" if promise.rate else ""
        yield Text.assemble((told, colour), out, ("" if promise.within is None else ", over the last 10 s", "dim"))
        if len(promise.outputs) > 1:
            for name, output in promise.outputs.items():
                p99 = "no results" if output.p99_ms is None else f"99 % within {sizes.duration(output.p99_ms / 1000)}"
                yield Text(f"{name}: {_rate(output.rate)}, {p99}", "dim")

    def _workers(self, scene: Scene) -> Iterator[Text]:
        there = "" if scene.there == scene.asked else f", {scene.there} there"
        text = Text(f"{scene.asked} of at most {scene.limit}{there}")
        slots = scene.seen.slots if scene.seen is not None else ()
        for slot in slots[:SLOTS]:
            state = " silent" if slot.silent else " leaving" if slot.leaving else ""
            text.append(f"   {slot.slot} ", "dim").append(self._busy(slot.busy))
            text.append(f" {sizes.count(slot.partitions, 'partition')}{state}", "yellow" if state else "dim")
        if len(slots) > SLOTS:
            text.append(f"   and {len(slots) - SLOTS} more", "dim")
        yield text

    def _why(self, scene: Scene) -> Iterator[Text]:
        """What the load needs as of now, and what else was decided last."""
        if scene.seen is not None and scene.seen.recommended.sentence:
            yield Text(terminal.clean(scene.seen.recommended.sentence))
        if scene.sizing is not None:
            yield Text(terminal.clean(f"workers: {scene.sizing.sentence}"))
        for at, sentence in scene.decided:
            if not sentence.startswith(SAID_ABOVE):
                when = datetime.datetime.fromtimestamp(at, self._began.tzinfo)
                yield Text(f"{when:%H:%M:%S} {terminal.clean(sentence)}", "dim")

    def _wrong(self, scene: Scene) -> Iterator[Text]:
        """What somebody should see to."""
        for line in scene.refused:
            yield Text(terminal.clean(f"not taken: {line}"), "red")
        if scene.seen is None:
            return
        if scene.age > SILENT:
            yield Text(f"the driver has not answered for {scene.age:.0f} s; the workers go on meanwhile", "yellow")
        for condition in scene.seen.conditions:
            if condition.type in WELL and WELL[condition.type] is not condition.status:
                yield Text(terminal.clean(f"{condition.reason}: {condition.message}".rstrip(": ")), "yellow")
        if scene.seen.letters:
            way = f"spillway dead list {scene.seen.job} --bootstrap {scene.bootstrap}"
            yield Text(f"{sizes.count(scene.seen.letters, 'dead letter')}: {way}", "yellow", overflow="fold")
        if scene.seen.late:
            yield Text(f"{sizes.count(scene.seen.late, 'record')} came too late for a window", "yellow")

    def _feed(self, scene: Scene) -> tuple[list[str], list[str]]:
        """Commands to feed it and to read it, once there is a Kafka to do that with."""
        if not scene.bootstrap:
            return [], []
        feed = samples.feed(scene.job, scene.annotations, scene.bootstrap, self._began)
        return feed, samples.read(scene.job, scene.bootstrap)

    def _commands(self, commands: Sequence[str]) -> Iterator[Text]:
        for command in commands:
            yield Text(command, "cyan", overflow="ellipsis", no_wrap=True)

    def _addresses(self, scene: Scene) -> Iterator[Text]:
        if scene.bootstrap:
            yield Text(f"Kafka {scene.bootstrap}   page http://{scene.driver}/", "dim")
            yield Text(_short(scene.folder), "dim", overflow="fold")
        yield Text("Ctrl-C brings everything to rest and ends", "dim")


def _short(folder: str) -> str:
    """A path as people write it."""
    home = str(pathlib.Path.home())
    return f"~{folder.removeprefix(home)}" if folder.startswith(f"{home}/") else folder


def _reads(segment: Segment, operators: dict[str, Operator]) -> str:
    """What its first operator reads; a stream or table that is a segment of its own reads its topic."""
    head = operators.get(segment.name)
    if head is None:
        return "its topic"
    joined = [name for name in (head.join.table, head.join.stream) if name] if head.join is not None else []
    return ", ".join(dict.fromkeys([*head.reads, *joined]))


def _rate(value: float | None) -> str:
    return _NONE if value is None else sizes.rate(value)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
