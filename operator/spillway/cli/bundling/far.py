"""What there is of a job on a cluster: objects, events, what its driver tells, metrics, and the ends of logs.

Secrets are read to know what to take out of everything else, and for nothing else: those that the job names, and those
that its pods use. Where they may not be read, that is among the problems, and what gives itself away by its name or its
form is taken out all the same.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any

from spillway.cli.bundling.archive import Archive
from spillway.cli.bundling.redaction import Redactor
from spillway.cli.clusters import jobs
from spillway.cli.clusters.connections import Connection, Object
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.names import Names
from spillway.local.driver import DriverError
from spillway.manager import kinds
from spillway.manager.errors import ClusterError
from spillway.manager.kinds import Kind

# Of each log, and of that of the container before.
LINES, BYTES = 5000, 2 * 2**20
# Of the operator, from which what concerns the job is picked.
MANY = 20_000
_MANAGER = f"{names.NAME}={names.MANAGED_BY},{names.COMPONENT}=manager"
# What of a job's children is looked at; of Secrets nothing.
_CHILDREN = tuple(kind for kind in kinds.CHILDREN if kind is not kinds.SECRET)
_TOLD = ("/v1/observation", "/v1/decisions", "/v1/deciding")


def known(connection: Connection, job: Object, pods: Iterable[Object]) -> tuple[list[str], list[str]]:
    """Values of the Secrets that a job uses, and which of these could not be read."""
    namespace, values, problems = job["metadata"]["namespace"], [], []
    for name in sorted({*_named(job), *(one for pod in pods for one in _used(pod))}):
        try:
            found = connection.get(kinds.SECRET, namespace, name)
        except ClusterError as error:
            problems.append(f"Secret {name}, to know what to take out: {error}")
            continue
        for value in (found.get("data") or {}).values():
            try:
                values.append(base64.b64decode(value).decode(errors="ignore"))
            except (binascii.Error, ValueError):
                continue
    return values, problems


def bundle(connection: Connection, namespace: str, name: str, folder: str) -> Archive:
    """All of it. Raises NotFoundError where there is no such job, and ClusterError where nobody answers."""
    job = jobs.find(connection, namespace, name)
    pods: list[Object] = []
    problems = []
    try:
        pods = jobs.pods(connection, namespace, name)
    except ClusterError as error:
        problems.append(f"pods: {error}")
    values, unread = known(connection, job, pods)
    archive = Archive(folder, Redactor(values))
    archive.problems += [*problems, *unread]
    archive.add_object("streamjob.yaml", job)
    archive.add_object("pods.yaml", pods)
    _add_children(archive, connection, namespace, name)
    _add_events(archive, connection, namespace, name)
    _add_told(archive, connection, namespace, name)
    _add_pods(archive, connection, namespace, pods)
    _add_operator(archive, connection, f"{namespace}/{name}")
    return archive


def _add_children(archive: Archive, connection: Connection, namespace: str, name: str) -> None:
    for kind in _CHILDREN:

        def add(kind: Kind = kind) -> None:
            for one in connection.listed(kind, namespace, f"{names.JOB}={name}"):
                archive.add_object(f"children/{kind.plural}-{one['metadata']['name']}.yaml", _read(one))

        if kind is not kinds.POD_MONITOR:  # not every cluster knows them, and none tells anything
            archive.attempt(kind.plural, add)


def _read(one: Object) -> Object:
    """With files of a ConfigMap that hold JSON as what they hold, so that its fields are looked at one by one."""
    if one.get("kind", kinds.CONFIG_MAP.name) != kinds.CONFIG_MAP.name or "data" not in one:
        return one
    found = {}
    for file, text in (one.get("data") or {}).items():
        try:
            found[file] = json.loads(text) if file.endswith(".json") else text
        except ValueError:
            found[file] = text
    return {**one, "data": found}


def _add_events(archive: Archive, connection: Connection, namespace: str, name: str) -> None:
    of_names = Names(name)
    mine = (name, of_names.driver, of_names.worker, of_names.spec, of_names.token)

    def add() -> None:
        found = [
            event
            for event in connection.listed(kinds.EVENT, namespace)
            if (about := str(event.get("involvedObject", {}).get("name", ""))) in mine or about.startswith(f"{name}-")
        ]
        found.sort(key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
        told = [
            f"{event.get('lastTimestamp') or event.get('eventTime')} {event.get('type')} {event.get('reason')}"
            f" {event['involvedObject'].get('kind')}/{event['involvedObject'].get('name')}: {event.get('message')}"
            for event in found
        ]
        archive.add_text("events.txt", "".join(f"{line}\n" for line in told))

    archive.attempt("events", add)


def _add_told(archive: Archive, connection: Connection, namespace: str, name: str) -> None:
    """What the driver tells."""
    driver = jobs.driver(connection, namespace, name)
    for path in _TOLD:
        what = path.rpartition("/")[2]
        try:
            archive.add_json(f"driver/{what}.json", driver.get(path))
        except DriverError as error:
            archive.problems.append(f"{what} of the driver: {error}")
            return


def _add_pods(archive: Archive, connection: Connection, namespace: str, pods: Iterable[Object]) -> None:
    """Metrics and the ends of logs."""
    wanted: dict[str, str] = {}
    for pod in pods:
        name = str(pod["metadata"]["name"])
        if (pod["metadata"].get("labels") or {}).get(names.COMPONENT) in (names.DRIVER, names.WORKER):
            wanted[f"metrics/{name}.txt"] = jobs.pod_path(namespace, name, "/metrics")
        for container in _containers(pod):
            where = f"{kinds.POD.path(namespace, name, 'log')}?container={container}&timestamps=true"
            stem = f"logs/{name}" if container == names.MAIN else f"logs/{name}.{container}"
            wanted[f"{stem}.log"] = f"{where}&tailLines={LINES}&limitBytes={BYTES}"
            if _restarted(pod, container):
                wanted[f"{stem}.before.log"] = f"{where}&tailLines={LINES}&limitBytes={BYTES}&previous=true"
    for file, answer in zip(wanted, connection.read(list(wanted.values())), strict=True):
        if isinstance(answer, ClusterError):
            archive.problems.append(f"{file}: {answer}")
        else:
            archive.add_text(file, answer.decode(errors="replace"))


def _add_operator(archive: Archive, connection: Connection, job: str) -> None:
    """What the operator has logged of this job, and of no other."""

    def add() -> None:
        pods = connection.listed(kinds.POD, None, _MANAGER)
        places = [(str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])) for pod in pods]
        answers = connection.read([f"{kinds.POD.path(*place, 'log')}?tailLines={MANY}" for place in places])
        for (_, name), answer in zip(places, answers, strict=True):
            if isinstance(answer, ClusterError):
                archive.problems.append(f"log of the operator: {answer}")
                continue
            mine = [line for line in answer.decode(errors="replace").splitlines() if f"{job}:" in line]
            archive.add_text(f"operator/{name}.log", "".join(f"{line}\n" for line in mine))

    archive.attempt("the operator", add)


def _named(job: Object) -> Iterator[str]:
    """Secrets of a manifest."""
    yield Names(job["metadata"]["name"]).token
    reference = ((job["spec"].get("kafka") or {}).get("security") or {}).get("secretRef") or {}
    if reference.get("name"):
        yield str(reference["name"])


def _used(pod: Object) -> Iterator[str]:
    """Secrets that a pod mounts, or has in its environment."""
    for volume in pod["spec"].get("volumes") or ():
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        for source in sources:
            secret = source.get("secret") or {}
            if name := secret.get("secretName") or secret.get("name"):
                yield str(name)
    for container in (*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())):
        for variable in (*(container.get("env") or ()), *(container.get("envFrom") or ())):
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef") or variable.get("secretRef") or {}
            if reference.get("name"):
                yield str(reference["name"])


def _containers(pod: Object) -> list[str]:
    return [str(one["name"]) for one in pod["spec"].get("containers") or ()]


def _restarted(pod: Object, container: str) -> bool:
    statuses: list[Any] = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one.get("name") == container and one.get("restartCount", 0) for one in statuses)
