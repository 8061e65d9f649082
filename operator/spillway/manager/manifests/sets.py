"""The sets of pods: one driver, so many workers; and how many of these may be away at once."""

from __future__ import annotations

from spillway.controllers.reconciling import names
from spillway.manager.manifests import pods
from spillway.manager.manifests.parts import Built, Manifest

# Of templates, to look at and to go back to by hand.
HISTORY = 3


def driver(built: Built) -> Manifest:
    """The driver. A set, because of a lost node it starts no second one before the first is known to be gone."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": built.metadata(built.names.driver, names.DRIVER),
        "spec": _spec(built, names.DRIVER, 1, pods.driver(built)),
    }


def workers(built: Built) -> Manifest:
    """The workers. All are started and ended at once: which of them has what is the driver's business."""
    metadata = built.metadata(built.names.worker, names.WORKER)
    metadata["annotations"] = {
        names.WANTED_WORKERS: str(built.shape.workers),
        names.WANTED_EXECUTORS: str(built.shape.executors),
    }
    spec = _spec(built, names.WORKER, built.shape.replicas, pods.worker(built))
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def budget(built: Built) -> Manifest:
    """One worker at a time may be evicted: its partitions need others with room for them."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": built.metadata(built.names.worker, names.WORKER),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": built.selector(names.WORKER)}},
    }


def _spec(built: Built, component: str, replicas: int, template: Manifest) -> Manifest:
    return {
        "serviceName": built.names.driver if component == names.DRIVER else built.names.worker,
        "replicas": replicas,
        "revisionHistoryLimit": HISTORY,
        "selector": {"matchLabels": built.selector(component)},
        # In order, a pod that never became ready (its image is nowhere) is not replaced by one of a better template.
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate"},
        "template": template,
    }
