"""A StreamJob on the cluster, and what is seen of it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

import api
from cluster import broker
from cluster.shell import ClusterError
from spaces import Space, until
from spillway.model.observation import Observation

# Half of a node of two cores is asked for by Kubernetes itself, so jobs of tests ask for little of the rest.
MODEST = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "50m"}}}]}}
NONE = {"min": 0, "max": 0}
HEAD = "words"  # the segment of word count that may run in batches
# Seconds until a job has its first pods, and these a leader and owners: 10 to 15 on an idle machine with two cores, of
# which Python's start in four processes takes most.
STARTS = 90.0


def word_count(space: Space, name: str = "counts", **execution: Any) -> dict[str, Any]:
    """Lines go in, and for each word a running count comes out. Its topics are made."""
    words = {"array": "split(lower(line), ' ')", "as": "word", "keep": []}
    lines, counts = space.topic(f"{name}-lines"), space.topic(f"{name}-counts")
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": space.name},
        "spec": {
            "kafka": {"bootstrapServers": [broker.INSIDE]},
            "latency": {"bound": "500ms", "quantile": 0.99},
            "streams": [{"name": "lines", "topic": lines, "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": HEAD, "input": "lines", "explode": words},
                {"name": "real-words", "input": HEAD, "filter": "word <> ''"},
                {"name": "counts", "input": "real-words", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": counts}],
            "execution": {"workers": {"min": 1, "max": 2, "podTemplate": MODEST}, "executors": NONE, **execution},
        },
    }  # fmt: skip


class Job:
    """One that was applied."""

    def __init__(self, space: Space, document: Mapping[str, Any]) -> None:
        self.space, self.document = space, copy.deepcopy(dict(document))
        self.name: str = document["metadata"]["name"]
        self.applied = time.time()
        space.apply(self.document)

    def edit(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the spec, and apply it."""
        change(self.document["spec"])
        self.applied = time.time()
        self.space.apply(self.document)

    @property
    def source(self) -> str:
        """Its first topic."""
        return str(self.document["spec"]["streams"][0]["topic"])

    @property
    def output(self) -> str:
        """Where its results go."""
        return str(self.document["spec"]["outputs"][0]["topic"])

    def seen(self) -> dict[str, Any]:
        """The object as it is."""
        found = self.space.get("streamjobs", self.name)
        assert found is not None, f"there is no StreamJob {self.name} in {self.space.name}"
        return found

    def condition(self, kind: str) -> dict[str, Any]:
        """One of its conditions; empty as long as there is none."""
        conditions = self.seen().get("status", {}).get("conditions", [])
        return next((dict(one) for one in conditions if one["type"] == kind), {})

    def until_condition(self, kind: str, status: str, seconds: float, *reasons: str) -> dict[str, Any]:
        """Wait for a condition of the spec that is there now, with one of these reasons if any are named."""

        def holds() -> dict[str, Any] | None:
            found, generation = self.condition(kind), self.seen()["metadata"]["generation"]
            fits = found.get("status") == status and found.get("observedGeneration", 0) >= generation
            return found if fits and (not reasons or found["reason"] in reasons) else None

        return until(f"{kind}={status} {'|'.join(reasons)}", holds, seconds, self.told)

    def until_ready(self, seconds: float = STARTS) -> dict[str, Any]:
        """Wait until it works."""
        return self.until_condition("Ready", "True", seconds)

    def told(self) -> str:
        """How it stands, for the message of a test."""
        status = self.seen().get("status", {})
        conditions = [
            f"{one['type']}={one['status']} {one['reason']}: {one['message']}" for one in status.get("conditions", [])
        ]
        pods = [f"{pod['metadata']['name']} {pod['status'].get('phase')}" for pod in self.pods()]
        return "\n".join(["it is:", *conditions, *pods])

    def observation(self) -> Observation | None:
        """What the driver tells, asked through the API server; None when it does not answer."""
        try:
            told = self._asked("/v1/observation")
        except ClusterError:
            return None
        return None if told is None else msgspec.convert(told, Observation)

    def deciding(self) -> dict[str, Any]:
        """What the driver decides now."""
        try:
            return dict((self._asked("/v1/deciding") or {}).get("deciding") or {})
        except ClusterError:
            return {}

    def pods(self, component: str = "") -> list[dict[str, Any]]:
        """Its pods, or those of a component: driver, worker, executor."""
        chosen = f"spillway.dev/job={self.name}"
        chosen += f",app.kubernetes.io/component={component}" if component else ""
        return self.space.all("pods", chosen)

    def lives(self, component: str = "") -> dict[str, tuple[str, int]]:
        """By pod, which one it is, and how often its containers were started again."""
        return {pod["metadata"]["name"]: (pod["metadata"]["uid"], _restarts(pod)) for pod in self.pods(component)}

    def kill(self, component: str) -> str:
        """Delete a pod at once, as when its node is lost; which one it was."""
        name = str(self.pods(component)[0]["metadata"]["name"])
        self.space.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
        return name

    def _asked(self, path: str) -> Any | None:
        return api.get(f"{api.path(self.space.name, 'pods', f'http:{self.name}-driver-0:8080')}/proxy{path}")


def ready(pod: Mapping[str, Any]) -> bool:
    """Whether all of its containers are."""
    states = pod["status"].get("containerStatuses", [])
    return bool(states) and all(one["ready"] for one in states) and "deletionTimestamp" not in pod["metadata"]


def _restarts(pod: Mapping[str, Any]) -> int:
    return sum(int(one["restartCount"]) for one in pod["status"].get("containerStatuses", []))
