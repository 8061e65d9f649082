"""A job under load whose slots are killed, one life after another, while its partitions move; and what must be right.

Lines go in, numbered; words are labelled by a table that every slot has whole, and counted. A second program reads the
same lines and writes them out as they are. So there are a table that is restored, a replica, an edge, a topic with two
readers, upserts, and an output in which every record has to appear.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import Producer

import armed_slots
import kafka_records
from running_job import RunningJob, manifest
from spillway.controllers.protocol import knowledge
from spillway.controllers.protocol.values import Owner
from spillway.runtime import commits
from spillway.runtime.slots.messages import Answer, Stop

WORDS = [letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz"]
PARTITIONS = 2  # of the input
# Seconds within which a point has to be come by; on a quiet machine each takes less than one.
PATIENCE = 30.0
# Seconds in which a move of everything is nearly over.
MOVE = 0.35
# Points that a slot comes by all the time: it dies at one of the first so many.
OFTEN = {
    **dict.fromkeys(("polled", "processed", "sent"), 40),
    **dict.fromkeys(("heard", "marked", "assigned", "taken"), 8),
    **dict.fromkeys(("acknowledged", "transaction begun", "rows sent", "positions sent", "committed", "stored"), 3),
}

# The same for slots that have been alone with their partitions for a short time.
SELDOM = {**OFTEN, **dict.fromkeys(("heard", "marked", "assigned", "taken"), 1)}


def labelled(bootstrap: str, name: str, **execution: Any) -> dict[str, Any]:
    """The manifest."""
    found = manifest("word-count", bootstrap, name)
    spec = found["spec"]
    spec["execution"] = execution
    spec["tables"] = [
        {"name": "labels", "topic": f"{name}.labels", "key": ["word"], "columns": "word string, label string"}
    ]
    spec["operators"] = [
        {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
        {"name": "real-words", "input": "words", "filter": "length(word) = 3"},
        {"name": "labelled", "input": "real-words", "join": {"table": "labels", "by": ["word"], "asOf": "latest"}},
        {"name": "counts", "input": "labelled", "aggregate": {"by": ["word", "label"], "values": ["count(*) as n"]}},
        {"name": "copies", "input": "lines", "select": ["line"]},
    ]
    spec["outputs"].append({"name": "copied", "input": "copies", "topic": f"{name}.copies"})
    return found


def plain(bootstrap: str, name: str, **execution: Any) -> dict[str, Any]:
    """The same without the table, so that what is ahead of the counts can run in batches."""
    found = labelled(bootstrap, name, **execution)
    spec = found["spec"]
    del spec["tables"]
    spec["operators"] = [one for one in spec["operators"] if one["name"] != "labelled"]
    counts = next(one for one in spec["operators"] if one["name"] == "counts")
    counts |= {"input": "real-words", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}}
    return found


class Load:
    """Lines, a steady stream of them, and what they come to."""

    def __init__(self, job: RunningJob, seed: int, rate: float = 300.0) -> None:
        """`rate`: lines in a second."""
        self.job, self.rate = job, rate
        self.dice = random.Random(seed)  # noqa: S311 - a load, no secret
        self.right: collections.Counter[str] = collections.Counter()
        self.lines: list[str] = []
        self._topic = job.job.spec.streams[0].topic
        self._producer = Producer(kafka_records.client(job.bootstrap, **{"linger.ms": 5, "enable.idempotence": True}))
        self._began = time.monotonic()
        for table in job.job.spec.tables:
            for word in WORDS:
                row = msgspec.json.encode({"word": word, "label": word[0].upper()})
                self._producer.produce(table.topic, row, msgspec.json.encode({"word": word}), partition=0)
        assert self._producer.flush(20) == 0

    def due(self) -> None:
        """The lines of the time since the last call; not all that a long pause has missed."""
        now = time.monotonic()
        count = min(int((now - self._began) * self.rate), 200)
        if count:
            self._began = now
            self.some(count)
        self._producer.poll(0)

    def some(self, count: int) -> None:
        """Lines at once."""
        for _ in range(count):
            words = self.dice.choices(WORDS, k=4)
            line = " ".join([f"#{len(self.lines):06d}", *words])
            self._producer.produce(self._topic, line.encode(), partition=len(self.lines) % PARTITIONS)
            self.lines.append(line)
            self.right.update(words)

    def flush(self) -> None:
        """All of it is in the log."""
        assert self._producer.flush(60) == 0


class Crashing:
    """A job with slots `w0.0` and `w1.0` that are killed while everything moves between them."""

    NAMES = ("w0.0", "w1.0")

    def __init__(self, job: RunningJob, seed: int = 1, load: Load | None = None) -> None:
        self.job = job
        self.dice = random.Random(seed)  # noqa: S311
        self.load = load or Load(job, seed)
        self._shapes = itertools.cycle([self.NAMES, self.NAMES[:1], self.NAMES[::-1], self.NAMES[1:]])
        self._move_due = 0.0

    def tick(self, *, moves: bool = True) -> None:
        """Lines are fed, and the driver does its work; now and then something else is wanted."""
        self.load.due()
        self.job.driver.step(0.02)
        now = time.monotonic()
        if moves and now >= self._move_due:
            self._move_due = now + MOVE
            self.job.driver.want(*next(self._shapes))

    def during(self, seconds: float, *, moves: bool = True) -> None:
        """Go on for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tick(moves=moves)

    def sweep(self, points: Sequence[str], *, hits: dict[str, int] | None = None) -> list[str]:
        """Kill a slot at each of the points; those that it was killed at, in their order.

        Both slots are on their way to a point of their own at any time.
        """
        waiting = collections.deque(points)
        armed: dict[str, tuple[str, float]] = {}
        died: list[str] = []
        while waiting or armed:
            for name in self.NAMES:
                if name in armed and self._died(name):
                    died.append(armed.pop(name)[0])
                if name not in armed and (waiting or name not in self.job.slots):
                    self._arm(name, waiting, armed, hits or OFTEN)
                if name in armed:
                    self._provoke(name, *armed[name])
            self.tick()
        for name in self.NAMES:
            if name not in self.job.slots:
                self.job.launch(name, armed_slots.eager)
        return died

    def haunt(self, points: Iterable[str]) -> list[str]:
        """At each of the points a slot stops, is taken over from while it sleeps, and goes on when others have fed on.

        Those at which one has lost its partitions so, in their order.
        """
        haunted = []
        for (name, heir), point in zip(itertools.cycle([self.NAMES, self.NAMES[::-1]]), points, strict=False):
            self._begin_alone(name, heir, point)
            self._until(functools.partial(self._stopped, name), f"{name} did not come by {point!r}")
            zombie = self.job.driver.me.log.living(name)
            assert zombie is not None
            self.job.driver.silent(zombie)
            self.job.driver.want(heir)
            self._until(self.job.driver.settled, f"{heir} did not take over", moves=False)
            self.during(0.5, moves=False)
            fed = len(self.load.lines)
            self.load.some(100)  # so that there is something left to do
            self.job.signal(name, signal.SIGCONT)
            self._until(functools.partial(self._followed, zombie), f"{name} did not begin anew", moves=False)
            assert len(self.load.lines) > fed + 100, "nothing was fed meanwhile"
            haunted.append(point)
        return haunted

    def _begin_alone(self, name: str, heir: str, point: str) -> None:
        """A slot begins with all partitions of its last life; at the point it will stop."""
        driver = self.job.driver
        if heir not in self.job.slots:
            self.job.start(heir, armed_slots.eager)
        if name in self.job.slots:
            driver.want(name)
            self._until(driver.settled, f"{name} did not get everything", moves=False)
            self.job.kill(name)
        before = driver.me.log.living(name)
        self.job.launch(name, functools.partial(armed_slots.stopping, point, self._hits(point, SELDOM)))
        driver.want(name)
        joined = functools.partial(lambda before: driver.me.log.living(name) not in (None, before), before)
        self._until(joined, f"{name} did not join", moves=False)

    def _followed(self, zombie: Owner) -> bool:
        """Whether its next life is there; one that had nothing is not fenced, and goes on."""
        driver = self.job.driver
        if self.job.slots[zombie.slot][0].exitcode is not None:
            self.job.launch(zombie.slot, armed_slots.eager)  # as its worker would
        now = driver.me.log.living(zombie.slot)
        if now == zombie:
            driver.me = knowledge.heard(driver.me, zombie)
        return now is not None

    def _stopped(self, name: str) -> bool:
        """Whether a process waits for SIGCONT."""
        stat = Path(f"/proc/{self.job.slots[name][0].pid}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] == "T"

    def _until(self, done: Callable[[], bool], problem: str, *, moves: bool = True) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, f"{problem} within {PATIENCE:.0f} s"
            self.tick(moves=moves)

    def _hits(self, point: str, often: Mapping[str, int]) -> int:
        return self.dice.randint(1, often.get(point, 1))

    def _arm(self, name: str, waiting: Any, armed: dict[str, tuple[str, float]], hits: dict[str, int]) -> None:
        if name in self.job.slots:
            return
        if not waiting:
            self.job.launch(name, armed_slots.eager)
            return
        point = waiting.popleft()
        self.job.launch(name, functools.partial(armed_slots.dying, point, self._hits(point, hits)))
        armed[name] = point, time.monotonic()

    def _died(self, name: str) -> bool:
        """Whether it has ended; as it had to, for nobody else ends it."""
        made, _ = self.job.slots[name]
        if made.exitcode is None:
            return False
        assert made.exitcode == -signal.SIGKILL, f"{name} ended with {made.exitcode}"
        del self.job.slots[name]
        return True

    def _provoke(self, name: str, point: str, since: float) -> None:
        """Some points are reached only if somebody wants it so."""
        waits = time.monotonic() - since
        assert waits < PATIENCE, f"{name} did not come by {point!r} within {PATIENCE:.0f} s"
        if waits < 1.0 or name not in self.job.slots:
            return
        if point == "gone":
            log = self.job.driver.me.log
            if log.living(name) in {log.owner(place) for place in log.holdings}:  # else nobody would fence it
                self.job.lose(name)
        elif point == "drained":
            with contextlib.suppress(OSError):
                self.job.slots[name][1].send(Stop(2.0))

    def end(self) -> None:
        """Everything comes to its end, and every table is restored once more."""
        self.load.due()
        self.load.flush()
        # A slot gives up on a commit that nobody answers after twice `commits.PATIENCE`, and only then begins anew.
        deadline = time.monotonic() + 60 + 2 * commits.PATIENCE
        self.job.driver.want(*self.NAMES)
        while not (self.job.driver.settled() and self.job.done()):
            assert time.monotonic() < deadline, (self.job.driver.me.log.holdings, self.job.progress())
            for _ in range(10):
                self.job.driver.step(0.02)
        self.job.driver.want(*reversed(self.NAMES))
        self.job.driver.until(self.job.driver.settled)

    # What must be right.

    def table(self) -> dict[str, int]:
        """The counts that the slots have."""
        found: dict[str, int] = {}
        for word in WORDS:
            deadline = time.monotonic() + 20
            while not (rows := [answer.rows for name in self.NAMES if (answer := self._ask(name, word)).found]):
                assert time.monotonic() < deadline, f"nobody has {word}"
                time.sleep(0.05)  # whoever has it in the log restores it
            assert len(rows) == 1, f"{word} is had by {len(rows)} slots"
            found |= {row["word"]: row["n"] for row in rows[0]}
        return found

    def _ask(self, name: str, word: str) -> Answer:
        return self.job.ask(name, "counts", {"word": word, "label": word[0].upper()})

    def upserts(self) -> dict[str, list[int]]:
        """By word, the counts in the order in which their readers see them."""
        found: dict[str, list[int]] = {word: [] for word in WORDS}
        for _, value in self.job.output("result"):
            row = msgspec.json.decode(value or b"")
            found[row["word"]].append(row["n"])
        return found

    def last(self) -> dict[str, int]:
        """The count that comes last of each word."""
        return {word: counts[-1] for word, counts in self.upserts().items() if counts}

    def late(self) -> int:
        """Updates of a zombie that came after newer ones: counts go on where they were when it has been heard."""
        return sum(
            newer < before and after == before + 1
            for counts in self.upserts().values()
            for before, newer, after in zip(counts, counts[1:], counts[2:], strict=False)
        )

    def copies(self) -> collections.Counter[str]:
        """How often each line has come out."""
        return collections.Counter(msgspec.json.decode(value or b"")["line"] for _, value in self.job.output("copied"))


@contextlib.contextmanager
def crashing(document: dict[str, Any], seed: int = 1, **more: Any) -> Iterator[Crashing]:
    """A job whose slots end with the block."""
    job = RunningJob(document, partitions=PARTITIONS, **more)
    try:
        yield Crashing(job, seed)
    finally:
        job.close()


def lost(found: collections.Counter[str], wanted: Iterable[str]) -> list[str]:
    """Lines that didn't come out."""
    return [line for line in wanted if not found[line]]


def repeated(found: collections.Counter[str]) -> int:
    """Records that came out once more."""
    return sum(count - 1 for count in found.values())
