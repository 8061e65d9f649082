"""Why a job runs as it does, on a terminal and as JSON; plain where it is piped."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spillway.cli import terminal
from spillway.cli.asking import accounts
from spillway.cli.asking.accounts import Account, Numbers, Part, Stay
from spillway.cli.asking.told import Decision
from spillway.cli.planning import sheets, sizes
from spillway.cli.watching import lines
from spillway.model.observation import Batch, Observation, Standby, StandbyState
from spillway.model.operators import Paradigm

INDENT = 2
BAR = 24
NEXT_TO_NOTHING = 0.05  # ms
# How the sentences of switches begin (`switching.rules`, `switching.decision`).
_SWITCHES = ("to batches: ", "back to record by record: ")
_RUNS = {Paradigm.RECORD: "record by record", Paradigm.BATCH: "in batches"}


def show(account: Account, screen: Console, zone: datetime.tzinfo | None) -> None:
    """Print it; times are those of `zone`."""
    sheets.put(screen, _Drawing(screen, zone, account.seen.at).sheet(account))


class _Drawing:
    """Draws for one screen."""

    def __init__(self, screen: Console, zone: datetime.tzinfo | None, now: float) -> None:
        self._ascii = screen.options.ascii_only
        self._zone, self._now = zone, now

    def sheet(self, account: Account) -> Iterator[RenderableType]:
        """From top to bottom."""
        seen = account.seen
        yield self._head(seen)
        yield ""
        yield _beside("promise", self._promise(seen))
        yield _beside("spark", [_standby(seen.standby)])
        if account.wrong:
            told = [f"{one.type} ({one.reason}): {one.message}" for one in account.wrong]
            yield _beside("look at", [Text(terminal.clean(text), "yellow") for text in told])
        for stay in account.stays:
            yield ""
            yield from self._stay(stay)
        for part in account.parts:
            yield ""
            yield from self._part(part)

    def _head(self, seen: Observation) -> RenderableType:
        grid = Table.grid(expand=True)
        grid.add_column(overflow="fold")
        grid.add_column(justify="right", no_wrap=True)
        promise = f"{sizes.quantile(seen.latency.quantile)} within {sizes.duration(seen.latency.bound_ms / 1000)}"
        phase = ("running", "bold green") if seen.ready else ("not ready", "bold yellow")
        when = (f"  {self._time(seen.at)}", "dim")
        grid.add_row(Text.assemble((terminal.clean(seen.job), "bold"), f"  {promise}"), Text.assemble(phase, when))
        return grid

    def _promise(self, seen: Observation) -> Iterator[Text]:
        promise = seen.latency
        if promise.within is None:
            yield Text("nothing came out in the last 10 s")
            return
        kept = promise.within >= promise.quantile
        bound, out = sizes.duration(promise.bound_ms / 1000), sizes.rate(promise.rate or 0.0)
        half, most = lines.milliseconds(promise.p50_ms), lines.milliseconds(promise.p99_ms)
        yield Text.assemble(
            ("kept", "bold green") if kept else ("broken", "bold red"),
            f": {sizes.of_all(promise.within)} within {bound} over the last 10 s, {out} out",
        )
        yield Text(f"half within {half}, 99 % within {most}", "dim")
        if len(promise.outputs) > 1:
            for name, of in sorted(promise.outputs.items()):
                share = "nothing came out" if of.within is None else f"{sizes.of_all(of.within)} within {bound}"
                yield Text(terminal.clean(f"{name}: {share}, {sizes.rate(of.rate or 0.0)} out"), "dim")

    # Segments

    def _stay(self, stay: Stay) -> Iterator[RenderableType]:
        since = f" since {self._time(stay.since)}" if stay.since is not None else ""
        moving = f", {sizes.count(stay.segment.moving, 'partition')} moving" if stay.segment.moving else ""
        look = "bold magenta" if stay.runs is Paradigm.BATCH else "bold"
        yield Text.assemble(
            (terminal.clean(stay.segment.name), "bold"), "  ", (_RUNS[stay.runs], look), since, (moving, "yellow")
        )
        found: list[RenderableType] = []
        if len(stay.operators) > 1:
            found.append(Text(terminal.clean(f"{', '.join(stay.operators)}, as one program"), "dim"))
        if stay.whole:
            rest = ", ".join(name for name in stay.whole if name not in stay.operators)
            found.append(Text(terminal.clean(f"split from {rest} until that is one program with it again"), "dim"))
        if stay.why:
            found.append(Text(terminal.clean(f"because {_cause(stay.why)}")))
        if stay.numbers is not None:
            found.append(self._numbers(stay.numbers, stay.runs))
        else:
            found.append(self._flow(stay))
            if stay.verdict is not None:
                found.append(Text(terminal.clean(stay.verdict.sentence)))
        if stay.runs is Paradigm.RECORD and (spent := _spent(stay.segment.phases)):
            found.append(Text(spent, "dim"))
        if stay.segment.batch is not None:
            found.append(Text(self._batch(stay.segment.batch), "dim"))
        other = _RUNS[accounts.OTHER[stay.runs]]
        if stay.hindrance:
            found.append(Text(terminal.clean(f"not {other}: {stay.hindrance}"), "yellow"))
        elif stay.better:
            found.append(Text(stay.better))
        yield Padding(Group(*found), (0, 0, 0, INDENT))

    def _flow(self, stay: Stay) -> Text:
        """What comes and waits, where nothing is thought about it."""
        segment = stay.segment
        came = "unknown" if segment.rate_in is None else sizes.rate(segment.rate_in)
        waiting = "unknown" if segment.lag is None else sizes.count(segment.lag, "message")
        return Text(f"comes in {came}   waits {waiting}")

    def _numbers(self, n: Numbers, runs: Paradigm) -> RenderableType:
        """Rates beside one another, and the queue against what it is compared with."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        columns: tuple[Literal["left", "right"], ...] = ("left", "left", "right", "left")
        for justify in columns:
            grid.add_column(justify=justify, no_wrap=True)
        most = max(n.v or 0.0, n.p_d or 0.0, n.p_o or 0.0) or 1.0
        for symbol, what, value, look in (
            ("V", "arrives", n.v, "cyan"),
            ("P_D", "record by record", n.p_d, "green"),
            ("P_O", "in batches", n.p_o, "magenta"),
        ):
            text = "not measured" if value is None else sizes.rate(value)
            bar = terminal.bar((value or 0.0) / most, BAR, ascii_only=self._ascii)
            grid.add_row(Text(symbol, "dim"), Text(what), Text(text), Text(bar, look))
        limit, name = (n.down, "L_down") if runs is Paradigm.BATCH else (n.up, "L_up")
        if n.queue is not None and limit is not None:
            bar = terminal.bar(n.queue / limit if limit > 0 else 1.0, BAR, ascii_only=self._ascii)
            of = f" of {accounts.records(max(0.0, limit))}, {name}"
            waits = Text(accounts.records(n.queue))
            grid.add_row(Text("L", "dim"), Text("waits"), waits, Text.assemble(bar, (of, "dim")))
        return grid

    def _batch(self, batch: Batch) -> str:
        every = f", one every {sizes.duration(batch.interval_ms / 1000)}"
        took = f"{accounts.records(batch.records)} records in {sizes.duration(batch.seconds)}"
        return f"the last batch, at {self._time(batch.at)}: {took}{every}"

    # Decisions

    def _part(self, part: Part) -> Iterator[RenderableType]:
        yield Text(part.name, "bold")
        found: list[RenderableType] = []
        if part.now is None:
            found.append(Text("nothing was decided yet", "dim"))
        else:
            when = "now" if part.since is None else f"since {self._time(part.since)}"
            found += self._decision(part.now, when, "")
        if part.change is not None:
            found += self._decision(part.change, self._time(part.change.at), "dim")
        yield Padding(Group(*found), (0, 0, 0, INDENT))

    def _decision(self, decision: Decision, when: str, look: str) -> Iterator[RenderableType]:
        """When and why in a line, the sentence, and what lost."""
        yield Text.assemble((when, "dim"), "  ", (terminal.clean(decision.reason), "cyan"))
        lost = [f"not {one.what}: {one.why_not}" for one in decision.alternatives]
        told = [Text(terminal.clean(decision.sentence), look), *(Text(terminal.clean(line), "dim") for line in lost)]
        yield Padding(Group(*told), (0, 0, 0, INDENT))

    def _time(self, at: float) -> str:
        """The time of day; of another day, with its date."""
        found, now = (datetime.datetime.fromtimestamp(moment, self._zone) for moment in (at, self._now))
        return f"{found:%H:%M:%S}" if found.date() == now.date() else f"{found:%Y-%m-%d %H:%M:%S}"


def _standby(standby: Standby) -> Text:
    match standby.state:
        case StandbyState.WARM:
            memory = f"{standby.memory / 2**20:.0f} MiB" if standby.memory is not None else ""
            cpu = f"{sizes.share(standby.cpu)} of a core" if standby.cpu is not None else ""
            takes = ", ".join(part for part in (memory, cpu) if part)
            return Text(f"warm, so batches can begin at once{f' ({takes})' if takes else ''}")
        case StandbyState.STARTING:
            return Text("starting; batches can begin when it is warm", "yellow")
        case StandbyState.FAILED:
            return Text(terminal.clean(f"failed: {standby.problem}"), "yellow")
    why = terminal.clean(standby.problem) or "no segment may run in batches, or pyspark is not installed"
    return Text(f"off: {why}", "dim")


def _cause(sentence: str) -> str:
    """Why, without what: a switch says first what goes where."""
    what, _, why = sentence.partition("; ")
    return why if why and what.startswith(_SWITCHES) else sentence


def _beside(title: str, told: list[Text] | Iterator[Text]) -> RenderableType:
    return sheets.section(title, told)


# JSON


def data(account: Account) -> dict[str, Any]:
    """The same for programs. Times are ISO 8601 in UTC; None is what nobody knows."""
    seen = account.seen
    promise: dict[str, Any] = msgspec.to_builtins(seen.latency)
    kept = None if seen.latency.within is None else seen.latency.within >= seen.latency.quantile
    return {
        "job": seen.job,
        "at": moment(seen.at),
        "ready": seen.ready,
        "promise": {**promise, "kept": kept},
        "standby": msgspec.to_builtins(seen.standby),
        "attention": msgspec.to_builtins(account.wrong),
        "segments": [_stay(stay) for stay in account.stays],
        "decisions": {part.name: _part(part) for part in account.parts},
    }


def _spent(phases: Mapping[str, float]) -> str:
    """Where the time of a record goes; what takes next to nothing is left out."""
    parts = [f"{sizes.duration(ms / 1000)} {name}" for name, ms in phases.items() if ms >= NEXT_TO_NOTHING]
    return f"a record takes {', '.join(parts)}" if parts else ""


def _stay(stay: Stay) -> dict[str, Any]:
    n, segment = stay.numbers, stay.segment
    return {
        "name": segment.name,
        "operators": list(stay.operators), "whole": list(stay.whole),
        "paradigm": str(stay.runs),
        "since": None if stay.since is None else moment(stay.since),
        "why": stay.why,
        "partitions": segment.partitions,
        "moving": segment.moving,
        "rate_in": segment.rate_in,
        "waiting": segment.lag,
        "phases_ms": dict(segment.phases),
        "batch": None if segment.batch is None else _batch(segment.batch),
        "verdict": None if stay.verdict is None else _decision(stay.verdict),
        "numbers": None
        if n is None
        else {
            "V": n.v, "P_D": n.p_d, "P_O": n.p_o, "L": n.queue,
            "L_switch": n.switch, "L_up": n.up, "L_down": n.down, "T_ms": n.interval,
        },
        "other": {
            "paradigm": str(accounts.OTHER[stay.runs]),
            "possible": stay.possible,
            "hindrance": stay.hindrance,
            "better_when": stay.better,
        },
    }  # fmt: skip


def _batch(batch: Batch) -> dict[str, Any]:
    return {**msgspec.to_builtins(batch), "at": moment(batch.at)}


def _part(part: Part) -> dict[str, Any]:
    return {
        "now": None if part.now is None else _decision(part.now),
        "since": None if part.since is None else moment(part.since),
        "last_change": None if part.change is None else {"at": moment(part.change.at), **_decision(part.change)},
    }


def _decision(decision: Decision) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(decision)
    return {name: told[name] for name in ("reason", "sentence", "inputs", "alternatives")}


def moment(at: float) -> str:
    """A time as ISO 8601 has it, in UTC."""
    found = datetime.datetime.fromtimestamp(at, datetime.UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
