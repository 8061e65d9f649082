"""Jobs as a manager might see them: by hand, and by chance."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any

import msgspec
from hypothesis import strategies as st

import bad_manifests
import observations
from spillway.controllers import acceptance
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.observed import Child, Heard, Observed, Pod, Refusal, Replicas
from spillway.model.observation import Observation, Recommended, Slot
from spillway.model.streamjob import StreamJob

NOW = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.UTC)
UID = "11111111-2222-3333-4444-555555555555"


# To accept one takes some milliseconds, and chance makes the same few over and over.
_JOBS: dict[str, StreamJob] = {}
_VERDICT = acceptance.accept(bad_manifests.GOOD)


def job(**spec: Any) -> StreamJob:
    key = json.dumps(spec, sort_keys=True)
    if key not in _JOBS:
        _JOBS[key] = _accepted(spec)
    return _JOBS[key]


def _accepted(spec: dict[str, Any]) -> StreamJob:
    document = copy.deepcopy(bad_manifests.GOOD)
    document["metadata"] = {"name": "j", "namespace": "ns", "uid": UID, "generation": 1}
    for section, fields in spec.items():
        document["spec"].setdefault(section, {}).update(fields)
    found = acceptance.accept(document).job
    assert found is not None
    return found


def told(workers: int | None = 1, granted: int | None = 1, held: tuple[int, ...] = (0,), **changes: Any) -> Observation:
    """A driver's words: so many are needed and granted, and these workers hold partitions."""
    slots = tuple(Slot(f"w{number}.0", 1, False, False, 0.1, 0.1, 1, 4) for number in held)
    recommended = Recommended(workers, workers, "Steady", "the load needs them", workers)
    seen = observations.word_count(granted=granted)
    return msgspec.structs.replace(
        seen, **{"job": "ns/j", "generation": 1, "recommended": recommended, "slots": slots, **changes}
    )


def observed(
    runs: StreamJob | None,
    heard: Observation | None = None,
    *,
    workers: Replicas | None = None,
    age: datetime.timedelta = datetime.timedelta(),
    **changes: Any,
) -> Observed:
    """What was seen of it; the driver was heard so long ago."""
    found: dict[str, Any] = {
        "name": "j", "namespace": "ns", "uid": UID, "generation": 1, "verdict": _VERDICT, "accepted": runs,
        "accepted_generation": 1 if runs is not None else 0, "workers": workers, "driver": Replicas(1, 1, 1),
        "pods": (Pod("j-driver-0", names.DRIVER, ready=True),),
        "heard": None if heard is None else Heard(heard, NOW - age),
    }  # fmt: skip
    return Observed(**{**found, **changes})


def child(kind: str, name: str, owner: str = UID) -> Child:
    return Child(kind, name, f"uid-of-{kind}-{name}", owner, "1", "digest")


@st.composite
def replicas(draw: st.DrawFn) -> Replicas:
    asked = draw(st.integers(0, 12))
    there = draw(st.integers(0, 12))
    return Replicas(
        asked=asked,
        there=there,
        ready=draw(st.integers(0, there)),
        wanted_workers=draw(st.none() | st.integers(0, 12)),
        wanted_executors=draw(st.none() | st.integers(0, 6)),
        settled=draw(st.booleans()),
    )


@st.composite
def pods(draw: st.DrawFn) -> tuple[Pod, ...]:
    found = []
    for component in (names.DRIVER, names.WORKER):
        for number in range(draw(st.integers(0, 2))):
            waiting = draw(st.sampled_from(["", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError"]))
            found.append(
                Pod(
                    f"j-{component}-{number}",
                    component,
                    phase=draw(st.sampled_from(["Running", "Pending"])),
                    ready=not waiting and draw(st.booleans()),
                    leaving=draw(st.booleans()),
                    waiting=waiting,
                    restarts=draw(st.integers(0, 5)),
                    unschedulable=draw(st.sampled_from(["", "no node has room"])),
                )
            )
    return tuple(found)


@st.composite
def worlds(draw: st.DrawFn) -> Observed:
    """Anything that could be seen, and some that could not."""
    low = draw(st.sampled_from([1, 4]))
    policy = {
        "cooldown": draw(st.sampled_from(["0s", "60s"])),
        "scaleDownDelay": draw(st.sampled_from(["0s", "60s"])),
        "mode": draw(st.sampled_from(["apply", "advise"])),
        "paused": draw(st.booleans()),
    }
    execution = {"workers": {"min": low, "max": draw(st.sampled_from([4, 10]))}, "executors": {"min": 0, "max": 2}}
    runs = job(policy=policy, execution=execution)
    heard = draw(
        st.none()
        | st.builds(
            told,
            workers=st.none() | st.integers(0, 12),
            granted=st.none() | st.integers(0, 12),
            held=st.sets(st.integers(0, 11)).map(lambda found: tuple(sorted(found))),
            ready=st.booleans(),
            leader=st.integers(0, 1),
        )
    )
    refusals = draw(
        st.lists(
            st.builds(Refusal, st.just("pods of j-worker"), st.sampled_from(["exceeded quota: q", "denied"])),
            max_size=1,
        )
    )
    return observed(
        draw(st.sampled_from([runs, runs, runs, None])),
        heard,
        workers=draw(st.none() | replicas()),
        age=datetime.timedelta(seconds=draw(st.sampled_from([0, 1, 9, 11, 60]))),
        pods=draw(pods()),
        refusals=tuple(refusals),
    )
