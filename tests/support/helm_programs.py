"""Helm 3, which comes with the environment, and Helm 4, where `kubernetes_programs` has built it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

import kubernetes_programs as programs
from spillway.local import cache

TOP = Path(__file__).parents[2]
CHART = TOP / "charts" / "spillway"
NAMESPACE = "spillway-system"
MONITORING = tuple(
    f"monitoring.coreos.com/v1/{kind}" for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule")
)  # what a cluster with the Prometheus operator has
MISSING = {
    "helm 3": "there is no helm 3 for this machine",
    "helm 4": "helm 4 is not built; this builds it: python tests/support/kubernetes_programs.py",
}


def found(version: str) -> Path | None:
    """The program."""
    built = cache.root() / programs.HELM.folder / programs.HELM.name
    program = Path(sys.executable).with_name("helm") if version == "helm 3" else built
    return program if program.exists() else None


def run(helm: Path, *arguments: str, values: Any = None) -> subprocess.CompletedProcess[str]:
    """Helm, with values from its input; its outcome is the caller's to judge."""
    command = [str(helm), *arguments, *([] if values is None else ["--values", "-"])]
    text = None if values is None else yaml.safe_dump(values)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def rendered(helm: Path, values: Any = None, kinds: tuple[str, ...] = (), release: str = "spillway") -> list[Any]:
    """The objects that a release would have, in a cluster with these `kinds` besides Kubernetes' own."""
    apis = [part for kind in kinds for part in ("--api-versions", kind)]
    command = ["template", release, str(CHART), "--namespace", NAMESPACE, "--kube-version", "1.34.0", *apis]
    done = run(helm, *command, values=values or {})
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def only(objects: list[Any], kind: str, name: str = "") -> Any:
    """The one object of a kind, whose name ends with this."""
    (one,) = [one for one in objects if one["kind"] == kind and one["metadata"]["name"].endswith(name)]
    return one
