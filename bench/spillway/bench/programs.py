"""What a record costs in a program: `python -m spillway.bench.programs [chain|messages|sampling|frames]`.

Microseconds of CPU per record, best of five: what else the machine does only ever adds. Nothing is sent anywhere; the
chain is filter, select, python, filter, select, as between two keyed operators.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from spillway.bench import parts
from spillway.bench.record import events
from spillway.bench.record.events import Message
from spillway.controllers import acceptance
from spillway.model import types
from spillway.runtime import keys
from spillway.runtime.frames import Layout, Origin, Sender, read
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program
from spillway.runtime.programs.running import SAMPLED, Running

RECORDS, ROUNDS = 20_000, 5
POLL = 500  # records at a time, as a poll of a busy topic brings
READERS = 8  # partitions of the edge that the chain writes


def main() -> None:
    """Run what was asked for, or everything."""
    for name in parts.asked("programs", _PARTS, __doc__):
        _PARTS[name]()


def weigh(record: dict[str, Any]) -> dict[str, Any]:
    """What a user's function may do at the least."""
    return {"user": record["user"], "total": record["total"] * 1.5, "quantity": record["quantity"]}


CHAIN = """
  - {name: real, input: %(input)s, filter: "quantity > 0"}
  - {name: priced, input: real, select: [user, "price * quantity as total", quantity]}
  - name: weighed
    input: priced
    python: {function: "chain:weigh", as: map, returns: "user string, total double, quantity bigint"}
  - {name: large, input: weighed, filter: "total >= 0.0 and user is not null"}
  - {name: kept, input: large, select: [user, total]}
  - {name: sums, input: kept, aggregate: {by: [user], values: ["sum(total) as total"]}}
"""
HEAD = '  - {name: first, input: events, filter: "true"}'
COLUMNS = "id bigint, user string, at timestamp, kind string, price double, quantity bigint"


def chain(*, head: bool) -> tuple[Program, Mapping[str, Function]]:
    """Five operators and an edge by key; behind an edge, or at the head of a topic."""
    operators = yaml.safe_load((HEAD if head else "") + CHAIN % {"input": "first" if head else "events"})
    document = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "chain"},
        "spec": {
            "kafka": {"bootstrapServers": ["localhost:9092"]},
            "latency": {"bound": "1s"},
            "streams": [{"name": "events", "topic": "events", "columns": COLUMNS, "timestamp": "at"}],
            "operators": operators,
            "outputs": [{"name": "result", "input": "sums", "topic": "sums"}],
        },
    }
    job = acceptance.accept(document).job
    if job is None:
        message = "the chain is no valid job"
        raise SystemExit(message)
    members = ("real", "priced", "weighed", "large", "kept")
    segments = {"real": members, "sums": ("sums",)} | ({"first": ("first",)} if head else {})
    functions = {"chain:weigh": Function("chain:weigh", weigh, "0")}
    programs = cutting.cut(job.spec, segments, {"chain:weigh": "0"})
    return next(program for program in programs if program.name == "real"), functions


def objects() -> list[dict[str, Any]]:
    """Records of about 90 bytes."""
    return [
        {
            "id": i,
            "user": f"user-{i % 997}",
            "at": events.START_MS + i,
            "kind": "view",
            "price": 0.5 + i % 100,
            "quantity": 1 + i % 7,
        }
        for i in range(RECORDS)
    ]


def rows() -> list[tuple[Any, ...]]:
    """The same as rows of frames, with the columns that the chain reads."""
    return [(i, 0, o["at"] * 1000, o["user"], o["price"], o["quantity"]) for i, o in enumerate(objects())]


def per_record(work: Callable[[], None], count: int = RECORDS) -> float:
    """Microseconds of CPU per record, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        work()
        best = min(best, time.process_time_ns() - start)
    return best / count / 1000


def by_edge(at: Running, label: str, batches: Sequence[Sequence[Any]]) -> Callable[[], None]:
    """Run over frames, and throw away what comes."""
    return cleared(at.run[label], at.edges["sums.main"], batches)


def cleared(
    run: Callable[[int, Sequence[Any]], None], buffers: Sequence[list[Any]], batches: Sequence[Sequence[Any]]
) -> Callable[[], None]:
    """Run over batches, and throw away what comes."""

    def work() -> None:
        for offset, batch in enumerate(batches):
            run(offset, batch)
            for buffer in buffers:
                buffer.clear()

    return work


def _chain() -> None:
    """Five operators from decoded rows, for some sizes of frames."""
    program, functions = chain(head=True)
    loop = Loop(program, functions)
    _say("filter, select, python, filter, select, edge by key: from decoded rows", "us per record")
    found = rows()
    for size in (1, 10, 100, POLL):
        batches = [found[i : i + size] for i in range(0, len(found), size)]
        work = by_edge(loop.bind({}, {"sums": READERS}), "real.main", batches)
        _say(f"  {size} in a call", f"{per_record(work):.3f}")
    by_hand = _by_hand(batches)
    _say(f"  {POLL} in a call, written by hand without counters and checks", f"{per_record(by_hand):.3f}")
    ratios = sorted(_ratio(work, by_hand) for _ in range(20))
    spread = f"({ratios[2]:.2f}-{ratios[-3]:.2f})"
    _say("  generated / by hand, in turn A B B A", f"{statistics.median(ratios):.2f}", spread)
    work = by_edge(_without_function().bind({}, {"sums": READERS}), "real.main", batches)
    _say(f"  {POLL} in a call, without the function of the user", f"{per_record(work):.3f}")


def _ratio(one: Callable[[], None], other: Callable[[], None]) -> float:
    """How much more the one takes; a machine that slows down slows down both."""
    times = []
    for work in (one, other, other, one):
        start = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - start)
    return (times[0] + times[3]) / (times[1] + times[2])


def _by_hand(batches: Sequence[Sequence[Any]]) -> Callable[[], None]:
    """What somebody would write for this one chain, who trusts his function and counts nothing."""
    buffers: list[list[Any]] = [[] for _ in range(READERS)]
    key = keys.encoder([types.STRING])

    def run(offset: int, rows: Sequence[Any]) -> None:
        for index, (_, _, timestamp, user, price, quantity) in enumerate(rows):
            if quantity is None or quantity <= 0:
                continue
            total = None if price is None else price * quantity
            weighed = weigh({"user": user, "total": total, "quantity": quantity})
            user, total = weighed["user"], weighed["total"]
            if total is None or total < 0.0 or user is None:
                continue
            buffers[zlib.crc32(key((user,))) % READERS].append((offset, index, timestamp, user, total))

    return cleared(run, buffers, batches)


def _without_function() -> Loop:
    program, _ = chain(head=True)
    steps = {step.name: step for step in program.steps}
    kept = [step for step in program.steps if step.name != "weighed"]
    kept[2] = dataclasses.replace(steps["large"], reads=("priced",))
    return Loop(dataclasses.replace(program, steps=tuple(kept), digests=()))


def _messages() -> None:
    """JSON in, five operators, frames out."""
    program, functions = chain(head=False)
    at = Loop(program, functions).bind({}, {"sums": READERS})
    batches = [
        [Message(i + j, msgspec.json.encode(o)) for j, o in enumerate(objects()[i : i + POLL])]
        for i in range(0, RECORDS, POLL)
    ]
    run, buffers = at.run["events"], at.edges["sums.main"]
    edge = program.edges[0]
    sender = Sender(Layout(edge.schema, updates=False), Origin("events", 0, "p" * 32), 1)

    def work() -> None:
        for batch in batches:
            run(batch)
            for buffer in buffers:
                sender.frames(buffer, 0)
                buffer.clear()

    fields = [("user", str), ("price", float), ("quantity", int), ("at", int)]
    decode = msgspec.json.Decoder(msgspec.defstruct("One", fields, gc=False)).decode
    contents = [message.content for batch in batches for message in batch]
    _say(f"JSON of {len(contents[0])} bytes, the chain, frames of about {POLL // READERS}", f"{per_record(work):.3f}")

    def only() -> None:
        for content in contents:
            decode(content)

    _say("  of which msgspec decodes (in a loop of its own)", f"{per_record(only):.3f}")


def _sampling() -> None:
    """What counters and sampled timing cost: 1 in 64 timed, all of them, none."""
    program, functions = chain(head=True)
    found = rows()
    batches = [found[i : i + POLL] for i in range(0, len(found), POLL)]
    _say("the chain with 1 record in so many timed", "us per record")
    for every in (1, 8, SAMPLED, 1_000_000):
        loop = Loop(program, functions, sampled=every)
        work = by_edge(loop.bind({}, {"sums": READERS}), "real.main", batches)
        _say(f"  {every}", f"{per_record(work):.3f}")
    at = Loop(program, functions).bind({}, {"sums": READERS})
    work = by_edge(at, "real.main", batches)
    for _ in range(ROUNDS):
        work()
    _say("what the timed records tell", "ns")
    for name, count in at.counts().items():
        _say(f"  {name}", f"{count.seconds / max(1, count.timed) * 1e9:.0f}")


def _frames() -> None:
    """Frames of some sizes: a text, a double, three numbers of the position and time."""
    program, _ = chain(head=True)
    edge = program.edges[0]
    layout = Layout(edge.schema, updates=False)
    sender = Sender(layout, Origin("events", 3, "p" * 32), 7)
    found = [(i, 0, at, user, price) for i, _, at, user, price, _ in rows()]
    _say("frames", "bytes", "make us", "read us", "make per record", "read per record")
    for size in (1, 10, 100, 1000):
        batches = [found[i : i + size] for i in range(0, min(len(found), 2000 * size), size)]
        count = len(batches)

        def make(batches: Sequence[Any] = batches) -> None:
            for batch in batches:
                sender.frames(batch, 1)

        data = [sender.frames(batch, 1)[0] for batch in batches]

        def take(data: Sequence[bytes] = data) -> None:
            for one in data:
                layout.rows(read(one))

        made, taken = per_record(make, count), per_record(take, count)
        cells = (f"{len(data[0])}", f"{made:.2f}", f"{taken:.2f}", f"{made / size:.3f}", f"{taken / size:.3f}")
        _say(f"  {size} records", *cells)


def _say(name: str, *cells: str) -> None:
    sys.stdout.write(f"{name:72}" + "".join(f"{cell:>16}" for cell in cells) + "\n")
    sys.stdout.flush()


_PARTS: dict[str, Callable[[], None]] = {
    "chain": _chain,
    "messages": _messages,
    "sampling": _sampling,
    "frames": _frames,
}

if __name__ == "__main__":
    main()
