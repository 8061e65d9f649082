"""Five minutes of a job with a burst, second by second, as its driver would tell them; and a driver that tells them.

The decisions are those of `switching.decide`, on the fluid of `bursting`; latencies follow from its queue, and the
rest is made by hand. Nothing runs, and it is the same each time.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import random
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

import bursting
import observations
from bursting import NOON, Fluid
from spillway.controllers import acceptance, explain, provisioning, tick
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.switching import decision
from spillway.controllers.switching.measurements import Measurement, Node, Observation
from spillway.controllers.switching.verdicts import Action, Decision
from spillway.model import observation as told
from spillway.model.execution import Policy
from spillway.model.observation import MoveKind
from spillway.model.operators import Paradigm
from spillway.runtime import web
from spillway.runtime.driver.reporting import Board, View
from spillway.runtime.page.serving import Page
from spillway.runtime.web import Paths, Reply, Server

YSB = Path(__file__).parents[2] / "examples/ysb.yaml"
P_D, P_O, BOUND, QUANTILE, PARTITIONS = 24_000.0, 130_000.0, 0.5, 0.99, 8
CALM, BURST = 9_000.0, 61_000.0
BEGINS, ENDS, LENGTH = 110.0, 185.0, 300
HEAD = ("views", "fields", "joined")


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """What is told at one second.

    Attributes:
        seen: by `GET /v1/observation`.
        deciding: now.
        decisions: those that were news, so far.
    """

    seen: told.Observation
    deciding: tick.Decision
    decisions: tuple[dict[str, Any], ...]


def load(at: float) -> float:
    """Records per second at the source."""
    return BURST if BEGINS <= at < ENDS else CALM


def plan() -> messages.Plan:
    """The plan of the example, in two segments."""
    job = acceptance.accept(yaml.safe_load(YSB.read_text())).job
    assert job is not None
    spec = job.spec.model_dump_json(by_alias=True, exclude_none=True)
    segments = (
        messages.Segment("views", HEAD, "5a0c", Paradigm.RECORD, PARTITIONS, 2, 64, (("joined", 0.02),)),
        messages.Segment("counts", ("counts",), "77aa", Paradigm.RECORD, PARTITIONS, 2),
    )
    return messages.Plan(1, 3, spec, PARTITIONS, segments)


@functools.cache
def moments(length: int = LENGTH) -> list[Moment]:
    """The recording."""
    dice = random.Random(7)  # noqa: S311 - a wiggle, no secret
    policy = Policy()
    costs = bursting.costs(interval=0.25, schedule=0.06)
    fluid = Fluid(policy, p_d=P_D, p_o=P_O, costs=costs)
    ages: collections.deque[float] = collections.deque(maxlen=10)
    moves: list[told.Move] = []
    news: list[dict[str, Any]] = []
    found: list[Moment] = []
    switched = 0
    batch: told.Batch | None = None
    for second in range(length):
        rate = load(second) * dice.uniform(0.97, 1.03)
        before, fluid.longest = fluid.paradigm, 0.0
        fluid.run(lambda _, rate=rate: rate, 1.0)  # type: ignore[misc]
        at = fluid.now.timestamp()
        made = _now(fluid, rate, policy)
        for when, switch in fluid.switches[switched:]:
            moves += _moved(NOON.timestamp() + when + bursting.DELAY.total_seconds(), switch)
            news.append({"at": NOON.timestamp() + when, "part": "switching", **explain.data(switch)})
        switched = len(fluid.switches)
        moves = [move for move in moves if move.at <= at + 1]
        if not news or news[-1]["reason"] != str(made.reason):
            news.append({"at": at, "part": "switching", **explain.data(made)})
        in_batches = fluid.paradigm is Paradigm.BATCH
        waited = fluid.longest / P_D if before is Paradigm.RECORD else 0.0
        ages.append(max(waited, _age(fluid, rate)) * dice.uniform(0.9, 1.1))
        if in_batches:
            batch = told.Batch(at - 0.1, round(rate * 0.25), 0.06 + rate * 0.25 / P_O, 250.0, P_O)
        seen = _observation(at, rate, fluid, list(ages), tuple(moves), batch)
        found.append(Moment(seen, _tick(made, in_batches), tuple(news)))
    return found


def _now(fluid: Fluid, rate: float, policy: Policy) -> Decision:
    """What is decided now; the fluid has noted this very measurement, so it counts once."""
    m = Measurement(fluid.now, bursting.TICK, rate, fluid.queue, P_D, fluid.costs, P_O)
    node = Node("views", ("events",), paradigm=fluid.paradigm, selectivity=0.33)
    return decision.decide(Observation((node,), {"views": m}), policy, fluid.history, fluid.now)


def _age(fluid: Fluid, rate: float) -> float:
    if fluid.paradigm is Paradigm.RECORD:
        return 0.014 + fluid.queue / P_D
    return 0.02 + 0.25 + fluid.costs.schedule.total_seconds() + rate * 0.25 / P_O


def _moved(at: float, switch: Decision) -> list[told.Move]:
    to_batch = switch.action is Action.TO_BATCH
    slots = [f"w{number % 2}.0" for number in range(PARTITIONS)]
    return [
        told.Move(
            at + number / 50,
            MoveKind.SWITCH,
            f"views/{number}",
            slots[number] if to_batch else "batch",
            "batch" if to_batch else slots[number],
            21.0 + 3 * number if to_batch else 12.0 + number,
            switch.sentence,
            180.0 + 9 * number if to_batch else 95.0 + 4 * number,
        )
        for number in range(PARTITIONS)
    ]


def _tick(made: Decision, in_batches: bool) -> tick.Decision:
    sentence = "in batches now: views, fields, joined" if in_batches else "hold: the plan was made for this load"
    reason = provisioning.Reason.SWITCHED if in_batches else provisioning.Reason.STEADY
    lost = (explain.Alternative("1 slot", "counts would be busy for 96 % of the time, and 80 % are the most"),)
    provision = provisioning.Provision(reason, sentence, (), lost, None, 2, 2, provisioning.History())
    nothing = cast(Any, None)  # who has which partition is not shown
    return tick.Decision(tick.Reason.HOLD, made, provision, nothing, nothing)


def _observation(
    at: float, rate: float, fluid: Fluid, ages: list[float], moves: tuple[told.Move, ...], batch: told.Batch | None
) -> told.Observation:
    in_batches = fluid.paradigm is Paradigm.BATCH
    done = rate if in_batches or fluid.queue < rate else P_D
    views = done * 0.33
    flows = (("views", done, views, 22.0), ("fields", views, views, 9.0), ("joined", views, views, 24.0))
    operators = tuple(
        told.Operator(name, 0.0, 0.0, 0.0, None) if in_batches else told.Operator(name, came, left, 0.0, micros)
        for name, came, left, micros in flows  # slots count, and Spark has the records
    )
    busy = 0.04 if in_batches else min(1.0, done / P_D)
    segments = (
        told.Segment(
            "views", done, views, round(fluid.queue), busy, PARTITIONS, PARTITIONS, 0,
            operators,
            fluid.paradigm,
            batch,
        ),
        told.Segment(
            "counts", views, views, round(views / 60), views * 14e-6, PARTITIONS, PARTITIONS, 0,
            (told.Operator("counts", views, views, 0.0, 14.0),),
            phases={"queue": 1.62, "cpu": 0.08, "wait": 0.01, "network": 1.41},
        ),
    )  # fmt: skip
    within, p50, p99 = _latency(ages)
    latency = told.Latency(within, p50, p99, views)
    slots = tuple(
        told.Slot(f"w{n}.0", 1, False, False, (busy + views * 14e-6) / 2 + n / 40, 0.3 + n / 20, (92 + n) * 2**20, 8)
        for n in range(2)
    )
    planned = tuple(
        told.PlannedSegment(
            s.name, s.operators, s.paradigm, s.parallelism, s.frame, dict(s.deadlines), s.program, s.partitions
        )
        for s in plan().segments
    )
    return told.Observation(
        told.VERSION, "default/ysb", at, 1, True, 2, told.Plan(3, planned), slots, segments,
        told.Promise(QUANTILE, BOUND * 1e3, within, p50, p99, views, {"result": latency}), rate, 0, 0,
        told.Recommended(2, 2, "Steady", "hold: the plan was made for this load"), moves,
        (
            told.Condition("Accepted", True, "Valid", "The manifest is used as it is written."),
            told.Condition("Leading", True, "Leads", "This driver leads."),
            told.Condition("Assigned", True, "Working", "Every partition that shall has an owner that works."),
        ),
        told.Standby(told.StandbyState.WARM, "", 7.4, 610 * 2**20, 0.9 if in_batches else 0.01),
    )  # fmt: skip


def _latency(ages: list[float]) -> tuple[float, float, float]:
    """Of the last ten seconds, in each of which ages are spread evenly from a third of the largest up."""
    all_of_them = sorted(age * (1 + 2 * step / 20) / 3 for age in ages for step in range(21))
    within = sum(age <= BOUND for age in all_of_them) / len(all_of_them)
    p50, p99 = (all_of_them[int(len(all_of_them) * of)] * 1e3 for of in (0.5, 0.985))
    return within, p50, p99


def unserved(decisions: Callable[[], list[dict[str, Any]]] = list) -> Page:
    """The page of a driver that has just begun, without a server."""
    return Page(Board(View(observations.idle(), log.State(), {}, {}, {}, 0.0)), decisions, lambda: None)


class Teller:
    """A driver's page, and what it asks for, told by hand.

    Attributes:
        address: where it answers, as host:port.
        page: that it serves.
    """

    def __init__(self, server: Server, first: told.Observation) -> None:
        self._state = log.State(leader=1, plans=Frozen({3: plan()}))
        self._board = Board(self._view(first))
        self._decisions: tuple[dict[str, Any], ...] = ()
        self._deciding: tick.Decision | None = None
        self.page = Page(self._board, lambda: self._decisions, lambda: self._deciding)
        self.address = server.address
        gets = {"/v1/observation": self._observation, "/v1/decisions": self._decided, **self.page.gets}
        server.start(Paths(gets))

    def tell(self, *all_of_them: Moment) -> None:
        """These moments, one after the other."""
        for moment in all_of_them:
            self._decisions, self._deciding = moment.decisions, moment.deciding
            self._board.put(self._view(moment.seen))
            self.page.turn()

    def see(self, **changes: Any) -> None:
        """The last observation, with changes, a second later."""
        seen = self._board.view.observation
        self._board.put(self._view(msgspec.structs.replace(seen, at=seen.at + 1, **changes)))
        self.page.turn()

    def _observation(self, *_: str) -> Reply:
        return Reply(HTTPStatus.OK, told.encode(self._board.view.observation))

    def _decided(self, *_: str) -> Reply:
        return web.reply(HTTPStatus.OK, {"version": told.VERSION, "decisions": list(self._decisions)})

    def _view(self, seen: told.Observation) -> View:
        return View(seen, self._state, {}, {}, {}, seen.at)


@contextlib.contextmanager
def telling(first: told.Observation, port: int = 0) -> Iterator[Teller]:
    """A driver that tells this, and whatever `tell` is given, until the block ends."""
    server = Server("127.0.0.1", port, "spillway-driver")
    teller = Teller(server, first)
    try:
        yield teller
    finally:
        teller.page.stop()
        server.stop()
