"""What a driver asks the API server of its cluster: which executors there are, and to take away those that are left.

Everything else is Spark's: it creates executors, watches them, and deletes them. Two requests are no reason for a
client library.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spillway.model.errors import RetryError
from spillway.runtime.batch.jvm import NoSparkError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PATIENCE = 10.0  # seconds for an answer; the caller tries again
_SHOWN = 300  # characters of what the API server says

_REFUSED = re.compile(r"KubernetesClientException: .*Message: (.*)")

# Without the proxies of the environment, which know nothing of the cluster.
_NO_PROXIES = urllib.request.ProxyHandler({})


class ClusterError(RetryError):
    """The API server does not answer, or refuses; the message says what."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    """The pod that this process runs in.

    Attributes:
        name, namespace: of it.
        address: its IP.
        api: where the API server answers, as a URL.
        account: the directory with the `token` and the `ca.crt` of its service account.
    """

    name: str
    namespace: str
    address: str
    api: str
    account: Path = ACCOUNT

    @classmethod
    def here(cls, environment: Mapping[str, str] = os.environ) -> Pod:
        """As the environment of a pod has it; raises NoSparkError that says what is missing."""
        names = ("POD_NAME", "POD_NAMESPACE", "POD_IP", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
        if missing := [name for name in names if not environment.get(name)]:
            message = (
                f"executors can only be started from a pod, and the environment of this process lacks"
                f" {', '.join(missing)}. In a pod, have the downward API give POD_*; elsewhere use --spark local[2]"
            )
            raise NoSparkError(message)
        name, namespace, address, host, port = (environment[name] for name in names)
        host = f"[{host}]" if ":" in host else host
        return cls(name, namespace, address, f"https://{host}:{port}")

    def pods(self, labels: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Those with these labels; raises ClusterError."""
        return _items(self._ask("GET", labels))

    def sweep(self, labels: Mapping[str, str]) -> int:
        """Delete those with these labels, and say how many there were; raises ClusterError."""
        return len(_items(self._ask("DELETE", labels)))

    def _ask(self, method: str, labels: Mapping[str, str]) -> Any:
        selector = urllib.parse.urlencode({"labelSelector": ",".join(f"{k}={v}" for k, v in labels.items())})
        url = f"{self.api}/api/v1/namespaces/{self.namespace}/pods?{selector}"
        what = f"{method} {url}"
        try:
            # Read each time: the kubelet writes another token before this one is out of date.
            token = (self.account / "token").read_text(encoding="ascii").strip()
            trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"}, method=method)  # noqa: S310 - https
            opened = urllib.request.build_opener(_NO_PROXIES, urllib.request.HTTPSHandler(context=trust))
            with opened.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            with refusal:
                message = f"the API server refuses {what}: {_said(refusal)}"
            raise ClusterError(message) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            message = f"{what} came to nothing: {error}"
            raise ClusterError(message) from None


def waiting(pods: Sequence[Mapping[str, Any]]) -> str:
    """Why executors do not run, in the words of the cluster: of the first that says so."""
    told = ((str(pod["metadata"]["name"]), _why(pod.get("status", {}))) for pod in pods)
    return next((f"pod {name}: {why}" for name, why in told if why), "")


def refused(said: str) -> str:
    """What the API server has told Spark last, by what Spark has printed; empty where it has refused nothing."""
    found = _REFUSED.findall(said)
    return found[-1].strip()[:_SHOWN] if found else ""


def _why(status: Mapping[str, Any]) -> str:
    """Nothing for a pod that only needs time."""
    for container in status.get("containerStatuses", ()):
        held = container.get("state", {}).get("waiting") or container.get("state", {}).get("terminated") or {}
        reason = str(held.get("reason", ""))
        if reason and reason not in ("ContainerCreating", "PodInitializing", "Completed"):
            return f"{reason} {held.get('message', '')}".strip()[:_SHOWN]
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"{condition.get('reason', '')} {condition.get('message', '')}".strip()[:_SHOWN]
    return ""


def _items(found: Any) -> list[Mapping[str, Any]]:
    """Of a list; the API server has them as null where there are none."""
    return list(found.get("items") or ()) if isinstance(found, dict) else []


def _said(refusal: urllib.error.HTTPError) -> str:
    text = refusal.read(10_000).decode(errors="replace")
    try:
        return f"{refusal.code} {json.loads(text)['message']}"[:_SHOWN]
    except (ValueError, KeyError, TypeError):
        return f"{refusal.code} {text.strip()}"[:_SHOWN]
