"""Batches of a job as it is deployed: how long a switch takes, and whether what was predicted of them comes true.

`standby`: from the moment somebody asks for a switch until the first batch is done, with a Spark that is warm, and with
one that has to be started first (`execution.executors.min: 0`).

`shadow`: shadow calibration says what a batch of so many records will take. Then so many records wait that batches of
all sizes come, and each is held against that.

`refusal`: a burst on a job whose records each need a Python function. Batches are no help there, so nothing may be
switched, and the decision has to say why.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from spillway.bench.batch import cases
from spillway.bench.batch.cases import Case, Run
from spillway.bench.batch.latency import Line
from spillway.bench.lines import Feeder
from spillway.bench.record import processes, systems
from spillway.bench.record.deployed import Deployed
from spillway.local.driver import Driver, DriverError
from spillway.model.observation import Batch, Observation, Segment, StandbyState
from spillway.model.operators import Paradigm

_T = TypeVar("_T")

BOUND = "500ms"
PATIENCE = 120.0
LOOK = 0.02
FEW = 4_000  # records that are there from the start, for the shadows to run over
# The same where it is seen whether they are right: as many as the largest shadow has (`driver.shadows`). With fewer
# it has the same ones again, and the second time they need not be fetched.
ENOUGH = 60_000
STEADY = 300.0  # records a second that come while somebody switches
SETTLED = 12.0  # seconds of shadows before they are believed
SECONDS = 4.0  # of work that waits, by what was predicted; and of a burst
BURSTS = (1.5, 3.0)  # times what slots are believed to be able to do: more than they can, though that was too little
LARGE = 0.2  # of the largest batch; smaller ones are mostly what every batch takes, whatever its size
WITHIN = 0.2


class Seen(NamedTuple):
    """A batch, and what was predicted for it in seconds."""

    records: int
    seconds: float
    predicted: float


class NotThereError(Exception):
    """Something did not come in time."""


def standby(rounds: int, done: Callable[[str], None]) -> Iterator[Line]:
    """Switches by hand, of fresh processes each."""
    case = cases.cases()[1]
    with systems.broker() as bootstrap:
        for name, warm in (("warm", True), ("cold", False)):
            found = []
            for number in range(rounds):
                found.append(_switch(case, bootstrap, warm=warm))
                done(f"{name}, round {number + 1} of {rounds}: {found[-1]:.2f} s")
            values = f"{statistics.median(found):.2f} s [{min(found):.2f} to {max(found):.2f}]"
            yield Line(f"from asked to the first batch done, Spark {name}", values)


def shadow(share: float, rounds: int, only: str, done: Callable[[str], None]) -> Iterator[Line]:
    """What was predicted of batches, and what came."""
    with systems.broker() as bootstrap:
        for case in cases.cases(share):
            if only not in case.name:
                continue
            ratios = []
            for number in range(rounds):
                seen = _drained(case, bootstrap)
                large = [one for one in seen if one.records >= LARGE * max(one.records for one in seen)]
                ratios.append(sum(one.predicted for one in large) / sum(one.seconds for one in large))
                sizes = f"{min(one.records for one in large)} to {max(one.records for one in large)} records"
                done(f"{case.name}, round {number + 1} of {rounds}: {ratios[-1]:.2f}, {len(large)} batches of {sizes}")
            middle = statistics.median(ratios)
            verdict = "reached" if abs(middle - 1) <= WITHIN else "missed"
            span = f"[{min(ratios):.2f} to {max(ratios):.2f}]"
            yield Line(f"{case.name}: predicted seconds / seen", f"{middle:.2f} {span}, within {WITHIN:.0%}: {verdict}")


def refusal(rounds: int, done: Callable[[str], None]) -> Iterator[Line]:
    """What was decided in a burst that batches can't help with."""
    case = cases.opaque()
    with systems.broker() as bootstrap:
        for number in range(rounds):
            with _deployed(case, bootstrap, warm=True) as (_, run, driver):
                _until(lambda driver=driver: _predicted(driver, case.head))  # type: ignore[misc]
                time.sleep(SETTLED)
                slots = _until(lambda driver=driver: driver.capacities(case.head).get("P_D"))  # type: ignore[misc]
                done(f"round {number + 1} of {rounds}: {driver.capacities(case.head)}")
                rate, refused, switched = _burst(run, driver, slots)
            kept = "nothing was switched" if not switched else f"MISSED: {switched[0]['sentence']}"
            yield Line(
                f"burst of {rate:.0f}/s on {case.name}, of which slots do {slots:.0f}/s",
                f"{kept}; {refused[-1]['sentence'] if refused else 'MISSED: no decision says why'}",
            )


def _burst(run: Run, driver: Driver, slots: float) -> tuple[float, list[dict[str, Any]], list[dict[str, Any]]]:
    """Bursts, until something is decided: the rate of the last one, what was refused, and what was switched."""
    for times in BURSTS:
        rate = slots * times
        processes.fresh(_pour, run.bootstrap, run.source, rate, SECONDS)
        told = [one for one in driver.decisions() if one["part"] == "switching"]
        refused = [one for one in told if str(one["reason"]).startswith("Batches")]
        switched = [one for one in told if one.get("action") == "ToBatch"]
        if refused or switched:
            break
    return rate, refused, switched


def _pour(bootstrap: str, topic: str, rate: float, seconds: float) -> None:
    """A load, in a process of its own."""
    Feeder(bootstrap, topic).pour(rate, seconds, time.time())


@contextlib.contextmanager
def _deployed(case: Case, bootstrap: str, *, warm: bool, there: int = FEW) -> Iterator[tuple[Deployed, Run, Driver]]:
    """One that is ready, with some records in its topic."""
    source = systems.created_one(bootstrap)
    system = Deployed(case.job, bootstrap, source, paradigm=Paradigm.AUTO, bound=BOUND, warm=warm)
    run = Run(case, bootstrap, system.job, source)
    with system:
        system.settle()
        if there:
            processes.fresh(cases.fill, run, there)
        yield system, run, Driver(system.address)


def _switch(case: Case, bootstrap: str, *, warm: bool) -> float:
    # A heap of records at once is a burst, for which a cold Spark is started: there it begins with none.
    with _deployed(case, bootstrap, warm=warm, there=FEW if warm else 0) as (_, run, driver):
        if warm:
            _until(lambda: driver.observation().standby.state is StandbyState.WARM and _predicted(driver, case.head))
        with _flowing(run):
            _until(lambda: driver.observation().rate_in)
            state = driver.observation().standby.state
            if not warm and state is not StandbyState.OFF:
                message = f"Spark is {state}, and was to be cold"
                raise NotThereError(message)
            began = time.time()
            answer = driver.switch([case.head], "batch")
            if not answer.done:
                raise NotThereError(answer.sentence)
            found: Batch = _until(lambda: _batch(driver, case.head))
        return found.at - began


@contextlib.contextmanager
def _flowing(run: Run) -> Iterator[None]:
    """Records come meanwhile, and no burst: until batches run, they are processed one by one."""
    context = multiprocessing.get_context("spawn")
    pouring = context.Process(target=_pour, args=(run.bootstrap, run.source, STEADY, PATIENCE))
    pouring.start()
    try:
        yield
    finally:
        pouring.terminate()
        pouring.join()


def _drained(case: Case, bootstrap: str) -> list[Seen]:
    with _deployed(case, bootstrap, warm=True, there=ENOUGH) as (_, run, driver):
        _until(lambda: _predicted(driver, case.head))
        time.sleep(SETTLED)
        fixed, capacity = _until(lambda: _predicted(driver, case.head))
        driver.switch([case.head], "batch")
        _until(lambda: _segment(driver, case.head).paradigm is Paradigm.BATCH)
        driver.grant(0)
        _until(lambda: _rests(driver.observation(), case.head))
        processes.fresh(cases.fill, run, int(capacity * SECONDS))
        driver.grant(1)
        found: dict[float, Batch] = {}
        quiet = time.monotonic() + PATIENCE
        while time.monotonic() < quiet:
            batch = _batch(driver, case.head)
            if batch is not None and batch.at not in found:
                found[batch.at] = batch
            if found and not _segment(driver, case.head).lag:
                break
            time.sleep(LOOK)
        return [Seen(one.records, one.seconds, fixed + one.records / capacity) for one in found.values()]


def _segment(driver: Driver, name: str) -> Segment:
    return next(one for one in driver.observation().segments if one.name == name)


def _batch(driver: Driver, name: str) -> Batch | None:
    found = _segment(driver, name).batch
    return found if found is not None and found.records else None


def _rests(seen: Observation, name: str) -> bool:
    return all(not one.working for one in seen.segments if one.name == name)


def _predicted(driver: Driver, name: str) -> tuple[float, float] | None:
    """What every batch takes, and how many records a second go through, as decisions have them."""
    verdicts: list[dict[str, Any]] = driver.deciding().get("switching", {}).get("verdicts", [])
    inputs: dict[str, str] = next((one.get("inputs", {}) for one in verdicts if one.get("point") == name), {})
    try:
        return float(inputs["T"].removesuffix(" ms")) / 1000, float(inputs["P_O"].removesuffix("/s"))
    except (KeyError, ValueError):  # nobody has measured it
        return None


def _until(holds: Callable[[], _T | None]) -> _T:
    """What it gives, as soon as that is something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(DriverError):  # it is busy
            if found := holds():
                return found
        time.sleep(LOOK)
    message = f"not so within {PATIENCE:.0f} s"
    raise NotThereError(message)
