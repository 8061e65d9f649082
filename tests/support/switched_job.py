"""A deployed job whose head goes to batches and back under load, and those who watch it; what must be right of it.

Lines go in, each with a number of its own as a word. The head splits them, which is what batches do; behind it words
are counted. So a line that is lost has a number without a count, and a record that was applied twice has one of 2.
"""

from __future__ import annotations

import collections
import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

import kafka_records
from deployed_job import Deployed
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.local.broker import Broker
from spillway.model.errors import SpillwayError
from spillway.runtime import clients, telemetry
from spillway.runtime.control import ControlLog
from spillway.runtime.telemetry import Report

HEAD, KEYED = "words", "counts"
PARTITIONS = 2
RATE = 150.0  # lines in a second
WORDS = [letter * 3 for letter in "abcdefgh"]
ASK = 2.0  # seconds after which a switch is asked for again
RECENT = 1.5  # seconds for which a slot's last report says what it has


def document(name: str) -> dict[str, Any]:
    """Two segments: the words of lines, and how often each was there."""
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "switched"},
        "spec": {
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": f"{name}.lines", "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": HEAD, "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
                {"name": KEYED, "input": HEAD, "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": KEYED, "topic": f"{name}.counts"}],
            "execution": {"workers": {"max": 1, "slots": 2}},
        },
    }


class Fed:
    """Lines, a steady stream of them.

    Attributes:
        times: of each line by its number, when it was fed; it went into partition number % PARTITIONS.
        right: how often each word has to be counted.
    """

    def __init__(self, bootstrap: str, topic: str, seed: int) -> None:
        self.times: list[float] = []
        self.right: collections.Counter[str] = collections.Counter()
        self._topic = topic
        self._dice = random.Random(seed)  # noqa: S311 - a load, no secret
        self._producer = Producer(kafka_records.client(bootstrap, **{"linger.ms": 5, "enable.idempotence": True}))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def end(self) -> None:
        """No more lines; all are in the log."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        assert self._producer.flush(60) == 0

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            for _ in range(max(1, int(RATE * 0.02))):
                words = [f"#{len(self.times)}", *self._dice.choices(WORDS, k=3)]
                self._producer.produce(self._topic, " ".join(words), partition=len(self.times) % PARTITIONS)
                self.times.append(time.monotonic())
                self.right.update(words)
            self._producer.poll(0)


class Found:
    """The counts that come out, as they come.

    Attributes:
        counts: by word, the last one.
        most: by word, the highest that there ever was.
        times: by line, when its number came first.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.counts: dict[str, int] = {}
        self.most: collections.Counter[str] = collections.Counter()
        self.times: dict[int, float] = {}
        settings: kafka_records.Settings = {
            "group.id": "found",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 100,
            "fetch.wait.max.ms": 10,
        }
        self._consumer = Consumer(kafka_records.client(bootstrap, **settings))
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Watch no more."""
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            for message in self._consumer.consume(500, 0.02):
                if message.error() is None:
                    self._take(**json.loads(message.value() or b""))

    def _take(self, word: str, n: int) -> None:
        self.counts[word] = n
        self.most[word] = max(self.most[word], n)
        if word.startswith("#"):
            self.times.setdefault(int(word[1:]), time.monotonic())


class Step(NamedTuple):
    """A message of the control log about the head, or an intent; `to` is where the move goes, of which it is one."""

    kind: str
    to: str


class Told:
    """The control log, as it is written.

    Attributes:
        state: what it says.
        steps: of moves of the head, and of intents, that counted.
    """

    def __init__(self, job: Deployed) -> None:
        self.state = log.State()
        self.steps: list[Step] = []
        self.problem: BaseException | None = None
        self._lines: collections.deque[str] = collections.deque(maxlen=60)
        self._reader = ControlLog(job.access, job.names)
        self._new = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.state = self._reader.restored()
        self._thread.start()

    def end(self) -> None:
        """Watch no more."""
        self._ended.set()
        self._thread.join()
        self._reader.close()
        if self.problem is not None:
            raise self.problem

    def last(self) -> str:
        """The last messages that counted, where something is wrong."""
        return "\n".join([f"{time.time() % 1000:7.2f} now", *self._lines])

    def wait(self, step: Step, after: int, seconds: float) -> bool:
        """Wait for a step behind so many; whether it came."""
        with self._new:
            return self._new.wait_for(lambda: step in self.steps[after:], seconds)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                for _, message in self._reader.read(0.02):
                    self._take(message)
        except BaseException as problem:
            self.problem = problem

    def _take(self, message: messages.Any) -> None:
        step = self._step(message)
        with self._new:
            self.state, counts = log.read(self.state, message)
            if counts and step is not None:
                self.steps.append(step)
                self._new.notify_all()
            if counts:
                self._lines.append(f"{time.time() % 1000:7.2f} {message}"[:300])

    def _step(self, message: messages.Any) -> Step | None:
        kind = type(message).__name__
        if isinstance(message, messages.Intent | messages.Done):
            return Step(kind, "")
        place = getattr(message, "partition", None)
        if place is None or place.segment != HEAD:
            return None
        heir = getattr(message, "heir", None) or getattr(message, "owner", None)
        if isinstance(message, messages.Release | messages.Released):
            holding = self.state.holdings.get(place)
            heir = holding.move.heir if holding and holding.move else None
        return Step(kind, "batch" if heir and heir.slot == ENGINE else "record")

    def is_at(self, to: str) -> bool:
        """Whether the head has come there, and everything has an owner that lives, and stays."""
        state = self.state
        if state.plan is None:
            return False
        places = [Partition(one.name, n) for one in state.plan.segments for n in range(one.partitions)]
        for place in places:
            owner = state.owner(place)
            if owner is None or owner != state.living(owner.slot) or state.holdings[place].move:
                return False
            if (owner.slot == ENGINE) != (place.segment == HEAD and to == "batch"):
                return False
        return True


class Verdict(NamedTuple):
    """What is wrong of a job that has come to rest; all of it empty if nothing is.

    Attributes:
        lost: lines that were never counted.
        twice: lines that were counted more than once, at whatever time.
        wrong: words whose last count, or whose highest one, isn't right.
        owners: partitions that nobody has, or more than one.
    """

    lost: list[str]
    twice: list[str]
    wrong: dict[str, tuple[int, int, int]]
    owners: dict[Partition, list[Owner]]

    @property
    def right(self) -> bool:
        """Whether nothing is."""
        return not any(self)

    def __str__(self) -> str:
        examples = (f"lost {self.lost[:5]}, twice {self.twice[:5]}, wrong {dict(list(self.wrong.items())[:5])}",)
        return f"{len(self.lost)} lost, {len(self.twice)} twice, {len(self.wrong)} wrong, {self.owners}: {examples[0]}"


class SwitchedJob:
    """All of it. `start` is for the first processes; whoever kills one starts it again."""

    def __init__(self, broker: Broker, name: str, folder: Path, seed: int) -> None:
        self.job = Deployed(broker, document(name), folder, PARTITIONS)
        self.fed = Fed(broker.bootstrap, f"{name}.lines", seed)
        self.found = Found(broker.bootstrap, f"{name}.counts")
        self.told: Told | None = None

    @property
    def log(self) -> Told:
        """The control log, once there is one."""
        assert self.told is not None
        return self.told

    def begin(self) -> None:
        """Wait until everything is there, and feed."""
        self.job.until(lambda: self.job.told.ready)
        self.told = Told(self.job)
        self.fed.start()
        self.job.until(lambda: self.job.told.standby.state == "warm")

    def order(self, to: Any, unless: Callable[[], bool] = lambda: False) -> bool:
        """Ask for a switch until it is under way, or not wanted any more; whether it is under way.

        There may be no driver for a moment, or no Spark.
        """

        def asked() -> str:
            with contextlib.suppress(SpillwayError, OSError):
                told = self.job.client.switch([HEAD], to)
                if told.done or "already" in told.sentence:
                    return "under way"
            return "not wanted" if unless() else ""

        return bool(self.job.until(asked) == "under way")

    def settle(self, to: Any, seconds: float) -> None:
        """Wait until the head is there. What is decided may send it elsewhere meanwhile; then it is asked again."""
        deadline = time.monotonic() + seconds
        again = time.monotonic() + ASK
        while not self.log.is_at(to):
            assert time.monotonic() < deadline, f"the head is not at {to}\n{self.log.last()}\n{self.job.log()}"
            if self.log.problem is not None:
                raise self.log.problem
            if time.monotonic() > again:
                again += ASK
                with contextlib.suppress(SpillwayError, OSError):
                    self.job.client.switch([HEAD], to)
            time.sleep(0.02)

    def came(self, since: float, number: int | None = None) -> float | None:
        """When the first line that was fed after a moment had come out, of this partition, or of any."""
        times = self.fed.times
        some = [line for line, at in self.found.times.copy().items() if times[line] > since]
        return min((self.found.times[x] for x in some if number in (None, x % PARTITIONS)), default=None)

    def verdict(self, seconds: float = 60.0) -> Verdict:
        """Feed no more, wait until nothing is missing or the time is over, and judge."""
        self.fed.end()
        right, counts, most = self.fed.right, self.found.counts, self.found.most
        deadline = time.monotonic() + seconds
        while (counts != right or self._owners()) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)  # what is there too often may still come
        lines = [f"#{number}" for number in range(len(self.fed.times))]
        return Verdict(
            [line for line in lines if not counts.get(line)],
            [line for line in lines if most[line] > 1],
            {
                word: (counts.get(word, 0), most[word], count)
                for word, count in right.items()
                if not counts.get(word, 0) == most[word] == count
            },
            self._owners(),
        )

    def _owners(self) -> dict[Partition, list[Owner]]:
        """Partitions that not exactly one has, and works on: by the log, and by what slots say of themselves."""
        state = self.log.state
        said: dict[Partition, list[Owner]] = collections.defaultdict(list)
        for report in self._reports():
            for has in report.places:
                if has.working:
                    said[Partition(has.segment, has.number)].append(Owner(report.slot, report.incarnation))
        for place in state.holdings:
            if (owner := state.owner(place)) is not None and owner.slot == ENGINE:
                said[place].append(owner)
        segments = state.plan.segments if state.plan else ()
        places = [Partition(one.name, number) for one in segments for number in range(one.partitions)]
        return {place: said[place] for place in places if said[place] != [state.owner(place)]}

    def _reports(self) -> list[Report]:
        """The last word of each life that was heard a moment ago."""
        reader = clients.reader(self.job.access, "test")
        try:
            where = TopicPartition(self.job.names.telemetry, 0)
            low, high = reader.get_watermark_offsets(where, timeout=10)
            where.offset = max(low, high - 50)
            reader.assign([where])
            found: dict[Owner, Report] = {}
            at = where.offset
            deadline = time.monotonic() + 5
            while at < high and time.monotonic() < deadline:
                for message in reader.consume(100, 0.1):
                    if message.error() is None:
                        at = (message.offset() or 0) + 1
                        report = telemetry.decode(message.value() or b"")
                        found[Owner(report.slot, report.incarnation)] = report
            return [report for report in found.values() if report.at > time.time() - RECENT]
        finally:
            reader.close()

    def close(self) -> None:
        """End everything."""
        for end in (self.fed.end, self.found.end, *([self.told.end] if self.told else []), self.job.close):
            with contextlib.suppress(Exception):
                end()


@contextlib.contextmanager
def switched(
    broker: Broker, name: str, folder: Path, seed: int, start: Callable[[SwitchedJob], None]
) -> Iterator[SwitchedJob]:
    """One that ends with the block; `start` starts its driver and its worker."""
    found = SwitchedJob(broker, name, folder, seed)
    try:
        start(found)
        found.begin()
        yield found
    finally:
        found.close()
