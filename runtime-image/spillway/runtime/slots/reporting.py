"""What a slot reports, four times a second."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable

from spillway.runtime import telemetry
from spillway.runtime.slots.life import Life
from spillway.runtime.slots.place import Place
from spillway.runtime.telemetry import Report


def report(life: Life, *, began: float, leaving: bool, address: str, problem: str = "") -> Report:
    """What a life has done since it began; `problem` is why the one before ended."""
    return Report(
        version=telemetry.VERSION,
        slot=life.me.slot,
        incarnation=life.me.incarnation,
        process=life.process,
        at=time.time(),
        up=time.monotonic() - began,
        busy=life.busy,
        cpu=time.process_time(),
        memory=_resident(),
        places=(*(_place(life, place) for place in life.places.values()), *_waiting(life)),
        flows=life.counting.flows(life.places.values()),
        latency=life.times.latency(),
        phases=life.times.phases(),
        letters=life.letters,
        leaving=leaving,
        address=address,
        problem=problem,
    )


def _place(life: Life, place: Place) -> telemetry.Place:
    tables = place.task.states.values()
    return telemetry.Place(
        segment=place.partition.segment,
        number=place.partition.number,
        epoch=place.task.epoch,
        program=place.task.program.id,
        working=place.working,
        position=place.next,
        committed=place.stored,
        end=life.readers.end(place.where) if place.working else None,
        busy=place.busy,
        rows=sum(len(store) for table in tables for store in table.stores),
        size=sum(store.size for table in tables for store in table.stores),
        took=place.took,
        late=sum(getattr(table, "late", 0) for table in tables),
        problem=place.problem,
        done=place.ahead.count,
        dropped=place.dropped,
    )


def _waiting(life: Life) -> Iterable[telemetry.Place]:
    """Partitions that can't even be prepared."""
    for partition, problem in life.waiting.items():
        work = life.machine.works.get(partition)
        if work is not None:
            at = work.position
            yield telemetry.Place(*partition, work.epoch, work.program, False, at, at, problem=problem)


def _resident() -> int:
    """Bytes that are in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
