"""Why a job runs as it does, put together from what its driver tells. Pure.

The driver tells three things apart: how the job is (`Observation`), what is decided now (`Deciding`), and the last
decisions that were news. To that comes what it answers to somebody who would switch a segment (`--dry-run`): nothing
else says of all segments alike whether they could run in the other paradigm, and why not.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from spillway.cli.asking.told import Deciding, Decision
from spillway.cli.planning import sizes
from spillway.controllers import assignment, provisioning, rollout
from spillway.controllers.protocol.values import ENGINE
from spillway.controllers.switching import rules, verdicts
from spillway.local.conditions import WELL
from spillway.model import observation
from spillway.model.observation import Condition, Move, MoveKind, Observation, SwitchAnswer
from spillway.model.operators import Paradigm

# What each part of a driver decides, and the reasons of its decisions that leave everything as it is.
_HOLDS: Mapping[str, frozenset[str]] = {
    "switching": frozenset(verdicts.Reason)
    - {verdicts.Reason.QUEUE_BEYOND_POINT, verdicts.Reason.BURST, verdicts.Reason.BURST_PASSED},
    "provisioning": frozenset(
        {
            provisioning.Reason.STEADY,
            provisioning.Reason.REVIEW,
            provisioning.Reason.LOOKING,
            provisioning.Reason.NO_TELEMETRY,
        }
    ),
    "assignment": frozenset(assignment.Reason) - {assignment.Reason.BALANCED, assignment.Reason.MEMBERS_CHANGED},
    "rollout": frozenset({rollout.Reason.DONE}),
}
PARTS = tuple(_HOLDS)
OTHER = {Paradigm.RECORD: Paradigm.BATCH, Paradigm.BATCH: Paradigm.RECORD}

# Seconds. Partitions have moved within about one of the decision, ten at the most (`switching.decision.PATIENCE`); a
# switch that is much older than a move is not the reason for it.
LATEST = 30.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What one part of the driver has decided.

    Attributes:
        name: of it.
        now: what it decides now; None before it has decided anything.
        since: when it decided that for the first time; None where nobody knows.
        change: the last decision that changed something, if that is another one.
    """

    name: str
    now: Decision | None
    since: float | None
    change: Decision | None


@dataclasses.dataclass(frozen=True, slots=True)
class Numbers:
    """What a switch is decided by, in the symbols of the paper (`controllers.switching`); None is what nobody knows.

    Attributes:
        v: records per second that arrive.
        p_d, p_o: records per second that either paradigm does: record by record, and in batches.
        queue: records that wait.
        switch, up, down: the queue at which both are as fast, beyond which batches take over, and below which record by
            record does.
        interval: of batches, in milliseconds.
    """

    v: float | None
    p_d: float | None
    p_o: float | None
    queue: float | None
    switch: float | None
    up: float | None
    down: float | None
    interval: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Stay:
    """Why a segment runs in the paradigm in which it runs.

    Attributes:
        segment: at work.
        operators: all of them.
        whole: where it is a piece of a program that was split for batches, all operators of that.
        runs: the paradigm.
        since: when the last of its partitions got there; None if that is longer ago than the driver remembers.
        why: as one sentence; empty where nothing was switched.
        verdict: what is thought about it now; None where nothing is.
        numbers: behind that.
        possible: whether somebody could switch it now; None where nobody was asked.
        hindrance: why not.
        better: what would make the other paradigm the better one.
    """

    segment: observation.Segment
    operators: tuple[str, ...]
    whole: tuple[str, ...]
    runs: Paradigm
    since: float | None
    why: str
    verdict: Decision | None
    numbers: Numbers | None
    possible: bool | None
    hindrance: str
    better: str


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """All of it.

    Attributes:
        seen: how the job is.
        parts: what was decided, by part.
        stays: why each segment runs as it does.
        wrong: what somebody should see to.
    """

    seen: Observation
    parts: tuple[Part, ...]
    stays: tuple[Stay, ...]
    wrong: tuple[Condition, ...]


def account(
    seen: Observation, news: Sequence[Decision], deciding: Deciding, answers: Mapping[str, SwitchAnswer]
) -> Account:
    """`news` are the last decisions, the newest last; `answers` what a switch of each segment would come to."""
    wrong = tuple(one for one in seen.conditions if WELL.get(one.type, one.status) is not one.status)
    return Account(seen, tuple(_parts(news, deciding)), tuple(_stays(seen, news, deciding, answers)), wrong)


def operators(seen: Observation) -> dict[str, tuple[str, ...]]:
    """The operators of each segment, as planned."""
    return {one.name: one.operators for one in seen.plan.segments} if seen.plan else {}


def acts(decision: Decision) -> bool:
    """Whether a decision changes something."""
    return decision.reason not in _HOLDS.get(decision.part, frozenset())


def _parts(news: Sequence[Decision], deciding: Deciding) -> Iterator[Part]:
    current = {"switching": deciding.switching, "provisioning": deciding.provisioning}
    for name in PARTS:
        mine = [one for one in news if one.part == name]
        last = mine[-1] if mine else None
        now = current.get(name) or last
        since = last.at if last is not None and now is not None and last.reason == now.reason else None
        changes = [one for one in mine if acts(one) and one.at != since]
        yield Part(name, now, since, changes[-1] if changes else None)


# Segments


def _stays(
    seen: Observation, news: Sequence[Decision], deciding: Deciding, answers: Mapping[str, SwitchAnswer]
) -> Iterator[Stay]:
    of = operators(seen)
    wholes = {one.name: one.whole for one in seen.plan.segments} if seen.plan else {}
    for segment in seen.segments:
        names = of.get(segment.name, (segment.name,))
        since, why = _since(segment, names, seen.moves, news)
        verdict = _verdict(segment, seen.segments, deciding)
        numbers = _numbers(verdict.inputs) if verdict is not None and "L_up" in verdict.inputs else None
        answer = answers.get(segment.name)
        possible = None if answer is None else bool(answer.operators)
        yield Stay(
            segment, names, wholes.get(segment.name, ()), segment.paradigm, since, why, verdict, numbers,
            possible, "" if answer is None or possible else answer.sentence,
            _better(segment.paradigm, numbers) if numbers is not None else "",
        )  # fmt: skip


def _since(
    segment: observation.Segment, names: Iterable[str], moves: Iterable[Move], news: Sequence[Decision]
) -> tuple[float | None, str]:
    """When the last partition of a segment came to where it is, and why: the decision if there was one."""
    into_batches = segment.paradigm is Paradigm.BATCH
    switches = [m for m in moves if m.kind is MoveKind.SWITCH and m.partition.rpartition("/")[0] == segment.name]
    there = [move for move in switches if (move.target == ENGINE) is into_batches]
    if not there:
        return None, ""
    last = there[-1]
    for decision in reversed(news):
        mine = decision.to == segment.paradigm and not set(names).isdisjoint(decision.operators)
        if mine and 0 <= last.at - decision.at <= LATEST:
            return last.at, decision.sentence
    return last.at, last.reason


def _verdict(
    segment: observation.Segment, others: Sequence[observation.Segment], deciding: Deciding
) -> Decision | None:
    """What is thought of a segment. A range in batches has one verdict for all of its segments."""
    told = deciding.switching.verdicts if deciding.switching is not None else ()
    if (mine := next((one for one in told if one.point == segment.name), None)) is not None:
        return mine
    if segment.paradigm is not Paradigm.BATCH:
        return None
    batched = {other.name for other in others if other.paradigm is Paradigm.BATCH}
    of_ranges = [one for one in told if one.point in batched]
    return of_ranges[0] if len(of_ranges) == 1 else None


def _numbers(inputs: Mapping[str, str]) -> Numbers:
    def number(name: str) -> float | None:
        found = _NUMBER.match(inputs.get(name, ""))
        return float(found[0]) if found else None

    return Numbers(*(number(name) for name in ("V", "P_D", "P_O", "L", "L_switch", "L_up", "L_down", "T")))


def _better(runs: Paradigm, n: Numbers) -> str:
    """What would make the other paradigm the better one: the rules of `switching.rules`, with the numbers of now."""
    if n.v is None or n.p_d is None or n.up is None or n.down is None or n.queue is None:
        return ""
    does, waiting = sizes.rate(n.p_d), f"now {records(n.queue)}"
    if runs is Paradigm.BATCH:
        pause = rules.CALM.total_seconds()
        return (
            f"record by record takes over again once its {does} (P_D) leave room for what arrives, and fewer than"
            f" {records(n.down)} wait as a backlog (L_down), both for {pause:.0f} s or longer"
        )
    if n.p_o is None:
        return (
            f"nobody has measured yet how fast batches are (P_O), so none take over; at the least"
            f" {records(n.up)} records would have to wait (L_up; {waiting})"
        )
    fast = sizes.rate(n.p_o)
    if n.p_o <= n.p_d * rules.GAIN:
        return (
            f"batches would not help, however long the queue: they do {fast} (P_O), no more than {rules.GAIN:g} times"
            f" the {does} record by record (P_D)"
        )
    if n.p_o <= n.v:
        return f"batches would not help: they do {fast} (P_O), and {sizes.rate(n.v)} arrive (V)"
    return (
        f"batches take over when more than {records(n.up)} records wait (L_up; {waiting}), or when so much more than"
        f" {does} (P_D) comes that they will before a first batch is done"
    )


def records(count: float) -> str:
    """So many: `64 611`."""
    return f"{count:,.0f}".replace(",", " ")
