"""A namespace of its own for each test: what is in it, and what is left of it when the test fails."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from confluent_kafka.admin import AdminClient, NewTopic

import api
from cluster import broker, kind, release
from cluster.shell import ClusterError

T = TypeVar("T")

OURS = {"spillway.dev/e2e": "true"}  # a run that was ended hard leaves some behind
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
LOOKS = 0.25  # seconds between two looks
# What a job may consist of; `kubectl get all` leaves half of it out.
KINDS = (
    "streamjobs,pods,statefulsets,services,endpointslices,configmaps,secrets,serviceaccounts,roles,rolebindings,"
    "poddisruptionbudgets,networkpolicies,controllerrevisions,persistentvolumeclaims"
)
# Of the control plane, in every namespace.
EVERYWHERE = {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}

Document = Mapping[str, Any]


def until(what: str, holds: Callable[[], T | None], seconds: float, last: Callable[[], object] = str) -> T:
    """Wait until it holds, and return what it gives; after so many seconds fail, and say how things stood."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = holds()
        except ClusterError as error:  # not there yet, or the API server is busy
            found, problem = None, str(error)
        else:
            problem = ""
        if found:
            return found
        if time.monotonic() > deadline:
            message = f"within {seconds:.0f} s there was not: {what}. {problem or last()}"
            raise AssertionError(message)
        time.sleep(LOOKS)


def came(holds: Callable[[], object], seconds: float) -> bool:
    """Whether it holds before so many seconds are over."""
    deadline = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < deadline:
        time.sleep(LOOKS)
    return bool(found)


class Space:
    """A namespace. Topics of the user begin with its name too, so that no two tests meet in Kafka."""

    def __init__(self, name: str, labels: Mapping[str, str]) -> None:
        self.name = name
        self._admin = AdminClient({"bootstrap.servers": broker.OUTSIDE, "log_level": 0})
        metadata = {"name": name, "labels": {**labels, **OURS}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        kind.kubectl("create", "--filename=-", given=json.dumps(namespace))

    def kubectl(self, *arguments: str, given: str | None = None, seconds: float = 120.0) -> str:
        """Run kubectl in this namespace."""
        return kind.kubectl("--namespace", self.name, *arguments, given=given, seconds=seconds)

    def apply(self, *documents: Document) -> None:
        """As a user does; field by field owned by `kubectl`."""
        self.kubectl("apply", "--filename=-", given=yaml.safe_dump_all(documents))

    def get(self, what: str, name: str) -> dict[str, Any] | None:
        """One object, None if there is none."""
        found: dict[str, Any] | None = api.get(api.path(self.name, what, name))
        return found

    def all(self, what: str, selector: str = "") -> list[dict[str, Any]]:
        """Objects of a kind, in the order of their names."""
        chosen = {"labelSelector": selector} if selector else {}
        items = (api.get(api.path(self.name, what), **chosen) or {"items": []})["items"]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    def everything(self) -> set[str]:
        """All objects that are there, as kind/name, but for those of every namespace."""
        items = json.loads(self.kubectl("get", KINDS, "--output=json"))["items"]
        names = {f"{item['kind']}/{item['metadata']['name']}" for item in items}
        return names - EVERYWHERE

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """What was told of an object, or of all."""
        found = self.all("events")
        return [event for event in found if not name or event["involvedObject"]["name"] == name]

    def topic(self, name: str, partitions: int = 4) -> str:
        """Create a topic; its name in Kafka."""
        full = f"{self.name}.{name}"
        self._admin.create_topics([NewTopic(full, partitions, 1)])[full].result(10)
        return full

    def close(self) -> None:
        """Have everything removed, without waiting for it."""
        with contextlib.suppress(ClusterError):
            self.kubectl("delete", "streamjobs", "--all", "--wait=false")
        with contextlib.suppress(ClusterError):
            kind.kubectl("delete", "namespace", self.name, "--wait=false")
        names = [name for name in self._admin.list_topics(timeout=10).topics if name.startswith(f"{self.name}.")]
        if names:
            self._admin.delete_topics(names)


@contextlib.contextmanager
def opened(prefix: str, labels: Mapping[str, str] = RESTRICTED) -> Iterator[Space]:
    """A namespace that goes with the block."""
    space = Space(f"{prefix}-{uuid.uuid4().hex[:5]}", labels)
    try:
        yield space
    finally:
        space.close()


def clear() -> None:
    """Have the namespaces removed that a run before left behind."""
    chosen = ",".join(f"{name}={value}" for name, value in OURS.items())
    for name in kind.kubectl("get", "namespaces", f"--selector={chosen}", "--output=name").split():
        with contextlib.suppress(ClusterError):
            kind.kubectl("delete", "streamjobs", "--all", f"--namespace={name.partition('/')[2]}", "--wait=false")
        kind.kubectl("delete", name, "--wait=false")


def bundle(spaces: list[Space], folder: Path) -> None:
    """Write down all that could explain a failure: objects, events, logs of now and of containers before."""
    for name in [*(space.name for space in spaces), release.NAMESPACE, broker.NAMESPACE]:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        target = f"--namespace={name}"
        _keep(place / "objects.yaml", "get", KINDS, target, "--output=yaml")
        _keep(place / "objects.txt", "get", KINDS, target, "--output=wide")
        _keep(place / "events.txt", "get", "events", target, "--sort-by=.lastTimestamp")
        _keep(place / "pods.txt", "describe", "pods", target)
        for pod in _keep(None, "get", "pods", target, "--output=name").split():
            short = pod.removeprefix("pod/")
            _keep(place / f"{short}.log", "logs", pod, target, "--all-containers", "--tail=5000", "--timestamps")
            before = _keep(None, "logs", pod, target, "--previous", "--tail=2000", "--timestamps")
            if before:
                (place / f"{short}.before.log").write_text(before)


def _keep(file: Path | None, *arguments: str) -> str:
    try:
        found = kind.kubectl(*arguments)
    except ClusterError as error:
        found = "" if file is None else str(error)
    if file is not None:
        file.write_text(found)
    return found
