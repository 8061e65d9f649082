"""The kinds of objects that the manager touches, where the API server has them, and what it may do to each.

`PERMISSIONS` is the one list of what the code does: the chart's roles are compared with it.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from spillway.manager.manifests import access
from spillway.model import streamjob


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """A kind.

    Attributes:
        name: as manifests have it.
        group, version: of its API; the core has an empty group.
        plural: as addresses have it.
        child: a job has one.
        listed: it is looked at for all jobs at once; Secrets are not, because who may list them may read them all.
    """

    name: str
    group: str
    version: str
    plural: str
    child: bool = True
    listed: bool = True

    @property
    def api_version(self) -> str:
        """As manifests have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, part: str | None = None) -> str:
        """Its address."""
        found = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace is not None:
            found += f"/namespaces/{namespace}"
        return "/".join([found, self.plural, *filter(None, (name, part))])


STREAM_JOB = Kind(streamjob.KIND, streamjob.GROUP, streamjob.VERSION, "streamjobs", child=False)
POD = Kind("Pod", "", "v1", "pods", child=False)
EVENT = Kind("Event", "", "v1", "events", child=False)
LEASE = Kind("Lease", "coordination.k8s.io", "v1", "leases", child=False)
STATEFUL_SET = Kind("StatefulSet", "apps", "v1", "statefulsets")
SECRET = Kind("Secret", "", "v1", "secrets", listed=False)
CONFIG_MAP = Kind("ConfigMap", "", "v1", "configmaps")
POD_MONITOR = Kind("PodMonitor", "monitoring.coreos.com", "v1", "podmonitors")

# In the order in which children are deleted: what runs goes first.
CHILDREN = (
    STATEFUL_SET,
    Kind("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
    POD_MONITOR,
    Kind("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies"),
    Kind("Service", "", "v1", "services"),
    CONFIG_MAP,
    SECRET,
    Kind("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings"),
    Kind("Role", "rbac.authorization.k8s.io", "v1", "roles"),
    Kind("ServiceAccount", "", "v1", "serviceaccounts"),
)
OF_NAME = {kind.name: kind for kind in (*CHILDREN, STREAM_JOB, POD, EVENT, LEASE)}


class Permission(NamedTuple):
    """Verbs on a resource of a group."""

    group: str
    resource: str
    verbs: tuple[str, ...]


_CHILD = ("get", "list", "create", "patch", "delete")

# In each namespace with jobs, or in all.
PERMISSIONS: tuple[Permission, ...] = (
    # The finalizer is a patch of the object itself; `streamjobs/finalizers` is what an owner that blocks asks for.
    Permission(streamjob.GROUP, "streamjobs", ("get", "list", "watch", "patch")),
    Permission(streamjob.GROUP, "streamjobs/status", ("patch",)),
    Permission(streamjob.GROUP, "streamjobs/finalizers", ("update",)),
    # To be allowed to give the driver a right, one has to have it.
    Permission("", "pods", tuple(sorted({*access.EXECUTOR_VERBS, "patch"}))),
    Permission("", "events", ("list", "create")),
    Permission("", "secrets", ("get", "create", "patch", "delete")),
    *(
        Permission(kind.group, kind.plural, ("get", "list", "watch", "create", "patch", "delete"))
        if kind is STATEFUL_SET
        else Permission(kind.group, kind.plural, _CHILD)
        for kind in CHILDREN
        if kind is not SECRET
    ),
)
# In the manager's own namespace.
OWN_PERMISSIONS: tuple[Permission, ...] = (Permission("coordination.k8s.io", "leases", ("get", "create", "update")),)
