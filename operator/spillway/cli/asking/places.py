"""From a job's name to the driver that answers for it.

In this order: at an address that somebody gives; on this machine, where the job runs here; on the cluster of the
kubeconfig, if it has a StreamJob of that name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from spillway.cli import terminal
from spillway.cli.asking import contexts
from spillway.cli.planning import questions
from spillway.cli.planning.questions import RefusedError
from spillway.local import state as states
from spillway.local.driver import Driver
from spillway.model.errors import NotReadyError, SpillwayError
from spillway.model.observation import Observation

if TYPE_CHECKING:
    from spillway.cli.clusters.connections import Connection

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
    context: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A job, and who answers for it.

    Attributes:
        job: as namespace/name.
        driver: of it.
        folder: of its state; None where it does not run on this machine.
        bootstrap: where its Kafka is; empty where nobody has told.
        connection: to the cluster that it runs on; None where it does not.
    """

    job: str
    driver: Driver
    folder: pathlib.Path | None = None
    bootstrap: str = ""
    connection: Connection | None = None

    def observation(self) -> Observation:
        """All that the driver tells, if it is that of the job: an address may belong to another one by now."""
        seen = self.driver.observation()
        if seen.job != self.job:
            message = f"the driver at {self.driver.address} runs {seen.job}, not {self.job}"
            raise AwayError(message)
        return seen

    @property
    def ended(self) -> bool:
        """Whether nobody runs the job any more; never known of an address."""
        if self.connection is not None:
            return _is_gone(self.connection, self.job)
        return self.folder is not None and not states.who(self.folder)


@contextlib.contextmanager
def found(asked: Asked) -> Iterator[Place]:
    """The job; what goes wrong becomes a line and an exit code."""
    try:
        with contextlib.ExitStack() as stack:
            yield find(asked, stack)
    except RefusedError as refused:
        if refused.option:
            raise typer.BadParameter(str(refused), param_hint=refused.option) from None
        for line in refused.lines:
            terminal.complain(line)
        raise typer.Exit(UNREADABLE) from None
    except SpillwayError as error:
        terminal.complain(f"spillway: {terminal.clean(str(error))}")
        raise typer.Exit(FAILED) from None


def find(asked: Asked, stack: contextlib.ExitStack) -> Place:
    """Where a job runs; raises AwayError with what to do where it does not. Connections end with the `stack`."""
    namespace, name = _named(asked)
    here = f"{namespace or DEFAULT}/{name}"
    if asked.driver is not None:
        return Place(here, Driver(asked.driver.removeprefix("http://").rstrip("/")))
    if asked.context is not None:
        return _far(asked.context, namespace, name, stack)
    folder = asked.state or states.default(namespace or DEFAULT, name)
    told = states.who(folder)
    if "driver" in told:
        return Place(here, Driver(str(told["driver"])), folder, str(told.get("bootstrap", "")))
    begun = states.is_held(folder)
    if asked.state is None and not begun and contexts.named():
        return _far(None, namespace, name, stack)
    raise AwayError(_away(here, begun=begun))


def _far(context: str | None, namespace: str | None, name: str, stack: contextlib.ExitStack) -> Place:
    """On a cluster."""
    connection = contexts.connected(context, stack)
    from spillway.cli.clusters import jobs
    from spillway.manager.errors import NotFoundError

    namespace = namespace or connection.namespace
    try:
        jobs.find(connection, namespace, name)
    except NotFoundError:
        message = (
            f"there is no StreamJob {namespace}/{name} on the cluster, and it does not run on this machine{_others()}."
            " See what there is: spillway top"
        )
        raise AwayError(message) from None
    return Place(f"{namespace}/{name}", jobs.driver(connection, namespace, name), connection=connection)


def _is_gone(connection: Connection, job: str) -> bool:
    from spillway.cli.clusters import jobs
    from spillway.manager.errors import ClusterError, NotFoundError

    try:
        jobs.find(connection, *job.split("/", 1))
    except NotFoundError:
        return True
    except ClusterError:  # nobody knows
        return False
    return False


def again(place: Place) -> Place:
    """The same job, with the address at which its driver answers by now: one that was started again may have moved."""
    told = states.who(place.folder) if place.folder is not None else {}
    return dataclasses.replace(place, driver=Driver(str(told["driver"]))) if "driver" in told else place


def _named(asked: Asked) -> tuple[str | None, str]:
    """Namespace, if one is said, and name of a job that is given by its name, by both, or by its manifest."""
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
    return parts[1] or asked.namespace, parts[2]


def _away(job: str, *, begun: bool) -> str:
    if begun:
        return f"job {job} is being started on this machine; ask again in a moment"
    far = "" if contexts.named() else " no kubeconfig says where one on a cluster would be: set KUBECONFIG, or"
    return (
        f"job {job} does not run on this machine{_others()}. Start it with `spillway up FILE`, or give --state DIR if"
        f" it was started with that;{far} give --driver HOST:PORT"
    )


def _others() -> str:
    others = states.running()
    return f"; here run {', '.join(others)}" if others else ""
