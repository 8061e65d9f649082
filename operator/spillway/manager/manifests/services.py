"""How pods are found: headless Services, and the PodMonitor where the cluster knows that kind."""

from __future__ import annotations

from spillway.controllers.reconciling import names
from spillway.manager.manifests.parts import PORT, Built, Manifest


def driver(built: Built) -> Manifest:
    """The driver, by a name that stays."""
    return _headless(built, built.names.driver, names.DRIVER)


def workers(built: Built) -> Manifest:
    """Each worker, by its number."""
    return _headless(built, built.names.worker, names.WORKER)


def monitor(built: Built) -> Manifest:
    """Which pods a Prometheus of the operator of that name reads."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": built.metadata(built.names.job),
        "spec": {
            "selector": {"matchLabels": {names.JOB: built.names.job}},
            "podTargetLabels": [names.JOB, names.COMPONENT],
            "podMetricsEndpoints": [{"port": "http", "path": "/metrics"}],
        },
    }


def _headless(built: Built, name: str, component: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": built.metadata(name, component),
        "spec": {
            "clusterIP": "None",
            # Who isn't ready yet has to be asked why.
            "publishNotReadyAddresses": True,
            "selector": built.selector(component),
            "ports": [{"name": "http", "port": PORT, "protocol": "TCP", "targetPort": "http"}],
        },
    }
