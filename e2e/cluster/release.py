"""The operator, installed as users do it: with the chart."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from cluster import kind
from cluster.images import TOP, Images
from cluster.shell import ClusterError, run

NAMESPACE = "spillway-system"
NAME = "spillway"
CHART = TOP / "charts" / "spillway"
WITHIN = 120  # seconds until the operator answers


def install(images: Images) -> None:
    """Install it, or bring what is installed up to date, and return when it is ready."""
    if not (CHART / "Chart.yaml").is_file():
        message = f"there is no chart in {CHART.relative_to(TOP)}"
        raise ClusterError(message)
    kind.kubectl("apply", "--server-side", "--filename=-", given=json.dumps(_namespace(NAMESPACE)))
    operator, runtime = images.operator.split(":"), images.runtime.split(":")
    values = {
        "image": {"repository": operator[0], "tag": operator[1]},
        "jobImage": {"repository": runtime[0], "tag": runtime[1]},
        "clusterWide": True,  # each test has a namespace of its own
    }
    _helm("upgrade", NAME, str(CHART), "--install", "--wait", "--values=-", given=values)


def upgrade(**values: object) -> None:
    """Install it again with some other values, and return when it is ready."""
    _helm("upgrade", NAME, str(CHART), "--reuse-values", "--wait", "--values=-", given=values)


def rollback(revision: int | None = None) -> None:
    """Go back to a revision, else to what was installed before the last upgrade, and return when that is ready."""
    _helm("rollback", NAME, *([] if revision is None else [str(revision)]), "--wait")


def revision() -> int:
    """How often it was installed, upgraded, or rolled back."""
    return int(json.loads(_helm("status", NAME, "--output=json"))["version"])


def check() -> str:
    """`helm test`; what it printed. Raises ClusterError where it fails."""
    return _helm("test", NAME, "--logs")


def _helm(*arguments: str, given: object = None) -> str:
    target = ["--kubeconfig", kind.kubeconfig(), "--kube-context", kind.CONTEXT, "--namespace", NAMESPACE]
    body = None if given is None else json.dumps(given).encode()
    waits = [f"--timeout={WITHIN}s"] if arguments[0] != "status" else []
    return run(helm(), *arguments, *target, *waits, given=body, seconds=WITHIN + 60)


def installed() -> bool:
    """Whether there is an operator."""
    return NAME in kind.kubectl("get", "deployments", f"--namespace={NAMESPACE}", "--output=name")


def scale(count: int) -> None:
    """Have so many operators, and return when they are there, or gone."""
    target = f"--namespace={NAMESPACE}"
    kind.kubectl("scale", f"deployment/{NAME}", target, f"--replicas={count}")
    kind.kubectl("rollout", "status", f"deployment/{NAME}", target, f"--timeout={WITHIN}s", seconds=WITHIN + 10)
    if not count:
        # Not the pod of `helm test`, which stays as it is.
        ours = "--selector=app.kubernetes.io/component=manager"
        kind.kubectl("wait", "pods", ours, target, "--for=delete", f"--timeout={WITHIN}s", seconds=WITHIN + 10)


def helm() -> str:
    """The helm of the environment, else that of PATH."""
    for folder in (str(Path(sys.executable).parent), None):
        if found := shutil.which("helm", path=folder):
            return found
    message = "the program 'helm' is needed and not there: `make setup`, or install it"
    raise ClusterError(message)


def _namespace(name: str) -> dict[str, object]:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
