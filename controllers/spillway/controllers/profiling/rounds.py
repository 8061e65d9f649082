"""What was tried, what came of it, and why: rounds, and the state that they leave behind."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from spillway.controllers.explain import Alternative, Inputs, Reasons
from spillway.controllers.profiling.application import Application
from spillway.controllers.profiling.features import Features
from spillway.controllers.profiling.measurement import Deployment, Measurement

VERSION = 1  # of a state as it is stored


class Step(enum.StrEnum):
    """Where profiling is."""

    FEATURES = "features"
    CAPABILITY = "capability"
    CAPACITY = "capacity"


class Change(enum.StrEnum):
    """What a deployment has that the best one before it had not."""

    LIGHT = "light load"
    START = "start"
    SOURCES = "sources"
    SINKS = "operators behind the sources"
    BOTH = "sources and operators"
    TURN = "the others' turn"
    HALF = "half of the last step"
    SETTLED = "what that throughput needs"
    OPERATOR = "narrowest operator"
    THROTTLE = "throttle"


class Reason(Reasons):
    """What came of a round, and why profiling ended."""

    TOO_HEAVY = "TooHeavy", "The light load was not light: an operator was busy. It is measured again with less."
    LEARNT = "Learnt", "What operators cost undisturbed is known for these frames."
    FIRST = "First", "The first deployment under full load: all others are compared with it."
    GREW = "Grew", "Throughput is significantly higher: the deployment is kept."
    FLAT = "Flat", "Throughput did not change significantly: the deployment is not kept."
    LEANER = "Leaner", "Throughput did not change significantly with fewer tasks: the deployment is kept."
    FELL = "Fell", "Throughput is significantly lower: the deployment is not kept."
    KEPT_BOUND = "KeptBound", "With the sources throttled, the latency is within its bound."
    MISSED_BOUND = "MissedBound", "Even with the sources throttled so far, the latency is beyond its bound."
    UNREADABLE = "Unreadable", "What was measured makes no sense; it is measured again."
    SCALED = "Scaled", "Every operator takes records nearly as fast as undisturbed: more tasks have nothing to do."
    NO_GAIN = "NoGain", "No operator is so much narrower than all others that more of its tasks would help."
    REVOKED = "Revoked", "Two changes in a row had to be taken back."
    THROTTLED = "Throttled", "Nothing more can be gained, and with the sources throttled the latency is kept."
    TOO_SLOW = "TooSlow", "The bound of the latency can't be kept, however few records come."
    NO_ROUNDS = "NoRounds", "As many rounds as allowed are done; the best of them is the result."
    NO_DATA = "NoData", "Nothing sensible could be measured, again and again."
    INVALID = "Invalid", "What was asked for makes no sense; the sentence says what."


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How to profile. Values are those of Table 2 in SWP where it has one.

    Attributes:
        bound: Y_con, seconds that a record may take from source to the end.
        tasks: all tasks together, at the most; None when nothing limits them.
        slice: unit of the task load. Smaller: ratios are finer, and the first deployment is larger.
        nearness: k. All latencies within k·MinLp end step 3. Larger: it ends sooner, with less found.
        alpha: below this share of the best throughput a change is taken back before anything else is tried.
        significance: of the t-test. Larger: noise passes for change more often.
        worth: share of the throughput below which a change is none, whatever the t-test says. The same deployment
            measured twice differs by up to 3 % (SWP, 6.1.2); the t-test only sees what varies within one measurement.
        light: records per second of the first load. Whatever it is, it is lowered until no operator is busy.
        seconds: of one measurement.
        frames: sizes of frames to tell cpu, fetch and emit apart with; three suffice, and each is a light round more.
        rounds: deployments at the most, under full load.
        attempts: measurements of one deployment before it is given up.
    """

    bound: float
    tasks: int | None = None
    slice: float = 0.3
    nearness: float = 2.0
    alpha: float = 0.9
    significance: float = 0.05
    worth: float = 0.03
    light: float = 10.0
    seconds: float = 60.0
    frames: tuple[int, ...] = ()
    rounds: int = 20
    attempts: int = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """What to deploy next.

    Attributes:
        step: which step of profiling asks for it.
        change: what it differs in.
        deployment: all of it.
        aim: throughput that it is to reach, in records per second; 0 where none is known.
        growth: the aim in parts of the throughput that it came from.
        enhanced: operators that have more tasks than in the best deployment.
        lost: what could have been changed instead, and why it was not.
    """

    step: Step
    change: Change
    deployment: Deployment
    aim: float = 0.0
    growth: float = 1.0
    enhanced: tuple[str, ...] = ()
    lost: tuple[Alternative, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """Profiling is over."""

    reason: Reason
    sentence: str
    lost: tuple[Alternative, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """One deployment, what was measured of it, and what followed.

    Attributes:
        number: from 1; light loads count as well.
        move: what was deployed, and for what.
        measurement: what came of it; None when nothing sensible did.
        kept: whether it is the best one now.
        reason: why kept or not.
        sentence: the same with its numbers, and what is next.
        inputs: what was looked at.
        alternatives: what could have been next, and why it isn't.
    """

    number: int
    move: Move
    measurement: Measurement | None
    kept: bool
    reason: Reason
    sentence: str
    inputs: Inputs
    alternatives: tuple[Alternative, ...]

    @property
    def stressed(self) -> bool:
        """Whether it was a round of steps 2 or 3."""
        return self.move.step is not Step.FEATURES


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """All that profiling knows; stored and loaded again, it goes on as if nothing had happened.

    Attributes:
        application: what is profiled.
        settings: how.
        move: what runs, or is to.
        deployed: whether it runs already.
        misses: measurements of it that made no sense.
        rounds: what was done.
        features: what step 1 found.
        best: number of the round with the best throughput; 0 before there is one.
        ended: why it is over, once it is.
    """

    application: Application
    settings: Settings
    move: Move
    deployed: bool = False
    misses: int = 0
    rounds: tuple[Round, ...] = ()
    features: Features | None = None
    best: int = 0
    ended: End | None = None

    @property
    def stressed(self) -> int:
        """How many deployments were measured under full load."""
        return sum(done.stressed and done.measurement is not None for done in self.rounds)

    def measured_best(self) -> Measurement:
        """What was measured of the best deployment; only asked for once there is one."""
        found = self.rounds[self.best - 1].measurement if self.best else None
        if found is None:
            message = "no deployment was measured under full load yet"
            raise LookupError(message)
        return found

    @property
    def revoked(self) -> tuple[Round, ...]:
        """The changes that were taken back since the best deployment."""
        after = self.rounds[self.best :] if self.best else ()
        return tuple(done for done in after if done.reason in (Reason.FLAT, Reason.FELL))

    @property
    def growing(self) -> tuple[str, ...]:
        """Operators that step 2 scales: the sources, and those that R has a number for."""
        scaled = self.features.ratio if self.features else {}
        return tuple(o.name for o in self.application.operators if not o.inputs or o.name in scaled)

    def capacities(self, measurement: Measurement, tasks: Mapping[str, int]) -> dict[str, float]:
        """Eq. 2 for every operator."""
        return {o.name: measurement.operators[o.name].capacity(tasks[o.name]) for o in self.application.operators}
