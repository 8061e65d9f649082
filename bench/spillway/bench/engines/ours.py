"""A job of ours, in one paradigm or in both: a driver, with its Spark, and a worker."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

from spillway.bench.engines.port import Engine
from spillway.bench.engines.switches import Heard
from spillway.bench.record import logs
from spillway.bench.record.deployed import Deployed
from spillway.bench.record.systems import EndedError, System
from spillway.bench.workloads.work import Work
from spillway.local.driver import Driver, DriverError
from spillway.model.observation import Observation, StandbyState
from spillway.model.operators import Paradigm

CORES = 2  # of the machine, for each: slots, and tasks of Spark at once
R, B, D = "R", "B", "D"
PARADIGMS: Mapping[str, Paradigm] = MappingProxyType({R: Paradigm.RECORD, B: Paradigm.BATCH, D: Paradigm.AUTO})


class Hosted(Engine):
    """A job of ours whose processes the bench has started."""

    def __init__(self, system: System, sources: Sequence[str]) -> None:
        self._system = system
        super().__init__(sources, system.output)

    def __enter__(self) -> Self:
        self._system.__enter__()
        try:
            self._system.settle()
        except BaseException:
            self._system.__exit__()
            raise
        return self

    def __exit__(self, *told: object) -> None:
        """End it: what was measured is in the topics."""
        self._system.__exit__(*told)

    def look(self) -> None:
        """Raise if one has ended."""
        self._system.look()


class Ours(Hosted):
    """A job at work."""

    def __init__(self, name: str, work: Work, bootstrap: str, source: str, sources: Sequence[str], bound: str) -> None:
        """Topics are `sources`, which the job makes of `source` and the names of its streams."""
        self._name, self._head = name, work.head
        self.deployed = Deployed(work.case, bootstrap, source, slots=CORES, paradigm=PARADIGMS[name], bound=bound)
        super().__init__(self.deployed, sources)
        self._news = Heard()

    @property
    def client(self) -> Driver:
        """Its driver."""
        return Driver(self.deployed.address)

    @property
    def parts(self) -> Mapping[str, int]:
        """The driver, in which batches run, and the worker."""
        driver, worker = self.deployed.all_processes
        return {"driver": driver, "worker": worker}

    def heard(self) -> Observation | None:
        """What the driver tells now; None if it is too busy to."""
        try:
            seen = self.client.observation()
        except DriverError:
            return None
        self._news.moved(seen.moves)
        self._news.worked(seen.segments)
        return seen

    def news(self) -> Heard:
        """All of this run."""
        with contextlib.suppress(DriverError):
            self._news.decided(self.client.decisions())
        self._news.done(logs.read(self.deployed.bootstrap, self.deployed.names.control, 1))
        return self._news

    @property
    def switches(self) -> bool:
        """Only if it may do both."""
        return self._name == D

    def prepared(self) -> bool:
        """Where batches are allowed: whether it is known how fast they are."""
        if not self.switches:
            return True
        seen = self.heard()
        if seen is not None and seen.standby.state is StandbyState.FAILED:
            raise EndedError(seen.standby.problem)
        try:
            return seen is not None and "P_O" in self.client.capacities(self._head)
        except DriverError:
            return False
