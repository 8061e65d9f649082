"""From objects as the API server gives them to what a decision looks at. Only that is kept: pods are large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.observed import Child, Pod, Replicas

Object = Mapping[str, Any]


def job_of(found: Object) -> tuple[str, str] | None:
    """The namespace and name of the job that an object is marked for."""
    metadata = found["metadata"]
    job = (metadata.get("labels") or {}).get(names.JOB)
    return (metadata["namespace"], job) if job else None


def child(kind: str, found: Object) -> Child:
    """An object, without what stands in it."""
    metadata = found["metadata"]
    return Child(
        kind=kind,
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        owner=next((one["uid"] for one in metadata.get("ownerReferences") or () if one.get("controller")), ""),
        version=str(metadata.get("generation") or metadata.get("resourceVersion", "")),
        applied=(metadata.get("annotations") or {}).get(names.APPLIED, ""),
        leaving="deletionTimestamp" in metadata,
    )


def replicas(found: Object) -> Replicas:
    """A StatefulSet, in numbers."""
    metadata, status = found["metadata"], found.get("status") or {}
    annotations = metadata.get("annotations") or {}
    return Replicas(
        asked=int(found.get("spec", {}).get("replicas", 0)),
        there=int(status.get("replicas", 0)),
        ready=int(status.get("readyReplicas", 0)),
        wanted_workers=_number(annotations.get(names.WANTED_WORKERS)),
        wanted_executors=_number(annotations.get(names.WANTED_EXECUTORS)),
        settled=status.get("observedGeneration", 0) == metadata.get("generation", 0),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def pod(found: Object) -> Pod:
    """A pod, as far as its state goes."""
    metadata, status = found["metadata"], found.get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waits = [one["state"]["waiting"] for one in containers if (one.get("state") or {}).get("waiting")]
    # What merely starts waits as well, and says so in a word of its own.
    stuck: Object = next(
        (one for one in waits if one.get("reason") not in (None, "ContainerCreating", "PodInitializing")), {}
    )
    scheduled = conditions.get("PodScheduled", {})
    return Pod(
        name=metadata["name"],
        component=(metadata.get("labels") or {}).get(names.COMPONENT, ""),
        phase=status.get("phase", "Pending"),
        ready=conditions.get("Ready", {}).get("status") == "True",
        spec_hash=(metadata.get("annotations") or {}).get(names.SPEC_HASH, ""),
        leaving="deletionTimestamp" in metadata,
        waiting=stuck.get("reason", ""),
        message=stuck.get("message", ""),
        restarts=sum(int(one.get("restartCount", 0)) for one in containers),
        ended=_ended(containers),
        unschedulable=_unschedulable(scheduled),
    )


def _unschedulable(scheduled: Object) -> str:
    if scheduled.get("status") != "False" or scheduled.get("reason") != "Unschedulable":
        return ""
    return scheduled.get("message") or "no node takes it"


def _ended(containers: list[Any]) -> str:
    """How a container ended the last time: with which code, why, and its last words."""
    for one in containers:
        last = (one.get("lastState") or {}).get("terminated") or (one.get("state") or {}).get("terminated")
        if last and last.get("exitCode", 0) != 0:
            words = " ".join(str(last.get("message", "")).split())[-300:]
            said = f", {last['reason']}" if last.get("reason") not in (None, "Error") else ""
            return f"exit code {last['exitCode']}{said}" + (f": {words}" if words else "")
    return ""
