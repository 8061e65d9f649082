"""What a record costs in both paradigms: the head that runs in either, and the reader that merges behind it.

- *record*: reader, task and sender of a slot in one loop; frames of a thousand rows, so that it is at its best.
- *batch*: the same records in ranges of `RANGE`, in one process, as a Python worker of Spark runs them.
- *reader*: the segment behind an edge, reading what either of them wrote. It stays record by record.

Each in a fresh process, on a real broker. Costs are microseconds of processor time for each record of the source,
threads of C libraries included; commits, which are the same for both, and Spark's own share (see `latency`) are not.
"""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable, Iterator

from spillway.bench.batch import cases
from spillway.bench.batch.cases import Case, Run
from spillway.bench.record import logs, processes, systems
from spillway.bench.record.figures import measured, spread
from spillway.runtime.batch import hop
from spillway.runtime.batch.ranges import Range
from spillway.runtime.emitter import Emitter
from spillway.runtime.intake import Intake
from spillway.runtime.programs import states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.task import Filling, Task

POLL = 500
# Records of a partition in one batch: a second's worth for a core, which is what a burst brings.
RANGE = 20_000
FRAME = 1_000
SECONDS = 10.0  # rows wait for so long to fill a frame: as good as for ever
QUIET = 2.0  # seconds without a message, after which there are no more


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """Of one case: microseconds of processor time for each record of the source, by part.

    Attributes:
        case: what was run.
        record, batch: the head in either paradigm.
        behind_record, behind_batch: the reader of what either wrote; 0 where there is none.
        yardstick: milliseconds for a fixed piece of work: how fast the machine was.
    """

    case: Case
    record: float
    batch: float
    behind_record: float
    behind_batch: float
    yardstick: float

    @property
    def rates(self) -> tuple[float, float]:
        """Records per second of a core, head and reader together, record by record and in batches."""
        return 1e6 / (self.record + self.behind_record), 1e6 / (self.batch + self.behind_batch)


def main(share: float, rounds: int, done: Callable[[str], None], only: str = "") -> Iterator[Cost]:
    """All cases, or those with this in their names, one after the other."""
    with systems.broker() as bootstrap:
        for case in (case for case in cases.cases(share) if only in case.name):
            yield _measured(case, bootstrap, rounds, done)


def _measured(case: Case, bootstrap: str, rounds: int, done: Callable[[str], None]) -> Cost:
    first = cases.prepared(case, bootstrap)
    processes.fresh(cases.fill, first, case.count)
    last: dict[str, Run] = {}

    def head(name: str, work: Callable[[Run], float]) -> Callable[[], float]:
        def run() -> float:
            last[name] = cases.prepared(case, bootstrap, first.source)
            return processes.fresh(work, last[name])

        return run

    parts = {
        "record": head("record", record),
        "batch": head("batch", batch),
        "yardstick": lambda: processes.fresh(processes.yardstick) * 1000,
    }
    found = measured(parts, rounds, lambda line: done(f"{case.name}: {line}"))
    behind = {"record": 0.0, "batch": 0.0}
    if case.reader:
        readers = {name: lambda name=name: processes.fresh(behind_it, last[name]) for name in behind}
        told = measured(readers, rounds, lambda line: done(f"{case.name}: behind {line}"))
        behind = {name: spread(values).median for name, values in told.items()}
    middle = {name: spread(values).median for name, values in found.items()}
    return Cost(case, middle["record"], middle["batch"], behind["record"], behind["batch"], middle["yardstick"])


def record(run: Run) -> float:
    """The head, record by record."""
    gc.disable()  # as a slot does
    loop = Loop(run.programs()[run.case.head])
    tasks = {number: Task(loop, {}, number, 1, run.names, run.width) for number in range(logs.PARTITIONS)}
    sources = [source for edge in loop.program.edges for source in edge.sources]
    for task in tasks.values():
        task.fill(Filling(FRAME, dict.fromkeys(sources, SECONDS)))
    emitter, intake = Emitter(run.access), _reading(run, run.source, logs.PARTITIONS)
    emitter.know(run.names.edge(run.case.reader) if run.case.reader else run.job.spec.outputs[0].topic)
    start, left = time.process_time(), run.case.count
    while left > 0:
        for (_, number), some in intake.poll(1.0, POLL).items():
            left -= len(some)
            _send(tasks[number], emitter, some)
    for task in tasks.values():
        emitter.send_all(task.frames(time.monotonic(), whole=True))
    emitter.flush(30)
    return _micros(run, time.process_time() - start)


def _send(task: Task, emitter: Emitter, some: list[object]) -> None:
    task.take(some)
    emitter.send_all(task.frames(time.monotonic()))
    for _, sends, _ in task.results():
        emitter.send_all(sends)
    task.looked()
    emitter.serve()


def batch(run: Run) -> float:
    """The head, range by range."""
    gc.disable()  # as a Python worker of Spark does
    order = run.order()
    hop.warm(order)
    start = time.process_time()
    for given in ranges(run.case.count):
        hop.one(order, given)
    return _micros(run, time.process_time() - start)


def ranges(count: int, size: int = RANGE) -> Iterator[Range]:
    """All records of a topic, of each partition in turn."""
    ends = [len(range(number, count, logs.PARTITIONS)) for number in range(logs.PARTITIONS)]
    for start in range(0, max(ends), size):
        for number, end in enumerate(ends):
            if start < end:
                yield Range(number, start, min(end, start + size), 1)


def behind_it(run: Run) -> float:
    """The reader of what the head wrote, to its end."""
    gc.disable()
    loop = Loop(run.programs()[run.case.reader])
    tasks = {
        number: Task(loop, {one.name: states.made(one) for one in loop.program.states}, number, 1, run.names, run.width)
        for number in range(run.width)
    }
    emitter, intake = Emitter(run.access), _reading(run, run.names.edge(run.case.reader), run.width)
    emitter.know(run.job.spec.outputs[0].topic)
    start, quiet = time.process_time(), time.monotonic()
    while time.monotonic() < quiet + QUIET:
        for (_, number), some in intake.poll(0.1, POLL).items():
            _send(tasks[number], emitter, some)
            quiet = time.monotonic()
    emitter.flush(30)
    return _micros(run, time.process_time() - start)


def _reading(run: Run, topic: str, partitions: int) -> Intake:
    intake = Intake(run.access, "bench")
    for number in range(partitions):
        intake.take(topic, number, 0)
    return intake


def _micros(run: Run, seconds: float) -> float:
    return seconds / run.case.count * 1e6


def table(costs: list[Cost]) -> str:
    """For people."""
    lines = [
        f"{'µs of a core for a record':28} {'record by record':^24}  {'in batches':^24}  {'records/s of a core':^21}",
        f"{'':28} {'head':>8}{'reader':>8}{'both':>8}  {'head':>8}{'reader':>8}{'both':>8}  {'record':>10}{'batch':>11}"
        f"  {'times':>6}",
    ]
    for cost in costs:
        by_record, by_batch = cost.rates
        lines.append(
            f"{cost.case.name:28} {cost.record:8.2f}{cost.behind_record:8.2f}{cost.record + cost.behind_record:8.2f}"
            f"  {cost.batch:8.2f}{cost.behind_batch:8.2f}{cost.batch + cost.behind_batch:8.2f}"
            f"  {by_record:10,.0f}{by_batch:11,.0f}  {by_batch / by_record:6.2f}"
        )
    middle = spread([cost.yardstick for cost in costs]).median
    lines.append(f"one process each, so one core at a time; without Spark's own share; yardstick {middle:.0f} ms")
    return "\n".join(lines) + "\n"
