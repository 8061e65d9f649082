"""Runs executor pods as processes of this machine, where there is an API server and no node.

A stand-in for a kubelet of a few lines: it starts the command of a pod with its environment, tells that it runs, and
ends the process when the pod is gone. There is no image, no volume and no cgroup: of these the specification of the pod
can be looked at, and tests on a cluster do the rest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark

from api_client import ApiClient

TOP = Path(__file__).resolve().parents[2]
EXECUTOR = TOP / "runtime-image" / "bin" / "executor"
LOOK = 0.2  # seconds between two looks at the pods


class Kubelet:
    """Of one namespace, while the block lasts; looks after pods with the label of executors."""

    def __init__(self, client: ApiClient, namespace: str, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet")

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for name in list(self.processes):
            self._end(name)

    def pods(self) -> dict[str, Mapping[str, Any]]:
        """The executors that there are, by name."""
        _, found = self._client.ask("GET", f"{self._path}?labelSelector=app.kubernetes.io/component%3Dexecutor")
        return {pod["metadata"]["name"]: pod for pod in found["items"]}

    def log(self, name: str) -> str:
        """What the process of a pod has printed."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _run(self) -> None:
        while not self._ended.wait(LOOK):
            pods = self.pods()
            for name in self.processes.keys() - pods:
                self._end(name)
            for name, pod in pods.items():
                if name not in self.processes and "spark-exec-id" in pod["metadata"]["labels"]:
                    self._begin(name, pod)

    def _begin(self, name: str, pod: Mapping[str, Any]) -> None:
        (container,) = pod["spec"]["containers"]
        scratch = self._folder / name
        scratch.mkdir()
        given = {one["name"]: one.get("value") or _field(one, name) for one in container["env"]}
        ours = {"PATH": os.environ["PATH"], "SPARK_HOME": str(Path(pyspark.__file__).parent), "HOME": str(scratch)}
        if home := os.environ.get("JAVA_HOME"):
            ours["JAVA_HOME"] = home
        environment = {**given, **ours, "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch)}
        assert container["command"] == ["/opt/spillway/bin/executor"], container["command"]
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [EXECUTOR, *container["args"]], env=environment, cwd=scratch, stdout=log, stderr=log
            )
        status = {"status": {"phase": "Running", "podIP": "127.0.0.1"}}
        self._client.ask("PATCH", f"{self._path}/{name}/status", status, "application/merge-patch+json")

    def _end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        shutil.rmtree(self._folder / name, ignore_errors=True)


def _field(variable: Mapping[str, Any], name: str) -> str:
    """What the downward API gives."""
    path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
    return {"status.podIP": "127.0.0.1", "metadata.name": name}.get(path, "")
