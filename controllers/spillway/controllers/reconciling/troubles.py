"""What pods and their sets say is wrong, as one reason and a sentence that says what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.observed import Observed, Pod
from spillway.model.status import Reason

# Why the kubelet has no image: the words of the Kubernetes API.
NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
NO_CONFIG = ("CreateContainerConfigError", "CreateContainerError")
CRASHING = ("CrashLoopBackOff", "RunContainerError")
# A container that ended this often without becoming ready isn't just starting.
RESTARTS = 3
# Of what somebody else wrote, so that there is room for what to do.
QUOTED = 400


@dataclasses.dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, and with what."""

    reason: Reason
    message: str
    component: str = ""


def all_of(observed: Observed) -> tuple[Trouble, ...]:
    """Everything, the cause before its consequences, and each reason of a component once."""
    found: dict[tuple[Reason, str], Trouble] = {}
    for trouble in (*_taken(observed), *_refused(observed), *_of_pods(observed)):
        found.setdefault((trouble.reason, trouble.component), trouble)
    return tuple(found.values())


def _taken(observed: Observed) -> Iterator[Trouble]:
    """Children that have our name and another owner; nothing is done to them."""
    foreign = [child for child in observed.present.values() if child.owner != observed.uid]
    if foreign:
        listed = ", ".join(f"{child.kind} {child.name}" for child in sorted(foreign, key=lambda child: child.key))
        text = (
            f"{listed}: there already, and not of this job, so it is left alone; delete or rename it, or give the job"
            " another name"
        )
        yield Trouble(Reason.NAME_TAKEN, text)


def _refused(observed: Observed) -> Iterator[Trouble]:
    for refusal in observed.refusals:
        component = next((part for part in (names.DRIVER, names.WORKER) if refusal.what.endswith(f"-{part}")), "")
        quoted = _quoted(refusal.message)
        if refusal.by_quota:
            text = f"{refusal.what}: {quoted}; raise the quota of the namespace, or lower what the job asks for"
            yield Trouble(Reason.QUOTA_EXCEEDED, text, component)
        else:
            text = f"{refusal.what}: the API server refuses it: {quoted}"
            yield Trouble(Reason.REFUSED, text, component)


def _of_pods(observed: Observed) -> Iterator[Trouble]:
    for pod in sorted(observed.pods, key=lambda pod: (pod.component != names.DRIVER, pod.name)):
        # An executor that ends is replaced by Spark, and says so through the driver.
        if not pod.leaving and pod.component != names.EXECUTOR and (trouble := _of(pod)):
            yield trouble


def _of(pod: Pod) -> Trouble | None:
    said = _quoted(pod.message or pod.waiting)
    if pod.waiting in NO_IMAGE:
        text = f"pod {pod.name}: {pod.waiting}: {said}; check the image's name and whether nodes may pull it"
        return Trouble(Reason.IMAGE_UNAVAILABLE, text, pod.component)
    if pod.waiting in NO_CONFIG:
        text = f"pod {pod.name}: {pod.waiting}: {said}; create what is missing, or correct the pod template"
        return Trouble(Reason.CREDENTIALS_MISSING, text, pod.component)
    if pod.unschedulable:
        text = f"pod {pod.name}: {_quoted(pod.unschedulable)}; add nodes, or lower requests or workers.max"
        return Trouble(Reason.UNSCHEDULABLE, text, pod.component)
    if pod.waiting in CRASHING or (pod.restarts >= RESTARTS and not pod.ready):
        ended = f" ({pod.ended})" if pod.ended else ""
        text = f"pod {pod.name} ends again and again{ended}; see: kubectl logs --previous {pod.name}"
        return Trouble(Reason.CRASHING, text, pod.component)
    return None


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else line[: QUOTED - 2] + " …"
