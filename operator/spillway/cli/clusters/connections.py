"""An API server, as a kubeconfig names it: with the rights of whoever runs the command, and no others."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from kubernetes.aio import config

from spillway.cli.asking import contexts
from spillway.cli.clusters.forwarding import Forward
from spillway.manager import cluster
from spillway.manager.cluster import ApiServer
from spillway.manager.errors import ClusterError
from spillway.manager.kinds import Kind

Object = dict[str, Any]

# Seconds for an answer that comes through the API server from a pod: it gives up on a pod that can't be reached after
# half a minute, and a person has long before.
PATIENCE = 8.0


class Connection:
    """One API server; closed by `opened`.

    Attributes:
        namespace: the one that is meant where none is named.
    """

    def __init__(
        self, runner: asyncio.Runner, api: ApiServer, context: str | None, stack: contextlib.ExitStack
    ) -> None:
        self._runner, self._api, self._context, self._stack = runner, api, context, stack
        self.namespace = _namespace(context)

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """One object. Raises NotFoundError and other ClusterErrors."""
        return self._runner.run(self._api.get(kind, namespace, name))

    def listed(self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "") -> list[Object]:
        """All objects of a kind, in one namespace or in all. Raises ClusterError."""

        async def collect() -> list[Object]:
            return [one async for one in self._api.all(kind, namespace, selector, fields)]

        return self._runner.run(collect())

    def send(
        self, method: str, path: str, body: Object | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Whatever is answered. Raises ClusterError where nothing is."""
        status, found, _ = self._runner.run(self._api.send(method, path, body, headers, PATIENCE))
        return status, found

    def forwarded(self, namespace: str, pod: str, port: int) -> str:
        """Where on this machine a port of a pod is, as long as the connection lasts. Raises ForwardError."""
        found = Forward(namespace, pod, port, self._context)
        self._stack.callback(found.close)
        return found.address

    def read(self, paths: Sequence[str]) -> list[bytes | ClusterError]:
        """What is at each path; several are asked at once."""

        async def one(path: str) -> bytes | ClusterError:
            try:
                status, found, headers = await self._api.send("GET", path, None, None, PATIENCE)
                if status != 200:
                    return cluster.refused(status, found, f"GET {path}", headers)
            except ClusterError as error:
                return error
            return found

        async def together() -> list[bytes | ClusterError]:
            return await asyncio.gather(*(one(path) for path in paths))

        return self._runner.run(together())


@contextlib.contextmanager
def opened(context: str | None = None) -> Iterator[Connection]:
    """The API server of a context of the kubeconfig, or of the current one. Raises UnreachableError without any."""
    with asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        api = runner.run(ApiServer.connected(lambda *_: None, context))
        stack.callback(lambda: runner.run(api.close()))
        yield Connection(runner, api, context, stack)


def _namespace(context: str | None) -> str:
    """That of the context, as for kubectl; of a pod, its own."""
    try:
        listed, current = config.list_kube_config_contexts(os.environ.get("KUBECONFIG"))  # type: ignore[no-untyped-call]
        chosen = next((one for one in listed if one["name"] == context), current) if context else current
        return str(chosen["context"].get("namespace") or "default")
    except (config.ConfigException, OSError, KeyError, TypeError):
        with contextlib.suppress(OSError):
            return (contexts.ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
        return "default"
