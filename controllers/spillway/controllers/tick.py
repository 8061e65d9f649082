"""One tick of a driver, every 100 to 250 ms: from what was observed to what should be, with every reason.

    switching     which range of operators changes its paradigm     at once: a burst can't wait for a plan
    provisioning  which plan holds, and how much it asks for        when load, paradigms or costs have changed
    assignment    which owner gets which partitions                 when slots came or went, else every `EVEN`

`sizing` makes an action of what is asked for; it belongs to whoever can start and stop pods or processes.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping

from spillway.controllers import assignment, provisioning
from spillway.controllers.assignment import Assignment, Owner
from spillway.controllers.balancing import Slot
from spillway.controllers.explain import Alternative, Explained, Inputs, Reasons
from spillway.controllers.planning.problem import Problem
from spillway.controllers.protocol.values import Partition
from spillway.controllers.provisioning import Arrivals, Backlog, Provision, Running
from spillway.controllers.switching import decision as switches
from spillway.controllers.switching import measurements, verdicts
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

# Moves to even out loads; each pauses a partition for some milliseconds. Loads are averages over seconds, so sooner
# would be to follow noise. Later: a hot partition is left with others for longer.
EVEN = datetime.timedelta(seconds=10)
# How long loads have to be uneven before anything moves for it. They are averages over 2 s, and slots report in turn,
# each 0.25 s: when a load begins or ends, who told of it last looks up to twice as busy as who told before. Shorter:
# partitions move for that, and stay where they should not be until `EVEN` is over.
LASTING = datetime.timedelta(seconds=2.5)


class Reason(Reasons):
    """What a tick is about, in the order in which one of several things speaks for it."""

    SWITCH = "Switch", "A range of operators changes its paradigm."
    PLAN = "Plan", "The job was planned anew."
    MOVE = "Move", "Partitions get other owners."
    REFUSE = "Refuse", "Something is wrong, and what would be done about it is not possible or not allowed."
    HOLD = "Hold", "Everything stays as it is."


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """What was measured.

    Attributes:
        operators: how operators run, and what was measured in front of segments.
        arrivals: by source.
        loads: by partition, what share of a slot it takes; None where that is not known.
        owners: the slots that there are.
        current: who owns what now.
    """

    operators: measurements.Observation
    arrivals: Mapping[str, Arrivals | None]
    loads: Mapping[Partition, float | None]
    owners: tuple[Owner, ...]
    current: Mapping[Partition, Slot]


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """What is remembered between ticks.

    `visiting` are operators that went to batches for a burst; `slots` those that there were; `uneven` since when
    partitions would have moved for the balance.
    """

    switching: verdicts.History = dataclasses.field(default_factory=verdicts.History)
    provisioning: provisioning.History = dataclasses.field(default_factory=provisioning.History)
    visiting: frozenset[str] = frozenset()
    evened: datetime.datetime | None = None
    uneven: datetime.datetime | None = None
    slots: frozenset[Slot] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """All that a tick decides; why it does is told by the part that `reason` names, and by all of them in `parts`."""

    reason: Reason
    switch: verdicts.Decision
    provision: Provision
    assignment: Assignment
    history: History

    @property
    def parts(self) -> tuple[Explained, ...]:
        """Every part has its own reason."""
        return self.switch, self.provision, self.assignment

    @property
    def sentence(self) -> str:
        """Why, with the numbers of this case."""
        return self._speaker.sentence

    @property
    def inputs(self) -> Inputs:
        """What it looked at."""
        return self._speaker.inputs

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What lost, and why."""
        return self._speaker.alternatives

    @property
    def _speaker(self) -> Explained:
        speakers: dict[Reason, Explained] = {Reason.PLAN: self.provision, Reason.MOVE: self.assignment}
        return speakers.get(self.reason, self.switch)


def decide(
    observation: Observation, problem: Problem, policy: Policy, history: History, now: datetime.datetime
) -> Decision:
    """What should change now. Never raises for what was measured, and changes nothing where too little was."""
    switch = switches.decide(observation.operators, policy, history.switching, now)
    visiting = _visiting(switch, history.visiting)
    provision = provisioning.decide(
        problem,
        observation.arrivals,
        _backlogs(observation.operators),
        _running(observation.operators, problem, visiting, switch.history),
        policy,
        history.provisioning,
        now,
    )
    assigned, evened, uneven = _assignment(observation, history, now)
    slots = frozenset(owner.slot for owner in observation.owners)
    history = History(switch.history, provision.history, visiting, evened, uneven, slots)
    return Decision(_reason(switch, provision, assigned), switch, provision, assigned, history)


def _visiting(switch: verdicts.Decision, before: frozenset[str]) -> frozenset[str]:
    """Who is in batches for a burst, once this switch is done."""
    if switch.action is verdicts.Action.TO_BATCH:
        return before | set(switch.operators)
    return before - set(switch.operators) if switch.action is verdicts.Action.TO_RECORD else before


def _backlogs(operators: measurements.Observation) -> list[Backlog]:
    return [Backlog(name, measured.queue) for name, measured in sorted(operators.measured.items())]


def _running(
    operators: measurements.Observation, problem: Problem, visiting: frozenset[str], history: verdicts.History
) -> Running:
    """How the job runs; a switch counts once all of its operators have got there.

    Operators that are planned for slots alone are planned so while they are in batches, too: they come back.
    """
    nodes, last = operators.by_name, history.last
    alone = {name for name, traits in problem.traits.items() if not traits.batchable}
    batches = frozenset(n for n, node in nodes.items() if node.paradigm is Paradigm.BATCH and n not in alone)
    done = last is not None and all(nodes[name].paradigm is last.to for name in last.operators if name in nodes)
    return Running(batches, visiting, last.at if last is not None and done else None)


def _assignment(
    observation: Observation, history: History, now: datetime.datetime
) -> tuple[Assignment, datetime.datetime | None, datetime.datetime | None]:
    """Who owns what, when partitions moved for the balance last, and since when they would have.

    They wait until the last ones are `EVEN` ago, and loads have been uneven for as long as `LASTING`; not where a slot
    has joined. Slots of one resize join one after the other: who is a moment later would have nothing to do for ten
    seconds.
    """
    if any(owner.slot not in history.slots for owner in observation.owners):
        found = _assigned(observation, assignment.MARGIN)
        return found, now if found.moves else history.evened, None
    if history.evened is not None and datetime.timedelta(0) <= now - history.evened < EVEN:
        return _assigned(observation, assignment.NEVER), history.evened, None
    found = _assigned(observation, assignment.MARGIN)
    if not any(move.reason is assignment.MoveReason.BALANCE for move in found.moves):
        return found, now if found.moves else history.evened, None
    since = history.uneven or now
    if datetime.timedelta(0) <= now - since < LASTING:
        return _assigned(observation, assignment.NEVER), history.evened, since
    return found, now, None


def _assigned(observation: Observation, margin: float) -> Assignment:
    return assignment.decide(observation.loads, observation.owners, observation.current, margin)


def _reason(switch: verdicts.Decision, provision: Provision, assigned: Assignment) -> Reason:
    """The first of `Reason` that is the case."""
    if switch.operators:
        return Reason.SWITCH
    quiet = (provisioning.Reason.STEADY, provisioning.Reason.REVIEW, provisioning.Reason.NO_TELEMETRY)
    if provision.reason not in quiet:
        return Reason.PLAN
    if assigned.moves:
        return Reason.MOVE
    return Reason.REFUSE if switch.action is verdicts.Action.REFUSE else Reason.HOLD
