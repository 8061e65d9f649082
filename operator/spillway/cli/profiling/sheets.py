"""A profile for people: a line for each round as it is done, and at the end what came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spillway.cli.planning import sizes
from spillway.cli.profiling import costs
from spillway.cli.profiling.answers import Profile
from spillway.controllers.profiling.measurement import Deployment
from spillway.controllers.profiling.prices import Price, Profiled
from spillway.controllers.profiling.rounds import Reason, Round, Step

STEPS: Mapping[Step, str] = {
    Step.FEATURES: "what operators are like",
    Step.CAPABILITY: "what the platform can do",
    Step.CAPACITY: "who is narrow",
}
# Colours, where there are some: of what is kept, and of what nobody could measure.
LOOKS: Mapping[Reason, str] = {Reason.UNREADABLE: "yellow", Reason.NO_DATA: "red"}


def deployed(deployment: Deployment) -> str:
    """Tasks, and what the rest is held to."""
    told = ", ".join(f"{name} {count}" for name, count in deployment.tasks.items())
    if deployment.frames:
        different = dict.fromkeys(deployment.frames.values())
        told += f"; frames of {'/'.join(map(str, different))}"
    return told if deployment.rate is None else f"{told}; at {sizes.rate(deployment.rate)}"


def done(one: Round) -> tuple[str, str]:
    """The line of a round, and the one below it that says why."""
    measured = one.measurement
    what = f"{sizes.rate(measured.rate)}, {sizes.duration(measured.took)}" if measured else "nothing was measured"
    verdict = "kept" if one.kept else str(one.reason)
    return f"round {one.number}: {deployed(one.move.deployment)}", f"  {what}: {verdict}. {one.sentence}"


def told(profile: Profile) -> Iterator[str]:
    """All that came out."""
    yield ""
    yield from ended(profile)
    if profile.found:
        yield ""
        yield from table(profile)
        yield ""
        yield from model(profile)
        yield "to paste into the manifest, or --write:"
        yield ""
        yield from yaml(profile)


def ended(profile: Profile) -> Iterator[str]:
    """What came out."""
    end = profile.finished
    if end.deployment is None:
        yield f"nothing came out of it: {end.sentence}"
        return
    held = "" if end.deployment.rate is None else f", held to {sizes.rate(end.deployment.rate)}"
    tasks = ", ".join(f"{name} {count}" for name, count in end.deployment.tasks.items())
    yield f"best on {profile.platform}: {sizes.rate(end.throughput)} with {tasks}{held}"
    yield f"  records take {sizes.duration(end.latency)}; it is over because {_lower(end.sentence)}"


def model(profile: Profile) -> Iterator[str]:
    """How good the costs are."""
    if not profile.missed:
        return
    mean, worst = costs.worst(profile.missed)
    frames = " and ".join(map(str, costs.HELD_OUT))
    most = max(profile.missed, key=lambda one: abs(one.error))
    yield (
        f"what these costs say of frames of {frames}, on which they were not fitted: off by {sizes.share(mean)} on"
        f" average, and by {sizes.share(worst)} at worst ({most.operator}: {_micros(most.predicted)} predicted,"
        f" {_micros(most.measured)} measured)"
    )


def table(profile: Profile) -> Iterator[str]:
    """Costs with their errors, as a table."""
    names = [one.name for one in profile.found]
    wide = max(map(len, names), default=0)
    yield f"{'':{wide}}  {'cpu':>16} {'fetch':>16} {'emit':>16} {'out for one in':>16} {'bytes':>8}"
    for one in profile.found:
        yield (
            f"{one.name:{wide}}  {_timed(one.cpu):>16} {_timed(one.fetch):>16} {_timed(one.emit):>16}"
            f" {one.selectivity.value:>16.4g} {one.record_size.value:>8.0f}{_noted(one)}"
        )


def yaml(profile: Profile) -> Iterator[str]:
    """To be pasted."""
    for name, one in profile.declared.items():
        yield f"{name}:"
        yield f"  costs: {costs.flow(one)}"


def _timed(price: Price) -> str:
    error = "" if price.error is None else f" ± {price.error * 1e6:.2g}"
    return f"{price.value * 1e6:.3g}{error} µs"


def _micros(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs"


def _noted(one: Profiled) -> str:
    return f"  ({one.note})" if one.note else ""


def _lower(sentence: str) -> str:
    return sentence.rstrip(".")
