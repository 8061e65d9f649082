"""From a job's name to the driver that answers for it: on this machine, or at an address that somebody gives."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import re
from collections.abc import Iterator

import typer

from spillway.cli import terminal
from spillway.cli.planning import questions
from spillway.cli.planning.questions import RefusedError
from spillway.local import state as states
from spillway.local.driver import Driver
from spillway.model.errors import NotReadyError, SpillwayError
from spillway.model.observation import Observation

FAILED, UNREADABLE = 1, 2
DEFAULT = "default"  # the namespace of a manifest that names none
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_FILES = (".yaml", ".yml", ".json")
_JOB = re.compile(r"(?:([a-z0-9][a-z0-9-]{0,62})/)?([a-z0-9][a-z0-9.-]{0,252})")


class AwayError(NotReadyError):
    """The job does not run here."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Which job, as somebody wrote it: the arguments of a command."""

    job: str
    namespace: str | None = None
    state: pathlib.Path | None = None
    driver: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A job, and who answers for it.

    Attributes:
        job: as namespace/name.
        driver: of it.
        folder: of its state; None where somebody gave the driver's address.
        bootstrap: where its Kafka is; empty where nobody has told.
    """

    job: str
    driver: Driver
    folder: pathlib.Path | None = None
    bootstrap: str = ""

    def observation(self) -> Observation:
        """All that the driver tells, if it is that of the job: an address may belong to another one by now."""
        seen = self.driver.observation()
        if seen.job != self.job:
            message = f"the driver at {self.driver.address} runs {seen.job}, not {self.job}"
            raise AwayError(message)
        return seen

    @property
    def ended(self) -> bool:
        """Whether nobody runs the job here any more; never known of an address."""
        return self.folder is not None and not states.who(self.folder)


@contextlib.contextmanager
def found(asked: Asked) -> Iterator[Place]:
    """The job; what goes wrong becomes a line and an exit code."""
    try:
        yield find(asked)
    except RefusedError as refused:
        if refused.option:
            raise typer.BadParameter(str(refused), param_hint=refused.option) from None
        for line in refused.lines:
            terminal.complain(line)
        raise typer.Exit(UNREADABLE) from None
    except SpillwayError as error:
        terminal.complain(f"spillway: {terminal.clean(str(error))}")
        raise typer.Exit(FAILED) from None


def find(asked: Asked) -> Place:
    """Where a job runs; raises AwayError with what to do where it does not."""
    namespace, name = _named(asked)
    job = f"{namespace}/{name}"
    if asked.driver is not None:
        return Place(job, Driver(asked.driver.removeprefix("http://").rstrip("/")))
    folder = asked.state or states.default(namespace, name)
    told = states.who(folder)
    if "driver" not in told:
        raise AwayError(_away(job, begun=states.is_held(folder)))
    return Place(job, Driver(str(told["driver"])), folder, str(told.get("bootstrap", "")))


def again(place: Place) -> Place:
    """The same job, with the address at which its driver answers by now: one that was started again may have moved."""
    told = states.who(place.folder) if place.folder is not None else {}
    return dataclasses.replace(place, driver=Driver(str(told["driver"]))) if "driver" in told else place


def _named(asked: Asked) -> tuple[str, str]:
    """Namespace and name of a job that is given by its name, by both, or by its manifest."""
    if pathlib.Path(asked.job).is_file():
        metadata = questions.job(asked.job).metadata
        if asked.namespace not in (None, metadata.namespace):
            message = f"{asked.job} says namespace {metadata.namespace!r}"
            raise RefusedError(message, option="--namespace")
        return metadata.namespace, metadata.name
    parts = _JOB.fullmatch(asked.job)
    if parts is None or asked.job.endswith(_FILES):
        message = f"'{terminal.clean(asked.job)}' is neither a job's name nor a file"
        raise RefusedError(message, option="JOB")
    if asked.namespace is not None and not _NAMESPACE.fullmatch(asked.namespace):
        message = f"'{terminal.clean(asked.namespace)}' is no namespace; use small letters, digits and '-', 63 at most"
        raise RefusedError(message, option="--namespace")
    if asked.namespace is not None and parts[1] not in (None, asked.namespace):
        message = f"{asked.job} names another namespace"
        raise RefusedError(message, option="--namespace")
    return parts[1] or asked.namespace or DEFAULT, parts[2]


def _away(job: str, *, begun: bool) -> str:
    if begun:
        return f"job {job} is being started on this machine; ask again in a moment"
    others = states.running()
    here = f"; here run {', '.join(others)}" if others else ""
    return (
        f"job {job} does not run on this machine{here}. Start it with `spillway up FILE`, or give --state DIR if it was"
        " started with that. A job on a cluster can't be found by its name yet: forward a port to its driver, and give"
        " --driver HOST:PORT"
    )
