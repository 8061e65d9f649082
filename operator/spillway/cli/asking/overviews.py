"""All jobs at one look: those that run on this machine, and those of a cluster."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from spillway.cli import terminal
from spillway.cli.asking import contexts
from spillway.cli.planning import sizes
from spillway.cli.watching import lines
from spillway.local import state as states
from spillway.local.driver import Driver, DriverError
from spillway.model import observation
from spillway.model.errors import SpillwayError
from spillway.model.observation import Observation

if TYPE_CHECKING:
    from spillway.cli.clusters.connections import Connection

HERE, CLUSTER = "here", "cluster"
NONE = "-"
AT_ONCE = 16  # drivers; as many requests go to an API server at a time
_LOOKS = {"kept": "green", "broken": "bold red"}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One job.

    Attributes:
        job: as namespace/name.
        where: `here`, or `cluster`.
        ready: whether every partition has an owner; None where nobody tells.
        promise: kept, broken, or empty where nothing came out lately.
        within: the share of records within the bound, over the last 10 s; None where nobody tells.
        p99_ms: 99 % of them are no older.
        rate: records per second that come in.
        waiting: messages that wait in front of its segments.
        paradigm: record, batch or mixed.
        workers: present/wanted; here, those whose slots have joined.
        executors: the same.
        why: what is wrong, or empty.
    """

    job: str
    where: str
    ready: bool | None = None
    promise: str = ""
    within: float | None = None
    p99_ms: float | None = None
    rate: float | None = None
    waiting: int | None = None
    paradigm: str = ""
    workers: str = ""
    executors: str = ""
    why: str = ""


def gathered(namespace: str | None, connection: Connection | None) -> list[Row]:
    """All jobs, or those of a namespace. Raises SpillwayError where a cluster can't be asked."""
    return [*_here(namespace), *(_far(namespace, connection) if connection is not None else ())]


@contextlib.contextmanager
def cluster(context: str | None) -> Iterator[Connection | None]:
    """The cluster that is meant; None where there is none, and nobody has named one."""
    with contextlib.ExitStack() as stack:
        if context is None and not contexts.named():
            yield None
        else:
            yield contexts.connected(context, stack)


def _here(namespace: str | None) -> Iterator[Row]:
    for job in states.running():
        of, _, name = job.partition("/")
        if namespace not in (None, of):
            continue
        told = states.who(states.default(of, name))
        try:
            seen = Driver(str(told["driver"])).observation() if "driver" in told else None
        except DriverError as error:
            yield Row(job, HERE, ready=False, why=str(error))
            continue
        yield Row(job, HERE, ready=False, why="it is being started") if seen is None else observed(seen, HERE)


def _far(namespace: str | None, connection: Connection) -> Iterator[Row]:
    from spillway.cli.clusters import jobs

    bodies, reached = jobs.all_of(connection, namespace), True
    for begin in range(0, len(bodies), AT_ONCE):
        some = bodies[begin : begin + AT_ONCE]
        told = _told(some, connection) if reached else {}
        # Where none of so many answers, no driver can be reached from here: each would be waited for in vain.
        reached = bool(told) or len(some) < AT_ONCE
        for body in some:
            yield stated(body, told.get(_name(body)))


def _told(bodies: Sequence[Mapping[str, Any]], connection: Connection) -> dict[str, Observation]:
    """What drivers tell, of those that answer."""
    from spillway.cli.clusters import jobs

    paths = [jobs.path(body["metadata"]["namespace"], body["metadata"]["name"], "/v1/observation") for body in bodies]
    found = {}
    for body, answer in zip(bodies, connection.read(paths), strict=True):
        if isinstance(answer, SpillwayError):
            continue
        with contextlib.suppress(msgspec.MsgspecError):
            seen = observation.observation(answer)
            if seen.job == _name(body):  # an address may have gone to another one
                found[seen.job] = seen
    return found


def _name(body: Mapping[str, Any]) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def observed(seen: Observation, where: str) -> Row:
    """What a driver tells of its job."""
    promise = seen.latency
    kept = "" if promise.within is None else "kept" if promise.within >= promise.quantile else "broken"
    lags = [segment.lag for segment in seen.segments if segment.lag is not None]
    paradigms = sorted({str(segment.paradigm) for segment in seen.segments})
    wrong = [f"{one.reason}: {one.message}" for one in seen.conditions if not one.status and one.message]
    workers = {slot.slot.partition(".")[0] for slot in seen.slots if not slot.silent}
    return Row(
        job=seen.job,
        where=where,
        ready=seen.ready,
        promise=kept,
        within=promise.within,
        p99_ms=promise.p99_ms,
        rate=seen.rate_in,
        waiting=sum(lags) if lags else None,
        paradigm=paradigms[0] if len(paradigms) == 1 else "mixed" if paradigms else "",
        workers=str(len(workers)),
        executors="" if seen.executors is None else str(seen.executors),
        why="" if seen.ready else next(iter(wrong), ""),
    )


def stated(body: Mapping[str, Any], seen: Observation | None) -> Row:
    """What the status of a StreamJob says, and its driver where that answers: the status has no numbers that move."""
    status = body.get("status") or {}
    conditions: dict[str, Mapping[str, Any]] = {one.get("type", ""): one for one in status.get("conditions") or ()}
    ready, met = conditions.get("Ready", {}), conditions.get("LatencyMet", {})
    known = observed(seen, CLUSTER) if seen is not None else Row("", CLUSTER)
    return dataclasses.replace(
        known,
        job=_name(body),
        ready={"True": True, "False": False}.get(str(ready.get("status"))),
        promise=known.promise or {"True": "kept", "False": "broken"}.get(str(met.get("status")), ""),
        paradigm=str(status.get("paradigm") or known.paradigm),
        workers=str((status.get("workers") or {}).get("summary", "")),
        executors=str((status.get("executors") or {}).get("summary", "")),
        why=_wrong(conditions) if conditions else "the operator has not looked at it yet",
    )


def _wrong(conditions: Mapping[str, Mapping[str, Any]]) -> str:
    """The first condition that is not as hoped for."""
    hoped = (("Accepted", "False"), ("Ready", "False"), ("Ready", "Unknown"), ("Degraded", "True"))
    found = (conditions[kind] for kind, bad in hoped if conditions.get(kind, {}).get("status") == bad)
    one = next(found, None)
    return f"{one.get('reason', '')}: {one.get('message', '')}" if one is not None else ""


def drawn(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """For people: a table, and below it what is wrong, for that may be long."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("job", no_wrap=True)
    several = len({row.where for row in rows}) > 1
    if several:
        table.add_column("where", no_wrap=True)
    table.add_column("promise", no_wrap=True)
    for title in ("p99", "in", "waits"):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("runs", "workers", "spark"):
        table.add_column(title, no_wrap=True)
    for row in rows:
        share = f" {sizes.of_all(row.within)}" if row.within is not None else ""
        table.add_row(
            Text(terminal.clean(row.job), "bold"),
            *([Text(row.where, "dim")] if several else []),
            Text(f"{row.promise}{share}" if row.promise else NONE, _LOOKS.get(row.promise, "dim")),
            Text(NONE if row.p99_ms is None else lines.milliseconds(row.p99_ms)),
            Text(NONE if row.rate is None else sizes.rate(row.rate)),
            Text(NONE if row.waiting is None else f"{row.waiting:,}".replace(",", " ")),
            Text(row.paradigm or NONE, "magenta" if row.paradigm in ("batch", "mixed") else ""),
            Text(row.workers or NONE),
            Text(row.executors or NONE),
        )
    yield table
    wrong = [row for row in rows if row.why]
    if wrong:
        yield ""
        yield from (
            Text.assemble((terminal.clean(row.job), "bold"), "  ", (terminal.clean(row.why), "yellow")) for row in wrong
        )


def data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For programs."""
    return [dataclasses.asdict(row) for row in rows]
