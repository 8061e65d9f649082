"""Each rule of the protocol, on a real broker: with it a scene ends right, and the same scene without it ends wrong.

Whoever breaks a rule does so in processes of the test's own. Slots are slowed down and stopped where it takes that to
make a rare interleaving a sure one; so `make chaos` plays every scene with all rules kept too, to see that nothing else
is what makes it end wrong.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

import chaos
import programs
import small_driver
from broken_slots import Odd, odd
from running_job import RunningJob, accepted, manifest
from spillway.controllers.protocol.knowledge import Target
from spillway.controllers.protocol.rules import ALL, Rules
from spillway.controllers.protocol.values import Owner, Partition
from spillway.local.broker import Broker
from spillway.runtime import clients

WORDS = ("aaa", "bbb", "ccc")
VICTIM, HEIR, THIRD = "w0.0", "w1.0", "w2.0"
NEVER = 1e6  # seconds between two commits
# What a client keeps to itself for so many milliseconds is not sent when its slot dies or stops.
HELD = 400
ORDINARY = Odd()


class Stage:
    """A word count with one input partition; the slots of its two segments are said by name."""

    def __init__(self, job: RunningJob) -> None:
        self.job, self.driver = job, job.driver
        self.words = Partition("words", 0)
        self._where = dict.fromkeys(WORDS, HEIR)
        self._fed = 0

    def start(self, name: str, how: Odd = ORDINARY) -> None:
        self.job.start(name, functools.partial(odd, how))

    def place(self, words: str | None, counts: str = HEIR, *, wait: bool = True) -> None:
        """Have the first segment with one slot, or rest, and all of the second with another."""
        names = {"words": words, "counts": counts}
        self.driver.aim({p: Target(names[p.segment], self.driver.programs[p.segment].id) for p in self.driver.places})
        if wait:
            self.driver.until(self.driver.settled, 40)

    def feed(self, lines: int = 5) -> None:
        self._fed += lines
        self.job.feed(self.job.job.spec.streams[0].topic, [" ".join(WORDS).encode()] * lines)

    def lost(self, name: str) -> Owner:
        """The driver hears nothing of a slot any more."""
        found = self.driver.me.log.living(name)
        assert found is not None
        self.driver.silent(found)
        return found

    def stopped(self, name: str) -> None:
        """Wait until a slot has stopped where it had to."""
        self.until(lambda: _state(self.job.slots[name][0].pid or 0) == "T")

    def died(self, name: str) -> None:
        """Wait until a slot has died where it had to."""
        self.until(lambda: self.job.slots[name][0].exitcode == -signal.SIGKILL)

    def until(self, done: Callable[[], bool]) -> None:
        self.driver.until(done, 40)

    def goes_on(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.driver.step(0.02)

    def counted(self, lines: int) -> bool:
        """Whether the readers have applied so many lines."""
        return self.counts() == dict.fromkeys(WORDS, lines)

    def counts(self, name: str = HEIR) -> dict[str, int]:
        answers = {word: self.job.ask(name, "counts", {"word": word}).rows for word in WORDS}
        return {word: rows[0]["occurrences"] for word, rows in answers.items() if rows}

    def change_program(self) -> None:
        """The first segment is to run a program that says the same in other words."""
        found = manifest("word-count", self.job.bootstrap, self.job.job.metadata.name)
        found["spec"]["operators"][1]["filter"] = "length(word) > 0"
        other = accepted(found)
        made = small_driver.programs(other, programs.together(other.spec))
        self.driver.change(made, other)

    @property
    def right(self) -> bool:
        """Whether every word of every line counts once."""
        self.job.finish(40)
        return self.counts() == dict.fromkeys(WORDS, self._fed)


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


_numbers: collections.Counter[str] = collections.Counter()


@pytest.fixture
def stage(broker: Broker, request: pytest.FixtureRequest) -> Iterator[Stage]:
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:20]
    _numbers[name] += 1
    job = RunningJob(manifest("word-count", broker.bootstrap, f"{name}{_numbers[name]}"), partitions=1)
    try:
        yield Stage(job)
    finally:
        job.close()


def _without(**rules: bool) -> Rules:
    return Rules(**rules)


def _named(rules: Rules) -> str:
    return next((f"without {name}" for name, kept in dataclasses.asdict(rules).items() if not kept), "kept")


KEPT = [ALL] * chaos.LONG


@pytest.mark.chaos
@pytest.mark.parametrize("rules", [*KEPT, _without(epoch=False), _without(marker=False)], ids=_named)
def test_what_a_zombie_says_late_is_not_applied_beside_another_program(stage: Stage, rules: Rules) -> None:
    """Its frames arrive when an heir has let go, at the same offset, and before another program begins there."""
    stage.start(VICTIM, Odd(point="sent", signal=signal.SIGSTOP, linger=HELD))
    stage.start(HEIR, Odd(rules=rules, restore=1.0))
    stage.place(VICTIM)
    stage.feed()
    stage.stopped(VICTIM)
    stage.lost(VICTIM)
    stage.place(None)
    assert stage.counts() == {}
    stage.job.signal(VICTIM, signal.SIGCONT)
    stage.goes_on(1.0)
    stage.change_program()
    stage.place(HEIR)

    assert stage.right is (rules == ALL)


@pytest.mark.chaos
@pytest.mark.parametrize("rules", [*KEPT, _without(barrier=False)], ids=_named)
def test_an_heir_that_is_to_let_go_has_passed_what_was_emitted(stage: Stage, rules: Rules) -> None:
    """Frames are there, the commit isn't, and another program is to go on."""
    stage.start(VICTIM, Odd(commit=NEVER))
    stage.start(HEIR, Odd(rules=rules, restore=1.0))
    stage.place(VICTIM)
    stage.feed()
    stage.until(lambda: stage.counted(5))
    stage.job.kill(VICTIM)
    stage.lost(VICTIM)
    stage.place(None)
    stage.change_program()
    stage.place(HEIR)

    assert stage.right is (rules == ALL)


@pytest.mark.chaos
@pytest.mark.parametrize("rules", [*KEPT, _without(position=False)], ids=_named)
def test_what_an_heir_repeats_is_not_applied_again(stage: Stage, rules: Rules) -> None:
    """Frames are there, and the commit isn't."""
    stage.start(VICTIM, Odd(commit=NEVER))
    stage.start(HEIR, Odd(rules=rules))
    stage.place(VICTIM)
    stage.feed()
    stage.until(lambda: stage.counted(5))
    stage.job.kill(VICTIM)
    stage.lost(VICTIM)
    stage.place(HEIR)

    assert stage.right is (rules == ALL)


@pytest.mark.chaos
@pytest.mark.parametrize("flush", [*[True] * chaos.LONG, False], ids=["kept", "without"][not chaos.LONG :])
def test_nothing_is_committed_before_what_came_of_it_has_arrived(stage: Stage, flush: bool) -> None:
    """A slot dies right after a commit, with its frames still in the client."""
    stage.start(VICTIM, Odd(flush=flush, point="committed", linger=HELD, commit=0.02))
    stage.start(HEIR)
    stage.place(VICTIM)
    stage.feed()
    stage.died(VICTIM)
    stage.lost(VICTIM)
    stage.place(HEIR)

    assert stage.right is flush


@pytest.mark.chaos
@pytest.mark.parametrize("rules", [*KEPT, _without(fence=False)], ids=_named)
def test_a_zombie_commits_nothing(stage: Stage, rules: Rules) -> None:
    """Its frames arrive, dead, behind the marker of an heir that dies too; the next one must not start behind them."""
    stage.driver.keep = rules
    stage.start(VICTIM, Odd(point="snapshot taken", signal=signal.SIGSTOP, linger=HELD, commit=0.02))
    stage.start(HEIR, Odd(restore=1.0))
    stage.start(THIRD, Odd(restore=30.0))
    stage.place(VICTIM)
    stage.feed()
    stage.stopped(VICTIM)
    stage.lost(VICTIM)
    stage.place(THIRD)
    stage.goes_on(0.5)
    stage.job.signal(VICTIM, signal.SIGCONT)
    stage.goes_on(1.0)
    stage.job.kill(THIRD)
    stage.lost(THIRD)
    stage.place(HEIR)

    assert stage.right is (rules == ALL)


@pytest.mark.chaos
def test_what_a_broker_refuses_for_a_while_arrives_in_order(stage: Stage) -> None:
    """Requests are refused and taken in turns, while others are under way behind them.

    Producers that aren't idempotent got through this too, each time it was tried: one broker takes the requests of a
    connection one by one, and would have to change its mind between two. The explorer shows what the rule is for.
    """
    stage.start(VICTIM, Odd(alone=True))
    stage.start(HEIR)
    stage.place(VICTIM)
    client, edge = clients.admin(stage.job.access), stage.driver.names.edge("counts")
    for number in range(60):
        stage.feed(100)
        _refuse(client, edge, yes=number % 2 == 0)
        stage.driver.step()
    _refuse(client, edge, yes=False)

    assert stage.right


def _refuse(client: Any, topic: str, *, yes: bool) -> None:
    """Have the broker refuse what is sent to a topic, for there are not as many replicas as it wants."""
    entry = ConfigEntry("min.insync.replicas", "2" if yes else "1", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for answer in client.incremental_alter_configs([resource], request_timeout=20).values():
        answer.result(timeout=20)
