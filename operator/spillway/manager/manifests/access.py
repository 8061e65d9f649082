"""Who may do what: the account of the driver, and who may talk to the pods of a job."""

from __future__ import annotations

from spillway.controllers.reconciling import names
from spillway.manager.manifests.parts import PORT, Built, Manifest

# What Spark asks of the API server for its executors, by the audit log of one; `deletecollection` when it stops.
EXECUTOR_VERBS = ("create", "get", "list", "watch", "delete", "deletecollection")


def account(built: Built) -> Manifest:
    """The driver's account."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": built.metadata(built.names.driver, names.DRIVER),
        "automountServiceAccountToken": False,  # its pod asks for it; nobody else's shall
    }


def role(built: Built) -> Manifest:
    """Pods, for its executors, and nothing else."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": built.metadata(built.names.driver, names.DRIVER),
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": list(EXECUTOR_VERBS)}],
    }


def binding(built: Built) -> Manifest:
    """The one to the other."""
    name = built.names.driver
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": built.metadata(name, names.DRIVER),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": built.shape.job.metadata.namespace}],
    }


def policy(built: Built) -> Manifest:
    """Pods of the job talk to one another; the manager and whoever scrapes metrics reach their HTTP port."""
    manager = {
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {names.NAME: names.MANAGED_BY, names.COMPONENT: "manager"}},
    }
    by_name = "kubernetes.io/metadata.name"
    scrapers: list[Manifest] = [
        {"namespaceSelector": {"matchLabels": {by_name: namespace}}} for namespace in built.settings.scrapers
    ] or [{"namespaceSelector": {}}]
    own = {names.JOB: built.names.job}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": built.metadata(built.names.job),
        "spec": {
            "podSelector": {"matchLabels": own},
            # Where Kafka is, and what a user's function talks to, nobody here knows: so out they may.
            "policyTypes": ["Ingress"],
            "ingress": [
                {"from": [{"podSelector": {"matchLabels": own}}]},
                {"from": [manager, *scrapers], "ports": [{"protocol": "TCP", "port": PORT}]},
            ],
        },
    }
