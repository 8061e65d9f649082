"""One tick: what speaks for it, that each part has its reason, and that too little telemetry changes nothing."""

from __future__ import annotations

import dataclasses
import datetime
import json

from spillway.controllers import assignment, explain, provisioning, tick
from spillway.controllers.balancing import Slot
from spillway.controllers.costmodel.flow import Costs, Flow, Node
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning.problem import Problem, Promise, Room, Traits
from spillway.controllers.protocol.values import Partition
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Measurement
from spillway.controllers.tick import Decision, History, Observation, Reason
from spillway.model.execution import Mode, Policy
from spillway.model.operators import Paradigm

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
TICK = datetime.timedelta(milliseconds=200)
CALM, BURST = 20_000.0, 90_000.0
CAPACITY = 30_000.0  # P_D of the two slots that there are
PROBLEM = Problem(
    Flow(
        [
            Node.operator("events", (), Costs(1e-6, 0, 1e-6, 1, 100)),
            Node.operator("words", ("events",), Costs(5e-5, 7e-6, 3e-6, 8, 20)),
        ]
    ),
    {"events": 0.0},
    Promise(0.5, 0.99),
    Room(20, 4),
    traits={"words": Traits(speedup=4.0)},
    headroom=0.2,
    hop=Moments(0.001, 1e-6),
    schedule=Moments(0.05, 1e-4),
)
COSTS = measurements.Costs(TICK, datetime.timedelta(milliseconds=50))
PARTITIONS = {Partition("words", n): 0.1 for n in range(8)}


def _observed(
    rate: float,
    now: datetime.datetime,
    *,
    queue: float = 10.0,
    paradigm: Paradigm = Paradigm.RECORD,
    current: dict[Partition, Slot] | None = None,
) -> Observation:
    nodes = (
        measurements.Node("events", selectivity=1.0, batchable=False),
        measurements.Node("words", ("events",), paradigm=paradigm, selectivity=8.0),
    )
    measured = {
        "events": Measurement(now, TICK, rate, 0.0, 500_000, COSTS),
        "words": Measurement(now, TICK, rate, queue, CAPACITY, COSTS, 4 * CAPACITY),
    }
    return Observation(
        measurements.Observation(nodes, measured),
        {"events": Arrivals(now, TICK, rate)},
        dict(PARTITIONS),
        assignment.slots(2, 1),
        _owned() if current is None else current,
    )


def _owned() -> dict[Partition, Slot]:
    return dict(assignment.decide(PARTITIONS, assignment.slots(2, 1), {}).owners)


def _run(rate: float, ticks: int, history: History, start: int = 0, policy: Policy = Policy()) -> Decision:  # noqa: B008
    for n in range(start, start + ticks):
        now = NOON + n * TICK
        decision = tick.decide(_observed(rate, now), PROBLEM, policy, history, now)
        history = decision.history
    return decision


def test_a_calm_job_is_planned_once_and_then_left_alone() -> None:
    first = _run(CALM, 1, History())
    later = _run(CALM, 30, first.history, 1)

    assert first.reason is Reason.PLAN
    assert later.reason is Reason.HOLD
    assert later.provision.plan is first.provision.plan
    assert later.assignment.moves == ()


def test_a_burst_switches_at_once_and_is_planned_for_as_soon_as_its_size_is_known() -> None:
    calm = _run(CALM, 40, History())
    found = _run(BURST, 1, calm.history, 40)

    assert found.reason is Reason.SWITCH
    assert found.switch.operators == ("words",)
    assert found.history.visiting == {"words"}
    assert "to batches: words" in found.sentence
    assert found.provision.reason is provisioning.Reason.LOOKING
    known = _run(BURST, 8, found.history, 41)
    assert known.provision.reason is provisioning.Reason.LOAD_ROSE
    assert sum(_asked(known)) > sum(_asked(calm))


def _asked(decision: Decision) -> tuple[int, int]:
    return decision.provision.slots or 0, decision.provision.cores or 0


def test_with_advice_only_nothing_is_remembered_as_switched() -> None:
    policy = Policy(mode=Mode.ADVISE)
    calm = _run(CALM, 40, History(), policy=policy)
    found = _run(BURST, 1, calm.history, 40, policy)

    assert found.history.visiting == frozenset()
    assert found.switch.action == "Advise"


def test_partitions_without_an_owner_get_one_at_once_and_those_that_only_weigh_wait_for_their_turn() -> None:
    calm = _run(CALM, 10, History())
    now = NOON + 10 * TICK
    lost = {p: slot for p, slot in _owned().items() if p.number != 3}
    found = tick.decide(_observed(CALM, now, current=lost), PROBLEM, Policy(), calm.history, now)
    assert found.reason is Reason.MOVE
    assert [move.partition for move in found.assignment.moves] == [Partition("words", 3)]

    heavy, moved, history = dict.fromkeys(PARTITIONS, Slot(0, 0)), [], calm.history
    for _ in range(100):
        made = tick.decide(_observed(CALM, now, current=heavy), PROBLEM, Policy(), history, now)
        moved += [now] if made.assignment.moves else []
        history, now = made.history, now + TICK
    lasting = -(-tick.LASTING // TICK)
    assert [(at - NOON) // TICK - 10 for at in moved] == [lasting, lasting + tick.EVEN // TICK + lasting]


def test_nothing_moves_for_loads_that_are_uneven_while_they_begin() -> None:
    calm = _run(CALM, 10, History())
    history, uneven = calm.history, dict.fromkeys(PARTITIONS, Slot(0, 0))
    for n in range(10, 40):
        # Half of the time it looks uneven, each time for less than it takes to be sure.
        now, current = NOON + n * TICK, uneven if n // 10 % 2 else _owned()
        made = tick.decide(_observed(CALM, now, current=current), PROBLEM, Policy(), history, now)
        assert not made.assignment.moves
        history = made.history


def test_a_slot_that_joins_after_others_does_not_wait_for_its_share() -> None:
    calm = _run(CALM, 10, History())
    now = NOON + 10 * TICK
    first = dataclasses.replace(calm.history, evened=now)
    more = dataclasses.replace(_observed(CALM, now), owners=assignment.slots(3, 1))
    found = tick.decide(more, PROBLEM, Policy(), first, now)
    again = tick.decide(more, PROBLEM, Policy(), found.history, now + TICK)

    assert {move.target for move in found.assignment.moves} == {Slot(2, 0)}
    assert not again.assignment.moves or again.history.evened == found.history.evened


def test_what_is_planned_for_slots_alone_is_planned_so_while_batches_have_it() -> None:
    problem = dataclasses.replace(
        PROBLEM, traits={"words": Traits(pinned=Paradigm.RECORD, batchable=False)}, room=Room(20, 0), schedule=None
    )
    history = History()
    for n in range(10):
        now = NOON + n * TICK
        observed = _observed(CALM, now, paradigm=Paradigm.BATCH, queue=1e6)
        decision = tick.decide(observed, problem, Policy(), history, now)
        history = decision.history
    assert decision.provision.slots is not None


def test_silence_changes_nothing_and_asks_for_nothing() -> None:
    calm = _run(CALM, 20, History())
    now = NOON + 40 * TICK
    old = _observed(CALM, NOON + 19 * TICK)
    found = tick.decide(old, PROBLEM, Policy(), calm.history, now)

    assert found.reason is Reason.HOLD
    assert found.provision.slots is None
    assert found.sentence == "hold: no telemetry from `events` for 4 s"


def test_every_part_says_why_as_data() -> None:
    found = _run(CALM, 3, History())

    for part in found.parts:
        assert json.loads(json.dumps(explain.data(part)))["reason"] == part.reason
        assert explain.told(part)


def test_the_same_arguments_give_the_same_decision() -> None:
    calm = _run(CALM, 30, History())
    now = NOON + 30 * TICK
    observed = _observed(BURST, now)
    shuffled = dataclasses.replace(
        observed, loads=dict(list(observed.loads.items())[::-1]), owners=observed.owners[::-1]
    )

    assert tick.decide(observed, PROBLEM, Policy(), calm.history, now) == tick.decide(
        shuffled, PROBLEM, Policy(), calm.history, now
    )
