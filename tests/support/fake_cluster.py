"""An API server of a few lines, for tests that die at every step: versions, uids, ownership of fields, preconditions.

What it does not do: schemas, admission, defaults, paging, field selectors, lists merged by key (a list is replaced as a
whole), deletion of what an owner owns. `cluster_verbs` holds it against a real one.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from spillway.manager.cluster import Object
from spillway.manager.errors import ConflictError, NotFoundError
from spillway.manager.kinds import Kind

_OURS = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")


class FakeCluster:
    """Objects by kind, namespace and name.

    Attributes:
        objects: all of them.
        verb: called before and after each change, with a word for it; it may raise, as a connection that breaks does.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.verb: Callable[[str], None] = lambda _: None
        self._applied: dict[tuple[str, str, str, str], Object] = {}
        self._version = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return copy.deepcopy(self._there(kind, namespace, name))

    async def all(
        self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "", *, metadata: bool = False
    ) -> AsyncIterator[Object]:
        del fields, metadata
        for (of, place, _), found in list(self.objects.items()):
            if of == kind.name and namespace in (None, place) and _selected(found, selector):
                yield copy.deepcopy(found)

    async def apply(self, kind: Kind, manifest: Object, part: str | None = None) -> Object:
        metadata = manifest["metadata"]
        key = kind.name, metadata["namespace"], metadata["name"]
        self.verb(f"before apply {kind.name} {part or ''}")
        there = self.objects.get(key)
        if there is None and (part or "uid" in metadata):
            if part:
                raise NotFoundError(str(key))
            raise ConflictError(str(key))
        if there is not None:
            for field in ("uid", "resourceVersion"):
                if metadata.get(field, there["metadata"][field]) != there["metadata"][field]:
                    raise ConflictError(str(key))
        new = copy.deepcopy(manifest)
        for field in _OURS:
            new["metadata"].pop(field, None)
        live = copy.deepcopy(there) if there is not None else {"metadata": {"uid": str(uuid.uuid4())}}
        before = self._applied.get((*key, part or ""), {})
        found = _merged(_without(live, before, new), new)
        self._applied[*key, part or ""] = new
        self._store(key, there, found)
        self.verb(f"after apply {kind.name} {part or ''}")
        return copy.deepcopy(self.objects[key])

    async def create(self, kind: Kind, manifest: Object) -> Object:
        metadata = manifest["metadata"]
        key = kind.name, metadata["namespace"], metadata["name"]
        self.verb(f"before create {kind.name}")
        if key in self.objects:
            raise ConflictError(str(key))
        found = copy.deepcopy(manifest)
        found["metadata"]["uid"] = str(uuid.uuid4())
        self._store(key, None, found)
        self.verb(f"after create {kind.name}")
        return copy.deepcopy(self.objects[key])

    async def replace(self, kind: Kind, manifest: Object) -> Object:
        metadata = manifest["metadata"]
        there = self._there(kind, metadata["namespace"], metadata["name"])
        if metadata.get("resourceVersion") != there["metadata"]["resourceVersion"]:
            raise ConflictError(metadata["name"])
        self._store((kind.name, metadata["namespace"], metadata["name"]), there, copy.deepcopy(manifest))
        return await self.get(kind, metadata["namespace"], metadata["name"])

    async def merge(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        self.verb(f"before merge {kind.name}")
        there = self._there(kind, namespace, name)
        version = patch.get("metadata", {}).get("resourceVersion")
        if version not in (None, there["metadata"]["resourceVersion"]):
            raise ConflictError(name)
        key = kind.name, namespace, name
        self._store(key, there, _merged(copy.deepcopy(there), patch))
        self._collect(key)
        self.verb(f"after merge {kind.name}")
        return copy.deepcopy(self.objects.get(key, there))

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str, version: str = "") -> None:
        self.verb(f"before delete {kind.name}")
        there = self._there(kind, namespace, name)
        if there["metadata"]["uid"] != uid or version not in ("", there["metadata"]["resourceVersion"]):
            raise ConflictError(name)
        there["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
        self._collect((kind.name, namespace, name))
        self.verb(f"after delete {kind.name}")

    def _there(self, kind: Kind, namespace: str, name: str) -> Object:
        try:
            return self.objects[kind.name, namespace, name]
        except KeyError:
            raise NotFoundError(name) from None

    def _store(self, key: tuple[str, str, str], before: Object | None, found: Object) -> None:
        """A write that changes nothing is none."""
        metadata = found["metadata"]
        if before is not None and _essence(before) == _essence(found):
            return
        self._version += 1
        generation = before["metadata"]["generation"] if before is not None else 0
        same = before is not None and before.get("spec") == found.get("spec")
        metadata |= {"resourceVersion": str(self._version), "generation": generation + (not same)}
        self.objects[key] = found

    def _collect(self, key: tuple[str, str, str]) -> None:
        """What is deleted goes when nobody holds it."""
        metadata = self.objects[key]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            del self.objects[key]
            self._applied = {of: applied for of, applied in self._applied.items() if of[:3] != key}


def _essence(found: Object) -> str:
    metadata = {
        name: value for name, value in found["metadata"].items() if name not in ("resourceVersion", "generation")
    }
    return json.dumps({**found, "metadata": metadata}, sort_keys=True)


def _merged(live: Any, new: Any) -> Any:
    if isinstance(live, dict) and isinstance(new, dict):
        return {**live, **{key: _merged(live.get(key), value) for key, value in new.items()}}
    return copy.deepcopy(new)


def _without(live: Any, before: Any, new: Any) -> Any:
    """What was applied before and is not now goes."""
    if not (isinstance(live, dict) and isinstance(before, dict)):
        return live
    found = {}
    for key, value in live.items():
        if key in before and (not isinstance(new, dict) or key not in new):
            if isinstance(value, dict) and isinstance(before[key], dict):
                left = _without(value, before[key], {})
                if left:
                    found[key] = left
        elif key in before:
            found[key] = _without(value, before[key], new[key])
        else:
            found[key] = value
    return found


def _selected(found: Object, selector: str) -> bool:
    labels = found["metadata"].get("labels") or {}
    return all(_holds(labels, *term.partition("=")) for term in selector.split(",") if term)


def _holds(labels: dict[str, str], key: str, equals: str, value: str) -> bool:
    if key.startswith("!"):
        return key[1:] not in labels
    return labels.get(key) == value if equals else key in labels
