"""What the manager rests on in a cluster, a real one or the small one of tests.

A name is not an object, and an object not one of its versions.
"""

from __future__ import annotations

import uuid

import pytest

from spillway.manager import kinds
from spillway.manager.cluster import Cluster
from spillway.manager.errors import ConflictError, NotFoundError


async def hold(client: Cluster) -> None:
    """It does what it should; an AssertionError where not."""
    name = f"c-{uuid.uuid4().hex[:8]}"
    metadata = {"name": name, "namespace": "default"}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1", "b": "2"}}
    first = await client.apply(kinds.CONFIG_MAP, manifest)
    # What we leave out goes; what others wrote stays.
    await client.merge(kinds.CONFIG_MAP, "default", name, {"data": {"theirs": "3"}})
    second = await client.apply(kinds.CONFIG_MAP, {**manifest, "data": {"a": "1"}})
    assert second["data"] == {"a": "1", "theirs": "3"}
    again = await client.apply(kinds.CONFIG_MAP, {**manifest, "data": {"a": "1"}})
    assert again["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    with pytest.raises(ConflictError):
        await client.delete(kinds.CONFIG_MAP, "default", name, "another-uid")
    stale = first["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError):
        await client.delete(kinds.CONFIG_MAP, "default", name, first["metadata"]["uid"], stale)
    with pytest.raises(ConflictError):
        await client.apply(kinds.CONFIG_MAP, {**manifest, "metadata": {**metadata, "resourceVersion": stale}})
    with pytest.raises(ConflictError):
        await client.create(kinds.CONFIG_MAP, manifest)
    await client.delete(kinds.CONFIG_MAP, "default", name, first["metadata"]["uid"])
    with pytest.raises(NotFoundError):
        await client.get(kinds.CONFIG_MAP, "default", name)
    # Of a life that is over nothing is made anew.
    with pytest.raises(ConflictError):
        await client.apply(kinds.CONFIG_MAP, {**manifest, "metadata": {**metadata, "uid": first["metadata"]["uid"]}})
