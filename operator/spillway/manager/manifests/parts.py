"""What all children have in common: metadata, and how a user's pod template goes over ours."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.decision import Shape
from spillway.controllers.reconciling.names import Names
from spillway.model import streamjob

Manifest = dict[str, Any]

PORT = 8080
# uid and gid of the images; not root, and a number, because `runAsNonRoot` can't look a name up.
USER = 10001


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What the manager was told when it was started.

    Attributes:
        image: of jobs that name none.
        pull_policy: of their containers.
        scrapers: namespaces from which metrics may be read; with none, from any.
        pod_monitors: the cluster knows PodMonitors.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    scrapers: tuple[str, ...] = ()
    pod_monitors: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """What children are made of.

    Attributes:
        shape: what is to be there.
        document: the accepted manifest, as the API server has it.
        settings: of the manager.
        uid: of the StreamJob.
        token: of the HTTP contract; never in anything but the Secret.
        code_hash: a digest of the user's Python files; empty if there are none.
    """

    shape: Shape
    document: Mapping[str, Any]
    settings: Settings
    uid: str
    token: str
    code_hash: str = ""

    @property
    def names(self) -> Names:
        """Of the children."""
        return Names.of(self.shape.job)

    @property
    def image(self) -> str:
        """Of the job's containers."""
        return self.shape.job.spec.execution.image or self.settings.image

    def metadata(self, name: str, component: str | None = None) -> Manifest:
        """Of a child."""
        return {
            "name": name,
            "namespace": self.shape.job.metadata.namespace,
            "labels": self.names.labels(component),
            "ownerReferences": [
                {
                    "apiVersion": streamjob.API_VERSION,
                    "kind": streamjob.KIND,
                    "name": self.shape.job.metadata.name,
                    "uid": self.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }

    def selector(self, component: str) -> dict[str, str]:
        """The labels by which pods of one component are found."""
        return {names.JOB: self.names.job, names.COMPONENT: component}


def merged(ours: Any, theirs: Any) -> Any:
    """Theirs over ours: mappings field by field, lists of named things by name, anything else as theirs has it."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        found = {key: copy.deepcopy(value) for key, value in ours.items()}
        for key, value in theirs.items():
            found[key] = merged(found[key], value) if key in found else copy.deepcopy(value)
        return found
    if _named(ours) and _named(theirs):
        by_name = {one["name"]: one for one in ours}
        added = [copy.deepcopy(one) for one in theirs if one["name"] not in by_name]
        replaced = {one["name"]: one for one in theirs}
        kept = [merged(one, replaced[name]) if name in replaced else one for name, one in by_name.items()]
        return [*kept, *added]
    return copy.deepcopy(theirs)


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) and "name" in one for one in value)


SECURE_POD: Manifest = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
SECURE_CONTAINER: Manifest = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# What a user's template may not set: with one of these a pod could reach the node.
_FORBIDDEN = ("hostNetwork", "hostPID", "hostIPC", "hostUsers", "hostAliases", "serviceAccount", "ephemeralContainers")


def templated(ours: Manifest, template: Any) -> Manifest:
    """Our pod template with the user's fields over it, and security over both."""
    if template is None:
        return ours
    labels, fixed = ours["metadata"]["labels"], ours["spec"]
    metadata = {
        key: dict(value) for key, value in (template.metadata or {}).items() if key in ("labels", "annotations")
    }
    found: Manifest = merged(ours, {"metadata": metadata, "spec": template.spec or {}})
    found["metadata"]["labels"] |= labels
    found["metadata"].setdefault("annotations", {}).update(ours["metadata"].get("annotations", {}))
    spec = found["spec"]
    for field in _FORBIDDEN:
        spec.pop(field, None)
    for field in ("serviceAccountName", "automountServiceAccountToken", "restartPolicy"):
        if field in fixed:
            spec[field] = fixed[field]
    spec["securityContext"] = {**spec.get("securityContext", {}), **SECURE_POD}
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind, ()):
            container["securityContext"] = {**container.get("securityContext", {}), **SECURE_CONTAINER}
    return found
