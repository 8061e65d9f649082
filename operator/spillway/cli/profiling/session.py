"""One profile, from the first deployment to the last: rounds, what is stored after each, and what is measured after it.

A profile that was stored goes on where it was. One that was at its end is looked at again: what it found is run at the
load that it promises, and if that load is no longer done, the data has changed, and it begins anew (SWP, section 4.4).
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spillway.cli.profiling import costs
from spillway.cli.profiling.answers import Profile
from spillway.controllers.profiling import drift, machine, prices, stored
from spillway.controllers.profiling.drift import Baseline, Observed, Patience, Verdict, Watch
from spillway.controllers.profiling.machine import Finished
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.rounds import Round, Settings, State
from spillway.local import state as states
from spillway.local.profiling.platform import Local
from spillway.model.errors import TerminalError
from spillway.model.streamjob import StreamJob

VERSION = 1
# Of what a profile promises: at all of it, a queue is as long as the noise makes it, and says nothing of the data.
SOME = 0.8
# Measurements of the promised load, one after the other, which all have to be beyond the threshold to count.
LOOKS = 3


class StateError(TerminalError):
    """What was stored can't be gone on with; the message says why, and what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """What is stored of a profile.

    Attributes:
        job: namespace/name.
        digest: of all that is profiled, costs aside: with another one, it is another job.
        platform: in words that differ when it does.
        state: of the profile.
    """

    job: str
    digest: str
    platform: str
    state: State

    def write(self, file: Path) -> None:
        """Put it in the place of what is there."""
        told = {"version": VERSION, "job": self.job, "digest": self.digest, "platform": self.platform}
        states.replace(file, json.dumps(told | {"profile": stored.as_data(self.state)}, indent=1) + "\n")

    @classmethod
    def read(cls, file: Path) -> Kept | None:
        """What is there; None where there is no such file."""
        try:
            told: Any = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            message = f"{file}: can't be read: {error}; remove it to begin anew"
            raise StateError(message) from None
        if not isinstance(told, dict) or told.get("version") != VERSION:
            message = f"{file}: is no profile of version {VERSION}; remove it to begin anew"
            raise StateError(message)
        try:
            return cls(str(told["job"]), str(told["digest"]), str(told["platform"]), stored.from_data(told["profile"]))
        except (KeyError, TypeError, ValueError) as error:
            message = f"{file}: is no stored profile: {error}; remove it to begin anew"
            raise StateError(message) from None


def digest(job: StreamJob) -> str:
    """Of all that is profiled: what operators cost is what is asked for, so it is left out."""
    told = job.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    for part in (*told["operators"], *told["streams"]):
        part.pop("costs", None)
    for aside in ("policy", "execution"):
        told.pop(aside, None)
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


class Session:
    """What is asked of one profile, and how far it is."""

    def __init__(
        self,
        job: StreamJob,
        settings: Settings,
        platform: str,
        file: Path | None,
        hear: Callable[[Round], None],
        say: Callable[[str], None],
    ) -> None:
        """Rounds are told to `hear`, and everything else to `say`; `file` is where it is stored."""
        self._job, self._settings, self._words = job, settings, platform
        self._file, self._hear, self._say = file, hear, say
        self._name = f"{job.metadata.namespace}/{job.metadata.name}"

    def run(self, platform: Local, fed: tuple[str, ...]) -> Profile:
        """All of it."""
        state = self._begun(platform)
        state = machine.run(platform, state, self._hear, self._store)
        end = machine.next_step(state)
        assert isinstance(end, Finished)  # noqa: S101 - `run` goes on until then
        found = prices.find(state)
        missed = list(costs.misses(found, list(self._tested(platform, state)))) if found else []
        declared = costs.declared(self._job, found)
        return Profile(self._name, self._words, fed, end, found, declared, missed)

    def _begun(self, platform: Local) -> State:
        """From nothing, or where it was."""
        application = platform.profiled.application()
        anew = machine.begin(application, self._settings)
        kept = Kept.read(self._file) if self._file is not None else None
        if kept is None:
            return anew
        if kept.job != self._name or kept.digest != digest(self._job) or kept.state.application != application:
            self._say(f"what {self._file} has is of another job, or of other operators: it begins anew")
            return anew
        if kept.state.ended is None and kept.platform == self._words:
            self._say(f"goes on behind round {len(kept.state.rounds)}, as {self._file} has it")
            return machine.lost(dataclasses.replace(kept.state, settings=self._settings))
        end = machine.next_step(kept.state)
        if not isinstance(end, Finished) or end.deployment is None:
            return anew  # nothing came out of it, or it was begun elsewhere
        verdict = self._looked(platform, kept, end, end.deployment)
        self._say(verdict.sentence)
        return anew if verdict.again else kept.state

    def _looked(self, platform: Local, kept: Kept, end: Finished, deployment: Deployment) -> Verdict:
        """Whether a profile that is at its end is still true."""
        # A bound that could never be kept says nothing of the data: then what it took before is the bound.
        bound = max(kept.state.settings.bound, 2 * end.latency)
        baseline = Baseline(kept.state.application, kept.platform, end.throughput, bound)
        seconds, watch, rate = self._settings.seconds, Watch(), SOME * end.throughput
        patience = Patience(period=datetime.timedelta(seconds=seconds * (LOOKS - 1)), gap=datetime.timedelta(hours=1))

        def decided(queue: float, took: float) -> Verdict:
            observed = Observed(kept.state.application, self._words, rate, queue, took)
            return drift.decide(baseline, observed, patience, watch, datetime.datetime.now(datetime.UTC))

        verdict = decided(0.0, 0.0)
        if verdict.again:
            return verdict
        self._say(f"looks whether what {self._file} has is still true: {len(end.rounds)} rounds were done")
        platform.deploy(Deployment(deployment.tasks, rate))
        for _ in range(LOOKS):
            measured = platform.measure(seconds)
            verdict = decided(platform.waiting, measured.took if measured is not None else seconds)
            if verdict.reason is not drift.DriftReason.WAITING:
                break
            watch = verdict.watch
        return verdict

    def _store(self, state: State) -> None:
        if self._file is not None:
            Kept(self._name, digest(self._job), self._words, state).write(self._file)

    def _tested(self, platform: Local, state: State) -> Iterator[Measurement]:
        """Settings that nothing was fitted on."""
        for deployment in costs.held_out(state):
            platform.deploy(deployment)
            measured = platform.measure(self._settings.seconds)
            if measured is not None and not measured.stopped:
                yield measured
