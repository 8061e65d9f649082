"""Live moves under load: 1 → 4 → 2 workers, then another program, with 100 MB of state; nothing lost, nothing wrong.

A job as it is deployed has a table of 240 000 rows, about 100 MB as its changelog has them, and gets 1000 records a
second of an open loop, over all of its keys. Meanwhile workers are started and granted, taken back and ended, as
`spillway up` does it, and at last the manifest is written again with another rule behind the same table.

The pause of a partition has two parts, and nobody sees one alone:

    pause = from when its owner was asked to stop until the heir was named   (the driver tells it in its `moves`)
          + from when the heir heard of that until it works on it            (slots report it)

The first part counts from when the driver has read its own request back, so it is compared with the times of what
stands in the control log, and the longer one counts. They also tell where a pause goes: release → released (the old
owner stops, and commits) → assigned (the driver answers) → works (the heir restores the tail).
What a reader of the output sees is measured beside it: due → appended, of records that were due while something moved,
and of all others. Each update says which rule made it and how many orders its user has had, so each message that is
missing, doubled or wrong is found from the events alone.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import functools
import math
import multiprocessing
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from confluent_kafka import TopicPartition

from spillway.bench.record import events, figures, jobs, logs, systems
from spillway.bench.record.deployed import Deployed
from spillway.bench.record.figures import Figure
from spillway.bench.record.logs import Record
from spillway.bench.record.schedule import LATEST, Lateness, Schedule
from spillway.bench.record.systems import EndedError
from spillway.controllers.protocol import messages, wire
from spillway.local import workers as local
from spillway.local.driver import Driver
from spillway.local.process import Process
from spillway.model.errors import NotReadyError
from spillway.model.observation import Move, MoveKind, Observation
from spillway.runtime import clients, telemetry

T = TypeVar("T")

RATE = 1000.0
PAUSE = 300.0  # ms
WHOLE, FILLING = 100.0, 35.0  # seconds of a round at the least, and of them until the load begins
WARM = 10.0  # seconds of load in which the broker compiles what it needs from then on: it takes most of a core for that
CALM = 4.0  # seconds of load before, between and after changes: a second of warm-up, and latencies of a job at rest
QUIET = 2.0  # seconds for which everything is where it should be: between two moves of one change it is for less
LOOK = 0.1
SLOWEST = 5  # pauses that are told one by one
MB = 1e6
TABLE = "sums"
RULES = {"total * 1 as total": "total * 2 as total", "1 as rule": "2 as rule"}


# An assignment in the control log: when, its epoch, and how long it took to stop and to answer (ms).
_Step = tuple[int, int, float | None, float | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """One partition that did nothing for a while; all in milliseconds, None where nobody told.

    Attributes:
        move: what the driver tells of it.
        stop: from release to released, by the control log.
        answer: from released to assigned.
        taken: what the heir took until it worked.
    """

    move: Move
    stop: float | None
    answer: float | None
    taken: float | None

    @property
    def whole(self) -> float | None:
        """Until the heir works; None where a part of it is not known."""
        if self.move.pause_ms is None or self.taken is None:
            return None
        logged = self.stop + self.answer if self.stop is not None and self.answer is not None else 0.0
        return max(self.move.pause_ms, logged) + self.taken


PARTS: Mapping[str, Callable[[Pause], float | None]] = {
    "as the driver tells it": lambda pause: pause.move.pause_ms,
    "to stop": lambda pause: pause.stop,
    "to answer": lambda pause: pause.answer,
    "to take over": lambda pause: pause.taken,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Phase:
    """One change: from when it was asked for, until everything was where it should be; None if it never was."""

    name: str
    begun: float
    ended: float | None


# An update as it comes out.
_FIELDS = [("user", str), ("orders", int), ("due", int), ("total", int), ("rule", int)]
_decode = msgspec.json.Decoder(msgspec.defstruct("Row", _FIELDS)).decode


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: messages that are missing, doubled, wrong; due time (s) and latency (ms) of each visit."""

    lost: int
    duplicated: int
    wrong: int
    rules: frozenset[int]
    latencies: Sequence[tuple[float, float]]

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong with it."""
        return not (self.lost or self.duplicated or self.wrong)


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one run has shown; `stored` are bytes in the changelog, `size` those that slots estimated, in memory."""

    phases: Sequence[Phase]
    pauses: Sequence[Pause]
    outcome: Outcome
    lateness: Lateness
    stored: int
    size: int

    @property
    def problem(self) -> str:
        """Why it has no figures; empty if it has."""
        kinds = {pause.move.kind for pause in self.pauses}
        found = self.outcome
        said = {
            f"output: {found.lost} lost, {found.duplicated} duplicated, {found.wrong} wrong": not found.is_right,
            "a change was not done in time": any(phase.ended is None for phase in self.phases),
            "generator late": self.lateness.is_void,
            "nothing moved": not {MoveKind.RESIZE, MoveKind.PROGRAM} <= kinds,
            "no output of the other program": found.rules != {1, 2},
            "a partition was lost": MoveKind.TAKEOVER in kinds,
            "nobody told how long a heir took": any(pause.whole is None for pause in self.pauses),
        }
        return "; ".join(what for what, so in said.items() if so)


class Resizable(Deployed):
    """A deployed job whose workers come and go."""

    def __enter__(self) -> Resizable:
        super().__enter__()
        self._client = Driver(self.address)
        self._leaving: list[Process] = []
        self.moves: dict[tuple[float, str], Move] = {}
        self.resize(1)
        return self

    def __exit__(self, *told: object) -> None:
        """All of it, also workers that were still about to end."""
        for running in self._leaving:
            running.kill()
        super().__exit__(*told)

    def seen(self) -> Observation:
        """What the driver tells now; workers that it has emptied are asked to end."""
        self.look()
        found = self._answer(self._client.observation)
        self.moves.update({(move.at, move.partition): move for move in found.moves})
        held = local.held(found.slots)
        running = self.launched.running
        while len(running) > 1 + self._granted and not held.get(len(running) - 2):
            self._leaving.append(running.pop())
            self._leaving[-1].ask_to_end()
        return found

    def resize(self, workers: int) -> None:
        """Start those that are missing, then grant so many."""
        for number in range(len(self.launched.running) - 1, workers):
            self.launched.employ(number)
        self._granted = workers
        self._answer(lambda: self._client.grant(workers))

    def change(self, replaced: Mapping[str, str]) -> None:
        """Write the manifest again, with other text in some places."""
        manifest = self.launched.manifest
        text = manifest.read_text()
        for old, new in replaced.items():
            text = text.replace(old, new)
        other = manifest.with_suffix(".new")
        other.write_text(text)
        other.replace(manifest)

    def _answer(self, ask: Callable[[], T]) -> T:
        """What the driver answers; on a machine that is busy it may not do so at once."""
        patience = time.monotonic() + systems.PATIENCE
        while True:
            try:
                return ask()
            except NotReadyError as error:
                self.look()
                if time.monotonic() > patience:
                    raise EndedError(str(error)) from None
            time.sleep(LOOK)


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """As many rounds as fit into the time."""
    count = max(1, min(rounds, int(seconds // WHOLE)))
    load = max(WHOLE, seconds / count) - FILLING
    runs = []
    with systems.broker() as bootstrap:
        for number in range(count):
            done(f"round {number + 1} of {count}")
            runs.append(run(bootstrap, load, done))
            done(told(runs[-1]))
    return shown(runs)


def run(bootstrap: str, seconds: float, done: Callable[[str], None]) -> Run:
    """One run, so many seconds under load."""
    source, context = systems.created_one(bootstrap), multiprocessing.get_context("spawn")
    with (
        Resizable(jobs.PROFILES, bootstrap, source) as system,
        concurrent.futures.ProcessPoolExecutor(1, context) as others,
    ):
        system.settle()
        others.submit(logs.fill, bootstrap, source, "profiles", 0, events.PROFILES).result()
        stored = _filled(system)
        done(f"{events.PROFILES} rows are there, {stored / 1e6:.0f} MB in the changelog")
        plan = Schedule(time.time() + 1, RATE, int(RATE * seconds))
        pacing = others.submit(logs.pace, bootstrap, source, "visits", plan)
        phases = _changed(system, plan, done)
        while not pacing.done():
            system.seen()
            time.sleep(LOOK)
        late = pacing.result()
        _wait(lambda: _count(system) >= events.PROFILES + plan.count, 10.0)
        output = logs.read(bootstrap, system.output)
        log = logs.read(bootstrap, system.names.control, 1)
        reports = [telemetry.decode(one.value or b"") for one in logs.read(bootstrap, system.names.telemetry, 1)]
    moves = [move for move in system.moves.values() if phases and move.at >= phases[0].begun]
    return Run(phases, pauses(moves, log, reports), judged(plan, output), late, stored, _size(reports, plan.start))


def _changed(system: Resizable, plan: Schedule, done: Callable[[str], None]) -> list[Phase]:
    """All changes, one after the other; one that does not end leaves no time for the next."""
    changes: list[tuple[str, int, bool, Callable[[], None]]] = [
        ("1 → 4 workers", 4, False, lambda: system.resize(4)),
        ("4 → 2 workers", 2, False, lambda: system.resize(2)),
        ("another program", 2, True, lambda: system.change(RULES)),
    ]
    _sleep(system, plan.start + WARM + CALM - time.time())
    found, end = [], plan.due(plan.count) - CALM
    for name, workers, edits, change in changes:
        begun = time.time()
        change()
        ended = _settled(system, workers, begun if edits else None, end)
        found.append(Phase(name, begun, ended))
        done(f"{name}: " + (f"{ended - begun:.1f} s" if ended else f"not done after {time.time() - begun:.0f} s"))
        _sleep(system, CALM - QUIET)
    return found


def _settled(system: Resizable, workers: int, edited: float | None, until: float) -> float | None:
    """Since when everything is where it should be; after an edit each partition of the table has to change as well."""
    since = None
    while time.time() < until:
        seen = system.seen()
        edits = {move.partition for move in seen.moves if edited and move.at > edited and move.kind == MoveKind.PROGRAM}
        changed = edited is None or len(edits) >= system.width
        if not (is_there(seen, workers) and changed):
            since = None
        elif since is None:
            since = time.time()
        elif time.time() - since >= QUIET:
            return since
        time.sleep(LOOK)
    return None


def is_there(seen: Observation, workers: int) -> bool:
    """Whether every partition is worked on, and so many workers, and no others, have some."""
    having = {number for number, count in local.held(seen.slots).items() if count}
    rests = all(segment.moving == 0 and segment.working == segment.partitions for segment in seen.segments)
    return seen.ready and rests and having == set(range(workers))


def pauses(moves: Iterable[Move], log: Iterable[Record], reports: Iterable[telemetry.Report]) -> list[Pause]:
    """Moves that had a pause, with its parts; each belongs to the assignment of its partition that was nearest."""
    took = {
        (f"{place.segment}/{place.number}", place.epoch): place.took * 1000
        for report in reports
        for place in report.places
    }
    assigned: dict[str, list[_Step]] = collections.defaultdict(list)
    times: dict[tuple[str, type], int] = {}
    for record in log:
        match wire.decode(record.value or b""):
            case (messages.Release() | messages.Released()) as message:
                times[str(message.partition), type(message)] = record.at
            case messages.Assign(partition=partition, epoch=new):
                asked = times.pop((str(partition), messages.Release), None)
                stopped = times.pop((str(partition), messages.Released), None)
                stop = stopped - asked if asked is not None and stopped is not None else None
                answer = record.at - stopped if stopped is not None else None
                assigned[str(partition)].append((record.at, new, stop, answer))
            case _:
                pass
    found = []
    for move in moves:
        if move.pause_ms is not None:
            steps = assigned[move.partition] or [(0, -1, None, None)]
            nearest = min(steps, key=functools.partial(_apart, move.at * 1000))
            found.append(Pause(move, *nearest[2:], took.get((move.partition, nearest[1]))))
    return found


def _apart(at: float, step: _Step) -> float:
    return abs(step[0] - at)


def judged(plan: Schedule, output: Iterable[Record]) -> Outcome:
    """Each update of each user exactly once, in order, with the right sum, by the old rule and then by the new one."""
    dues: dict[int, list[int]] = {user: [events.START_MS + user] for user in range(events.PROFILES)}
    for number in range(plan.count):
        dues[events.visited(number)].append(int(plan.due(number) * 1_000_000))
    had: set[tuple[int, int]] = set()
    last: dict[int, tuple[int, int]] = {}
    latencies, duplicated, wrong = [], 0, 0
    for record in output:
        row: Any = _decode(record.value or b"")
        user = int(row.user.removeprefix("user-"))
        before, rule = last.get(user, (0, 1))
        known = row.orders > 0 and dues.get(user, [])[row.orders - 1 : row.orders] == [row.due]
        if not known or row.rule < rule or row.total != row.orders * events.quantity(user) * row.rule:
            wrong += 1
        elif (user, row.orders) in had:
            duplicated += 1
        else:
            wrong += row.orders < before
            had.add((user, row.orders))
            last[user] = max(before, row.orders), row.rule
            if row.orders > 1:
                latencies.append((row.due / 1e6, record.at + 1 - row.due / 1000))
    lost = events.PROFILES + plan.count - len(had)
    return Outcome(lost, duplicated, wrong, frozenset(rule for _, rule in last.values()), latencies)


def shown(runs: Sequence[Run]) -> list[Figure]:
    """The report; one run that isn't right, or doesn't count for another reason, and no time of any counts."""
    problem = "; ".join(dict.fromkeys(run.problem for run in runs if run.problem))
    void = bool(problem)
    during, otherwise = zip(*map(latencies, runs), strict=True)
    phases = [phase for run in runs for phase in run.phases]
    return [
        *(
            figures.of(f"messages {what}", [float(sum(getattr(run.outcome, what) for run in runs))], "", most=0)
            for what in ("lost", "duplicated", "wrong")
        ),
        *_pauses(MoveKind.RESIZE, runs, problem),
        *_pauses(MoveKind.PROGRAM, runs, problem),
        *(
            figures.of(f"{name}, until all is where it should be", [_took(one) for one in some], "s", void=void)
            for name in dict.fromkeys(phase.name for phase in phases)
            if (some := [phase for phase in phases if phase.name == name])
        ),
        *_quantiles("latency while something changes", during, void=void),
        *_quantiles("latency otherwise", otherwise, void=void),
        figures.of("state in the changelog", [run.stored / MB for run in runs], "MB"),
        figures.of("state as its slot estimates it", [run.size / MB for run in runs], "MB"),
        figures.of(
            "lateness of the generator, p99.9", [run.lateness.p999 * 1000 for run in runs], "ms", most=LATEST * 1000
        ),
    ]


def _pauses(kind: MoveKind, runs: Sequence[Run], problem: str) -> list[Figure]:
    moved = [[pause for pause in run.pauses if pause.move.kind is kind] for run in runs]
    count = " + ".join(str(len(some)) for some in moved)
    note = f"{count} moves" + f"; {problem}" * bool(problem)
    void, parts = bool(problem), []
    for name, part in PARTS.items():
        values = [[value for pause in some if (value := part(pause)) is not None] for some in moved]
        parts += _quantiles(f"pause of a partition, {kind}, {name}", values, void=void)[1:2]
    wholes = [[pause.whole or 0.0 for pause in some] for some in moved]
    half, p99, most = _quantiles(f"pause of a partition, {kind}", wholes, void=void)
    bound = figures.of(
        p99.name, [figures.quantile(some, 0.99) for some in wholes], "ms", most=PAUSE, note=note, void=void
    )
    return [half, bound, most, *parts]


def _quantiles(name: str, values: Sequence[Sequence[float]], *, void: bool) -> list[Figure]:
    """Half, 99 % and the most of each run."""
    return [
        figures.of(f"{name}, {called}", [figures.quantile(some, share) for some in values], "ms", void=void)
        for called, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))
    ]


def latencies(run: Run) -> tuple[list[float], list[float]]:
    """Those of records that were due while something changed, and of all others, but for the first second."""
    during, otherwise = [], []
    first = min((due for due, _ in run.outcome.latencies), default=0.0) + 1.0
    for due, latency in run.outcome.latencies:
        if any(phase.begun <= due <= (phase.ended or due) for phase in run.phases):
            during.append(latency)
        elif due >= first:
            otherwise.append(latency)
    return during, otherwise


def told(run: Run) -> str:
    """One line on a run, and one on each of its longest pauses."""
    found = run.outcome
    lines = [f"{found.lost} lost, {found.duplicated} duplicated, {found.wrong} wrong; {run.problem or 'it counts'}"]
    for pause in sorted(run.pauses, key=lambda pause: -(pause.whole or 0.0))[:SLOWEST]:
        move, parts = pause.move, {name: part(pause) for name, part in PARTS.items()}
        parted = "".join(f", {value:.0f} ms {name}" for name, value in parts.items() if value is not None)
        lines.append(f"  {move.kind} of {move.partition}, {move.source} to {move.target}{parted}")
    return "\n".join(lines)


def _took(phase: Phase) -> float:
    return phase.ended - phase.begun if phase.ended is not None else math.nan


def _size(reports: Iterable[telemetry.Report], until: float) -> int:
    """Of all tables, by the last report of each slot up to then."""
    last = {report.slot: report for report in reports if report.at <= until}
    return sum(place.size for report in last.values() for place in report.places)


def _filled(system: Resizable) -> int:
    """Wait until all rows are stored; their bytes, keys included."""
    _wait(lambda: _count(system) >= events.PROFILES, systems.PATIENCE)
    rows = size = 0
    patience = time.monotonic() + systems.PATIENCE
    while rows < events.PROFILES and time.monotonic() < patience:
        time.sleep(1.0)
        rows, size = _stored(system)
    return size


def _stored(system: Resizable) -> tuple[int, int]:
    """Messages of the changelog that are committed, and their bytes."""
    consumer = clients.restorer(clients.Access(system.job.spec.kafka), "bench")
    topic, rows, size, open_ones = system.names.state(TABLE), 0, 0, system.width
    consumer.assign([TopicPartition(topic, number, 0) for number in range(system.width)])
    while open_ones:
        for message in consumer.consume(logs.AT_ONCE, 1.0):
            if message.error() is None:
                rows += 1
                size += len(message.key() or b"") + len(message.value() or b"")
            else:
                open_ones -= 1
    consumer.close()
    return rows, size


def _count(system: Resizable) -> int:
    """Messages of the output so far."""
    system.look()
    watch = logs.Watch(system.bootstrap, system.output)
    found = watch.count()
    watch.close()
    return found


def _wait(until: Callable[[], bool], seconds: float) -> None:
    patience = time.monotonic() + seconds
    while not until() and time.monotonic() < patience:
        time.sleep(2 * LOOK)


def _sleep(system: Resizable, seconds: float) -> None:
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        system.seen()
        time.sleep(LOOK)
