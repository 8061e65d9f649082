"""Figure W: what a record costs in the record loop: consume, decode, five operators, encode, produce by key.

The job is `jobs.CHAIN`: filter, select, a Python function, filter, select, then a message for each record to a topic of
the user. Costs are microseconds of processor time for each record, the C library's own threads included.

- *in memory*: a task on messages that are there already, without a broker; of that, decode, operators and encode, from
  programs in which every record is timed.
- *consume*, *produce*: the slot's own reader and sender on a real broker, and nothing else, in processes of their own.
- *bare loop*: reader, task and sender together in one process.
- *slot*: a slot as it is deployed: with control log, telemetry, commits.
- *by hand*: what somebody would write for this one job.

What the parts don't add up to is the price of having them in one loop.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from spillway.bench.record import by_hand, drains, jobs, logs, processes, programs, systems
from spillway.bench.record.figures import Figure, measured, of, ratios
from spillway.bench.record.meter import Meter, access
from spillway.model.streamjob import StreamJob
from spillway.runtime.emitter import TO_ANY, Emitter
from spillway.runtime.intake import Intake

MOST = 2.5  # µs
# On a quiet machine a loop by hand took 2.0 µs, and 2.5 was asked for: the same on a machine that is slower just now.
TIMES = 1.25
POLL = 3_000
IN_MEMORY = 20_000


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """All parts in turn, each in a process of its own."""
    count = int(seconds * 8_000)  # eight parts a round, five rounds, each at some 300 000 records a second
    with systems.broker() as bootstrap:
        source = systems.created_one(bootstrap)
        processes.fresh(logs.fill, bootstrap, source, "orders", 0, count)
        cases = {
            "in memory": lambda: processes.fresh(in_memory, count),
            "consume": lambda: processes.fresh(consumed, bootstrap, source, count),
            "produce": lambda: processes.fresh(produced, bootstrap, systems.created_one(bootstrap), count),
            "bare loop": lambda: processes.fresh(bare, bootstrap, source, systems.run_name(), count),
            "slot": lambda: slot(bootstrap, count),
            "by hand": lambda: processes.fresh(by_hand.loop, bootstrap, source, systems.created_one(bootstrap), count),
            "yardstick": lambda: processes.fresh(processes.yardstick) * 1000,
        }
        found = measured(cases, rounds, done)
    parts = processes.fresh(split, IN_MEMORY)
    return [
        of("W slot: consume to keyed produce", found["slot"], "µs/record", most=MOST),
        of("W bare loop: the same without control log, telemetry, commits", found["bare loop"], "µs/record"),
        of("W consume", found["consume"], "µs/record"),
        of("W in memory: decode, five operators, encode", found["in memory"], "µs/record"),
        *(of(f"W in memory, of that {name}", [value], "µs/record") for name, value in parts.items()),
        of("W produce", found["produce"], "µs/record"),
        of("W by hand: the same job without all that makes it right", found["by hand"], "µs/record"),
        of("W slot / by hand", ratios(found["slot"], found["by hand"]), "times", most=TIMES),
        of("yardstick", found["yardstick"], "ms", note="processor time of fixed work: how fast the machine was"),
    ]


def slot(bootstrap: str, count: int) -> float:
    """A whole slot."""
    with systems.System(jobs.CHAIN, bootstrap, systems.created_one(bootstrap)) as system:
        return drains.drained(system, bootstrap, "orders", count, int).micros


def in_memory(count: int) -> float:
    """A task on messages that are there already; what it gives is thrown away."""
    gc.disable()  # as a slot does
    job = _job("localhost:9092", "in")
    task = programs.task(programs.loops(job, jobs.CHAIN)["real"], job)
    found = programs.messages("orders", IN_MEMORY)
    batches = [found[at : at + POLL] for at in range(0, len(found), POLL)]
    meter = Meter(count)
    while True:
        for batch in batches:
            task.take(batch)
            for _, sends, _ in task.results():
                if not meter.add(len(sends)):
                    return meter.micros()
            task.looked()


def split(count: int) -> dict[str, float]:
    """Decode, operators, encode: from a loop that times every record; of some passes the quickest, place by place."""
    loop = programs.loops(_job("localhost:9092", "in"), jobs.CHAIN, sampled=1)["real"]
    found = programs.messages("orders", count)
    best: dict[str, float] = {}
    for at in range(0, count, POLL):
        running = loop.bind({}, {})
        running.run["orders"](found[at : at + POLL])
        for name, counted in running.counts().items():
            best[name] = min(best.get(name, 1e9), counted.seconds / max(1, counted.timed) * 1e6)
    return {
        "decode": best["orders"],
        "five operators": sum(best[name] for name in jobs.CHAIN.segments["real"]),
        "encode": best["result.output"],
    }


def _reading(bootstrap: str, topic: str) -> Intake:
    intake = Intake(access(bootstrap), "bench")
    for partition in range(logs.PARTITIONS):
        intake.take(topic, partition, 0)
    return intake


def consumed(bootstrap: str, topic: str, count: int) -> float:
    """The reader of a slot, and nothing behind it."""
    gc.disable()  # as a slot does
    intake, meter = _reading(bootstrap, topic), Meter(count)
    while meter.add(sum(len(some) for some in intake.poll(1.0, POLL).values())):
        pass
    return meter.micros()


def produced(bootstrap: str, topic: str, count: int) -> float:
    """The sender of a slot, and nothing before it."""
    gc.disable()  # as a slot does
    job = _job(bootstrap, topic)
    task = programs.task(programs.loops(job, jobs.CHAIN)["real"], job)
    task.take(programs.messages("orders", IN_MEMORY))
    ((_, made, _),) = task.results()
    sends = [(topic, TO_ANY, key, value) for _, _, key, value in made]
    emitter, meter = Emitter(access(bootstrap)), Meter(count)
    going = True
    while going:
        for at in range(0, len(sends), POLL):
            emitter.send_all(sends[at : at + POLL])
            emitter.serve()
            if not (going := meter.add(POLL)):
                break
    emitter.flush(30)
    return meter.micros()


def bare(bootstrap: str, source: str, run: str, count: int) -> float:
    """Reader, task and sender in one loop."""
    gc.disable()  # as a slot does
    job = jobs.job(jobs.CHAIN, bootstrap, run, source)
    systems.created(bootstrap, job.spec.outputs[0].topic)
    loop = programs.loops(job, jobs.CHAIN)["real"]
    tasks = {number: programs.task(loop, job, number) for number in range(logs.PARTITIONS)}
    intake, emitter, meter = _reading(bootstrap, source), Emitter(access(bootstrap)), Meter(count)
    going = True
    while going:
        for (_, number), some in intake.poll(1.0, POLL).items():
            task = tasks[number]
            task.take(some)
            for _, sends, _ in task.results():
                emitter.send_all(sends)
            task.looked()
            going = meter.add(len(some)) and going
        emitter.serve()
    emitter.flush(30)
    return meter.micros()


def _job(bootstrap: str, source: str) -> StreamJob:
    return jobs.job(jobs.CHAIN, bootstrap, "loop", source)
