"""What somebody has asked of an API server, by its audit log, beside what he is allowed to.

A right that nobody uses is one that somebody else could: so what is granted and what is asked have to be the same.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from spillway.manager.kinds import Permission
from spillway.manager.manifests import access

# For `--audit-policy-file`: who asked for what, and how it ended; not what was in it.
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    userGroups: [system:nodes]
  - level: None
    users: [system:kube-scheduler, system:kube-controller-manager, system:apiserver]
  - level: None
    nonResourceURLs: ["*"]
  - level: Metadata
"""
LOG = "audit.log"


class Asked(NamedTuple):
    """A verb on a resource of a group."""

    group: str
    resource: str
    verb: str


# Rights of the manager that no request of its own needs, and why it has them.
HELD = {
    # Who makes something that blocks the deletion of its owner has to have this one; nothing is asked with it.
    Asked("spillway.dev", "streamjobs/finalizers", "update"): "an owner that blocks",
    # Nobody can give a right that he has not.
    **{Asked("", "pods", verb): "given on to drivers" for verb in access.EXECUTOR_VERBS},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Audit:
    """All that one account has asked.

    Attributes:
        allowed: what was answered with anything but a refusal.
        refused: what it may not.
    """

    allowed: frozenset[Asked]
    refused: frozenset[Asked]


def read(lines: Iterable[str], account: str) -> Audit:
    """Of an account, or of whoever acts as it."""
    allowed, refused = set(), set()
    for line in lines:
        event: Mapping[str, Any] = json.loads(line)
        who = (event.get("impersonatedUser") or event["user"])["username"]
        what = event.get("objectRef")
        if who != account or not what:
            continue
        resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
        asked = Asked(what.get("apiGroup", ""), resource, event["verb"])
        code = (event.get("responseStatus") or {}).get("code", 0)
        if code in (401, 403):
            refused.add(asked)
            continue
        allowed.add(asked)
        # What is applied and was not there is made, and takes the right to make it.
        if asked.verb == "patch" and code == 201:
            allowed.add(asked._replace(verb="create"))
    return Audit(frozenset(allowed), frozenset(refused))


def granted(permissions: Iterable[Permission]) -> frozenset[Asked]:
    """The same as verbs on resources."""
    return frozenset(Asked(one.group, one.resource, verb) for one in permissions for verb in one.verbs)


def unused(permissions: Iterable[Permission], audit: Audit) -> frozenset[Asked]:
    """Rights that were not needed."""
    return granted(permissions) - audit.allowed - HELD.keys()


def beyond(permissions: Iterable[Permission], audit: Audit) -> frozenset[Asked]:
    """What was asked without a right to it, or with one that the list does not have."""
    return (audit.allowed | audit.refused) - granted(permissions)
