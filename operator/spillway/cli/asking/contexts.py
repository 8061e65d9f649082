"""The cluster that somebody means: a context of the kubeconfig, or the account of a pod. The rest is `clusters`."""

from __future__ import annotations

import contextlib
import os
import pathlib
from typing import TYPE_CHECKING

from spillway.model.errors import NotReadyError

if TYPE_CHECKING:
    from spillway.cli.clusters.connections import Connection

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")


class NoClusterError(NotReadyError):
    """There is no cluster that could be asked."""


def named() -> bool:
    """Whether there is a cluster at all that could be asked: nothing is asked for that."""
    files = os.environ.get("KUBECONFIG") or "~/.kube/config"
    listed = [pathlib.Path(file).expanduser() for file in files.split(os.pathsep) if file]
    return (ACCOUNT / "token").exists() or any(file.is_file() for file in listed)


def connected(context: str | None, stack: contextlib.ExitStack) -> Connection:
    """It, until the stack ends. Raises NoClusterError, or ClusterError."""
    try:
        from spillway.cli.clusters import connections
    except ModuleNotFoundError as error:
        message = f"{error.name} is needed to ask a cluster: pip install 'spillway[operator]'"
        raise NoClusterError(message) from None
    return stack.enter_context(connections.opened(context))
