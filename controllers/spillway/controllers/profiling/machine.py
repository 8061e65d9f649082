"""Stepwise profiling as a state machine: it says what to deploy and what to measure, and never does it.

    state = begin(application, settings)
    next_step(state)               what to do: Deploy, Measure or Finished
    deployed(state)                that is done
    observe(state, measurement)    what came of it; None when nothing could be measured

A state is all that it knows, so a profile can stop after any of these, be stored (`stored`), and go on elsewhere. It
ends: light rounds, rounds under full load, and measurements of one deployment all have a limit.

After a measurement, in this order:

1. One that makes no sense is repeated, a few times (`Settings.attempts`), and then profiling ends.
2. A light round leads to the next one, or to step 2.
3. A round under full load is judged (`judgement`): it leads to the next deployment, or to the end.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import Protocol

from spillway.controllers.explain import Alternative
from spillway.controllers.profiling import capability, features, judgement, measurement
from spillway.controllers.profiling.application import Application
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.rounds import Change, End, Move, Reason, Round, Settings, State, Step

# Of a task's time in step 1. Queues and cores are no matter at that; a load that is a tenth of it is lighter still.
LIGHT, LIGHTER = 0.3, 0.1
LIGHT_ROUNDS = 4  # until the load is light; each divides it by what is needed, so two nearly always do


@dataclasses.dataclass(frozen=True, slots=True)
class Deploy:
    """Run this, then say `deployed`."""

    deployment: Deployment


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """Measure what runs for so many seconds, then `observe`."""

    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class Finished:
    """Profiling is over. The deployment is the one to keep; None when nothing was ever measured under full load.

    Attributes:
        deployment: tasks, and the rate that sources are to be held to, if any.
        throughput: what it does, in records per second.
        latency: seconds that a record takes.
        reason: why it is over.
        sentence: the same with numbers.
        rounds: all that was done.
    """

    deployment: Deployment | None
    throughput: float
    latency: float
    reason: Reason
    sentence: str
    rounds: tuple[Round, ...]


class Platform(Protocol):
    """What runs deployments: the port of profiling."""

    def deploy(self, deployment: Deployment) -> None:
        """Run this from now on, and wait until it is steady. Doing it twice does no harm."""

    def measure(self, seconds: float) -> Measurement | None:
        """What it does, for so many seconds; None when that can't be told."""


def begin(application: Application, settings: Settings) -> State:
    """Profiling from nothing."""
    move = Move(Step.FEATURES, Change.LIGHT, _light(application, settings, 0, settings.light))
    state = State(application, settings, move)
    problem = _problem(application, settings)
    return dataclasses.replace(state, ended=End(Reason.INVALID, problem)) if problem else state


def next_step(state: State) -> Deploy | Measure | Finished:
    """What to do now; the same answer until `deployed` or `observe` says that it is done."""
    if state.ended is None:
        return Measure(state.settings.seconds) if state.deployed else Deploy(state.move.deployment)
    chosen = result(state)
    ended, rounds = state.ended, state.rounds
    if chosen is None or chosen.measurement is None:
        return Finished(None, 0.0, 0.0, ended.reason, ended.sentence, rounds)
    measured = chosen.measurement
    return Finished(chosen.move.deployment, measured.rate, measured.took, ended.reason, ended.sentence, rounds)


def result(state: State) -> Round | None:
    """The round whose deployment is to be kept: throttled when the best one had to be, and else the best one."""
    held = [
        done
        for done in state.rounds
        if done.move.change is Change.THROTTLE and done.number > state.best and done.measurement
    ]
    return held[-1] if held else state.rounds[state.best - 1] if state.best else None


def deployed(state: State) -> State:
    """What `next_step` asked for runs now."""
    return dataclasses.replace(state, deployed=True)


def lost(state: State) -> State:
    """The platform was restarted: what ran must be deployed again."""
    return dataclasses.replace(state, deployed=False)


def observe(state: State, measured: Measurement | None) -> State:
    """What follows from a measurement; the rules are in the docstring of the module. Never raises for what it gets."""
    if state.ended is not None:
        return state
    if wrong := measurement.wrong(measured, state.application, state.move.deployment.tasks):
        return _unreadable(state, wrong)
    assert measured is not None  # noqa: S101 - `wrong` says so of None
    if measured.stopped and not state.best:
        return _unreadable(state, "nothing came through")
    if state.move.step is Step.FEATURES:
        return _learn(state, measured)
    return _judge(state, measured)


def run(
    platform: Platform,
    state: State,
    on_round: Callable[[Round], None] | None = None,
    on_state: Callable[[State], None] | None = None,
) -> State:
    """Go on until it is over. Here, and nowhere else, something is really done.

    `on_round` hears of every round, and `on_state` gets what is known after each, to be stored.
    """
    while not isinstance(step := next_step(state), Finished):
        if isinstance(step, Deploy):
            platform.deploy(step.deployment)
            state = deployed(state)
            continue
        before = len(state.rounds)
        state = observe(state, platform.measure(step.seconds))
        for done in state.rounds[before:]:
            if on_round is not None:
                on_round(done)
        if on_state is not None:
            on_state(state)
    return state


def _problem(application: Application, settings: Settings) -> str:
    """What makes profiling pointless, or nothing."""
    needed, numbers = len(application.operators), dataclasses.astuple(settings)
    if not application.sources:
        return "there is no source, so nothing can be measured"
    if any(isinstance(number, float) and not 0 < number < float("inf") for number in numbers):
        return "every setting is a number above 0"
    if none := [operator.name for operator in application.operators if operator.limit < 1]:
        return f"operator {none[0]!r} may have no task at all; allow 1 or more"
    if settings.tasks is not None and settings.tasks < needed:
        return f"{settings.tasks} tasks are allowed, and {needed} operators need one each; allow {needed} or more"
    if min(settings.rounds, settings.attempts, *settings.frames, 1) < 1:
        return "rounds, attempts and sizes of frames are whole numbers from 1"
    return ""


def _light(application: Application, settings: Settings, turn: int, rate: float) -> Deployment:
    """A light load on one task each.

    With frames f_0 … f_k-1, the operator at level l sends frames of f_(l+turn mod k) records: in k turns every operator
    sends each size once, and gets another size than it sends, without which fetch and emit are one number.
    """
    frames: dict[str, int] = {}
    levels: dict[str, int] = {}
    for operator in application.operators:
        levels[operator.name] = 1 + max((levels[name] for name in operator.inputs), default=-1)
        if settings.frames:
            frames[operator.name] = settings.frames[(levels[operator.name] + turn) % len(settings.frames)]
    return Deployment({operator.name: 1 for operator in application.operators}, rate, frames)


def _unreadable(state: State, wrong: str) -> State:
    """Rule 1."""
    misses, most = state.misses + 1, state.settings.attempts
    sentence = f"{wrong}; that was attempt {misses} of {most}"
    state = _noted(state, None, Reason.UNREADABLE, sentence, kept=False)
    if misses < most:
        return dataclasses.replace(state, misses=misses)
    return _ended(state, End(Reason.NO_DATA, f"{most} measurements of the same deployment made no sense: {wrong}"))


def _learn(state: State, measured: Measurement) -> State:
    """Rule 2. The last light rounds, one for each size of frames, are those that count."""
    settings, deployment = state.settings, state.move.deployment
    light = [done for done in state.rounds if done.measurement]
    capacities = state.capacities(measured, deployment.tasks)
    busiest = max(capacities, key=lambda name: (capacities[name], name))
    rate = deployment.rate or settings.light
    heavy = sum(done.reason is Reason.TOO_HEAVY for done in light)
    if capacities[busiest] > LIGHT and heavy < LIGHT_ROUNDS:
        # A task that is busy all the time doesn't get on with what was asked for: its share is of what it did.
        lighter = min(rate, measured.rate) * LIGHTER / capacities[busiest]
        sentence = f"{busiest} was busy {capacities[busiest]:.0%} of its time; next: {lighter:.4g} records/s"
        state = _noted(state, measured, Reason.TOO_HEAVY, sentence, kept=False)
        return _moved(state, Move(Step.FEATURES, Change.LIGHT, dataclasses.replace(deployment, rate=lighter)))
    learnt = [done.measurement for done in light if done.reason is Reason.LEARNT and done.measurement] + [measured]
    if len(learnt) < len(settings.frames):
        sizes = ", ".join(f"{name} {size}" for name, size in deployment.frames.items())
        state = _noted(state, measured, Reason.LEARNT, f"measured with frames {sizes}; next: other frames", kept=False)
        return _moved(state, Move(Step.FEATURES, Change.LIGHT, _light(state.application, settings, len(learnt), rate)))
    names = [operator.name for operator in state.application.operators]
    latency = {name: statistics.fmean(one.operators[name].processing for one in learnt) for name in names}
    sent = {name: statistics.fmean(one.operators[name].rate_out for one in learnt) for name in names}
    found = features.find(state.application, latency, sent, settings.slice)
    move = capability.start(state, found.tasks(state.application))
    ratio = ", ".join(f"{name} {part}" for name, part in found.ratio.items()) or "nothing to scale"
    state = _noted(state, measured, Reason.LEARNT, f"ratio of tasks: {ratio}; next: {move.deployment}", kept=False)
    return _moved(dataclasses.replace(state, features=found), move)


def _judge(state: State, measured: Measurement) -> State:
    """Rule 3: the round is noted, and the state moves on or ends."""
    reason, said = judgement.judged(state, measured)
    kept = reason in judgement.KEPT
    number, other = len(state.rounds) + 1, judgement.loser(state, measured, reason)
    state = dataclasses.replace(state, best=number if kept else state.best)
    draft = _noted(state, measured, reason, said, kept=kept)
    after = judgement.follows(draft, draft.rounds[-1])
    if isinstance(after, Move) and draft.stressed >= state.settings.rounds:
        after = End(Reason.NO_ROUNDS, f"{draft.stressed} rounds are done, and no more are allowed")
    told = after.sentence if isinstance(after, End) else f"{after.change}: {after.deployment}"
    state = _noted(state, measured, reason, f"{said}; next: {told}", kept=kept, alternatives=(*other, *after.lost))
    return _ended(state, after) if isinstance(after, End) else _moved(state, after)


def _noted(
    state: State,
    measured: Measurement | None,
    reason: Reason,
    sentence: str,
    *,
    kept: bool,
    alternatives: tuple[Alternative, ...] = (),
) -> State:
    """The state with one more round."""
    inputs = [("deployed", str(state.move.deployment)), ("change", str(state.move.change))]
    if state.move.aim:
        inputs.append(("aim", f"{state.move.aim:.4g} records/s"))
    if measured is not None:
        busy = state.capacities(measured, state.move.deployment.tasks)
        inputs.append(("throughput", f"{measured.rate:.4g} records/s"))
        inputs.append(
            (
                "latency",
                f"{judgement.milliseconds(measured.took)}, bound {judgement.milliseconds(state.settings.bound)}",
            )
        )
        inputs.append(("busy", ", ".join(f"{name} {share:.0%}" for name, share in busy.items())))
    number = len(state.rounds) + 1
    lost = (*state.move.lost, *alternatives)
    done = Round(number, state.move, measured, kept, reason, f"{sentence}.", tuple(inputs), lost)
    return dataclasses.replace(state, rounds=(*state.rounds, done))


def _moved(state: State, move: Move) -> State:
    return dataclasses.replace(state, move=move, deployed=False, misses=0)


def _ended(state: State, end: End) -> State:
    return dataclasses.replace(state, ended=end)
