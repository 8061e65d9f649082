"""What is left of a demonstration: figures, a verdict, and whether all of it is well. Pure."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spillway.cli.planning import sizes
from spillway.cli.story.meter import Ages
from spillway.cli.story.phases import Capacity, Name
from spillway.model.observation import Standby


@dataclasses.dataclass(frozen=True, slots=True)
class Lived:
    """A phase as it was.

    Attributes:
        name: of it.
        at: when it began, in seconds since 1970.
        seconds: how long it took.
        rate: that was asked for.
        sent: lines that were sent.
        late: milliseconds that 99 % of them were late at most.
        ages: of the results that left meanwhile.
    """

    name: Name
    at: float
    seconds: float
    rate: float
    sent: int
    late: float
    ages: Ages

    def told(self) -> dict[str, Any]:
        """As the report has it."""
        return {
            "name": str(self.name),
            "at": round(self.at, 3),
            "seconds": round(self.seconds, 1),
            "rate": self.rate,
            "p50_ms": self.ages.quantile(0.5),
            "p99_ms": self.ages.quantile(0.99),
            "within": _share(self.ages.share),
            "sent": self.sent,
            "late_p99_ms": self.late,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """All that a report is made of.

    Attributes:
        verdict: of the verifier, as it tells it; empty if there is none.
        problem: why there is none, or what else went wrong; empty if nothing did.
        bound_ms, quantile: the promise.
        lived: the phases.
        moves: as `moves.Group.told` has them.
        capacity: what was measured; None if nothing was.
        standby: the Spark that waited; None if nobody told.
        idle: the share of a core that it took while nothing ran in batches, in the median; None if nobody told.
        began: when the job was ready.
        rested: whether everything came to rest.
    """

    verdict: Mapping[str, Any]
    problem: str
    bound_ms: float
    quantile: float
    lived: Sequence[Lived]
    moves: Sequence[Mapping[str, Any]]
    capacity: Capacity | None
    standby: Standby | None
    idle: float | None
    began: float
    rested: bool

    @property
    def mistakes(self) -> dict[str, int]:
        """How many results are lost, duplicated or wrong."""
        wrong = int(self.verdict.get("wrong", 0)) + int(self.verdict.get("reordered", 0))
        return {
            "lost": int(self.verdict.get("lost", 0)),
            "duplicated": int(self.verdict.get("duplicated", 0)),
            "wrong": wrong,
        }

    @property
    def is_right(self) -> bool:
        """Whether everything was judged, and is right; what can't be judged is not right."""
        judged = self.verdict.get("verdict") == "right" and bool(self.verdict.get("complete"))
        return judged and not any(self.mistakes.values()) and self.rested and not self.problem

    @property
    def switches(self) -> list[Mapping[str, Any]]:
        """The moves between paradigms."""
        return [move for move in self.moves if move["kind"] == "switch"]

    def ages(self, *, bursts: bool | None = None) -> Ages:
        """Of all phases that count, or only of bursts, or only of the others."""
        total = Ages()
        for phase in self.lived:
            if phase.name.counts and bursts in (None, phase.name.is_burst):
                total = total.plus(phase.ages)
        return total


def as_json(outcome: Outcome) -> dict[str, Any]:
    """For programs."""
    standby, capacity = outcome.standby, outcome.capacity
    first = next((move["at"] for move in outcome.switches if move["to"] == "batch"), None)
    return {
        "right": outcome.is_right,
        "problem": outcome.problem,
        "records_in": int(outcome.verdict.get("records_in", 0)),
        "records_out": int(outcome.verdict.get("records_out", 0)),
        **outcome.mistakes,
        "latency": {
            "bound_ms": outcome.bound_ms,
            "quantile": outcome.quantile,
            "within": _share(outcome.ages().share),
            "within_bursts": _share(outcome.ages(bursts=True).share),
            "within_otherwise": _share(outcome.ages(bursts=False).share),
        },
        "phases": [phase.told() for phase in outcome.lived],
        "moves": list(outcome.moves),
        "seconds_to_first_switch": None if first is None else round(first - outcome.began, 1),
        "capacity": {
            "record": None if capacity is None else round(capacity.record),
            "batch": None if capacity is None or capacity.batch is None else round(capacity.batch),
            "batches_win": capacity is not None and capacity.batches_win,
        },
        "standby": {
            "state": None if standby is None else str(standby.state),
            "seconds": None if standby is None or standby.seconds is None else round(standby.seconds, 1),
            "memory": None if standby is None else standby.memory,
            "cpu": None if outcome.idle is None else round(outcome.idle, 4),
            "problem": "" if standby is None else standby.problem,
        },
        "rested": outcome.rested,
    }


def lines(outcome: Outcome) -> Iterator[str]:
    """For people, in 80 columns."""
    yield "phase             lines/s   half within   99 % within   within the bound"
    for phase in outcome.lived:
        half, most = (_milliseconds(phase.ages.quantile(share)) for share in (0.5, 0.99))
        yield f"{phase.name:<16} {phase.rate:8,.0f} {half:>13} {most:>13} {_percent(phase.ages.share):>18}"
    yield ""
    bound = sizes.duration(outcome.bound_ms / 1000)
    yield (
        f"the promise   {sizes.quantile(outcome.quantile)} within {bound}: {_percent(outcome.ages().share)} in all, "
        f"{_percent(outcome.ages(bursts=True).share)} in bursts,"
    )
    yield f"              {_percent(outcome.ages(bursts=False).share)} otherwise"
    yield from _switched(outcome)
    if (standby := outcome.standby) is not None and standby.memory is not None:
        share = "" if outcome.idle is None else f", {sizes.share(outcome.idle)} of a core while it waits"
        yield f"warm Spark    {standby.memory / 2**20:.0f} MiB{share}; it took {standby.seconds or 0:.0f} s to start"
    verdict = outcome.verdict
    if verdict:
        named = ", ".join(f"{count} {name}" for name, count in outcome.mistakes.items())
        counts = [_thousands(verdict.get(name, 0)) for name in ("records_in", "records_out")]
        yield f"judged        {counts[0]} lines in, {counts[1]} results out:"
        yield f"              {named}"
        if outcome.mistakes["duplicated"] and (taken := [move for move in outcome.moves if move["kind"] == "takeover"]):
            yield f"              an owner was lost at {_clock(taken[0])}; what it had emitted since its last"
            yield "              commit is repeated: the outputs are at-least-once"
        if verdict.get("void"):
            yield f"              nothing can be said: {verdict['void']}"
    if outcome.problem:
        yield f"problem       {outcome.problem}"
    if not outcome.rested:
        yield "problem       not everything came to rest"


def _switched(outcome: Outcome) -> Iterator[str]:
    switches = outcome.switches
    if not switches:
        capacity = outcome.capacity
        if capacity is None or capacity.batch is None:
            yield "switches      none: what batches do was not measured in time"
        elif not capacity.batches_win:
            yield "switches      none: batches are not faster than record by record here"
        else:
            yield "switches      none"
        return
    label = "switches      "
    for move in switches:
        pause = move["pause_ms_max"]
        paused = "" if pause is None else f", {move['partitions']} partitions, {pause:.0f} ms each at most"
        yield f"{label}{_clock(move)} to {_paradigm(move['to'])}{paused}"
        label = " " * len(label)


def _clock(move: Mapping[str, Any]) -> str:
    return f"{datetime.datetime.fromtimestamp(float(move['at'])).astimezone():%H:%M:%S}"


def _paradigm(name: object) -> str:
    return "batches" if name == "batch" else "record by record"


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _percent(value: float | None) -> str:
    return "-" if value is None else sizes.of_all(value)


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else sizes.duration(value / 1000)


def _thousands(value: object) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
