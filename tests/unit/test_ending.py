"""The end of a job: pods go once workers hold nothing, or when nobody can bring that about in time."""

from __future__ import annotations

import datetime

import pytest

import reconciled
from spillway.controllers.reconciling import ending, names
from spillway.controllers.reconciling.ending import Step
from spillway.controllers.reconciling.observed import Pod
from spillway.model.observation import Observation

DRIVER, WORKER = Pod("j-driver-0", names.DRIVER), Pod("j-worker-0", names.WORKER)
BOTH = (DRIVER, WORKER)
HOLDS = reconciled.told(granted=1, held=(0,))
LEAVES = reconciled.told(granted=0, held=(0,))
RESTS = reconciled.told(granted=0, held=())
FOLLOWS = reconciled.told(granted=0, held=(), leader=0)


@pytest.mark.parametrize(
    ("pods", "seen", "since", "step"),
    [
        pytest.param(BOTH, HOLDS, 0.0, Step.GRANT_NONE, id="a worker holds something: it is granted nothing"),
        pytest.param(BOTH, LEAVES, 1.0, Step.ASK, id="it is giving that away"),
        pytest.param(BOTH, RESTS, 2.0, Step.GO, id="it holds nothing any more"),
        pytest.param(BOTH, FOLLOWS, 2.0, Step.ASK, id="a driver that does not lead yet knows of nothing"),
        pytest.param(BOTH, LEAVES, 20.0, Step.GO, id="it holds on to it for too long"),
        pytest.param(BOTH, None, 1.0, Step.ASK, id="the driver is silent"),
        pytest.param(BOTH, None, 5.0, Step.GO, id="the driver is silent for too long"),
        pytest.param((WORKER,), HOLDS, 0.0, Step.GO, id="there is no driver"),
        pytest.param((DRIVER,), HOLDS, 0.0, Step.GO, id="there is no worker"),
        pytest.param(
            (DRIVER, Pod("j-worker-0", names.WORKER, leaving=True)), HOLDS, 0.0, Step.GO, id="workers end already"
        ),
        pytest.param((Pod("j-driver-0", names.DRIVER, phase="Pending"), WORKER), None, 0.0, Step.GO, id="it never ran"),
    ],
)
def test_pods_go_when(pods: tuple[Pod, ...], seen: Observation | None, since: float, step: Step) -> None:
    assert ending.step(pods, seen, datetime.timedelta(seconds=since)) is step
