"""Every right that is granted is used, and nothing else is asked for: by the audit log of the cluster's API server.

`tests/api/test_rights.py` plays the same with a manager alone; here are the chart's roles, and drivers with a Spark.
"""

from __future__ import annotations

import datetime
import json

import pytest

import audits
from audits import Asked, Audit
from cluster import kind, release
from jobs import MODEST, Job, word_count
from spaces import Space, until
from spillway.manager import permissions
from spillway.manager.kinds import POD_MONITOR, Permission
from spillway.manager.manifests import access

# What was asked before these tests began may have been asked by another version.
BEGAN = datetime.datetime.now(datetime.UTC)
OPERATOR = f"system:serviceaccount:{release.NAMESPACE}:{release.NAME}"
DRIVER = (Permission("", "pods", access.EXECUTOR_VERBS),)
EVENTS = Asked("", "events", "list")
WARM = 180.0
TOLD = 60.0

pytestmark = pytest.mark.timeout(600)

# Of the cluster as it is here: it does not know the one kind, and its lease was made when it was installed.
GRANTED = tuple(one for one in permissions.PERMISSIONS if one.resource != POD_MONITOR.plural)
LEASE = tuple(one._replace(verbs=tuple(v for v in one.verbs if v != "create")) for one in permissions.OWN_PERMISSIONS)


@pytest.fixture(scope="module")
def job(shared_space: Space) -> Job:
    """One that has run a Spark with more and less executors, met a quota, grown, shrunk, and ended."""
    executors = {"min": 2, "max": 2, "memory": "512Mi", "podTemplate": MODEST}
    workers = {"min": 1, "max": 2, "podTemplate": MODEST}
    document = word_count(shared_space, workers=workers, executors=executors)
    document["spec"]["policy"] = {"cooldown": "0s", "scaleDownDelay": "0s", "deleteTopics": True}
    found = Job(shared_space, document)
    found.until_ready()
    until("two executors", lambda: len(found.pods("executor")) == 2, WARM, found.told)
    found.edit(lambda spec: spec["execution"]["executors"].update(min=1, max=1))
    until("one executor", lambda: len(found.pods("executor")) == 1, WARM, found.told)
    shared_space.apply(_quota(pods=len(found.pods())))
    found.edit(lambda spec: spec["execution"]["workers"].update(min=2))
    until("why there is none more is looked at", lambda: EVENTS in _audit(OPERATOR).allowed, TOLD, found.told)
    shared_space.kubectl("delete", "resourcequota", "full")
    until("two workers", lambda: len(found.pods("worker")) == 2, 90, found.told)
    found.until_ready()
    found.edit(lambda spec: spec["execution"]["workers"].update(min=1))
    until("one worker", lambda: len(found.pods("worker")) == 1, 120, found.told)
    release.scale(0)  # so that the lease is given up and taken again
    release.scale(1)
    shared_space.kubectl("delete", "streamjob", found.name, "--timeout=90s", seconds=120)
    return found


def _quota(pods: int) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full"},
        "spec": {"hard": {"pods": str(pods)}},
    }


def _audit(account: str) -> Audit:
    lines = [line for line in kind.audit() if _at(line) >= BEGAN]
    return audits.read(lines, account)


def _at(line: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(json.loads(line)["requestReceivedTimestamp"].replace("Z", "+00:00"))


def test_the_operator_asks_for_nothing_that_it_was_not_given(job: Job) -> None:
    found = _audit(OPERATOR)
    assert found.allowed, "it has asked for nothing at all"
    looked = {one for one in found.refused if one.resource == POD_MONITOR.plural}
    assert found.refused - looked == frozenset()
    assert audits.beyond((*permissions.PERMISSIONS, *permissions.OWN_PERMISSIONS), found) == frozenset()


def test_the_operator_uses_every_right_that_it_was_given(job: Job) -> None:
    assert audits.unused((*GRANTED, *LEASE), _audit(OPERATOR)) == frozenset()


def test_a_driver_uses_every_right_that_it_was_given_and_asks_for_nothing_else(job: Job) -> None:
    found = _audit(f"system:serviceaccount:{job.space.name}:{job.name}-driver")
    assert audits.granted(DRIVER) - found.allowed == frozenset()
    assert audits.beyond(DRIVER, found) == frozenset()


def test_workers_and_executors_ask_for_nothing(job: Job) -> None:
    asked = {
        Asked(what.get("apiGroup", ""), what["resource"], event["verb"])
        for event in map(json.loads, kind.audit())
        if event["user"]["username"] == f"system:serviceaccount:{job.space.name}:default"
        and (what := event.get("objectRef"))
    }
    assert asked == set()
