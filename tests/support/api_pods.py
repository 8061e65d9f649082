"""What a kubelet and a network would do for an API server: pass requests on to pods, and give their logs.

`Proxy.instead` of a test: everything else goes on to the real API server. As that does, it keeps the header
`Authorization` to itself.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping

from fake_driver import FakeDriver

_PASSED_ON = re.compile(r"/api/v1/namespaces/([^/]+)/pods/http:([^/:]+):8080/proxy(/.*)")
_LOG = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/log\?(.*)")


class Pods:
    """They.

    Attributes:
        drivers: by namespace and pod.
        token: that a driver wants of who changes something.
        logs: by pod.
        metrics: of all.
        away: requests to pods get lost.
        refused: requests to pods are forbidden.
    """

    def __init__(self, drivers: Mapping[tuple[str, str], FakeDriver], token: str = "") -> None:
        self.drivers, self.token = dict(drivers), token
        self.logs: dict[str, str] = {}
        self.metrics = "spillway_rate 1\n"
        self.away = self.refused = False

    def answer(self, verb: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes] | None:
        if found := _LOG.fullmatch(path):
            text = self.logs.get(found[2], "")
            return 200, f"before: {text}".encode() if "previous=true" in found[3] else text.encode()
        found = _PASSED_ON.fullmatch(path)
        if found is None:
            return None
        if self.refused:
            return 403, _status("pods is forbidden: User can't get resource pods/proxy", 403)
        driver = self.drivers.get((found[1], found[2]))
        if self.away or driver is None:
            return 503, _status("error trying to reach service: dial tcp: i/o timeout", 503)
        if found[3] == "/metrics":
            return 200, self.metrics.encode()
        if verb == "PUT" and headers.get("Spillway-Token") != self.token:
            return 401, json.dumps({"problem": "only who brings the token may change something"}).encode()
        request = urllib.request.Request(f"http://{driver.address}{found[3]}", body or None, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


def _status(message: str, code: int) -> bytes:
    return json.dumps({"kind": "Status", "status": "Failure", "message": message, "code": code}).encode()
