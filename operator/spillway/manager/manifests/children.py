"""All children of a job, in the order in which they are applied: what a pod needs comes before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.observed import Key
from spillway.manager.manifests import access, configs, services, sets
from spillway.manager.manifests.parts import Built, Manifest

_BUILDERS: tuple[Callable[[Built], Manifest], ...] = (
    access.account,
    access.role,
    access.binding,
    access.policy,
    configs.spec,
    configs.token,
    services.driver,
    services.workers,
    sets.driver,
    sets.budget,
    sets.workers,
)


def build(built: Built) -> dict[Key, Manifest]:
    """Each child by kind and name, with the digest of itself among its annotations."""
    builders = (*_BUILDERS, services.monitor) if built.settings.pod_monitors else _BUILDERS
    found = {}
    for builder in builders:
        made = builder(built)
        made["metadata"].setdefault("annotations", {})[names.APPLIED] = digest(made)
        found[made["kind"], made["metadata"]["name"]] = made
    return found


def digest(value: Any) -> str:
    """A short one that two different values do not share."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def applied(made: Manifest) -> str:
    """The digest that a child carries."""
    return str(made["metadata"]["annotations"][names.APPLIED])


def spec_hash(children: dict[Key, Manifest]) -> str:
    """The digest of what pods mount of the spec."""
    return next(applied(made) for (kind, _), made in children.items() if kind == "ConfigMap")
