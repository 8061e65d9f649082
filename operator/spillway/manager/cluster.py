"""The API server: a few verbs over plain dicts.

Content type, field manager, force and timeouts are decided here and nowhere else. Objects are written by server-side
apply: what we wrote once and leave out the next time goes, and what others write into the same object stays.
"""

from __future__ import annotations

import asyncio
import os
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol, TypeVar

import aiohttp
import msgspec
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from spillway.manager.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    InvalidObjectError,
    NotFoundError,
    TooManyError,
    UnreachableError,
)
from spillway.manager.kinds import Kind

Object = dict[str, Any]
T = TypeVar("T")

FIELD_MANAGER = "spillway"
# Seconds for one request. The API server itself gives up on most after 60 and on an etcd that hangs after 10; longer,
# and one lost packet stops a job's pass for a minute.
TIMEOUT = 15.0
# Requests at once. The API server serves some hundred at a time to all of its clients; more of ours would only wait
# there, and take the room of others.
AT_ONCE = 16
# Objects in one page of a list.
PAGE = 500

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is looked at of an object's metadata. Who wrote which field is most of them, and is passed over."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[dict[str, Any], ...] | None = None
    finalizers: tuple[str, ...] | None = None
    deletion_timestamp: str | None = None


class _Item(msgspec.Struct, frozen=True):
    metadata: Metadata


class _Page(msgspec.Struct, frozen=True):
    metadata: dict[str, Any] = {}
    items: tuple[_Item, ...] | None = ()


class Cluster(Protocol):
    """What the manager asks of an API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """One object. Raises NotFoundError."""

    def all(
        self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "", *, metadata: bool = False
    ) -> AsyncIterator[Object]:
        """All objects of a kind, by labels or fields; with `metadata` only that of each."""

    async def apply(self, kind: Kind, manifest: Object, part: str | None = None) -> Object:
        """Write what we own of an object, or of a part of it such as its status; made if it isn't there."""

    async def create(self, kind: Kind, manifest: Object) -> Object:
        """Make it. Raises ConflictError if it is there."""

    async def replace(self, kind: Kind, manifest: Object) -> Object:
        """Write the whole of it. Raises ConflictError if somebody else did since it was read."""

    async def merge(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        """Write some fields of something that is there. Raises NotFoundError."""

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str, version: str = "") -> None:
        """Delete this life of it, and what it owns. Raises ConflictError if it is another one by now."""


class ApiServer:
    """The real one. Closes its connections when it is closed."""

    def __init__(self, configuration: Configuration, told: Callable[[str, str, int], None]) -> None:
        """`told` hears of each request: its verb, the plural of the kind, and the code of the answer, 0 for none."""
        configuration.connection_pool_maxsize = AT_ONCE
        self._client = ApiClient(configuration)
        self._configuration = configuration
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._told = told

    @classmethod
    async def connected(cls, told: Callable[[str, str, int], None], context: str | None = None) -> ApiServer:
        """As the environment says: the account of the pod, else the kubeconfig; or this `context` of the kubeconfig."""
        configuration = Configuration()
        try:
            if context is not None:
                message = f"context {context}"
                raise config.ConfigException(message)
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except config.ConfigException:
            try:
                named = os.environ.get("KUBECONFIG")  # as it is now: the client looked when it was imported
                await config.load_kube_config(  # type: ignore[no-untyped-call]
                    config_file=named, context=context, client_configuration=configuration
                )
            except config.ConfigException as error:
                message = f"no Kubernetes cluster is named, neither by a pod's account nor by a kubeconfig: {error}"
                raise UnreachableError(message) from error
        return cls(configuration, told)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """One object."""
        return await self._ask("GET", kind, kind.path(namespace, name))

    async def all(
        self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "", *, metadata: bool = False
    ) -> AsyncIterator[Object]:
        """All objects, page by page."""
        asked = {"limit": str(PAGE), "labelSelector": selector, "fieldSelector": fields}
        while True:
            text = await self._read("GET", kind, kind.path(namespace), asked, accept=METADATA if metadata else JSON)
            if metadata:
                page = _decoded(text, _Page)
                for item in page.items or ():
                    yield {"metadata": msgspec.to_builtins(item.metadata)}
                asked["continue"] = page.metadata.get("continue", "")
            else:
                found = _decoded(text, Object)
                for item in found.get("items") or ():
                    yield item
                asked["continue"] = found["metadata"].get("continue", "")
            if not asked["continue"]:
                return

    async def apply(self, kind: Kind, manifest: Object, part: str | None = None) -> Object:
        """Write what we own of it."""
        metadata = manifest["metadata"]
        path = kind.path(metadata.get("namespace"), metadata["name"], part)
        asked = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        return await self._ask("PATCH", kind, path, asked, manifest, APPLY)

    async def create(self, kind: Kind, manifest: Object) -> Object:
        """Make it."""
        path = kind.path(manifest["metadata"]["namespace"])
        return await self._ask("POST", kind, path, {"fieldManager": FIELD_MANAGER}, manifest)

    async def replace(self, kind: Kind, manifest: Object) -> Object:
        """Write the whole of it."""
        path = kind.path(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
        return await self._ask("PUT", kind, path, {"fieldManager": FIELD_MANAGER}, manifest)

    async def merge(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        """Write some fields of it."""
        asked = {"fieldManager": FIELD_MANAGER}
        return await self._ask("PATCH", kind, kind.path(namespace, name), asked, patch, MERGE)

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str, version: str = "") -> None:
        """Delete it."""
        conditions = {"uid": uid, **({"resourceVersion": version} if version else {})}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": conditions,
            "propagationPolicy": "Background",
        }
        await self._ask("DELETE", kind, kind.path(namespace, name), {}, options)

    async def _ask(
        self,
        method: str,
        kind: Kind,
        path: str,
        asked: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = JSON,
    ) -> Object:
        return _decoded(await self._read(method, kind, path, asked, body, content), Object)

    async def _read(
        self,
        method: str,
        kind: Kind,
        path: str,
        asked: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = JSON,
        *,
        accept: str = JSON,
    ) -> bytes:
        """What a good answer says; of any other, the error that it is."""
        query = urllib.parse.urlencode({name: value for name, value in (asked or {}).items() if value})
        status = 0
        try:
            where = path + (f"?{query}" if query else "")
            headers = {"Accept": accept, "Content-Type": content}
            status, text, found = await self.send(method, where, body, headers)
        finally:
            self._told(method, kind.plural, status)
        if not 200 <= status < 300:
            raise refused(status, text, f"{method} {path}", found)
        return text

    async def send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = TIMEOUT,
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Whatever is answered at a path: status, body and headers. Raises UnreachableError."""
        sent = {"Accept": "*/*", **(headers or {})}
        settings: Any = await self._configuration.auth_settings()
        for setting in settings.values():
            sent[setting["key"]] = setting["value"]
        try:
            async with self._turns:
                address = f"{self._configuration.host}{path}"
                answer = await self._client.call_api(method, address, sent, body, _request_timeout=seconds)
                return answer.status, await answer.read(), answer.headers  # type: ignore[no-untyped-call]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"the API server does not answer {method} {path}: {str(error) or type(error).__name__}"
            raise UnreachableError(message) from error


_ERRORS: Mapping[int, type[ClusterError]] = {
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ConflictError,
    400: InvalidObjectError,
    422: InvalidObjectError,
}


def _decoded(text: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        message = f"the API server answers with something else than was asked for: {error}"
        raise UnreachableError(message) from error


def refused(status: int, text: bytes, asked: str, headers: Mapping[str, str]) -> ClusterError:
    """The error that an answer is."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = {}
    said = found.get("message") if isinstance(found, dict) else ""
    message = str(said or f"{asked} was answered with {status}")
    if status == 429:
        after = headers.get("Retry-After", "1")
        return TooManyError(message, float(after) if after.isdigit() else 1.0)
    return _ERRORS.get(status, UnreachableError)(message)
